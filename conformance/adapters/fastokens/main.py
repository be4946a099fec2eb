"""fastokens: byte-pair encoding of tokenizer.json."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from importlib.metadata import version

import fastokens
from serve import Fields, Loading, Refusal, serve, text_of


class Fastokens(Loading):
    implementation = {
        "name": "fastokens",
        "version": version("fastokens"),
        "homepage": "https://github.com/crusoecloud/fastokens",
    }
    formats = ["tokenizer.json"]
    features = ["special:none"]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        try:
            tokenizer = fastokens.Tokenizer.from_json_str(Path(path).read_text(encoding="utf-8"))
        except BaseException as error:  # one kind of error for all, and panics
            code = "unsupported" if "unsupported" in str(error).lower() else "invalid_model"
            raise Refusal(code, error) from None
        return tokenizer, {"served_by": "core", "vocab_size": tokenizer.vocab_size}

    def info(self, handle: Any) -> Fields:
        return {"vocab_size": handle.vocab_size}

    def encode(self, handle: Any, input: Fields, options: Fields) -> Fields:
        special = options.get("special", "all")
        if special not in ("all", "none"):
            raise Refusal("bad_request", f"no policy {special}")
        encoding = handle.encode(
            text_of(input),
            add_special_tokens=options.get("add_special", True),
            split_special_tokens=special == "none",
        )
        return {"ids": list(encoding.ids)}

    def encode_batch(self, handle: Any, inputs: list[Fields], options: Fields) -> Fields:
        return {"ids": [self.encode(handle, one, options)["ids"] for one in inputs]}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        skip = options.get("skip_special", True)
        return {"text": handle.decode(ids, skip_special_tokens=skip)}

    def decode_batch(self, handle: Any, lists: list[list[int]], options: Fields) -> Fields:
        return {"texts": [self.decode(handle, ids, options)["text"] for ids in lists]}

    def token_to_id(self, handle: Any, token: str) -> Fields:
        return {"id": handle.token_to_id(token)}

    def id_to_token(self, handle: Any, id: int) -> Fields:
        return {"token": handle.id_to_token(id)}


if __name__ == "__main__":
    serve(Fastokens())
