"""The plots of a record: which figures are shown, and of which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..groups.latency import PERCENTILES
from ..record import Record
from ..rows import WRONG, Row
from ..tables import size_name
from .figures import Figure, Panel, Point, lines, spans

__all__ = ["draw", "figures"]

Pick = Callable[[Row], bool]


def draw(record: Record, folder: Path) -> list[Path]:
    """Writes a file for each figure that the record has rows for."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, document in figures(record):
        path = folder / f"{name}.svg"
        path.write_text(document, encoding="utf-8")
        written.append(path)
    return written


def figures(record: Record) -> Iterator[tuple[str, str]]:
    """Name and SVG document."""
    for tokenizer in dict.fromkeys(row.tokenizer for row in record.rows):
        rows = [row for row in record.rows if row.tokenizer == tokenizer and row.value]
        for name, figure in of_lines(record, tokenizer, rows):
            if figure.panels:
                yield f"{tokenizer}-{name}", lines(figure)
        latency = of_latency(record, tokenizer, rows)
        if latency.panels:
            yield f"{tokenizer}-latency", spans(latency, list(PERCENTILES))


def of_lines(record: Record, tokenizer: str, rows: Sequence[Row]) -> Iterator[tuple[str, Figure]]:
    ours: dict[str, Any] = {"ours": record.ours}
    for form in ("buffer", "list"):

        def fresh(row: Row, form: str = form) -> bool:
            case = row.case
            of = (case.get("ids as"), case.get("state"), row.measure.clock)
            return of == (form, "fresh", "wall")

        panels = paneled(rows, ("encode", "throughput"), fresh, "text", "bytes")
        yield (
            f"length-{form}",
            Figure(
                f"{tokenizer}: throughput against length, ids as a {form}",
                "MB/s of wall time on one core, text that was not seen before",
                panels,
                "MB/s",
                across="bytes of a text",
                name_of=sizes,
                **ours,
            ),
        )
    yield (
        "first",
        Figure(
            f"{tokenizer}: the first text of a process",
            "MB/s of wall time on one core, a fresh process for each figure",
            paneled(rows, ("first", "throughput of the first text"), everything, "text", "bytes"),
            "MB/s",
            across="bytes of the text",
            name_of=sizes,
            **ours,
        ),
    )
    yield (
        "threads",
        Figure(
            f"{tokenizer}: throughput against threads",
            "MB/s of wall time, one tokenizer for all threads",
            threads(rows),
            "MB/s",
            across="threads",
            shared=False,
            from_zero=True,
            **ours,
        ),
    )
    yield (
        "adversarial",
        Figure(
            f"{tokenizer}: texts without a place to cut",
            "MB/s of CPU time against length: a level line is time that grows with the text",
            paneled(rows, ("adversarial", "throughput"), everything, "input", "bytes"),
            "MB/s",
            across="bytes",
            name_of=sizes,
            columns=4,
            **ours,
        ),
    )
    yield (
        "sweep",
        Figure(
            f"{tokenizer}: prompts of several callers at once",
            "MB/s of wall time by length of the prompt and number of callers",
            paneled(rows, ("sweep", "throughput"), everything, "tokens", "callers"),
            "MB/s",
            across="callers",
            columns=4,
            **ours,
        ),
    )
    yield (
        "streaming",
        Figure(
            f"{tokenizer}: a stream, one id at a time",
            "microseconds of CPU time for each id, against the length of the stream",
            paneled(rows, ("streaming", "time of an id"), one_by_one, "text", "ids"),
            "us",
            across="ids",
            **ours,
        ),
    )


def everything(_: Row) -> bool:
    return True


def one_by_one(row: Row) -> bool:
    return row.case["fed"] == "one by one"


def sizes(value: float) -> str:
    return size_name(int(value))


def paneled(
    rows: Sequence[Row], what: tuple[str, str], pick: Pick, by: str, across: str
) -> list[Panel]:
    """Of a group and a measure: a panel for each value of one column, its lines over those of
    another."""
    panels: dict[str | int, Panel] = {}
    for row in rows:
        if (row.group, row.measure.name) != what or not pick(row):
            continue
        value = row.case[by]
        label = f"{value:,} {by}" if isinstance(value, int) else value
        panel = panels.setdefault(value, Panel(label))
        assert row.value
        point = Point(float(row.case[across]), row.value, row.ids == WRONG)
        panel.series.setdefault(row.library, []).append(point)
    for panel in panels.values():
        for points in panel.series.values():
            points.sort(key=lambda point: point.x)
    return list(panels.values())


def threads(rows: Sequence[Row]) -> list[Panel]:
    """Work of their own for each thread, and the same work shared out."""
    panels = []
    for form in ("buffer", "list"):
        found = paneled(
            rows,
            ("threads-encode", "throughput"),
            lambda row, form=form: row.case["ids as"] == form,  # type: ignore[misc]
            "bytes",
            "threads",
        )
        panels += titled(found, f"encode, own texts, {form}")
    panels += titled(
        paneled(rows, ("threads-decode", "throughput"), everything, "text", "threads"),
        "decode, own ids",
    )
    shared = paneled(rows, ("scaling", "throughput"), everything, "bytes", "threads")
    for panel in shared:
        size = size_name(int(panel.title.partition(" ")[0].replace(",", "")))
        panel.title = f"encode, shared texts of {size}"
    return panels + shared


def titled(panels: list[Panel], title: str) -> list[Panel]:
    for panel in panels:
        panel.title = title
    return panels


def of_latency(record: Record, tokenizer: str, rows: Sequence[Row]) -> Figure:
    panels: dict[str, Panel] = {}
    labels = list(PERCENTILES)
    for row in rows:
        if row.group != "latency" or row.case.get("ids as", "list") != "list":
            continue
        if "state" in row.case:
            # Texts that were encoded before.
            continue
        title = f"{row.case['text']}, {size_name(int(row.case['bytes']))}"
        panel = panels.setdefault(title, Panel(title))
        assert row.value
        point = Point(float(labels.index(row.measure.name)), row.value)
        panel.series.setdefault(row.library, []).append(point)
    return Figure(
        f"{tokenizer}: how long a call takes",
        "wall time of one call, ids as a list: P50 (large dot), P90, P99 (small dot); new texts",
        list(panels.values()),
        "us",
        ours=record.ours,
    )
