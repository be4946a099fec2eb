"""What is measured becomes rows: one figure of one library, and what it is a figure of."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["EQUAL", "UNCHECKED", "WRONG", "Case", "Measure", "Row"]

EQUAL, WRONG, UNCHECKED = "equal", "wrong", "unchecked"

Case = Mapping[str, str | int]


@dataclass(frozen=True)
class Measure:
    """What a number says, and which way is better."""

    name: str
    unit: str
    higher_is_better: bool
    clock: str = "none"
    """`cpu`: time of the process on all its threads; `wall`; `none`: no time."""


@dataclass(frozen=True)
class Row:
    group: str
    tokenizer: str
    case: Case
    """What is special about this row within its group: text, size, threads ..."""
    measure: Measure
    library: str
    samples: Sequence[float] = ()
    """Every single measurement; the row's value is their median."""
    ids: str = UNCHECKED
    """Whether the answers of the timed calls were the reference's."""
    note: str | None = None
    """Why there is no value, or what else a reader has to know."""

    @property
    def value(self) -> float | None:
        return statistics.median(self.samples) if self.samples else None

    @property
    def key(self) -> tuple[object, ...]:
        """What two records call the same figure."""
        case = tuple(sorted(self.case.items()))
        measured = (self.measure.name, self.measure.clock)
        return (self.tokenizer, self.group, case, measured, self.library)

    def as_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "tokenizer": self.tokenizer,
            "case": dict(self.case),
            "measure": asdict(self.measure),
            "library": self.library,
            "value": None if self.value is None else rounded(self.value),
            "samples": [rounded(sample) for sample in self.samples],
            "ids": self.ids,
            "note": self.note,
        }

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Row:
        return Row(
            row["group"],
            row["tokenizer"],
            row["case"],
            Measure(**row["measure"]),
            row["library"],
            row["samples"],
            row["ids"],
            row["note"],
        )


def rounded(value: float) -> float:
    """Six digits are more than any clock is good for."""
    return float(f"{value:.6g}")
