"""`Machine` over wasmtime: calls into its C API with plain addresses.

Calls are unchecked. `core.check_exports`, and for templates `template.core.check`, have compared
number and types of parameters and results once for each module, before it was compiled.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from ctypes import byref
from functools import partial
from itertools import count
from typing import Any, Final
from weakref import WeakValueDictionary

from ...errors import HostError
from . import fork
from . import wasmtime_functions as wasmtime
from .machine import INTERRUPT, NEVER, PAGE_BITS, SLOT_WORDS, MemoryOfGuest, Watch
from .memory_maps import NO_ROOM
from .status import Interrupted, trapped
from .wasmtime_objects import (
    Engine,
    Module,
    SharedMemory,
    Store,
    WasmtimeError,
    error_text,
    output_of,
    require,
    view,
)

# Names of the trap codes 0 to 10.
_TRAPS: Final = (
    "STACK_OVERFLOW",
    "MEMORY_OUT_OF_BOUNDS",
    "HEAP_MISALIGNED",
    "TABLE_OUT_OF_BOUNDS",
    "INDIRECT_CALL_TO_NULL",
    "BAD_SIGNATURE",
    "INTEGER_OVERFLOW",
    "INTEGER_DIVISION_BY_ZERO",
    "BAD_CONVERSION_TO_INTEGER",
    "UNREACHABLE",
    "INTERRUPT",
)

# `wasmtime_extern_kind_t`.
_FUNCTION: Final = 0
_GLOBAL: Final = 1
_MEMORY: Final = 3
_SHARED_MEMORY: Final = 4
# `wasmtime_valkind_t`.
_I32: Final = 0

_pointer = ctypes.c_void_p


class _KindAndValue(ctypes.Structure):
    """`wasmtime_extern_t` or `wasmtime_val_t`: a kind, and a value behind it. As large as either of
    them, or larger."""

    _fields_ = (("kind", ctypes.c_uint8), ("of", ctypes.c_uint64 * 4))
    kind: int
    of: Any

    @property
    def pointer(self) -> Any:
        """To the value, for a call by `ctypes`. It keeps this structure alive."""
        return byref(self, _BEHIND_KIND)


_BEHIND_KIND: Final[int] = _KindAndValue.of.offset


def epoch_of(engine: Engine) -> Callable[[], None]:
    """A function that moves the epoch of an engine on by one. It keeps the engine alive."""

    def tick() -> None:
        wasmtime.engine_increment_epoch(engine.address)

    return tick


# `tests/host/hogs.py` replaces the first one.
_call_unchecked: Final = wasmtime.func_call_unchecked
_call_keeping_gil: Final = wasmtime.func_call_unchecked_keeping_gil


def argument(address: int) -> Any:
    """An address or a size, converted for unchecked calls."""
    return _pointer.from_param(address)


def address_in(words: array[int]) -> Any:
    """The address of an array. The array must live longer and keep its length."""
    return argument(words.buffer_info()[0])


class Call:
    """One function of an instance, with slots of its own. Only the first is overwritten, by the
    result."""

    __slots__ = ("_keep", "args", "run")

    def __init__(self, machine: WasmtimeMachine, item: Any, slots: int, keeps_gil: bool) -> None:
        # Python reads and writes an item of an array faster than one of a memoryview.
        self.args = array("I", bytes(4 * SLOT_WORDS * max(slots, 1)))
        # The addresses below are valid as long as these objects live.
        self._keep = (machine, self.args)
        self.run: Callable[[], int | None] = partial(
            _call_keeping_gil if keeps_gil else _call_unchecked,
            argument(machine.context),
            item.pointer,
            address_in(self.args),
            argument(max(slots, 1)),
            machine.trap_cell,
        )


class WasmtimeMachine:
    __slots__ = ("_instance", "_store", "context", "memory", "trap", "trap_cell")

    def __init__(
        self,
        engine: Engine,
        module: Module,
        what: str,
        *,
        shared: SharedMemory | None = None,
        memory_cap: int | None = None,
        has_epochs: bool = True,
    ) -> None:
        """`what` the module is, for errors. `has_epochs`: whether its code looks at the epoch."""
        with fork.creation():
            self._store = store = Store(engine)
            # Before instantiating: a module may have a start function.
            if has_epochs:
                wasmtime.context_set_epoch_deadline(store.context, NEVER)
            self.context = store.context
            self.trap = array("Q", (0,))
            # `wasmtime_instance_t` takes 16 bytes.
            self._instance = (ctypes.c_uint64 * 2)()
            try:
                self._instantiate(module, shared)
            except WasmtimeError as problem:
                raise HostError(
                    f"no instance of {what} can be made: {problem}",
                    feature=NO_ROOM,
                    hint="Each reserves 4 GiB of address space (not of memory): see ulimit -v",
                ) from None
            # After instantiating: a cap below the memory that a module begins with is then an error
            # of the first call that needs more, which says so.
            if memory_cap is not None:
                store.limit_memory(memory_cap)
        self.trap_cell = address_in(self.trap)
        self.memory: MemoryOfGuest = (
            shared if shared is not None else OwnMemory(store, self._export("memory", _MEMORY))
        )

    def _instantiate(self, module: Module, shared: SharedMemory | None) -> None:
        imports = _KindAndValue(_SHARED_MEMORY)
        if shared is not None:
            imports.of[0] = shared.address
        arguments = self.context, module.address, byref(imports), int(shared is not None)
        self.trap[0] = output_of(wasmtime.instance_new, *arguments, self._instance)
        if self.trap[0]:
            raise WasmtimeError(self.take_trap())

    def function(self, name: str, slots: int, *, keeps_gil: bool = False) -> Call:
        return Call(self, self._export(name, _FUNCTION), slots, keeps_gil)

    def failure(self, failed: int | None, panic_text: Callable[[], str]) -> Exception:
        if failed is not None:
            return trapped("an error", self.error_text(failed))
        code = self.take_trap()
        return Interrupted() if code == INTERRUPT else trapped(code, panic_text())

    @staticmethod
    def error_text(failed: int) -> str:
        """The text of the error. The error itself is freed."""
        return error_text(failed)

    def take_trap(self) -> str:
        """Frees the trap."""
        trap, self.trap[0] = self.trap[0], 0
        code = ctypes.c_uint8()
        has_code = wasmtime.trap_code(trap, byref(code))
        wasmtime.trap_delete(trap)
        if not has_code:
            return "a trap"
        return _TRAPS[code.value] if code.value < len(_TRAPS) else f"trap {code.value}"

    def set_deadline(self, ticks: int) -> None:
        wasmtime.context_set_epoch_deadline(self.context, ticks)

    def deadline_setter(self, ticks: int) -> Callable[[], None]:
        """Its arguments are converted once. This machine must live longer."""
        return partial(
            wasmtime.context_set_epoch_deadline_unchecked,
            argument(self.context),
            ctypes.c_uint64.from_param(ticks),
        )

    def ask_at_deadlines(self, watch: Watch) -> None:
        number = next(_numbers)
        _watches[number] = watch
        wasmtime.store_epoch_deadline_callback(self._store.address, _ask_in_c(), number, None)

    def number(self, name: str) -> int:
        value = _KindAndValue()
        item = self._export(name, _GLOBAL)
        wasmtime.global_get(self.context, item.pointer, byref(value))
        return ctypes.c_int32.from_buffer(value, _BEHIND_KIND).value

    def set_number(self, name: str, value: int) -> None:
        new = _KindAndValue(_I32)
        ctypes.c_int32.from_buffer(new, _BEHIND_KIND).value = value
        item = self._export(name, _GLOBAL)
        require(wasmtime.global_set(self.context, item.pointer, byref(new)))

    def _export(self, name: str, kind: int) -> _KindAndValue:
        """One export as the C API describes it; reading all of them takes longer than cloning."""
        item, raw_name = _KindAndValue(), name.encode()
        arguments = self.context, self._instance, raw_name, len(raw_name), byref(item)
        if not wasmtime.instance_export_get(*arguments) or item.kind != kind:
            raise LookupError(name)
        return item


_numbers: Final = count(1)
_watches: Final[WeakValueDictionary[int, Watch]] = WeakValueDictionary()


def _ask(_context: Any, number: int | None, ticks_more: Any, _kind: Any) -> int:
    """Called by the engine at a deadline. It must not raise: it would be called again at once."""
    watch = _watches.get(number or 0)
    ticks = 0 if watch is None else watch.next_ticks()
    if ticks:
        ticks_more[0] = ticks
        return 0
    return wasmtime.error_new(b"ended on request") or 0


_callbacks: Final[list[Any]] = []


def _ask_in_c() -> Any:
    """Made when it is first needed: a callback takes memory that code runs from, which some systems
    refuse. Threads that need it at the same time may make one each. All are kept: stores have their
    addresses."""
    if not _callbacks:
        _callbacks.append(wasmtime.DeadlineCallback(_ask))
    return _callbacks[0]


class OwnMemory:
    """The memory that an instance exports, and that is not shared with other instances."""

    __slots__ = ("_context", "_memory", "_store")

    def __init__(self, store: Store, memory: _KindAndValue) -> None:
        self._store = store
        self._context = store.context
        self._memory = memory.pointer
        store.remember_memory(self._memory)

    def base(self) -> int:
        return int(wasmtime.memory_data(self._context, self._memory) or 0)

    def size(self) -> int:
        return int(wasmtime.memory_data_size(self._context, self._memory))

    def grow_to(self, size: int) -> None:
        missing = (size - self.size() + (1 << PAGE_BITS) - 1) >> PAGE_BITS
        if missing > 0:
            before = ctypes.c_uint64()
            error = wasmtime.memory_grow(self._context, self._memory, missing, byref(before))
            if error:
                raise MemoryError(error_text(error))

    def view(self) -> memoryview:
        return view(self.base(), self.size())
