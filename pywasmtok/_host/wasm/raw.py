"""Calls into wasmtime's C API with plain addresses.

`wasmtime.Func.__call__` asks for the function's type and wraps every value anew: 25 us and more a
call. The path here takes half a microsecond. It is unchecked: `core.check_exports` has compared
number and types of the parameters before, once a module.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import wasmtime
from wasmtime import _ffi as ffi

from ..linux.private_memory import give_back
from .objects import Store
from .status import Interrupted, trapped

# One argument or result takes 16 bytes, of which an i32 uses the first four.
SLOT_WORDS: Final = 4

PAGE: Final = 64 * 1024

# Less is unmapped in no time worth mentioning.
_LARGE: Final = 16 << 20

# Further away than the engine's epoch will ever come.
NEVER: Final = 1 << 60


_pointer = ctypes.c_void_p


def address_of(pointer: Any) -> int:
    """The address that a typed pointer of ctypes holds; 0 for a null pointer."""
    return ctypes.cast(pointer, _pointer).value or 0


def _function(name: str, result: Any, *parameters: Any) -> Any:
    """A C function that takes and gives integers instead of typed pointers."""
    return ctypes.CFUNCTYPE(result, *parameters)(address_of(getattr(ffi.dll, name)))


def _short_function(name: str, result: Any, *parameters: Any) -> Any:
    """The same with the GIL kept: releasing it for a nanosecond's work means waiting for it again,
    a millisecond and more where another thread computes."""
    return ctypes.PYFUNCTYPE(result, *parameters)(address_of(getattr(ffi.dll, name)))


# Without types of parameters: nothing is converted, so `argument` has to have done it before.
_call_unchecked: Final = _function("wasmtime_func_call_unchecked", _pointer)
# The same with the GIL kept, for work that takes less than giving it away and waiting for it.
_call_keeping_gil: Final = ctypes.PYFUNCTYPE(_pointer)(
    address_of(ffi.dll.wasmtime_func_call_unchecked)
)
_memory_data: Final = _short_function("wasmtime_memory_data", _pointer, _pointer, _pointer)
_memory_size: Final = _short_function(
    "wasmtime_memory_data_size", ctypes.c_size_t, _pointer, _pointer
)
_set_deadline: Final = _short_function(
    "wasmtime_context_set_epoch_deadline", None, _pointer, ctypes.c_uint64
)

# Without types of parameters.
_set_deadline_unchecked: Final = ctypes.PYFUNCTYPE(None)(
    address_of(ffi.dll.wasmtime_context_set_epoch_deadline)
)

_increment_epoch: Final = _short_function("wasmtime_engine_increment_epoch", None, _pointer)


def epoch_of(engine: wasmtime.Engine) -> Callable[[], None]:
    """What moves the epoch of an engine on by one; keeps the engine alive."""
    pointer = engine.ptr()
    address = address_of(pointer)

    def tick(_keep: object = engine) -> None:
        _increment_epoch(address)

    return tick


_view_of_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_view_of_memory.argtypes = [_pointer, ctypes.c_ssize_t, ctypes.c_int]
_view_of_memory.restype = ctypes.py_object
_WRITABLE: Final = 0x200  # PyBUF_WRITE


def view(address: int, size: int) -> memoryview:
    """Bytes of guest memory, writable. The guest must outlive the view."""
    window: memoryview = _view_of_memory(address, size, _WRITABLE)
    return window


def export(store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
    """One export as the C API describes it; reading all of them takes longer than cloning."""
    item = ffi.wasmtime_extern_t()
    raw_name = name.encode()
    if not ffi.wasmtime_instance_export_get(
        store._context(),
        ctypes.byref(instance._instance),
        ctypes.create_string_buffer(raw_name, len(raw_name)),
        len(raw_name),
        ctypes.byref(item),
    ):
        raise LookupError(name)
    return item


def argument(address: int) -> Any:
    """An address (or a size) as ctypes hands it over; made once, it costs calls nothing."""
    return _pointer.from_param(address)


class Call:
    """One function of an instance with slots of its own, in which arguments stay between calls.

    Only the first slot is overwritten, by the result.
    """

    __slots__ = ("_keep", "args", "run")

    def __init__(self, calls: Calls, name: str, slots: int, *, keeps_gil: bool = False) -> None:
        item = export(calls.store, calls.instance, name)
        cells = (ctypes.c_uint32 * (SLOT_WORDS * max(slots, 1)))()
        # The addresses below are valid as long as these objects live.
        self._keep = (calls, item, cells)
        self.args = memoryview(cells).cast("B").cast("I")
        # Answers the address of an error, or None; a trap is left in `calls.trap`.
        self.run: Callable[[], int | None] = partial(
            _call_keeping_gil if keeps_gil else _call_unchecked,
            argument(address_of(calls.context)),
            argument(ctypes.addressof(item.of.func)),
            argument(ctypes.addressof(cells)),
            argument(max(slots, 1)),
            calls.trap_cell,
        )


class Calls:
    """What all calls of one instance have in common; used by one thread at a time."""

    __slots__ = ("_cell", "context", "instance", "store", "trap", "trap_cell")

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance) -> None:
        self.store = store
        self.instance = instance
        self.context = _pointer(address_of(store._context()))
        self._cell = ctypes.c_uint64(0)
        self.trap_cell = argument(ctypes.addressof(self._cell))
        # Set by a trap; stays set until `take_trap` clears it.
        self.trap = memoryview(self._cell).cast("B").cast("Q")

    def failure(self, error: int | None, panic_text: Callable[[], str]) -> Exception:
        """What to raise after a call that gave an error or a trap; frees both."""
        if error is not None:
            return trapped("an error", self.error_text(error))
        code = self.take_trap()
        if code is wasmtime.TrapCode.INTERRUPT:
            return Interrupted()
        return trapped(code.name if code is not None else "a trap", panic_text())

    @staticmethod
    def error_text(error: int) -> str:
        """What an error says; frees it."""
        failed = ctypes.cast(error, ctypes.POINTER(ffi.wasmtime_error_t))
        return str(wasmtime.WasmtimeError._from_ptr(failed))

    def take_trap(self) -> wasmtime.TrapCode | None:
        """The code of the trap that a call has left; frees it."""
        stopped = ctypes.cast(self.trap[0], ctypes.POINTER(ffi.wasm_trap_t))
        self.trap[0] = 0
        return wasmtime.Trap._from_ptr(stopped).trap_code

    def set_deadline(self, ticks: int) -> None:
        """The guest traps when the engine's epoch has moved on by so many ticks."""
        _set_deadline(self.context, ticks)

    def deadline_setter(self, ticks: int) -> Callable[[], None]:
        """`set_deadline` with its arguments converted once, for a deadline that is set often."""
        return partial(
            _set_deadline_unchecked,
            argument(address_of(self.context)),
            ctypes.c_uint64.from_param(ticks),
        )


class GuestStore(Store):
    """Deleting a store unmaps its guest's memory at once, and for as long as that takes, no other
    thread of the process can map anything. So a large memory is freed before, in pieces.

    The store does this itself: the parts of an instance may be finalized in any order, and the
    address is invalid once the store is deleted.
    """

    def __init__(self, engine: wasmtime.Engine) -> None:
        self._memory: tuple[Any, Any, wasmtime.Memory] | None = None
        super().__init__(engine)

    def holds(self, context: Any, address: Any, memory: wasmtime.Memory) -> None:
        """`address`: of what `memory` is for the C API."""
        self._memory = context, address, memory

    def before_delete(self) -> None:
        if self._memory is not None:
            context, address, _ = self._memory
            size = int(_memory_size(context, address))
            if size >= _LARGE:
                give_back(int(_memory_data(context, address) or 0), size)


class OwnMemory:
    """The memory that an instance exports, and that is not shared with other instances."""

    __slots__ = ("_address", "_context", "_memory", "_store")

    def __init__(self, store: GuestStore, instance: wasmtime.Instance) -> None:
        self._store = store
        self._memory = wasmtime.Memory._from_raw(export(store, instance, "memory").of.memory)
        self._context = _pointer(address_of(store._context()))
        self._address = _pointer(ctypes.addressof(self._memory._memory))
        store.holds(self._context, self._address, self._memory)

    def base(self) -> int:
        return int(_memory_data(self._context, self._address) or 0)

    def size(self) -> int:
        return int(_memory_size(self._context, self._address))

    def grow_to(self, size: int) -> None:
        missing = (size - self.size()) // PAGE
        if missing > 0:
            try:
                self._memory.grow(self._store, missing)
            except wasmtime.WasmtimeError as error:
                raise MemoryError(str(error)) from None
