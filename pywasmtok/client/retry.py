"""Retry policy without waiting or I/O; the blocking and the async client share it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NoReturn

from ..errors import InvalidArgument, TokenizerError
from ..tenants.errors import Overloaded, TooManyRequests
from .call import Answer, Call
from .errors import RemoteTimeout, error_of

__all__ = ["Attempts", "Retries", "check_seconds"]

# Too many requests; no room, or about to stop. A proxy says 502 when the server behind it is away.
_AGAIN: Final = frozenset({429, 502, 503})
_SUCCESS_ENDS: Final = 300
_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Retries:
    """What is asked again: refusals for want of room (429, 502, 503), and calls whose connection
    was lost. Never a call that does more when it is done twice, and never past the deadline."""

    most: int = 4
    """How many times, after the first."""
    first: float = 0.1
    """Seconds before the first; each wait is twice the one before, less up to half, by chance."""
    longest: float = 5.0
    """Seconds of a wait that the server did not ask for."""

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 0:
            raise InvalidArgument(f"Retries.most must be a count, not {self.most!r}")
        for name in ("first", "longest"):
            check_seconds(f"Retries.{name}", getattr(self, name))


def check_seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise InvalidArgument(f"{name} must be a number of seconds above 0, not {value!r}")
    return float(value)


class Attempts:
    """The attempts of one call. `deadline` bounds all of them together."""

    def __init__(
        self,
        call: Call[Any],
        retries: Retries,
        deadline: float,
        *,
        now: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._call = call
        self._retries = retries
        self._deadline = check_seconds("deadline", deadline)
        self._now = now
        self._chance = chance
        self._end = now() + deadline
        self._done = 0
        self._lost_before = False

    def remaining(self) -> float:
        """Seconds that the next step may take."""
        left = self._end - self._now()
        if left <= 0:
            self.time_is_up()
        return left

    def time_is_up(self) -> NoReturn:
        raise RemoteTimeout.of(
            f"no answer within {self._deadline:g} seconds", self._deadline, self._deadline
        )

    def answered(self, answer: Answer) -> float | None:
        """None: this is the answer. Else how long to wait before the next attempt; or the error
        that the answer speaks of."""
        if answer.status < _SUCCESS_ENDS:
            return None
        if answer.status == _NOT_FOUND and self._call.method == "DELETE" and self._lost_before:
            # An earlier attempt has deleted it, and the answer to that was lost.
            return None
        error = error_of(answer.status, answer.headers, answer.content)
        if answer.status not in _AGAIN:
            raise error
        return self._wait(error, _asked_for(answer, error))

    def lost(self, error: TokenizerError) -> float:
        """The connection is gone, or there was none: how long to wait, or the error."""
        self._lost_before = True
        return self._wait(error, 0.0)

    def refused(self, error: TokenizerError) -> float:
        """A message of a WebSocket was refused: how long to wait, or the error."""
        if not isinstance(error, TooManyRequests | Overloaded):
            raise error
        return self._wait(error, max(0.0, error.retry_after))

    def _wait(self, error: TokenizerError, at_least: float) -> float:
        retries = self._retries
        if not self._call.repeatable or self._done >= retries.most:
            raise error
        # Later powers are beyond any bound, and at last beyond what a float can be.
        longest = min(retries.first * 2.0 ** min(self._done, 60), retries.longest)
        self._done += 1
        # Jitter: clients that were refused at the same time do not retry at the same time.
        wait = max(at_least, longest * (1 - self._chance() / 2))
        if at_least:
            wait += longest * self._chance() / 2
        if self._now() + wait >= self._end:
            raise error
        return wait


def _asked_for(answer: Answer, error: TokenizerError) -> float:
    """Seconds that the server wants to be left alone; the body says it more exactly."""
    said = error.__dict__.get("retry_after")
    if isinstance(said, int | float):
        return max(0.0, float(said))
    header = answer.headers.get("retry-after", "").strip()
    if header.isascii() and header.isdigit() and len(header) < 10:
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
