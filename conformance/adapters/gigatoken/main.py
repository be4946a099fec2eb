"""gigatoken: byte-pair encoding of tokenizer.json."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from importlib.metadata import version

import gigatoken
from serve import Fields, Loading, Refusal, serve, text_of

# What its messages say where a file is whole, but not for it.
MISSING = ("support", "Unknown pre_tokenizer", "no single-byte vocab entry")


class Gigatoken(Loading):
    implementation = {
        "name": "gigatoken",
        "version": version("gigatoken"),
        "homepage": "https://pypi.org/project/gigatoken/",
    }
    formats = ["tokenizer.json"]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        try:
            tokenizer = gigatoken.Tokenizer.from_json(Path(path).read_text(encoding="utf-8"))
        except NotImplementedError as error:
            raise Refusal("unsupported", error) from None
        except BaseException as error:  # panics, too
            code = "unsupported" if any(word in str(error) for word in MISSING) else "invalid_model"
            raise Refusal(code, error) from None
        return tokenizer, {"served_by": "core"}

    def encode(self, handle: Any, input: Fields, options: Fields) -> Fields:
        text = text_of(input)
        if options.get("add_special", True):
            raise Refusal("unsupported", "it adds no tokens", feature="add_special")
        return {"ids": handle.encode(text).tolist()}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        if options.get("skip_special", True):
            raise Refusal("unsupported", "it leaves nothing out", feature="skip_special")
        return {"text": handle.decode(ids).decode(errors="replace")}


if __name__ == "__main__":
    serve(Gigatoken())
