"""Where calls are told to metrics, which set `watch.observer` while they are enabled."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, Protocol, TypeVar

__all__ = ["Observer", "observed", "watch"]

P = ParamSpec("P")
T = TypeVar("T")


class Observer(Protocol):
    def call(self, operation: str, call: Callable[..., T], *args: Any, **how: Any) -> T:
        """`call(*args, **how)`, which is counted, and measured if its operation is."""

    def stepped(self, operation: str, *, held: bool) -> None:
        """A step of a stream or a stop decoder that found its answer in memory."""

    def failed(self, operation: str, error: Exception) -> None:
        """A step raised."""

    def fell_back(self, reason: str) -> None:
        """HuggingFace answered in place of the core."""


class _Watch:
    __slots__ = ("observer",)

    def __init__(self) -> None:
        self.observer: Observer | None = None


watch: Final = _Watch()


def observed(operation: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function whose calls go through the observer, where there is one. Functions that take less
    than some microseconds look for it themselves."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **how: P.kwargs) -> T:
            observer = watch.observer
            if observer is None:
                return function(*args, **how)
            return observer.call(operation, function, *args, **how)

        return call

    return decorated
