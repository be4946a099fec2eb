"""The commands of the parser and their examples, run in this process."""

from __future__ import annotations

import io
import json
import lzma
import shlex
import sys
from pathlib import Path

import pytest

from pywasmtok.cli.completion.words import Command, commands
from pywasmtok.cli.main import main
from pywasmtok.cli.options.parser import Parser
from pywasmtok.cli.options.tree import whole

DATA = Path(__file__).parents[2] / "pywasmtok/data/demo.tokenizer.json.xz"
MESSAGES = [{"role": "user", "content": "Hi"}]
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


def every() -> list[Command]:
    """All commands that do something: those with further commands below them are none."""
    return [one for one in commands(whole()) if not one.inner]


def examples() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The example lines in the help of each command, by its words."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}

    def below(parser: Parser, path: tuple[str, ...]) -> None:
        if parser.run:
            found[path] = tuple(parser.examples)
        for action in parser._actions:
            if isinstance(action.choices, dict):
                for name, made in action.choices.items():
                    below(made, (*path, name))

    below(whole(), ())
    return found


def words_of(example: str) -> tuple[list[str], str | None]:
    """The arguments of an example, and the file that it pipes in."""
    before, pipe, after = example.rpartition(" | ")
    program, *arguments = shlex.split(after)
    assert program == "pywasmtok"
    if not pipe:
        return arguments, None
    cat, file = shlex.split(before)
    assert cat == "cat"
    return arguments, file


def run(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], stdin: Path | str | bytes | None = None
) -> int:
    data = stdin if isinstance(stdin, bytes) else b"" if stdin is None else Path(stdin).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return main(arguments)


def fill(folder: Path) -> None:
    """The files that the examples name."""
    tokenizer = lzma.decompress(DATA.read_bytes())
    (folder / "tokenizer.json").write_bytes(tokenizer)
    (folder / "other.json").write_bytes(tokenizer)
    (folder / "prompt.txt").write_text("Hello, world! Привет, 世界!\n", encoding="utf-8")
    (folder / "ids.json").write_text("[259, 275]")
    (folder / "chat.json").write_text(json.dumps(MESSAGES))
    (folder / "template.jinja").write_text(TEMPLATE)
