"""What the benchmark rests on: fresh texts, compared ids, ratios the right way round."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
import small

from pywasmtok.errors import __doc__ as some_text
from tools import bench_stream
from tools.bench import Report, Result, Row, copies, main, measure, render, timed
from tools.bench_libraries import Contender, TokenizerFile, byte_alphabet, contenders
from tools.bench_texts import Coiner, Tape

DEMO = Path(__file__).resolve().parent.parent / "pywasmtok/data/demo.tokenizer.json.xz"


@pytest.mark.parametrize("corpus", ["zhja", "mixed"])
def test_text_is_fresh_sized_and_repeatable(corpus: str) -> None:
    tape, again = Tape(corpus, 1), Tape(corpus, 1)
    texts = [tape.take(2_000) for _ in range(200)]
    assert len(set(texts)) == len(texts)
    assert all(1_997 <= len(text.encode()) <= 2_000 for text in texts)
    assert [again.take(2_000) for _ in range(200)] == texts
    assert Tape(corpus, 2).take(2_000) != texts[0]


def test_text_keeps_bringing_words_that_were_never_seen() -> None:
    tape = Tape("mixed", 1)
    seen = set(tape.take(300_000).split())
    later = tape.take(300_000).split()
    unseen = sum(word not in seen for word in later)
    assert 0.005 < unseen / len(later) < 0.2


def test_coined_words_look_like_the_given_ones() -> None:
    coiner = Coiner(["banana", "bandana"], random.Random(1))
    words = {coiner.word() for _ in range(100)}
    assert len(words) > 2
    assert set("".join(words)) <= set("bandana")


def test_copies_are_other_strings() -> None:
    original = [some_text or "text"]
    assert copies(original) == original
    assert copies(original)[0] is not original[0]


def test_wrong_ids_are_named() -> None:
    field = [
        Contender("hf", "list", lambda text: [1, 2]),
        Contender("same", "list", lambda text: [1, 2]),
        Contender("other", "list", lambda text: [1, 3]),
    ]
    results = measure(field, [["a", "b"]], random.Random(1))
    assert {name: result.equal for name, result in results.items()} == {
        "hf": True,
        "same": True,
        "other": False,
    }
    rows = [Row("t", "c", 2000, "list", "fresh", "other", 10.0, 200.0, ids_equal=False)]
    assert "WRONG IDS" in render(Report(rows), "", markdown=False)


def test_ratio_above_one_means_that_ours_is_faster() -> None:
    rows = [
        Row("t", "c", 2000, "list", "fresh", "portable", 10.0, 200.0),
        Row("t", "c", 2000, "list", "fresh", "slower", 20.0, 100.0),
    ]
    table = render(Report(rows), "portable", markdown=True)
    assert "| c | 2 KB | fresh | 200.0 | 100.0 (x2.00) |" in table
    assert "| list | 2 KB | 2.00 |" in table


def test_a_time_is_of_one_call() -> None:
    calls: list[str] = []

    def encode(text: str) -> list[int]:
        calls.append(text)
        return [1]

    contender = Contender("x", "list", encode)
    microseconds, answers = timed(contender, ["a"] * 10, warm=True)
    assert len(calls) == 50
    assert answers == [[1]] * 10
    assert 0 < microseconds < 1_000
    assert Result().equal


def test_byte_alphabet_is_the_reference_s() -> None:
    from tokenizers import pre_tokenizers

    assert sorted(byte_alphabet()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert byte_alphabet()[ord(" ")] == "Ġ"


def test_absent_libraries_are_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fastokens", "gigatoken", "tiktoken"):
        monkeypatch.setitem(sys.modules, name, None)
    found, reasons = contenders(TokenizerFile.read("demo", DEMO, tmp_path), [])
    assert [one.name for one in found] == ["hf", "hf-fast"]
    assert [reason.partition(":")[0] for reason in reasons] == [
        "fastokens",
        "gigatoken",
        "tiktoken",
    ]


def test_whole_run_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1")  # so that they are put back
    options = ["--quick", "--builds", "", "--only", "hf,hf-fast", "--corpora", "zhja", "--json"]
    assert main([*options, "--tokenizer", str(DEMO), "--sizes", "200,2000"]) == 0
    report = json.loads(capsys.readouterr().out)
    keys = {(row["library"], row["size"], row["state"]) for row in report["rows"]}
    assert ("hf", 200, "warm") in keys
    assert ("hf-fast", 2000, "fresh") in keys
    assert all(row["ids_equal"] and row["microseconds"] > 0 for row in report["rows"])


def test_the_benchmark_of_streams_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(small.file())
    assert bench_stream.main([str(file), "--quick", "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("pywasmtok `step`") == 4
    ours = [line for line in printed.splitlines() if line.startswith("| pywasmtok")]
    assert not any("differs" in line for line in ours)
