"""Cores to test the host with: one written in WAT that misbehaves on request, and the real ones."""

from __future__ import annotations

import json
from array import array
from functools import cache
from pathlib import Path

import wasmtime

import pywasmtok._host as host
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.wasm.artifacts import SHARED, Artifact
from pywasmtok._host.wasm.cache import Cache
from pywasmtok._host.wasm.core import Core

WAT = Path(__file__).with_name("test_core.wat").read_text(encoding="utf-8")

# What the letter behind the byte 1 makes the test core do; see test_core.wat.
SPIN, WORK, HOLD = "\1s", "\1w", "\1h"
# Where the host lets go of the calls that `HOLD` makes.
LET_GO = 32
TRAPS = {
    "\1o": "MEMORY_OUT_OF_BOUNDS",
    "\1r": "STACK_OVERFLOW",
    "\1z": "INTEGER_DIVISION_BY_ZERO",
    "\1u": "UNREACHABLE",
}
# Texts of this length are long for the host: the main thread lets its helper encode them.
LONG = 550_000


@cache
def sample_wasm(threads: bool = False, abi: object = 1) -> bytes:
    """The test core with the sections that a real one has."""
    if threads:
        words = {
            "memory": '(import "env" "memory" (memory 20 1000 shared))',
            "bump": "(i32.atomic.rmw.add (i32.const 16) (local.get $size))",
            "give_back": "",
            "exports": (
                '(global (export "__tls_size") i32 (i32.const 64))'
                '(global (export "__tls_align") i32 (i32.const 16))'
                '(func (export "__wasm_init_tls") (param i32)'
                " (i32.store (local.get 0) (i32.const 42)))"
            ),
        }
    else:
        words = {
            "memory": '(memory (export "memory") 20)',
            "bump": "(call $bump (local.get $size))",
            "give_back": "(i32.store (i32.const 16) (local.get $heap))",
            "exports": (
                "(func $bump (param i32) (result i32) (i32.load (i32.const 16))"
                " (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (local.get 0))))"
            ),
        }
    wasm = bytes(wasmtime.wat2wasm(WAT.format(**words)))
    about = json.dumps({"abi": abi, "variant": "test"}).encode()
    return wasm + custom("pywasmtok.abi", about) + custom("build_id", bytes(32))


def custom(name: str, content: bytes) -> bytes:
    """A custom section; all lengths here fit into one byte of LEB128 or two."""
    body = leb(len(name)) + name.encode() + content
    return b"\0" + leb(len(body)) + body


def leb(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


@cache
def sample_core(threads: bool) -> Core:
    name = SHARED if threads else "test"
    return Core(Artifact(name, sample_wasm(threads)).require_abi(), Cache(None))


def load(
    data: bytes = b"a file", threads: bool = False, source: str | None = None
) -> CoreTokenizer:
    return host.load_with(sample_core(threads), data, source)


def ids_of(text: str) -> bytes:
    """What the test core makes of a text, without special tokens."""
    return array("I", list(text.encode())).tobytes()
