"""tiktoken, the reference for rank files; the pattern comes with the load."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import base64
from importlib.metadata import version

import tiktoken
from serve import Fields, Loading, Refusal, serve, text_of


class Tiktoken(Loading):
    implementation = {
        "name": "tiktoken",
        "version": version("tiktoken"),
        "homepage": "https://github.com/openai/tiktoken",
    }
    formats = ["tiktoken"]
    features = ["special:none", "special:raise", "special:set"]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        ranks: dict[bytes, int] = {}
        for line in Path(path).read_bytes().splitlines():
            if not line:
                continue
            try:
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
            except ValueError as error:
                raise Refusal("invalid_model", error) from None
        if len(set(ranks.values())) != len(ranks):
            raise Refusal("invalid_model", "a rank that two tokens have")
        if "pattern" not in options:
            raise Refusal("unsupported", "a rank file does not say its pattern", feature="pattern")
        encoding = tiktoken.Encoding(
            Path(path).stem,
            pat_str=options["pattern"],
            mergeable_ranks=ranks,
            special_tokens=options.get("special_tokens", {}),
        )
        return encoding, {"served_by": "core", "vocab_size": encoding.max_token_value + 1}

    def info(self, handle: Any) -> Fields:
        return {"vocab_size": handle.max_token_value + 1}

    def encode(self, handle: Any, input: Fields, options: Fields) -> Fields:
        return {"ids": handle.encode(text_of(input), **_policy(handle, text_of(input), options))}

    def encode_batch(self, handle: Any, inputs: list[Fields], options: Fields) -> Fields:
        return {"ids": [self.encode(handle, one, options)["ids"] for one in inputs]}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        return {"text": self._data(handle, ids, options).decode(errors="replace")}

    def decode_bytes(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        return {"b64": base64.b64encode(self._data(handle, ids, options)).decode()}

    def decode_batch(self, handle: Any, lists: list[list[int]], options: Fields) -> Fields:
        return {"texts": [self.decode(handle, ids, options)["text"] for ids in lists]}

    @staticmethod
    def _data(handle: Any, ids: list[int], options: Fields) -> bytes:
        if options.get("skip_special", True):
            special = set(handle._special_tokens.values())
            ids = [identity for identity in ids if identity not in special]
        try:
            return bytes(handle.decode_bytes(ids))
        except KeyError as error:
            raise Refusal("invalid_token", error) from None


def _policy(handle: Any, text: str, options: Fields) -> Fields:
    special = options.get("special", "all")
    if special == "raise":
        named = [name for name in handle.special_tokens_set if name in text]
        if named:
            raise Refusal("invalid_text", f"{named[0]} is a special token")
    allowed: Any = {"all": "all", "none": set(), "raise": set()}.get(str(special))
    if isinstance(special, list):
        allowed = set(special)
    return {"allowed_special": allowed, "disallowed_special": ()}


if __name__ == "__main__":
    serve(Tiktoken())
