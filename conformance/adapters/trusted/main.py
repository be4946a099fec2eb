"""pywasmtok's renderer for templates that are trusted: the package minijinja, in this process."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "pywasmtok"))

from serve import Adapter, Fields, serve
from shared import rendered_by

import pywasmtok
from pywasmtok.chat.trusted import renderer


class Trusted(Adapter):
    implementation = {
        "name": "pywasmtok",
        "version": pywasmtok.__version__,
        "host": f"minijinja {version('minijinja')}",
        "variant": "trusted",
    }
    features = ["generation", "preparation"]

    def render(self, *, want: tuple[str, ...] = (), **said: Any) -> Fields:
        rendered = rendered_by(renderer(), said, generation="generation" in want)
        generation = {"generation": rendered.generation} if "generation" in want else {}
        return {"text": rendered.text, **generation}


if __name__ == "__main__":
    # Templates are translated by a module that is compiled before the first request.
    renderer().compile("")
    serve(Trusted())
