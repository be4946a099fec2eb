"""One instance of a build in an engine of any settings: loads a file and encodes texts.

It does what the package's own instance does for a call, without the pool and the face around it.
Only for files and texts of our own: nothing that the guest says is checked.
"""

from __future__ import annotations

from pywasmtok._host.wasm import abi, artifacts
from pywasmtok._host.wasm.machine import SLOT_WORDS
from pywasmtok._host.wasm.wasmtime_machine import WasmtimeMachine
from pywasmtok._host.wasm.wasmtime_objects import Module

from .variants import EPOCHS, Variant, shipped


class Guest:
    def __init__(self, variant: Variant, file: bytes) -> None:
        engine = variant.engine()
        module = Module.compile(engine, artifacts.read(variant.build).wasm)
        has_epochs = bool({**next(iter(shipped())), **variant.settings}[EPOCHS])
        self._machine = WasmtimeMachine(engine, module, "a variant", has_epochs=has_epochs)
        self._memory = self._machine.memory
        self._session = self._call("pwt_session_new")
        self._room = self._input = 0
        self._put(file)
        self._tokenizer = self._call("pwt_load", self._session, len(file))
        if not self._tokenizer:
            raise ValueError("the core does not take this file")
        self._room = 0
        # Kept: its slots are in it.
        self._encode = self._machine.function("pwt_encode", 4)
        self._run, self._arguments = self._encode.run, self._encode.args
        self._look()

    def encode(self, text: str) -> memoryview:
        data = text.encode()
        length = len(data)
        if length > self._room:
            self._put(data)
        self._view[self._input : self._input + length] = data
        arguments = self._arguments
        arguments[0] = self._session
        arguments[SLOT_WORDS] = self._tokenizer
        arguments[2 * SLOT_WORDS] = length
        arguments[3 * SLOT_WORDS] = 0
        failed = self._run()
        count = arguments[0]
        if failed is not None or self._machine.trap[0] or count >= 1 << 31:
            raise ValueError("the core does not encode this text")
        if self._memory.size() != len(self._view):
            self._look()
        start = self._words[self._session // 4 + abi.FIELD_IDS_PTR]
        return memoryview(self._view[start : start + 4 * count].tobytes()).cast("I")

    def _put(self, data: bytes) -> None:
        self._room = max(len(data), 1 << 20)
        self._input = self._call("pwt_input", self._session, self._room)
        self._look()
        self._view[self._input : self._input + len(data)] = data

    def _look(self) -> None:
        self._view = self._memory.view()
        self._words = self._view.cast("I")

    def _call(self, name: str, *arguments: int) -> int:
        call = self._machine.function(name, len(arguments))
        for place, value in enumerate(arguments):
            call.args[SLOT_WORDS * place] = value
        if call.run() is not None or self._machine.trap[0]:
            raise ValueError(f"{name} has trapped")
        result: int = call.args[0]
        return result
