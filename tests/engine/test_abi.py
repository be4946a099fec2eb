"""The ABI as docs/abi.md describes it, followed literally over the raw module.

No class of ours is between the test and the core: this is the host that a stranger would write.
"""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import wasmtime
from wasmtime import _ffi as ffi

from pywasmtok._host.wasm import abi
from tools.build.core import CORE, ROOT

# Ids: a 0, b 1, ab 2, space 3, <s> 4, which the post-processor puts in front of a text.
FILE = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 4,
                "content": "<s>",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "ByteLevel"},
        "model": {
            "type": "BPE",
            "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3},
            "merges": [["a", "b"]],
        },
    }
).encode()


class GuestError(Exception):
    def __init__(self, kind: str, message: str, path: str, offset: int | None) -> None:
        super().__init__(message)
        self.kind, self.path, self.offset = kind, path, offset


class Host:
    """One instance; `memory` is given where instances share one."""

    def __init__(
        self, engine: wasmtime.Engine, module: wasmtime.Module, memory: object = None
    ) -> None:
        self.store = wasmtime.Store(engine)
        self.store.set_epoch_deadline(1 << 40)
        imports = [memory] if memory is not None else []
        self.exports = wasmtime.Instance(self.store, module, imports).exports(self.store)  # type: ignore[arg-type]
        self.session = 0

    def call(self, name: str, *args: int) -> int:
        function = self.exports[name]
        assert isinstance(function, wasmtime.Func)
        # What the table calls unsigned is signed for the host's library.
        return int(function(self.store, *(arg - (arg >> 31 << 32) for arg in args)) or 0)

    def address(self, name: str, *args: int) -> int:
        return self.call(name, *args) & 0xFFFFFFFF

    def read(self, address: int, count: int) -> bytes:
        memory = self.exports["memory"]
        assert isinstance(memory, wasmtime.Memory | wasmtime.SharedMemory)
        if isinstance(memory, wasmtime.SharedMemory):
            return bytes(memory.data_ptr()[address : address + count])
        return bytes(memory.read(self.store, address, address + count))

    def write(self, address: int, data: bytes) -> None:
        memory = self.exports["memory"]
        if isinstance(memory, wasmtime.SharedMemory):
            for place, byte in enumerate(data, address):
                memory.data_ptr()[place] = byte
        else:
            assert isinstance(memory, wasmtime.Memory)
            memory.write(self.store, data, address)

    def field(self, index: int) -> int:
        [value] = struct.unpack("<I", self.read(self.session + 4 * index, 4))
        return int(value)

    def blob(self, ptr: int, length: int) -> bytes:
        return self.read(self.field(ptr), self.field(length))

    def words(self, ptr: int, count: int) -> list[int]:
        return list(struct.unpack(f"<{count}I", self.read(self.field(ptr), 4 * count)))

    def open(self) -> Host:
        self.session = self.address("pwt_session_new")
        assert self.session
        return self

    def put(self, data: bytes) -> None:
        if len(data) > self.field(abi.FIELD_INPUT_CAP):
            self.checked(self.address("pwt_input", self.session, len(data)) or -1)
        self.write(self.field(abi.FIELD_INPUT_PTR), data)

    def checked(self, answer: int) -> int:
        if answer >= 0:
            assert self.field(abi.FIELD_STATUS) == 0
            return answer
        low, high = self.field(abi.FIELD_ERROR_OFFSET_LO), self.field(abi.FIELD_ERROR_OFFSET_HI)
        raise GuestError(
            abi.ERROR_KINDS[self.field(abi.FIELD_STATUS)],
            self.blob(abi.FIELD_MESSAGE_PTR, abi.FIELD_MESSAGE_LEN).decode(),
            self.blob(abi.FIELD_PATH_PTR, abi.FIELD_PATH_LEN).decode(),
            None if low == high == 0xFFFFFFFF else high << 32 | low,
        )

    def load(self, file: bytes = FILE) -> int:
        self.put(file)
        return self.checked(self.call("pwt_load", self.session, len(file)) or -1)

    def encode(self, tokenizer: int, text: bytes, flags: int = 0) -> list[int]:
        self.put(text)
        count = self.checked(self.call("pwt_encode", self.session, tokenizer, len(text), flags))
        return self.words(abi.FIELD_IDS_PTR, count)

    def decode(self, tokenizer: int, ids: list[int], flags: int = 0) -> str:
        self.put(struct.pack(f"<{len(ids)}I", *ids))
        self.checked(self.call("pwt_decode", self.session, tokenizer, len(ids), flags))
        return self.blob(abi.FIELD_TEXT_PTR, abi.FIELD_TEXT_LEN).decode()


def engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.max_wasm_stack = 128 * 1024
    config.parallel_compilation = False
    return wasmtime.Engine(config)


@pytest.fixture(scope="module", params=["portable", "baseline"])
def new_host(request: pytest.FixtureRequest) -> Callable[[], Host]:
    its_engine = engine()
    module = wasmtime.Module(its_engine, (CORE / f"{request.param}.wasm").read_bytes())
    return lambda: Host(its_engine, module).open()


@pytest.fixture
def host(new_host: Callable[[], Host]) -> Host:
    return new_host()


def test_the_version_is_that_of_the_table(host: Host) -> None:
    assert host.call("pwt_abi_version") == abi.ABI_VERSION


def test_text_to_ids_and_back(host: Host) -> None:
    tokenizer = host.load()
    assert host.encode(tokenizer, b"abab a") == [2, 2, 3, 0]
    ids = host.encode(tokenizer, b"abab a", abi.ENCODE_ADD_SPECIAL_TOKENS)
    assert ids == [4, 2, 2, 3, 0]
    assert host.decode(tokenizer, ids) == "<s>abab a"
    assert host.decode(tokenizer, ids, abi.DECODE_SKIP_SPECIAL_TOKENS) == "abab a"


def test_details(host: Host) -> None:
    tokenizer = host.load()
    ids = host.encode(tokenizer, b"a ab", abi.ENCODE_ADD_SPECIAL_TOKENS | abi.ENCODE_DETAILS)
    count = len(ids)
    assert ids == [4, 0, 3, 2]
    assert host.words(abi.FIELD_OFFSETS_PTR, 2 * count) == [0, 0, 0, 1, 1, 2, 2, 4]
    assert host.words(abi.FIELD_BYTE_OFFSETS_PTR, 2 * count) == [0, 0, 0, 1, 1, 2, 2, 4]
    assert host.words(abi.FIELD_TYPE_IDS_PTR, count) == [0, 0, 0, 0]
    assert host.read(host.field(abi.FIELD_SPECIAL_MASK_PTR), count) == b"\1\0\0\0"
    assert host.read(host.field(abi.FIELD_ATTENTION_MASK_PTR), count) == b"\1\1\1\1"
    table = host.blob(abi.FIELD_TOKENS_PTR, abi.FIELD_TOKENS_LEN)
    tokens = []
    while table:
        length = int.from_bytes(table[:4], "little")
        tokens.append(table[4 : 4 + length].decode())
        table = table[4 + length :]
    assert tokens == ["<s>", "a", "Ġ", "ab"]


def test_batches(host: Host) -> None:
    tokenizer = host.load()
    texts = [b"ab", b"", b"a b"]
    host.put(struct.pack("<3I", *map(len, texts)) + b"".join(texts))
    count = host.checked(host.call("pwt_encode_batch", host.session, tokenizer, 3, 0))
    assert host.words(abi.FIELD_IDS_PTR, count) == [2, 0, 3, 1]
    assert host.words(abi.FIELD_BOUNDS_PTR, host.field(abi.FIELD_BOUNDS_LEN)) == [0, 1, 1, 4]
    host.put(struct.pack("<7I", 3, 1, 0, 4, 2, 3, 0))
    host.checked(host.call("pwt_decode_batch", host.session, tokenizer, 3, 0))
    assert host.blob(abi.FIELD_TEXT_PTR, abi.FIELD_TEXT_LEN) == b"<s>ab a"
    assert host.words(abi.FIELD_BOUNDS_PTR, 4) == [0, 6, 7, 7]


def encode_with(host: Host, texts: list[bytes], policy: object, flags: int = 0) -> list[int]:
    tokenizer = host.load()
    document = json.dumps(policy).encode()
    lengths = struct.pack(f"<{len(texts)}I", *map(len, texts))
    host.put(lengths + b"".join(texts) + document)
    call = host.call("pwt_encode_with", host.session, tokenizer, len(texts), len(document), flags)
    return host.words(abi.FIELD_IDS_PTR, host.checked(call))


def test_policies(host: Host) -> None:
    segments = {"trusted": [True, False, True]}
    # `<`, `s` and `>` are no tokens of this file.
    assert encode_with(host, [b"a<s>", b"b<s>", b"ab"], segments) == [0, 4, 1, 2]
    assert encode_with(host, [b"a", b"b"], {"trusted": [True, False]}) == [2]
    assert host.words(abi.FIELD_BOUNDS_PTR, host.field(abi.FIELD_BOUNDS_LEN)) == [0, 1]
    assert encode_with(host, [b"a<s>", b"<s>"], {"special": {"allow": [4]}}) == [0, 4, 4]
    assert host.words(abi.FIELD_BOUNDS_PTR, host.field(abi.FIELD_BOUNDS_LEN)) == [0, 2, 3]
    pair = {"special": {"allow": []}, "pair": True}
    flags = abi.ENCODE_ADD_SPECIAL_TOKENS | abi.ENCODE_DETAILS
    assert encode_with(host, [b"a<s>", b"b"], pair, flags) == [0, 1]
    assert host.words(abi.FIELD_TYPE_IDS_PTR, 2) == [0, 1]
    with pytest.raises(GuestError) as caught:
        encode_with(host, [b"a", b"b <s>"], {"special": "raise"})
    error = caught.value
    assert (error.kind, error.path, error.offset) == ("special_token_in_text", "texts[1]", 2)
    assert host.blob(abi.FIELD_FEATURE_PTR, abi.FIELD_FEATURE_LEN) == b"<s>"


@pytest.mark.parametrize(
    ("texts", "policy", "flags"),
    [
        ([b"a"], {}, 0),
        ([b"a"], {"special": "all"}, 0),
        ([b"a"], {"trusted": [True, False]}, 0),
        ([b"a"], {"special": "raise", "pair": True}, 0),
        ([b"a"], {"special": "raise"}, abi.ENCODE_SPECIAL_IS_TEXT),
        ([b"a"], {"special": "raise"}, 1 << 9),
    ],
)
def test_policies_that_make_no_sense(
    host: Host, texts: list[bytes], policy: object, flags: int
) -> None:
    with pytest.raises(GuestError) as caught:
        encode_with(host, texts, policy, flags)
    assert caught.value.kind == "bad_argument"


def test_lookups(host: Host) -> None:
    tokenizer = host.load()
    host.put(b"ab")
    assert host.call("pwt_token_to_id", host.session, tokenizer, 2) == 2
    host.put(b"zz")
    assert host.call("pwt_token_to_id", host.session, tokenizer, 2) == abi.ANSWER_FAILED
    assert host.field(abi.FIELD_STATUS) == 0
    assert host.call("pwt_id_to_token", host.session, tokenizer, 99) == abi.ANSWER_FAILED
    assert host.field(abi.FIELD_STATUS) == 0
    host.checked(host.call("pwt_info", host.session, tokenizer))
    assert isinstance(json.loads(host.blob(abi.FIELD_TEXT_PTR, abi.FIELD_TEXT_LEN)), dict)
    host.checked(host.call("pwt_vocab", host.session, tokenizer, abi.VOCAB_WITH_ADDED_TOKENS))
    table, vocab = host.blob(abi.FIELD_TEXT_PTR, abi.FIELD_TEXT_LEN), {}
    while table:
        number, length = struct.unpack("<2I", table[:8])
        vocab[table[8 : 8 + length].decode()] = number
        table = table[8 + length :]
    assert vocab == {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "<s>": 4}


def test_errors_say_where(host: Host) -> None:
    tokenizer = host.load()
    with pytest.raises(GuestError) as caught:
        host.encode(tokenizer, b"ab\xff")
    assert (caught.value.kind, caught.value.offset) == ("invalid_text", 2)
    with pytest.raises(GuestError) as caught:
        host.load(FILE.replace(b"BPE", b"Nonesuch"))
    assert caught.value.path
    with pytest.raises(GuestError) as caught:
        host.load(b" ")
    assert caught.value.kind == "empty_file"
    # The session goes on after errors.
    assert host.encode(tokenizer, b"ab") == [2]


def test_too_large_an_input_is_an_error_and_the_session_goes_on(
    new_host: Callable[[], Host],
) -> None:
    host = new_host()
    host.store.set_limits(memory_size=64 << 20)
    tokenizer = host.load()
    assert host.address("pwt_input", host.session, 1 << 30) == 0
    assert abi.ERROR_KINDS[host.field(abi.FIELD_STATUS)] == "out_of_memory"
    assert host.encode(tokenizer, b"ab") == [2]
    assert host.address("pwt_input", host.session, 0xFFFFFFFF) == 0
    assert abi.ERROR_KINDS[host.field(abi.FIELD_STATUS)] == "out_of_memory"
    assert host.encode(tokenizer, b"ab") == [2]


def test_memory_that_runs_out_inside_is_a_trap_without_a_panic(
    new_host: Callable[[], Host],
) -> None:
    host = new_host()
    texts = [f'"{number:x}": {number}' for number in range(5, 50_000)]
    file = FILE.replace(b'"a": 0', b'"a": 0, ' + ", ".join(texts).encode())
    host.put(file)
    memory = host.exports["memory"]
    assert isinstance(memory, wasmtime.Memory)
    host.store.set_limits(memory_size=memory.data_len(host.store))
    with pytest.raises(wasmtime.Trap) as caught:
        host.call("pwt_load", host.session, len(file))
    assert caught.value.trap_code is wasmtime.TrapCode.UNREACHABLE
    assert host.call("pwt_panic_len") == 0
    assert host.address("pwt_panic_ptr") != 0
    # What was cut off is not entered again.
    assert host.call("pwt_encode", host.session, 1, 0, 0) == abi.ANSWER_BAD_SESSION


def test_any_handle_gets_an_answer(host: Host) -> None:
    tokenizer = host.load()
    wrong = [0, 1, host.session + 4, host.session - 1, 1 << 20, (1 << 32) - 1]
    for handle in wrong:
        assert host.call("pwt_encode", handle, tokenizer, 0, 0) == abi.ANSWER_BAD_SESSION
        assert host.call("pwt_load", handle, 1) == 0
        host.call("pwt_session_free", handle)
        host.call("pwt_tokenizer_free", handle)
        host.call("pwt_memory_free", handle)
        with pytest.raises(GuestError) as caught:
            host.encode(handle, b"ab")
        assert caught.value.kind == "bad_argument"
    assert host.encode(tokenizer, b"ab") == [2]


def test_as_many_sessions_as_the_table_says(host: Host) -> None:
    sessions = [host.address("pwt_session_new") for _ in range(abi.MAX_SESSIONS - 1)]
    assert len({*sessions, host.session}) == abi.MAX_SESSIONS
    assert host.address("pwt_session_new") == 0
    for session in sessions:
        host.call("pwt_session_free", session)
    assert host.address("pwt_session_new") != 0


@pytest.mark.parametrize("new_host", ["portable"], indirect=True)
def test_as_many_tokenizers_as_the_table_says(host: Host) -> None:
    # Without tables of pieces: the memory of a guest holds fewer of those.
    small = FILE.replace(b'"type": "BPE"', b'"type": "BPE", "byte_fallback": true')
    tokenizers = [host.load(small) for _ in range(abi.MAX_TOKENIZERS)]
    with pytest.raises(GuestError) as caught:
        host.load(small)
    assert caught.value.kind == "limit_exceeded"
    host.call("pwt_tokenizer_free", tokenizers[7])
    assert host.load(small) not in tokenizers


def test_a_freed_session_leaves_no_text_behind(host: Host) -> None:
    tokenizer = host.load()
    # Text that no table remembers: unknown to the vocabulary, so that no cache keeps it either.
    secret = b"#%[4711]"
    host.encode(tokenizer, secret)
    place = host.field(abi.FIELD_INPUT_PTR)
    assert host.read(place, len(secret)) == secret
    host.call("pwt_session_free", host.session)
    assert secret not in host.read(place - 4096 if place > 4096 else 0, 16384)


def test_a_copy_of_the_memory_is_a_loaded_tokenizer(new_host: Callable[[], Host]) -> None:
    first, second = new_host(), new_host()
    tokenizer = first.load()
    first.call("pwt_session_free", first.session)
    memories = [host.exports["memory"] for host in (first, second)]
    for memory in memories:
        assert isinstance(memory, wasmtime.Memory)
    source, target = memories
    assert isinstance(source, wasmtime.Memory)
    assert isinstance(target, wasmtime.Memory)
    target.grow(second.store, source.size(first.store) - target.size(second.store))
    target.write(second.store, source.read(first.store, 0, source.data_len(first.store)), 0)
    assert second.open().encode(tokenizer, b"abab") == [2, 2]


class Importable(wasmtime.SharedMemory):
    """wasmtime-py wraps the pointer in another pointer, and making an instance raises TypeError."""

    def _as_extern(self) -> ffi.wasmtime_extern_t:
        union = ffi.wasmtime_extern_union(sharedmemory=self.ptr())
        return ffi.wasmtime_extern_t(ffi.WASMTIME_EXTERN_SHAREDMEMORY, union)


def test_workers_of_the_threads_build_share_a_tokenizer() -> None:
    config = wasmtime.Config()
    config.max_wasm_stack = 128 * 1024
    config.wasm_threads = True
    config.shared_memory = True
    its_engine = wasmtime.Engine(config)
    module = wasmtime.Module(its_engine, (CORE / "threads.wasm").read_bytes())
    [memory_import] = module.imports
    assert isinstance(memory_import.type, wasmtime.MemoryType)
    limits = wasmtime.Limits(memory_import.type.limits.min, 4096)
    memory = Importable(its_engine, wasmtime.MemoryType(limits, shared=True))
    first = Host(its_engine, module, memory).open()
    tokenizer = first.load()
    stack_bytes = 1 << 20

    def worker() -> Host:
        host = Host(its_engine, module, memory)
        sizes = {}
        for name in ("__tls_size", "__tls_align"):
            exported = host.exports[name]
            assert isinstance(exported, wasmtime.Global)
            sizes[name] = int(exported.value(host.store))
        assert sizes["__tls_align"] <= 64
        stack = first.address("pwt_memory_new", stack_bytes)
        tls = first.address("pwt_memory_new", max(1, sizes["__tls_size"]))
        assert stack
        assert tls
        pointer = host.exports["__stack_pointer"]
        assert isinstance(pointer, wasmtime.Global)
        pointer.set_value(host.store, stack + stack_bytes)
        host.call("__wasm_init_tls", tls)
        return host.open()

    hosts = [worker() for _ in range(3)]
    assert len({host.session for host in (first, *hosts)}) == 4
    failures: list[object] = []

    def encode_often(host: Host) -> None:
        for _ in range(200):
            ids = host.encode(tokenizer, b"abab a", abi.ENCODE_ADD_SPECIAL_TOKENS)
            if ids != [4, 2, 2, 3, 0]:
                failures.append(ids)

    threads = [threading.Thread(target=encode_often, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_page_names_every_function_and_constant() -> None:
    page = (ROOT / "docs/abi.md").read_text(encoding="utf-8")
    for name in abi.FUNCTIONS:
        assert f"`{name}(" in page
    # And no function that is not there.
    assert set(re.findall(r"\bpwt_\w+", page)) == set(abi.FUNCTIONS)
    assert Path(ROOT / "wasm-core/abi/abi.toml").exists()
