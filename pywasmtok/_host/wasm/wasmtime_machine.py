"""`Machine` over wasmtime: calls into its C API with plain addresses.

`wasmtime.Func.__call__` asks for the function's type and wraps every value anew: 25 us and more a
call. The path here takes half a microsecond. It is unchecked: `core.check_exports` has compared
number and types of the parameters before, once a module.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

import wasmtime
from wasmtime import _ffi as ffi

from ...errors import HostError
from ..linux.private_memory import give_back
from . import fork
from .machine import INTERRUPT, NEVER, SLOT_WORDS, MemoryOfGuest, Watch
from .memory_maps import NO_ROOM
from .objects import Store
from .status import Interrupted, trapped

if TYPE_CHECKING:
    from .shared_memory import SharedMemory

PAGE: Final = 64 * 1024

# Less is unmapped in no time worth mentioning.
_LARGE: Final = 16 << 20

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


def argument(address: int) -> Any:
    """An address (or a size) as ctypes hands it over; made once, it costs calls nothing."""
    return _pointer.from_param(address)


def address_in(words: array[int]) -> Any:
    """The same of an array, which must outlive it and keep its length."""
    return argument(words.buffer_info()[0])


class Call:
    """One function of an instance, with slots of its own. Only the first is overwritten, by the
    result."""

    __slots__ = ("_keep", "args", "run")

    def __init__(self, machine: WasmtimeMachine, item: Any, slots: int, keeps_gil: bool) -> None:
        # Python reads and writes an item of an array faster than one of a memoryview.
        self.args = array("I", bytes(4 * SLOT_WORDS * max(slots, 1)))
        # The addresses below are valid as long as these objects live.
        self._keep = (machine, item, self.args)
        self.run: Callable[[], int | None] = partial(
            _call_keeping_gil if keeps_gil else _call_unchecked,
            argument(address_of(machine.context)),
            argument(ctypes.addressof(item.of.func)),
            address_in(self.args),
            argument(max(slots, 1)),
            machine.trap_cell,
        )


class WasmtimeMachine:
    __slots__ = ("_instance", "_store", "context", "memory", "trap", "trap_cell")

    def __init__(
        self,
        engine: wasmtime.Engine,
        module: wasmtime.Module,
        what: str,
        *,
        shared: SharedMemory | None = None,
        memory_cap: int | None = None,
        has_epochs: bool = True,
    ) -> None:
        """`what` the module is, for errors. `has_epochs`: whether its code looks at the epoch."""
        with fork.creation():
            self._store = store = GuestStore(engine)
            if memory_cap is not None:
                store.set_limits(memory_size=memory_cap)
            # Before instantiating: a module may have a start function.
            if has_epochs:
                store.set_epoch_deadline(NEVER)
            try:
                imports = [] if shared is None else [shared]
                self._instance = wasmtime.Instance(store, module, imports)
            except (wasmtime.WasmtimeError, wasmtime.Trap) as problem:
                raise HostError(
                    f"no instance of {what} can be made: {problem}",
                    feature=NO_ROOM,
                    hint="Each reserves 4 GiB of address space (not of memory): see ulimit -v",
                ) from None
        self.context = _pointer(address_of(store._context()))
        self.trap = array("Q", (0,))
        self.trap_cell = address_in(self.trap)
        self.memory: MemoryOfGuest = shared if shared is not None else self._own_memory()

    def function(self, name: str, slots: int, *, keeps_gil: bool = False) -> Call:
        return Call(self, self._export(name), slots, keeps_gil)

    def failure(self, failed: int | None, panic_text: Callable[[], str]) -> Exception:
        if failed is not None:
            return trapped("an error", self.error_text(failed))
        code = self.take_trap()
        return Interrupted() if code == INTERRUPT else trapped(code, panic_text())

    @staticmethod
    def error_text(failed: int) -> str:
        """Frees the error."""
        error = ctypes.cast(failed, ctypes.POINTER(ffi.wasmtime_error_t))
        return str(wasmtime.WasmtimeError._from_ptr(error))

    def take_trap(self) -> str:
        """Frees the trap."""
        stopped = ctypes.cast(self.trap[0], ctypes.POINTER(ffi.wasm_trap_t))
        self.trap[0] = 0
        code = wasmtime.Trap._from_ptr(stopped).trap_code
        return code.name if code is not None else "a trap"

    def set_deadline(self, ticks: int) -> None:
        _set_deadline(self.context, ticks)

    def deadline_setter(self, ticks: int) -> Callable[[], None]:
        """Its arguments are converted once."""
        return partial(
            _set_deadline_unchecked,
            argument(address_of(self.context)),
            ctypes.c_uint64.from_param(ticks),
        )

    def ask_at_deadlines(self, watch: Watch) -> None:
        number = next(_numbers)
        _watches[number] = watch
        if _Callback.function is None:
            _, function, _, finalizer = ffi.dll.wasmtime_store_epoch_deadline_callback.argtypes
            _Callback.finalizer = finalizer()
            _Callback.function = function(_asked)
        ffi.wasmtime_store_epoch_deadline_callback(
            self._store.ptr(), _Callback.function, ctypes.c_void_p(number), _Callback.finalizer
        )

    def number(self, name: str) -> int:
        value: int = self._global(name).value(self._store)
        return value

    def set_number(self, name: str, value: int) -> None:
        self._global(name).set_value(self._store, wasmtime.Val.i32(value))

    def _global(self, name: str) -> wasmtime.Global:
        return wasmtime.Global._from_raw(self._export(name).of.global_)

    def _own_memory(self) -> OwnMemory:
        memory = wasmtime.Memory._from_raw(self._export("memory").of.memory)
        return OwnMemory(self._store, memory)

    def _export(self, name: str) -> Any:
        """One export as the C API describes it; reading all of them takes longer than cloning."""
        item = ffi.wasmtime_extern_t()
        raw_name = name.encode()
        if not ffi.wasmtime_instance_export_get(
            self._store._context(),
            ctypes.byref(self._instance._instance),
            ctypes.create_string_buffer(raw_name, len(raw_name)),
            len(raw_name),
            ctypes.byref(item),
        ):
            raise LookupError(name)
        return item


_numbers: Final = count(1)
_watches: Final[WeakValueDictionary[int, Watch]] = WeakValueDictionary()


class _Callback:
    """What the engine calls at a deadline; made when it is first needed."""

    function: Any = None
    finalizer: Any = None


def _asked(_context: Any, number: int | None, ticks_more: Any, _kind: Any) -> int:
    """Where this raised, the engine would ask again at once."""
    watch = _watches.get(number or 0)
    ticks = 0 if watch is None else watch.next_ticks()
    if ticks:
        ticks_more[0] = ticks
        return 0
    return address_of(ffi.wasmtime_error_new(ctypes.create_string_buffer(b"ended on request")))


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

    def __init__(self, store: GuestStore, memory: wasmtime.Memory) -> None:
        self._store = store
        self._memory = memory
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

    def view(self) -> memoryview:
        return view(self.base(), self.size())
