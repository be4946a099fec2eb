"""wasmtime's objects, left as they are when the interpreter ends.

An object that is still referenced then is deleted after the globals of wasmtime's modules are gone,
and its destructor would print a traceback. The system takes the memory back anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import wasmtime

__all__ = ["ENDING", "Ending", "Engine", "Module", "Store"]

Ending: TypeAlias = Callable[[], bool]

# The default of an argument below: globals of these modules may be gone, too.
ENDING: Final = sys.is_finalizing


class Engine(wasmtime.Engine):
    def _delete(self, ptr: Any, _ending: Ending = ENDING) -> None:
        if not _ending():
            super()._delete(ptr)


class Module(wasmtime.Module):
    def _delete(self, ptr: Any, _ending: Ending = ENDING) -> None:
        if not _ending():
            super()._delete(ptr)


class Store(wasmtime.Store):
    def _delete(self, ptr: Any, _ending: Ending = ENDING) -> None:
        if not _ending():
            self.before_delete()
            super()._delete(ptr)

    def before_delete(self) -> None:
        """For what a kind of store does first."""
