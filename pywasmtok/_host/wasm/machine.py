"""What the host needs of a WebAssembly runtime: the rest of `_host` knows no other names of one.

`wasmtime_machine` is the runtime that there is. A function has slots for its arguments, which stay
there between calls; its answer takes the first one, a second answer the word behind it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final, Protocol

# One argument or result takes 16 bytes, of which an i32 uses the first four.
SLOT_WORDS: Final = 4

# A page of guest memory has so many bytes, as a power of two.
PAGE_BITS: Final = 16

# Further away than the epoch of an engine will ever come.
NEVER: Final = 1 << 60

# Names of traps.
INTERRUPT: Final = "INTERRUPT"
STACK_OVERFLOW: Final = "STACK_OVERFLOW"


class MemoryOfGuest(Protocol):
    """Memory that never shrinks and never moves."""

    def base(self) -> int: ...

    def size(self) -> int: ...

    def grow_to(self, size: int) -> None:
        """At least so many bytes; a shared memory grows by its guests alone."""

    def view(self) -> memoryview:
        """All of it, writable. The memory must outlive the view."""


class Function(Protocol):
    """One exported function, with slots of its own."""

    @property
    def args(self) -> array[int]: ...

    @property
    def run(self) -> Callable[[], int | None]:
        """Answers a failure, for `Machine.failure`, or None. A trap is in `Machine.trap`."""


class Watch(Protocol):
    def next_ticks(self) -> int:
        """How far away the next deadline is; 0 ends the call."""


class Machine(Protocol):
    """One instance of a module; used by one thread at a time."""

    @property
    def memory(self) -> MemoryOfGuest: ...

    @property
    def trap(self) -> array[int]:
        """Not 0 after a trap, until `take_trap` was called."""

    def function(self, name: str, slots: int, *, keeps_gil: bool = False) -> Function:
        """Raises LookupError if the module exports no such function. `keeps_gil`: for work that
        takes less time than giving the GIL away."""

    def take_trap(self) -> str:
        """The name of the trap that a call has left, such as `INTERRUPT`."""

    def failure(self, failed: int | None, panic_text: Callable[[], str]) -> Exception:
        """What to raise after a call that failed or trapped."""

    def error_text(self, failed: int) -> str: ...

    def set_deadline(self, ticks: int) -> None:
        """A call traps when the engine's epoch has moved on by so many ticks."""

    def deadline_setter(self, ticks: int) -> Callable[[], None]:
        """`set_deadline` for a deadline that is set often."""

    def ask_at_deadlines(self, watch: Watch) -> None:
        """From now on a deadline asks `watch` whether the call goes on."""

    def number(self, name: str) -> int:
        """The value of an exported global."""

    def set_number(self, name: str, value: int) -> None: ...
