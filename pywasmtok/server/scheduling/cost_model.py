"""The expected duration of calls, learned for each tenant and tokenizer.

The number of bytes alone does not tell it: an untrusted file may have a pattern that a text of 200
bytes keeps busy until the deadline. So no call counts as short before calls like it have been
short.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

__all__ = ["LONG_SECONDS", "CostModel", "CostModels"]

# What a call without any text costs, as bytes.
_FIXED: Final = 512

# A faster call than expected lowers the expectation by this part; a slower one raises it at once.
_TRUST: Final = 0.25

_PROVEN_CALLS: Final = 4

_LONG_CALLS: Final = 2

# A call that is expected to take longer has its turn among the long ones.
LONG_SECONDS: Final = 0.002

# Above this number, the entries that were learned longest ago are dropped.
_MOST: Final = 8192


class CostModel:
    __slots__ = ("_long_ones", "calls", "per_byte")

    def __init__(self) -> None:
        # The last ones, without a short one between them.
        self._long_ones = 0
        self.calls = 0
        self.per_byte = 0.0

    def is_quick(self, cost: int, seconds: float) -> bool:
        """Whether a call is proven to take so many seconds at most."""
        return self.calls >= _PROVEN_CALLS and self.per_byte * (cost + _FIXED) <= seconds

    @property
    def is_long(self) -> bool:
        """Whether the last calls were, whatever was expected of them. One alone says nothing: it
        may have been the machine, or the interpreter that collected its garbage just then."""
        return self._long_ones >= _LONG_CALLS

    def expected(self, cost: int) -> float | None:
        """Seconds; None: nothing is known yet."""
        return self.per_byte * (cost + _FIXED) if self.calls else None

    def saw(self, cost: int, seconds: float) -> None:
        """`seconds` of a processor, not of a clock: waiting says nothing about the text."""
        rate = seconds / (cost + _FIXED)
        if rate < self.per_byte:
            rate = self.per_byte + (rate - self.per_byte) * _TRUST
        self.per_byte = rate
        self._long_ones = self._long_ones + 1 if seconds > LONG_SECONDS else 0
        self.calls += 1


class CostModels:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, bool], CostModel] = OrderedDict()

    def of(self, tenant: str, about: str, short: bool) -> CostModel:
        key = (tenant, about, short)
        cost_model = self._known.get(key)
        if cost_model is None:
            cost_model = self._known[key] = CostModel()
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return cost_model
