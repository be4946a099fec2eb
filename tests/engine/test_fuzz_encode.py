"""The tool that sets the core against the reference on random texts: it finds what it is to find,
it goes on where it stopped, and a short run of it finds nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import small
from assets import Asset, needs_assets

import pywasmtok
from tools.verify import fuzz_encode
from tools.verify.encoding.paths import Comparison
from tools.verify.encoding.references import HuggingFace, Offsets, Subject
from tools.verify.encoding.texts import Maker, real_text

# One block of each shape.
ROUND = range(8)


def subject(folder: Path, **changes: Any) -> Subject:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(small.definition(**changes)), encoding="utf-8")
    return Subject(str(path))


def test_every_shape_and_path_comes_by_and_answers_are_equal(tmp_path: Path) -> None:
    one = subject(tmp_path)
    maker = Maker(0, one.reference.added, [small.TEXT * 100])
    paths: set[str] = set()
    with one.tokenizer() as ours:
        comparison = Comparison(ours, one.reference)
        for number in ROUND:
            found = comparison.block(maker.block(number)[1])
            assert found.differences == []
            assert found.refused == 0
            paths |= set(found.paths)
    assert paths == {*fuzz_encode.PATHS}


def test_blocks_depend_on_seed_and_number_alone() -> None:
    first, second = Maker(1, ["<s>"], []), Maker(1, ["<s>"], [])
    first.block(4)
    assert first.block(0) == second.block(0)
    assert first.block(0) != Maker(2, ["<s>"], []).block(0)


def test_a_difference_is_found_and_made_small(tmp_path: Path) -> None:
    whole = small.definition()
    del whole["model"]["merges"][0]
    ours = subject(tmp_path, model=whole["model"])
    reference = HuggingFace(json.dumps(small.definition()).encode())
    with ours.tokenizer() as tok:
        found = Comparison(tok, reference).block(["Hello", "The fields of gold"])
        long = Comparison(tok, reference).block(["word " * 120_000 + "Hello" + " word" * 20_000])
    assert [(one.path, one.text, one.alone) for one in found.differences] == [
        ("call", "ll", True),
        ("batch", "ll", True),
        ("batch", "ll", True),
        ("offsets", "ll", True),
    ]
    assert {one.path for one in long.differences} == {"long text in parts", "batch over threads"}
    assert {(one.text, one.alone) for one in long.differences} == {("ll", True)}


class Moody:
    """A reference that answers something else the first time."""

    name = "moody"

    def __init__(self, right: HuggingFace) -> None:
        self.added: list[str] = []
        self._right = right
        self._asked = 0

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        self._asked += 1
        return [[1]] * len(texts) if self._asked == 1 else self._right.ids(texts)

    def offsets(self, text: str) -> Offsets | None:
        return None


class Panic(BaseException):
    """What a panic of a library looks like."""


class Panicking(Moody):
    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        if any("boom" in text for text in texts):
            raise Panic
        return self._right.ids(texts)


def test_what_does_not_repeat_is_told_with_the_whole_text(tmp_path: Path) -> None:
    one = subject(tmp_path)
    assert isinstance(one.reference, HuggingFace)
    with one.tokenizer() as ours:
        found = Comparison(ours, Moody(one.reference)).block(["Hello world"])
    assert {(one.text, one.alone) for one in found.differences} == {("Hello world", False)}


def test_texts_that_the_reference_refuses_are_counted(tmp_path: Path) -> None:
    one = subject(tmp_path)
    assert isinstance(one.reference, HuggingFace)
    with one.tokenizer() as ours:
        found = Comparison(ours, Panicking(one.reference)).block(["Hello", "boom", "world"])
    assert (found.refused, found.texts, found.differences) == (1, 2, [])


def run(folder: Path, megabytes: float, log: str) -> dict[str, Any]:
    options = ["--megabytes", str(megabytes), "--real", "0", "--log", str(folder / log)]
    assert fuzz_encode.main([str(folder / "tokenizer.json"), *options]) == 0
    lines = (folder / log).read_text("utf-8").splitlines()
    assert len(lines) == 1
    line: dict[str, Any] = json.loads(lines[0])
    line.pop("seconds")
    return line


def test_a_log_is_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subject(tmp_path)
    assert run(tmp_path, 0.2, "parts.jsonl")["blocks"] == 1
    continued = run(tmp_path, 0.5, "parts.jsonl")
    assert continued["blocks"] == 2
    assert continued == run(tmp_path, 0.5, "whole.jsonl")
    assert run(tmp_path, 0.5, "parts.jsonl") == continued
    capsys.readouterr()
    assert fuzz_encode.main(["--show", str(tmp_path / "parts.jsonl")]) == 0
    assert f"| {continued['texts']:,} |" in capsys.readouterr().out


def test_differences_are_told_and_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subject(tmp_path)
    monkeypatch.setattr(HuggingFace, "ids", lambda self, texts: [[1] for _ in texts])
    options = ["--real", "0", "--log", str(tmp_path / "log.jsonl")]
    assert fuzz_encode.main([str(tmp_path / "tokenizer.json"), *options]) == 1
    line = json.loads((tmp_path / "log.jsonl").read_text("utf-8"))
    assert line["differences"] >= fuzz_encode.ENOUGH
    assert "call, 0 characters (seed 0, block 0)\n  ''" in capsys.readouterr().out


@lru_cache(maxsize=1)
def some_real_text() -> list[str]:
    # The other kinds read all sources of the standard library before they say a word.
    return real_text(0, 200_000, ("zhja", "mixed"))


# fmt: off
FAMILIES = (
    "llama3", "qwen3", "qwen3@qwen3.5", "gpt-oss", "gpt2", "mistral-nemo", "deepseek-v3", "clip",
    "mistral-v1", "llama2", "gemma3", "t5", "bert-base-cased",
)
# fmt: on


@needs_assets
@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PYWASMTOK_SLOW") != "1", reason="slow: set PYWASMTOK_SLOW=1")
@pytest.mark.parametrize("family", [*FAMILIES, "cl100k_base"])
def test_a_round_of_every_family(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two to three megabytes each, by every path; `tools.verify.fuzz_encode` does more of it."""
    name, _, pattern = family.partition("@")
    asset = Asset(name, "tokenizer.json")
    if name == "cl100k_base":
        # Nothing but the file at hand is needed.
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
        asset = Asset("tiktoken-openai", "cl100k_base.tiktoken")
    path = asset.path if asset.path.is_file() else asset.path.with_name(asset.name + ".xz")
    one = Subject("@".join(filter(None, (str(path), pattern))))
    maker = Maker(0, one.reference.added, some_real_text())
    with one.tokenizer() as ours:
        assert isinstance(ours, pywasmtok.Tokenizer)
        comparison = Comparison(ours, one.reference)
        wrong = [
            fuzz_encode.told(family, 0, number, difference)
            for number in ROUND
            for difference in comparison.block(maker.block(number)[1]).differences
        ]
    assert wrong == []
