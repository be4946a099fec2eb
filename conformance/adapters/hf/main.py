"""HuggingFace `tokenizers`, the reference for tokenizer.json."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import tokenizers
from serve import Fields, Loading, Refusal, serve, text_of


class HuggingFace(Loading):
    implementation = {
        "name": "tokenizers",
        "version": tokenizers.__version__,
        "homepage": "https://github.com/huggingface/tokenizers",
    }
    formats = ["tokenizer.json"]
    features = [
        *("offsets:char", "tokens", "type_ids", "attention_mask", "pair"),
        *("any_id", "unknown:skip"),
    ]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        data = Path(path).read_bytes()
        try:
            tokenizer = tokenizers.Tokenizer.from_buffer(data)
        except BaseException as error:  # it has one kind of error for everything, and panics
            raise Refusal("invalid_model", error) from None
        size = tokenizer.get_vocab_size(with_added_tokens=True)
        return tokenizer, {"served_by": "core", "vocab_size": size}

    def info(self, handle: Any) -> Fields:
        return {"vocab_size": handle.get_vocab_size(with_added_tokens=True)}

    def encode(
        self,
        handle: Any,
        input: Fields,
        options: Fields,
        pair: Fields | None = None,
        want: tuple[str, ...] = (),
    ) -> Fields:
        encoding = self._encoded(handle, input, pair, options)
        answer: Fields = {"ids": encoding.ids}
        if "offsets" in want:
            answer["offsets"] = encoding.offsets
        if "tokens" in want:
            answer["tokens"] = encoding.tokens
        if "type_ids" in want:
            answer["type_ids"] = encoding.type_ids
        if "attention_mask" in want:
            answer["attention_mask"] = encoding.attention_mask
        return answer

    def encode_batch(self, handle: Any, inputs: list[Fields], options: Fields) -> Fields:
        add = self._add_special(options)
        made = handle.encode_batch([text_of(one) for one in inputs], add_special_tokens=add)
        return {"ids": [encoding.ids for encoding in made]}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        self._only_skip(options)
        skip = options.get("skip_special", True)
        return {"text": handle.decode(ids, skip_special_tokens=skip)}

    def decode_batch(self, handle: Any, lists: list[list[int]], options: Fields) -> Fields:
        self._only_skip(options)
        skip = options.get("skip_special", True)
        return {"texts": handle.decode_batch(lists, skip_special_tokens=skip)}

    def token_to_id(self, handle: Any, token: str) -> Fields:
        return {"id": handle.token_to_id(token)}

    def id_to_token(self, handle: Any, id: int) -> Fields:
        return {"token": handle.id_to_token(id)}

    def _encoded(self, handle: Any, input: Fields, pair: Fields | None, options: Fields) -> Any:
        second = None if pair is None else text_of(pair)
        add = self._add_special(options)
        return handle.encode(text_of(input), second, add_special_tokens=add)

    @staticmethod
    def _add_special(options: Fields) -> bool:
        if options.get("special", "all") != "all":
            raise Refusal("bad_request", "it always finds special tokens")
        return bool(options.get("add_special", True))

    @staticmethod
    def _only_skip(options: Fields) -> None:
        if options.get("unknown", "skip") != "skip":
            raise Refusal("bad_request", "it leaves unknown ids out")


if __name__ == "__main__":
    serve(HuggingFace())
