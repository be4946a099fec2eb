"""Rows as tables: a row for each case, a column for each library.

In brackets how many times better ours is: x2.00 is twice the throughput, or half the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .groups import GROUPS
from .libraries.native import NAME as NATIVE
from .libraries.peers import TWIN
from .record import Record
from .rows import WRONG, Case, Measure, Row
from .running.apart import PROCESSES

__all__ = ["better", "head", "markdown", "size_name", "terminal"]

Table = list[list[str]]
# Of these figures there are too many for a page; the record has them.
HIDDEN = {"time(2n) / time(n)"}
CLOCKS = {"wall": ", wall time", "cpu": ", processor time", "none": ""}
BEST = "to best peer"
# These are no peers.
OWN = {TWIN, PROCESSES, NATIVE, "sandbox"}
# Of hostile texts, these lengths and the longest are shown.
SHOWN = (64 << 10, 1 << 20)


def terminal(record: Record) -> str:
    return "\n".join(_page(record, markdown=False))


def markdown(record: Record) -> str:
    return "\n".join([*_head(record), *_page(record, markdown=True)]) + "\n"


def better(row: Row, ours: Row) -> float | None:
    """How many times better ours is than this row."""
    if not row.value or not ours.value:
        return None
    if row.measure.higher_is_better:
        return ours.value / row.value
    return row.value / ours.value


def _head(record: Record) -> list[str]:
    command = "`pywasmtok bench " + " ".join(record.command) + "`"
    lines = head(record.date, command, record.machine, record.libraries, record.absent)
    return [*lines, "", *(f"- {line}" for line in _legend(record)), ""]


def head(
    date: str,
    command: str,
    machine: Mapping[str, Any],
    versions: Mapping[str, str],
    absent: Sequence[str] = (),
) -> list[str]:
    """When it was measured, how, and where."""
    caches = ", ".join(f"{name} {size}" for name, size in (machine["caches"] or {}).items())
    memory = machine["memory_bytes"]
    load = machine["load_average"]
    facts = {
        "date": date,
        "command": command,
        "CPU": f"{machine['cpu']}, {machine['architecture']}, "
        f"{machine['cores_for_this_process']} of {machine['cores']} cores",
        "caches": caches,
        "memory": f"{memory / 2**30:.1f} GiB" if memory else None,
        "system": f"{machine['os']}; {machine['python']}",
        "load before and after": f"{load} {machine['load_average_after']}" if load else None,
        "versions": ", ".join(f"{name} {value}" for name, value in versions.items()),
        "did not take part": "; ".join(absent),
    }
    lines = ["| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(value)} |" for name, value in facts.items() if value]
    return lines


def _legend(record: Record) -> list[str]:
    ours = record.ours
    return [
        f"In brackets: how many times better `{ours}` is; "
        "x2.00: twice the throughput, half the time.",
        f"`twin` is a second instance of `{ours}`: what separates them is noise.",
        f"`processes` is `{ours}` in a process for each thread: what threads could gain at best.",
        "WRONG IDS, WRONG TEXT: the answers of the timed calls were not the reference's.",
        f"`{BEST}`: the median of `{ours}` against that of the best peer; above 1 it is better.",
        "MB are 1,000,000 bytes; medians. Text that is `generated` was made by the bench.",
    ]


def _page(record: Record, *, markdown: bool) -> Iterator[str]:
    rows = [row for row in record.rows if _on_page(record, row)]
    for tokenizer in dict.fromkeys(row.tokenizer for row in rows):
        if markdown:
            yield from (f"## {tokenizer}", "")
        of_tokenizer = [row for row in rows if row.tokenizer == tokenizer]
        for key in dict.fromkeys((row.group, row.measure) for row in of_tokenizer):
            some = [row for row in of_tokenizer if (row.group, row.measure) == key]
            name = title(*key)
            yield f"### {name}" if markdown else f"{tokenizer}: {name}"
            yield ""
            yield from layout(table(some, record.builds), markdown)
            yield ""
    for run in record.groups:
        if run["failure"]:
            yield f"{run['tokenizer']}: {run['group']} {run['failure']}"
    if not markdown:
        yield from (f"left out: {reason}" for reason in record.absent)


def _on_page(record: Record, row: Row) -> bool:
    if row.measure.name in HIDDEN:
        return False
    if row.group != "adversarial" or "bytes" not in row.case or row.note is not None:
        return True
    return row.case["bytes"] in (*SHOWN, record.plan["hostile_to"])


def title(group: str, measure: Measure) -> str:
    return f"{group}: {measure.name} ({measure.unit}{CLOCKS[measure.clock]})"


def table(rows: Sequence[Row], builds: Sequence[str]) -> Table:
    names = list(dict.fromkeys(row.library for row in rows))
    peers = [name for name in names if name not in OWN and name not in builds]
    ours = builds[0] if builds else ""
    columns = list(dict.fromkeys(column for row in rows for column in row.case))
    cells: dict[str, dict[str, Row]] = {}
    cases: dict[str, Case] = {}
    for row in rows:
        key = repr(sorted(row.case.items()))
        cases.setdefault(key, row.case)
        cells.setdefault(key, {})[row.library] = row
    lines = [[*columns, *names, *([BEST] if peers else [])]]
    for key, case in cases.items():
        shown = [_shown(column, case.get(column, "")) for column in columns]
        own = cells[key].get(ours)
        lines.append([*shown, *(cell(cells[key].get(name), own) for name in names)])
        if peers:
            lines[-1].append(
                _ratio(own, [row for row in cells[key].values() if row.library in peers])
            )
    return lines


def _ratio(ours: Row | None, peers: Sequence[Row]) -> str:
    """How many times better ours is than the best of the peers with right answers."""
    found = [better(row, ours) for row in peers if row.ids != WRONG] if ours is not None else []
    ratios = [ratio for ratio in found if ratio is not None]
    return f"{min(ratios):.2f}" if ratios else "-"


def cell(row: Row | None, ours: Row | None) -> str:
    if row is None:
        return "-"
    if row.value is None:
        return row.note or "-"
    text = number(row.value)
    ratio = better(row, ours) if ours is not None and row is not ours else None
    if ratio is not None:
        text += f" (x{ratio:.2f})"
    if row.ids == WRONG:
        text += " WRONG TEXT" if GROUPS[row.group].gives_text else " WRONG IDS"
    return text if row.note is None else f"{text} {row.note}"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.01 else f"{value:.1g}"


def size_name(size: int) -> str:
    """In the units that the number is round in."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB"), (1_000_000, "MB"), (1_000, "KB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _shown(column: str, value: str | int) -> str:
    if isinstance(value, str):
        return value
    return size_name(value) if column == "bytes" else f"{value:,}"


def layout(lines: Table, markdown: bool) -> list[str]:
    if markdown:
        rows = ["| " + " | ".join(map(_cell, row)) + " |" for row in lines]
        return [rows[0], "|---" * len(lines[0]) + "|", *rows[1:]]
    widths = [max(len(row[column]) for row in lines) for column in range(len(lines[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in lines
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
