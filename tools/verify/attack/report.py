"""The record of a run."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pywasmtok.bench.json_text import json_text

from .good import Good, fairness, percentile

__all__ = ["Each", "Part", "Record", "part_of"]

_MINUTE = 60.0


@dataclass
class Part:
    """What the good tenants saw in a part of the run; times in milliseconds."""

    seconds: float
    answers: int
    wrong: int
    refused: dict[str, int]
    lost: int
    p50: float
    p99: float
    longest: float
    jain: float
    examples: list[str] = field(default_factory=list)
    """Of wrong answers."""
    loop: float | None = None
    """Milliseconds of a processor that the server's event loop took each second."""
    resident: float | None = None
    """Megabytes of the server's processes, at the end of the part or of its last round."""

    @property
    def failures(self) -> int:
        """Answers with a status from 500 on."""
        return sum(count for status, count in self.refused.items() if int(status) >= 500)


def part_of(tenants: Sequence[Good], seconds: float, resident: float | None = None) -> Part:
    times = [1000 * one for tenant in tenants for one in tenant.seconds]
    wrong = [said for tenant in tenants for said in tenant.wrong]
    return Part(
        seconds=seconds,
        answers=sum(tenant.right for tenant in tenants),
        wrong=len(wrong),
        refused=dict(Counter(str(code) for tenant in tenants for code in tenant.refused)),
        lost=sum(tenant.lost for tenant in tenants),
        p50=percentile(times, 0.5),
        p99=percentile(times, 0.99),
        longest=max(times, default=float("nan")),
        jain=fairness([tenant.right for tenant in tenants]),
        examples=wrong[:5],
        resident=resident,
    )


def _outcomes(hostile: Mapping[str, Any]) -> list[str]:
    rows = [
        "| hostile tenant | contained | served | failed | mostly |",
        "|---|---|---|---|---|",
    ]
    for kind, one in hostile.items():
        outcomes = one["outcomes"]
        mostly = ", ".join(f"{name} ({count})" for name, count in list(one["details"].items())[:3])
        rows.append(
            f"| {kind} | {one['contained']} | {outcomes.get('served', 0)} | "
            f"{outcomes.get('failed', 0)} | {mostly} |"
        )
    return rows


def _megabytes(found: float | None) -> str:
    return "" if found is None else f"{found:.0f}"


@dataclass
class Record:
    tenants: int
    pace: float
    rate: float
    rounds: int
    """Of what is compared, in turns: alone, beside hostile ones, without a pause."""
    alone: Part
    beside: Part
    shares: Part
    """Good tenants that ask without a pause, beside the hostile ones."""
    crowded: Part
    """As `alone`, while the hostile process computes as much as in the attack, and sends nothing:
    so this part of the latency comes from sharing processors, which real attackers do not do."""
    hostile: Mapping[str, Any]
    deaths: int
    internal_errors: list[str]
    workers: int
    """Processes of the server that serve."""
    resident: list[float]
    """Megabytes of the server's processes: before the first round, at the end of the attack of each
    round, and at the end. One copy of a page counts in each process that has it."""
    load_before: float | None
    """Of the machine, in the minute before the first round; `load_after`, in the last one."""
    load_after: float | None
    machine: str = field(default_factory=platform.platform)
    python: str = field(default_factory=platform.python_version)
    processors: int = field(default_factory=lambda: os.cpu_count() or 1)

    @property
    def contained(self) -> int:
        return sum(one["contained"] for one in self.hostile.values())

    @property
    def failed(self) -> int:
        return sum(one["outcomes"].get("failed", 0) for one in self.hostile.values())

    @property
    def wrong(self) -> int:
        return sum(one.wrong for one in (self.alone, self.beside, self.shares, self.crowded))

    @property
    def growth(self) -> float | None:
        """Megabytes from the first minute beside hostile tenants to the last one: caches and
        instances, whose number is bounded, fill up before. In a shorter run, from the first round
        on."""
        if len(self.resident) < 3:
            return None
        first = round(_MINUTE * self.rounds / self.beside.seconds)
        return self.resident[-2] - self.resident[max(1, min(first, self.rounds - 1))]

    @property
    def slower(self) -> float:
        return self.beside.p99 / self.alone.p99

    def problems(self) -> list[str]:
        """What may never be, whatever the machine."""
        found = []
        if self.deaths:
            found.append(f"the server died {self.deaths} times")
        if self.wrong:
            found.append(f"{self.wrong} wrong answers")
        if self.failed:
            found.append(f"{self.failed} requests failed in a way that no request may")
        if self.internal_errors:
            found.append(f"{len(self.internal_errors)} internal errors in the log")
        return found

    def as_json(self) -> str:
        return json_text(
            {
                **asdict(self),
                "contained": self.contained,
                "p99 beside / alone": self.slower,
                "RSS growth": self.growth,
                "p99 computing / alone": self.crowded.p99 / self.alone.p99,
            }
        )

    def as_markdown(self) -> str:
        rows = [
            "| good tenants | seconds | right | wrong | refused | 5xx | lost | p50 ms | p99 ms | "
            "most | Jain | RSS MB |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for name, part in (
            (f"alone, {self.pace:g} calls/s each", self.alone),
            ("the same beside hostile ones", self.beside),
            ("without a pause, beside hostile ones", self.shares),
            ("alone, but hostile ones compute and send nothing", self.crowded),
        ):
            refused = sum(part.refused.values())
            rows.append(
                f"| {name} | {part.seconds:.0f} | {part.answers} | {part.wrong} | {refused} | "
                f"{part.failures} | {part.lost} | {part.p50:.2f} | {part.p99:.2f} | "
                f"{part.longest:.0f} | {part.jain:.3f} | {_megabytes(part.resident)} |"
            )
        rows += [
            "",
            *_outcomes(self.hostile),
        ]
        summary = (
            f"{self.contained} contained faults, {self.wrong} wrong answers, {self.deaths} deaths; "
            f"p99 of good tenants {self.slower:.2f} times that alone, "
            f"{self.crowded.p99 / self.alone.p99:.2f} times where hostile ones compute as much and "
            f"send nothing; Jain's index {self.shares.jain:.3f}; {self.tenants} good and "
            f"{len(self.hostile)} hostile tenants."
        )
        if self.growth is not None:
            summary += (
                f" RSS: {self.resident[0]:.0f} MB before, {max(self.resident):.0f} MB at most, "
                f"{self.resident[-1]:.0f} MB at the end; from the first minute of it to the last "
                f"{self.growth:+.0f} MB."
            )
        loads = [f"{one:.1f}" for one in (self.load_before, self.load_after) if one is not None]
        where = (
            f"{self.rounds} rounds; a server of {self.workers} processes; {self.machine}, "
            f"{self.processors} processors, Python {self.python}; load of the machine before and "
            f"in the last minute: {' and '.join(loads) or 'unknown'}"
        )
        return "\n".join([summary, "", *rows, "", where, ""])


@dataclass
class Each:
    """The good tenants beside one kind at a time."""

    tenants: int
    pace: float
    rate: float
    alone: Part
    beside: Mapping[str, Part]
    alone_after: Part
    hostile: Mapping[str, Any]
    deaths: int
    internal_errors: list[str]

    def problems(self) -> list[str]:
        wrong = sum(one.wrong for one in (self.alone, *self.beside.values(), self.alone_after))
        failed = sum(one["outcomes"].get("failed", 0) for one in self.hostile.values())
        found = [f"{wrong} wrong answers"] if wrong else []
        if self.deaths:
            found.append("the server died")
        if failed:
            found.append(f"{failed} requests failed in a way that no request may")
        if self.internal_errors:
            found.append(f"{len(self.internal_errors)} internal errors in the log")
        return found

    def as_json(self) -> str:
        return json_text(asdict(self))

    def as_markdown(self) -> str:
        rows = [
            "| beside | right | wrong | 5xx | lost | p50 ms | p99 ms | most | loop ms/s | RSS MB |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        parts = [("alone", self.alone), *self.beside.items(), ("alone, again", self.alone_after)]
        rows += [
            f"| {name} | {part.answers} | {part.wrong} | {part.failures} | {part.lost} | "
            f"{part.p50:.2f} | {part.p99:.2f} | {part.longest:.0f} | "
            f"{'' if part.loop is None else f'{part.loop:.0f}'} | {_megabytes(part.resident)} |"
            for name, part in parts
        ]
        return "\n".join([*rows, "", *_outcomes(self.hostile), ""])
