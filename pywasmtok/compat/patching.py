"""Patches of other libraries, which may be nested. The end of the last one restores the library."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from .._locks import ForkSafeLock

__all__ = ["Patch", "Patches"]


class Patches:
    """All patches of one library. The first one changes it, the end of the last one restores it."""

    def __init__(self, change: Callable[[], Callable[[], None]]) -> None:
        """`change` returns the function that undoes it."""
        self._change = change
        self._restore: Callable[[], None] | None = None
        self._active: list[Patch] = []
        self._lock = ForkSafeLock()

    def begin(self) -> Patch:
        patch = Patch(self)
        with self._lock:
            if self._restore is None:
                self._restore = self._change()
            self._active.append(patch)
        return patch

    def end(self, patch: Patch | None = None) -> None:
        """Ends one patch, or all of them; does nothing where there is none."""
        with self._lock:
            if patch is None:
                self._active.clear()
            elif patch in self._active:
                self._active.remove(patch)
            if not self._active and self._restore is not None:
                self._restore()
                self._restore = None


class Patch:
    """One call of a function that patches. It can be undone, and is a context manager."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def undo(self) -> None:
        """Ends this patch; again does nothing. What was made meanwhile stays as it is."""
        self._patches.end(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.undo()
