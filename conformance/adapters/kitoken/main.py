"""kitoken: files of four formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from importlib.metadata import version

from kitoken import Kitoken
from serve import Fields, Loading, Refusal, serve, text_of

# What its messages say where a file is whole, but not for it.
MISSING = ("nsupported", "not found in specials", "unknown variant", "not match any variant")
READERS = {
    ".json": Kitoken.from_tokenizers_file,
    ".model": Kitoken.from_sentencepiece_file,
}


class KitokenAdapter(Loading):
    implementation = {
        "name": "kitoken",
        "version": version("kitoken"),
        "homepage": "https://github.com/Systemcluster/kitoken",
    }
    formats = ["tokenizer.json", "sentencepiece"]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        try:
            tokenizer = READERS[Path(path).suffix](path)
        except BaseException as error:  # panics, too
            code = "unsupported" if any(word in str(error) for word in MISSING) else "invalid_model"
            raise Refusal(code, error) from None
        return tokenizer, {"served_by": "core"}

    def encode(self, handle: Any, input: Fields, options: Fields) -> Fields:
        text = text_of(input)
        if options.get("add_special", True):
            raise Refusal("unsupported", "it adds no tokens", feature="add_special")
        return {"ids": list(handle.encode(text, True))}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        skip = options.get("skip_special", True)
        return {"text": bytes(handle.decode(ids, not skip)).decode(errors="replace")}


if __name__ == "__main__":
    serve(KitokenAdapter())
