"""Two records of the same machine: what changed by more than noise.

The noise of a figure is what separates the twins, in either record: at the figure itself, and
usually in its group. If the peers, whose versions are the same in both records, became faster or
slower, too, the machine did, and a change is counted relative to theirs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .libraries.peers import ASKED_FOR, PEERS, TWIN
from .record import Record
from .rows import WRONG, Row
from .tables import layout, number

__all__ = ["Change", "as_dict", "changes", "report"]

# No clock and no machine is better than this.
LEAST_NOISE = math.log(1.03)
# Of the twins' differences in a group, so many are smaller than its noise.
USUAL = 0.9

Key = tuple[object, ...]


@dataclass(frozen=True)
class Change:
    old: Row
    new: Row
    factor: float
    """How many times better the new figure is, relative to the machine's own change."""
    machine: float
    """How many times better the peers became: the machine, not us."""
    noise: float
    """A factor within this and its inverse means nothing."""

    @property
    def certain(self) -> bool:
        return not 1 / self.noise <= self.factor <= self.noise


def changes(old: Record, new: Record) -> list[Change]:
    """For every figure of ours that both records have."""
    before, after = by_key(old), by_key(new)
    drifts = machine_drift(old, new, before, after)
    noises = [gaps(old, before), gaps(new, after)]
    found = []
    for key, row in after.items():
        was = before.get(key)
        if was is None or row.library not in new.builds or not (was.value and row.value):
            continue
        drift = drifts.get(group_of(row), 1.0)
        factor = improvement(was, row) / drift
        noise = max(noise_at(row, each) for each in noises)
        found.append(Change(was, row, factor, drift, noise))
    return found


def by_key(record: Record) -> dict[Key, Row]:
    return {row.key: row for row in record.rows}


def group_of(row: Row) -> Key:
    return (row.tokenizer, row.group, row.measure.name)


def improvement(old: Row, new: Row) -> float:
    assert old.value
    assert new.value
    return new.value / old.value if new.measure.higher_is_better else old.value / new.value


def gaps(record: Record, rows: Mapping[Key, Row]) -> dict[Key, float]:
    """How far the twins are apart: for each figure, and what is usual in each group."""
    found: dict[Key, float] = {}
    of_group: dict[Key, list[float]] = {}
    for key, row in rows.items():
        twin = rows.get((*key[:-1], TWIN))
        if row.library != record.ours or twin is None or not (row.value and twin.value):
            continue
        ratio = row.value / twin.value
        # Further memory may be less than none.
        if ratio <= 0:
            continue
        found[key[:-1]] = gap = abs(math.log(ratio))
        of_group.setdefault(group_of(row), []).append(gap)
    for group, every in of_group.items():
        every.sort()
        found[group] = every[min(len(every) - 1, int(USUAL * len(every)))]
    return found


def noise_at(row: Row, known: Mapping[Key, float]) -> float:
    at_group = known.get(group_of(row), 0.0)
    return math.exp(max(LEAST_NOISE, at_group, known.get(row.key[:-1], 0.0)))


def machine_drift(
    old: Record, new: Record, before: Mapping[Key, Row], after: Mapping[Key, Row]
) -> dict[Key, float]:
    """By group: the median change of the peers that stayed what they were."""
    packages = {"hf": "tokenizers", "hf-fast": "tokenizers"}
    # The native build is our own code: it changes with what is compared.
    peers = {*PEERS, "tokenizers"} - ASKED_FOR
    found: dict[Key, list[float]] = {}
    for key, row in after.items():
        was = before.get(key)
        package = packages.get(row.library, row.library)
        if package not in peers or was is None:
            continue
        if old.libraries.get(package) != new.libraries.get(package):
            continue
        if was.value and row.value:
            found.setdefault(group_of(row), []).append(improvement(was, row))
    return {group: statistics.median(every) for group, every in found.items()}


def report(old: Record, new: Record) -> str:
    return "\n".join(_lines(old, new))


def as_dict(old: Record, new: Record) -> dict[str, Any]:
    """The same for programs: every figure that both have, changed or not."""
    return {
        "old": {"date": old.date, "pywasmtok": old.libraries.get("pywasmtok")},
        "new": {"date": new.date, "pywasmtok": new.libraries.get("pywasmtok")},
        "same_plan": old.plan == new.plan,
        "changes": [
            {
                "figure": _name(one.new),
                "unit": one.new.measure.unit,
                "old": one.old.value,
                "new": one.new.value,
                "factor": one.factor,
                "machine": one.machine,
                "noise": one.noise,
                "certain": one.certain,
            }
            for one in changes(old, new)
        ],
        "wrong": [_name(row) for row in _wrong_now(old, new)],
        "missing": len(_missing(old, new)),
    }


def _lines(old: Record, new: Record) -> Iterator[str]:
    found = changes(old, new)
    yield f"old: {old.date}, pywasmtok {old.libraries.get('pywasmtok', '?')}"
    yield f"new: {new.date}, pywasmtok {new.libraries.get('pywasmtok', '?')}"
    for name in ("cpu", "os", "python"):
        if old.machine[name] != new.machine[name]:
            yield f"not the same {name}: {old.machine[name]} / {new.machine[name]}"
    if old.plan != new.plan:
        yield "not the same plan: figures of other sizes and volumes are not compared"
    for row in _wrong_now(old, new):
        yield f"WRONG now: {_name(row)}"
    certain = sorted((one for one in found if one.certain), key=lambda one: one.factor)
    yield f"{len(found)} figures in both, {len(certain)} changed by more than noise"
    yield ""
    for heading, some in (
        ("worse", [one for one in certain if one.factor < 1]),
        ("better", [one for one in reversed(certain) if one.factor > 1]),
    ):
        if some:
            yield heading
            yield from layout([_HEAD, *map(_row, some)], markdown=False)
            yield ""
    if missing := _missing(old, new):
        yield f"{len(missing)} figures of ours are in the old record only"


_HEAD = ["figure", "old", "new", "unit", "change", "noise", "machine"]


def _row(one: Change) -> list[str]:
    assert one.old.value
    assert one.new.value
    return [
        _name(one.new),
        number(one.old.value),
        number(one.new.value),
        one.new.measure.unit,
        f"x{one.factor:.2f}",
        f"±{100 * (one.noise - 1):.0f} %",
        f"x{one.machine:.2f}",
    ]


def _name(row: Row) -> str:
    case = " ".join(str(value) for value in row.case.values())
    return f"{row.tokenizer} {row.group} {row.measure.name}: {case} ({row.library})"


def _wrong_now(old: Record, new: Record) -> list[Row]:
    was_wrong = {row.key for row in old.rows if row.ids == WRONG}
    return [
        row
        for row in new.rows
        if row.ids == WRONG and row.library in new.builds and row.key not in was_wrong
    ]


def _missing(old: Record, new: Record) -> list[Row]:
    now = {row.key for row in new.rows}
    return [row for row in old.rows if row.library in old.builds and row.key not in now]
