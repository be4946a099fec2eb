"""SentencePiece, the reference for its own models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from importlib.metadata import version

import sentencepiece
from serve import Fields, Loading, Refusal, serve, text_of


class SentencePiece(Loading):
    implementation = {
        "name": "sentencepiece",
        "version": version("sentencepiece"),
        "homepage": "https://github.com/google/sentencepiece",
    }
    formats = ["sentencepiece"]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        try:
            processor = sentencepiece.SentencePieceProcessor(model_file=path)
        except (RuntimeError, OSError) as error:
            raise Refusal("invalid_model", error) from None
        return processor, {"served_by": "core", "vocab_size": processor.get_piece_size()}

    def info(self, handle: Any) -> Fields:
        return {"vocab_size": handle.get_piece_size()}

    def encode(self, handle: Any, input: Fields, options: Fields) -> Fields:
        return {"ids": handle.encode(text_of(input))}

    def encode_batch(self, handle: Any, inputs: list[Fields], options: Fields) -> Fields:
        return {"ids": handle.encode([text_of(one) for one in inputs])}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        try:
            return {"text": handle.decode(ids)}
        except IndexError as error:
            raise Refusal("invalid_token", error) from None

    def decode_batch(self, handle: Any, lists: list[list[int]], options: Fields) -> Fields:
        return {"texts": [self.decode(handle, ids, options)["text"] for ids in lists]}

    def id_to_token(self, handle: Any, id: int) -> Fields:
        return {"token": handle.id_to_piece(id) if id < handle.get_piece_size() else None}

    def token_to_id(self, handle: Any, token: str) -> Fields:
        # What it does not know has the id of the unknown piece.
        found = handle.piece_to_id(token)
        return {"id": found if handle.id_to_piece(found) == token else None}


if __name__ == "__main__":
    serve(SentencePiece())
