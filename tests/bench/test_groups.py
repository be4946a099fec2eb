"""Every group gives rows, in which a library that lies is found out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat.environment import needs_reference

from bench.fakes import bench, library, record, row
from pywasmtok.bench.groups import GROUPS, adversarial
from pywasmtok.bench.groups.latency import percentile
from pywasmtok.bench.groups.load import proportional
from pywasmtok.bench.libraries.files import TokenizerFile, label
from pywasmtok.bench.libraries.peers import PEERS, LeftOutError, libraries, load
from pywasmtok.bench.rows import Row
from pywasmtok.bench.running import run
from pywasmtok.bench.running.apart import PROCESSES
from pywasmtok.bench.running.child import ChildFailedError, lines_of
from pywasmtok.bench.running.plan import Plan
from pywasmtok.bench.running.run import rows_of
from pywasmtok.bench.running.session import Setup

IN_TURNS = [name for name, group in GROUPS.items() if not group.own_children]
# Threads are held against processes there.
BESIDE_PROCESSES = ("threads-encode", "threads-decode", "scaling")


def test_there_are_the_groups_that_were_asked_for() -> None:
    assert len(GROUPS) == 18


@pytest.mark.parametrize("group", IN_TURNS)
def test_a_liar_is_found_and_nobody_else(group: str) -> None:
    one = bench(group, [library("portable"), library("hf"), library("liar", lie=1)])
    rows = list(GROUPS[group].run(one))
    verdicts = {(row.library, row.ids) for row in rows}
    assert verdicts == {("portable", "equal"), ("hf", "equal"), ("liar", "wrong")}
    assert all(row.value is not None and row.value > 0 for row in rows)
    assert all((row.tokenizer, row.group) == ("made-up", group) for row in rows)
    assert len({row.key for row in rows}) == len(rows), "figures have names of their own"


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    file = TokenizerFile.read("builtin:demo", tmp_path_factory.mktemp("bench"))
    return Setup(file, Plan(corpora=("generated zhja",)).quick(), only=("portable", "twin", "hf"))


@pytest.mark.parametrize("group", IN_TURNS)
def test_each_group_runs_in_a_process_of_its_own(group: str, setup: Setup) -> None:
    absent: list[str] = []
    rows = list(rows_of(setup, group, absent))
    assert absent == []
    names = {row.library for row in rows}
    assert {"portable", "twin"} <= names
    own = ("portable", "twin", PROCESSES)
    assert {row.ids for row in rows if row.library in own} <= {"equal"}
    assert (PROCESSES in names) == (group in BESIDE_PROCESSES)
    if group in BESIDE_PROCESSES:
        cells = {repr((row.case, row.measure)) for row in rows if row.library == "portable"}
        assert cells == {repr((row.case, row.measure)) for row in rows if row.library == PROCESSES}


def test_hostile_texts_run_in_processes(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversarial, "HOSTILE", ("one letter", "joined emoji"))
    rows = list(rows_of(setup, "adversarial", []))
    of_ours = [row for row in rows if row.library == "portable"]
    assert {row.case["input"] for row in of_ours} == {"one letter", "joined emoji"}
    assert {row.measure.unit for row in of_ours} == {"MB/s", "x"}
    assert "wrong" not in {row.ids for row in rows}
    assert {row.library for row in rows} == {"portable", "twin", "hf"}


def test_the_first_text_is_measured_in_processes(setup: Setup) -> None:
    rows = list(rows_of(setup, "first", []))
    assert {row.library for row in rows} == {"portable", "twin", "hf"}
    assert all(row.value and row.case == {"text": "generated zhja", "bytes": 2_000} for row in rows)
    assert {row.measure.unit for row in rows} == {"MB/s", "ms"}


def test_loading_and_memory_run_in_processes(setup: Setup) -> None:
    setup = replace(setup, only=("portable", "hf"))
    times = list(rows_of(setup, "load", []))
    assert {row.case["load of"] for row in times if row.library == "portable"} == {
        "seen file",
        "further instance",
    }
    if proportional() is None:
        return
    states = {row.case["of"] for row in rows_of(setup, "memory", []) if row.library == "portable"}
    assert len(states) == 4


@needs_reference
@pytest.mark.parametrize("group", ["chat-compile", "chat-render", "chat-encode"])
def test_chats_are_rendered_without_other_templates(group: str, setup: Setup) -> None:
    absent: list[str] = []
    rows = list(rows_of(replace(setup, only=()), group, absent))
    assert {row.case["template"] for row in rows} == {"own"}
    names = {row.library for row in rows}
    assert {"portable", "hf"} <= names or group == "chat-compile", absent
    assert {row.library for row in rows if row.ids == "wrong"} <= {"minijinja"}


def test_templates_of_the_user_are_rendered_and_wrong_texts_found(
    setup: Setup, tmp_path: Path
) -> None:
    # minijinja prints numbers and lists in its own way.
    path = tmp_path / "odd.jinja"
    path.write_text("{{ 1.0e30 }}{{ messages[0].content }}{{ [none, true] }}", encoding="utf-8")
    setup = replace(setup, only=("portable", "hf", "minijinja"), templates=(path,))
    rows = [row for row in rows_of(setup, "chat-render", []) if row.case["template"] == "odd"]
    verdicts = {(row.library, row.ids) for row in rows}
    assert verdicts == {("portable", "equal"), ("hf", "equal"), ("minijinja", "wrong")}


def test_a_child_that_takes_too_long_is_stopped(setup: Setup) -> None:
    job = {"setup": setup.as_json(), "library": "portable", "kind": "spaces", "sizes": [64]}
    with pytest.raises(ChildFailedError, match=r"over 0\.01 s"):
        list(lines_of("hostile", job, seconds=0.01))


def test_a_child_that_dies_is_reported() -> None:
    with pytest.raises(ChildFailedError, match="ended with status 1"):
        list(lines_of("no such task", {}))


def test_a_setup_survives_the_way_to_a_child(setup: Setup) -> None:
    assert Setup.from_json(setup.as_json()) == setup


def test_absent_libraries_are_named_and_left_out(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fastokens", "gigatoken", "tiktoken"):
        monkeypatch.setitem(sys.modules, name, None)
    found, reasons = libraries(setup.file, [])
    assert [one.name for one in found] == ["hf", "hf-fast"]
    assert [reason.partition(":")[0] for reason in reasons] == [
        "fastokens",
        "gigatoken",
        "tiktoken",
    ]


def test_a_library_that_cannot_be_tried_out_is_left_out(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(_: object) -> str:
        raise BaseException("panicked")

    broken = replace(library("hf"), decode=decode)
    monkeypatch.setitem(PEERS, "hf", lambda _: [broken])
    with pytest.raises(LeftOutError, match=r"hf: .*panicked"):
        load("hf", setup.file, [])


def test_tokenizers_have_short_names(tmp_path: Path) -> None:
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "tokenizer.json.xz").write_bytes(b"")
    (folder / "small.model").write_bytes(b"")
    assert label(str(folder / "tokenizer.json.xz")) == "llama"
    assert label(str(folder / "small.model")) == "small"
    assert label("builtin:demo") == "demo"
    assert label("org/name") == "org-name"


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.5, 0.9, 0.99)] == [51, 91, 100]
    assert percentile([7.0], 0.99) == 7.0


def test_a_run_that_is_interrupted_keeps_what_it_has(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(*_: object) -> Iterator[Row]:
        yield row("portable", 1.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "rows_of", rows)
    kept = record([], groups=[])
    run.run_all(kept, setup, [setup.file], ["encode", "batch"], lambda _: None)
    assert len(kept.rows) == 1
    assert [(one["group"], one["failure"]) for one in kept.groups] == [
        ("encode", "was interrupted")
    ]


def test_without_a_peer_that_failed_a_group_is_run_again(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[list[str]] = []

    def lines(_: str, job: Any) -> Iterator[dict[str, Any]]:
        jobs.append(list(job["without"]))
        yield {"row": row("portable", 1.0).as_json()}
        if not job["without"]:
            yield {"failed": "hf", "why": "hf: panicked"}
        else:
            yield {"row": row("portable", 2.0).as_json()}

    monkeypatch.setattr(run, "lines_of", lines)
    kept = record([], groups=[])
    run.run_all(kept, setup, [setup.file], ["encode"], lambda _: None)
    assert jobs == [[], ["hf"]]
    assert [one.value for one in kept.rows] == [2.0]
    assert kept.absent == ["demo: hf: panicked (in encode)"]
