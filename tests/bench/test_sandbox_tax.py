"""The native build beside the sandbox: who takes part when, and what is made of the times."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import pywasmtok
from pywasmtok.bench.libraries import native
from pywasmtok.bench.libraries.files import TokenizerFile
from pywasmtok.bench.libraries.peers import LeftOutError, load, names_of
from pywasmtok.bench.measure import Result
from tools.bench import sandbox_tax
from tools.bench.sandbox.guest import Guest
from tools.bench.sandbox.variants import (
    EPOCHS,
    SIGNALS,
    VARIANTS,
    Variant,
    names_of_shipped,
    shipped,
)

TEXTS = ("Hello world", "", "naïve 🌶️ 你好\n\n  def f(x):", "word " * 300_000)


def demo(folder: Path) -> TokenizerFile:
    return TokenizerFile.read("builtin:demo", folder)


def test_the_native_build_takes_part_only_where_it_is_asked_for() -> None:
    assert native.NAME not in names_of(["portable"])
    assert names_of(["portable"], ["portable", "native"]) == ["portable", "native"]


def test_without_cargo_it_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(LeftOutError, match="native: there is no cargo here"):
        load("native", demo(tmp_path), ["portable"])


def test_without_the_sources_it_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/cargo")
    monkeypatch.setattr(native, "WORKSPACE", tmp_path)
    with pytest.raises(LeftOutError, match="sources of the engine"):
        load("native", demo(tmp_path), ["portable"])


def test_the_tool_says_why_it_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert sandbox_tax.main(["builtin:demo"]) == 2
    assert "not measured: there is no cargo here" in capsys.readouterr().err


def check(variant: Variant, folder: Path) -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo", encoder="core", decoder="core")
    guest = Guest(variant, demo(folder).path.read_bytes())
    for text in TEXTS:
        assert guest.encode(text).tolist() == tok.encode(text, add_special_tokens=False).ids


def test_an_engine_that_the_package_does_not_make_gives_the_same_ids(tmp_path: Path) -> None:
    check(VARIANTS[0], tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PYWASMTOK_SLOW") != "1", reason="slow: set PYWASMTOK_SLOW=1")
@pytest.mark.parametrize("variant", VARIANTS[1:], ids=lambda one: one.name)
def test_every_variant_gives_the_same_ids(variant: Variant, tmp_path: Path) -> None:
    check(variant, tmp_path)


def test_the_engines_of_the_package_are_among_the_variants() -> None:
    for own in shipped():
        assert own.keys() >= {SIGNALS, EPOCHS}
    assert names_of_shipped()
    assert len({one.name for one in VARIANTS}) == len(VARIANTS)


def results() -> dict[str, Result]:
    return {
        "native": Result([10.0, 20.0, 40.0]),
        "native twin": Result([10.0, 20.0, 44.0]),
        "bare": Result([13.0, 24.0, 60.0]),
    }


def test_a_turn_is_compared_with_the_same_turn() -> None:
    found = sandbox_tax.figures(results(), 1000)
    assert found["tax"] == {"native twin": 1.0, "bare": 1.3}
    assert found["native MB/s"] == 50.0
    assert found["equal"]
    wrong = results()
    wrong["bare"].equal = False
    assert not sandbox_tax.figures(wrong, 1000)["equal"]


def test_the_table_names_wrong_ids() -> None:
    row = {"tokenizer": "t", "text": "code", "bytes": 2000, **sandbox_tax.figures(results(), 2000)}
    text = sandbox_tax.table([row, {**row, "equal": False}])
    assert "| tokenizer | text | bytes | native MB/s | native twin | bare |" in text
    assert "| t | code | 2,000 | 100 | 1.00 | 1.30 |" in text
    assert "| t | code WRONG IDS | 2,000 |" in text


def test_a_record_says_when_how_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"text": "code", "bytes": 2000, **sandbox_tax.figures(results(), 2000)}
    monkeypatch.setattr(sandbox_tax, "build", lambda *_: tmp_path)
    monkeypatch.setattr(sandbox_tax, "rows", lambda *_: [row])
    written = [str(tmp_path / name) for name in ("tax.json", "tax.md")]
    arguments = ["builtin:demo", "--json", written[0], "--markdown", written[1]]
    assert sandbox_tax.main(arguments) == 0
    record = json.loads(Path(written[0]).read_text("utf-8"))
    assert record["command"].startswith("python -m tools.bench.sandbox_tax builtin:demo --json ")
    assert record["machine"].keys() >= {"cpu", "load_average_after"}
    assert [row["tokenizer"] for row in record["rows"]] == ["demo"]
    page = Path(written[1]).read_text("utf-8")
    assert f"| date | {record['date']} |" in page
    assert "| demo | code | 2,000 | 100 | 1.00 | 1.30 |" in page


def test_the_columns_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert sandbox_tax.main(["--variants"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{one.name}: {one.what}\n" in printed for one in VARIANTS)
