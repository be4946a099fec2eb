"""Records, tables, plots and comparisons, from figures that are made up."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bench.fakes import TIME, group_run, record, row
from pywasmtok import InvalidArgument, SourceNotFound, TokenizerError
from pywasmtok.bench import compare, machine, tables
from pywasmtok.bench.plots import figures
from pywasmtok.bench.plots.scales import linear, logarithmic, short, thinned
from pywasmtok.bench.record import Record, schema
from pywasmtok.bench.rows import Measure, Row

SVG = "{http://www.w3.org/2000/svg}"


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_a_record_is_what_the_schema_says(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    rows = [row("portable", 10.0), row("hf", 5.0, ids="wrong", note="why")]
    written = record([*rows, row("x", 1.0, samples=[])])
    written.write(str(path))
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(document, schema())
    jsonschema.Draft202012Validator.check_schema(schema())
    assert Record.read(str(path)).as_json() == written.as_json()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "more": 1}, schema())


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        Record.read(str(tmp_path / "absent"))
    for content in ("[]", "{}", '{"schema": "pywasmtok.bench/1", "rows": []}'):
        path = tmp_path / "file"
        path.write_text(content)
        with pytest.raises(InvalidArgument):
            Record.read(str(path))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("rows", 0, "samples", 0), "fast"),
        (("rows", 0, "samples", 0), 10**400),
        (("rows", 0, "samples", 0), float("inf")),
        (("rows", 0, "measure"), {"name": "x"}),
        (("rows", 0, "case"), {"text": []}),
        (("rows", 0, "note"), "\ud800"),
        (("rows", 0, "ids"), "maybe"),
        (("plan", "seed"), float("nan")),
        (("groups", 0), {}),
        (("builds",), "portable"),
        (("builds", 0), True),
        (("machine",), None),
        (("more",), 1),
        (("date",), "today"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, place: tuple[Any, ...], value: Any) -> None:
    path = str(tmp_path / "record.json")
    record([row("portable", 1.0)], groups=[group_run("encode", None)]).write(path)
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    inner = document
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    Path(path).write_text(json.dumps(document))
    with pytest.raises(TokenizerError):
        Record.read(path)


def test_memory_that_shrinks_is_compared() -> None:
    rows = [row("portable", -1.0), row("twin", 1.0)]
    assert compare.as_dict(record(rows), record(rows))["changes"]


def test_this_machine_is_described() -> None:
    described = machine.describe()
    wanted = schema()["properties"]["machine"]
    jsonschema.validate({**described, "load_average_after": None}, wanted)
    assert described["cores"]
    assert machine.versions()["pywasmtok"]


def test_more_than_one_means_that_ours_is_better() -> None:
    rows = [row("portable", 200.0), row("slower", 100.0)]
    times = [row("portable", 10.0, measure=TIME), row("slower", 30.0, measure=TIME)]
    page = tables.markdown(record(rows + times))
    assert "| text | bytes | portable | slower | to best peer |" in lines(page)
    assert "| c | 2 KB | 200 | 100 (x2.00) | 2.00 |" in lines(page)
    assert "| c | 2 KB | 10 | 30 (x3.00) | 3.00 |" in lines(page)
    assert "made up, x, 2 of 2 cores" in page
    assert "200" in tables.terminal(record(rows))


def test_wrong_answers_are_marked_and_no_best_peer() -> None:
    rows = [row("portable", 200.0), row("liar", 1.0, ids="wrong")]
    page = tables.markdown(record(rows))
    assert "1 (x200.00) WRONG IDS" in page
    assert "| 1 (x200.00) WRONG IDS | - |" in page
    texts = [one.__class__(**{**vars(one), "group": "decode"}) for one in rows]
    assert "WRONG TEXT" in tables.markdown(record(texts))


def test_absent_and_failed_are_named() -> None:
    failed = [group_run("batch", "died of SIGABRT")]
    page = record([row("portable", 1.0)], groups=failed, absent=["t: tiktoken: not installed"])
    for text in (tables.terminal(page), tables.markdown(page)):
        assert "t: batch died of SIGABRT" in text
        assert "tiktoken: not installed" in text


def test_a_note_stands_where_no_figure_is() -> None:
    rows = [row("portable", 1.0), row("slow", 0.0, samples=[], note="over 60 s")]
    assert "| c | 2 KB | 1 | over 60 s | - |" in lines(tables.markdown(record(rows)))


def test_of_hostile_texts_some_lengths_are_shown() -> None:
    rows = [
        row("portable", 5.0, group="adversarial", case={"input": "Han", "bytes": 1 << power})
        for power in range(16, 25)
    ]
    shown = [line for line in lines(tables.markdown(record(rows))) if line.startswith("| Han")]
    assert shown == ["| Han | 64 KiB | 5 |", "| Han | 1 MiB | 5 |", "| Han | 16 MiB | 5 |"]


def many_rows() -> list[Row]:
    rows = []
    names = ("portable", "twin", "fastokens", "hf", "another <&>")
    for place, name in enumerate(names):
        for size in (200, 2_000, 20_000):
            for text in ("english", "a < b & c"):
                case = {"text": text, "bytes": size, "ids as": "list", "state": "fresh"}
                value = (place + 1) * size / 100
                rows.append(row(name, value, case=case, ids="wrong" if name == "hf" else "equal"))
        for threads in (1, 2, 4):
            case = {"text": "english", "bytes": 1_000, "threads": threads}
            rows.append(row(name, 10.0 * threads + place, case=case, group="scaling"))
        for label, factor in (("P50", 1), ("P90", 2), ("P99", 50)):
            measure = Measure(label, "us", higher_is_better=False, clock="wall")
            case = {"text": "english", "bytes": 201}
            rows.append(
                row(name, (place + 1) * factor, case=case, group="latency", measure=measure)
            )
        for power in range(16, 25):
            case = {"input": "Han", "bytes": 1 << power}
            rows.append(row(name, 7.0 + place, case=case, group="adversarial"))
    return rows


def test_plots_are_well_formed_and_show_every_library() -> None:
    found = dict(figures(record(many_rows())))
    assert set(found) == {"t-length-list", "t-threads", "t-latency", "t-adversarial"}
    for document in found.values():
        root = ET.fromstring(document)
        assert root.tag == f"{SVG}svg"
        texts = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
        assert {"portable", "twin", "fastokens", "hf", "another <&>"} <= set(texts)
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        for one in root.iter(f"{SVG}line"):
            assert all(0 <= float(one.get(name, -1)) <= width for name in ("x1", "x2"))
            assert all(0 <= float(one.get(name, -1)) <= height for name in ("y1", "y2"))
    root = ET.fromstring(found["t-length-list"])
    assert len(list(root.iter(f"{SVG}path"))) == 2 * 5
    hollow = [one for one in root.iter(f"{SVG}polygon") if one.get("fill") == "none"]
    assert len(hollow) == 2 * 3  # who gave wrong ids, at each point
    assert all(one.get("fill") != "none" for one in root.iter(f"{SVG}circle"))


def test_one_figure_alone_can_be_drawn() -> None:
    case = {"text": "english", "bytes": 200, "ids as": "list", "state": "fresh"}
    ((_, document),) = figures(record([row("portable", 3.0, case=case)]))
    ET.fromstring(document)


def test_scales() -> None:
    scale = logarithmic([1.0, 1000.0], margin=1.0)
    assert scale.place(1.0) == 0
    assert abs(scale.place(1000.0) - 1) < 1e-9
    assert 10.0 in scale.ticks
    assert linear([37.0]).ticks == [0, 10, 20, 30]
    assert linear([0.0]).high > 0
    assert thinned([1, 2, 3, 4, 5, 6, 7, 8, 9], 5) == [1, 3, 5, 7, 9]
    assert thinned([1, 2, 3, 4, 5, 6], 4) == [1, 6]
    assert short(1_500_000) == "1.5M"


def with_twin(ours: float, twin: float, **more: float) -> list[Row]:
    return [
        row("portable", ours),
        row("twin", twin),
        *(row(name, value) for name, value in more.items()),
    ]


def test_within_the_noise_of_the_twins_nothing_has_changed() -> None:
    old, new = record(with_twin(100.0, 80.0)), record(with_twin(118.0, 118.0))
    (change,) = compare.changes(old, new)
    assert not change.certain
    assert "0 changed" in compare.report(old, new)


def test_beyond_the_noise_it_has() -> None:
    old, new = record(with_twin(100.0, 99.0)), record(with_twin(80.0, 81.0))
    (change,) = compare.changes(old, new)
    assert change.certain
    assert abs(change.factor - 0.8) < 1e-9
    page = compare.report(old, new)
    assert "worse" in lines(page)
    assert "x0.80" in page


def test_less_time_is_better() -> None:
    old = record([row("portable", 10.0, measure=TIME)])
    new = record([row("portable", 5.0, measure=TIME)])
    (change,) = compare.changes(old, new)
    assert change.factor == 2.0
    assert "better" in lines(compare.report(old, new))


def test_a_faster_machine_is_no_change_of_ours() -> None:
    old = record(with_twin(100.0, 100.0, hf=10.0, fastokens=200.0))
    new = record(with_twin(150.0, 150.0, hf=15.0, fastokens=300.0))
    (change,) = compare.changes(old, new)
    assert change.machine == 1.5
    assert not change.certain


def test_a_peer_of_another_version_says_nothing_of_the_machine() -> None:
    old = record(with_twin(100.0, 100.0, hf=10.0))
    new = record(with_twin(100.0, 100.0, hf=20.0), libraries={"tokenizers": "2"})
    (change,) = compare.changes(old, new)
    assert change.machine == 1.0


def test_other_machines_lost_figures_and_wrong_ids_are_named() -> None:
    old = record([*with_twin(1.0, 1.0), row("portable", 1.0, measure=TIME)])
    new = record([row("portable", 1.0, ids="wrong")])
    new.machine = {**new.machine, "cpu": "another"}
    page = compare.report(old, new)
    assert "not the same cpu: made up / another" in page
    assert "WRONG now: t encode throughput: c 2000 (portable)" in page
    assert "1 figures of ours are in the old record only" in page
