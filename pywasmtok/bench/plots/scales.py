"""From numbers to places on an axis, and the numbers that are written along it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Scale", "linear", "logarithmic", "short", "thinned"]


@dataclass(frozen=True)
class Scale:
    low: float
    high: float
    ticks: Sequence[float]
    is_log: bool

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def logarithmic(values: Sequence[float], *, margin: float = 1.15, most: int = 9) -> Scale:
    """Around values above zero; ticks at 1, 2 and 5, or at powers of ten where those are many."""
    low, high = min(values) / margin, max(values) * margin
    if high / low < 4:
        middle = math.sqrt(high * low)
        low, high = middle / 2, middle * 2
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = range(first, last + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        every = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in every if low <= tick <= high]
        if len(ticks) <= most:
            break
    return Scale(low, high, thinned(ticks, most), True)


def linear(values: Sequence[float]) -> Scale:
    """From zero to a little above the highest value."""
    high = max(values) * 1.08 or 1.0
    rough = high / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough)
    return Scale(0.0, high, [step * n for n in range(int(high / step) + 1)], False)


def thinned(ticks: Sequence[float], most: int) -> list[float]:
    """Some of them, evenly, the first and where possible the last among them."""
    if len(ticks) <= most:
        return list(ticks)
    for step in range(2, len(ticks)):
        if (len(ticks) - 1) % step == 0 and (len(ticks) - 1) // step < most:
            return list(ticks[::step])
    return [ticks[0], ticks[-1]]


def short(value: float) -> str:
    """1,500,000 as 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"
