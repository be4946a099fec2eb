"""The host with the builds that are shipped. Where one is missing this fails; it skips nothing."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

import pywasmtok._host as host
from pywasmtok import errors
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.switches import OFF
from pywasmtok._host.wasm import artifacts
from pywasmtok._host.wasm.cache import ENVIRONMENT, Cache
from pywasmtok._host.wasm.core import open_core
from pywasmtok._host.wasm.instance import Instance

from .processes import run
from .small_tokenizer import FILE, REFERENCE, expected, numbers

BUILDS = ["baseline", "portable", "threads"]
TEXTS = [
    "",
    "hello",
    "hello hello, world!\n",
    "Grüße, 世界 🙂",
    " \t\n  x",
    "<s>hello</s>",
    "a" * 3000,
]


@pytest.fixture(scope="module", params=BUILDS)
def tok(request: pytest.FixtureRequest) -> CoreTokenizer:
    return host.load_tokenizer(FILE, build=request.param)


def test_the_builds_that_are_shipped() -> None:
    assert host.builds() == BUILDS


@pytest.mark.parametrize("name", BUILDS)
def test_what_a_build_says_of_itself(name: str) -> None:
    about = artifacts.read(name).about
    assert (about["abi"], about["variant"]) == (1, name)
    assert len(about["build_id"]) == 64
    assert ("simd128" in about["features"]) == (name != "baseline")
    assert ("atomics" in about["features"]) == (name == "threads")


@pytest.mark.parametrize("text", TEXTS)
def test_ids_and_text(tok: CoreTokenizer, text: str) -> None:
    ids = tok.encode_ids(text)
    assert numbers(ids) == expected(text)
    assert tok.decode(ids, False) == REFERENCE.decode(expected(text), skip_special_tokens=False)


def test_batches(tok: CoreTokenizer) -> None:
    ids, bounds = tok.encode_batch_ids(TEXTS, True)
    ends = numbers(bounds)
    parts = [numbers(ids)[start:end] for start, end in pairwise(ends)]
    assert parts == [expected(text) for text in TEXTS]
    lists = [tok.encode_ids(text) for text in TEXTS]
    assert tok.decode_batch(lists, True) == [tok.decode(ids, True) for ids in lists]


def test_everything_about_a_text(tok: CoreTokenizer) -> None:
    text = "hello, 世界<s>"
    full, reference = tok.encode_full(text, None, True), REFERENCE.encode(text)
    assert numbers(full.ids) == reference.ids
    assert full.tokens() == reference.tokens
    pairs = numbers(full.offsets)
    assert list(zip(pairs[::2], pairs[1::2], strict=True)) == reference.offsets
    assert list(full.attention_mask) == reference.attention_mask
    assert list(full.special_tokens_mask) == reference.special_tokens_mask
    assert numbers(full.type_ids) == reference.type_ids


def test_vocabulary(tok: CoreTokenizer) -> None:
    assert tok.vocab(True) == REFERENCE.get_vocab(with_added_tokens=True)
    assert tok.vocab(False) == REFERENCE.get_vocab(with_added_tokens=False)
    assert tok.token_to_id("hello") == REFERENCE.token_to_id("hello")
    assert tok.token_to_id("no such token") is None
    assert tok.id_to_token(256) == REFERENCE.id_to_token(256)
    assert tok.id_to_token(1_000_000) is None
    assert isinstance(tok.info(), dict)


def test_detect() -> None:
    about = host.detect(FILE)
    assert isinstance(about, dict)
    assert about


def test_many_threads(tok: CoreTokenizer) -> None:
    def work(seed: int) -> bool:
        letters = random.Random(seed)
        for _ in range(40):
            text = "".join(letters.choices("hello wörld 世界🙂\n<s>", k=letters.randrange(400)))
            assert numbers(tok.encode_ids(text)) == expected(text)
        return True

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))


@pytest.mark.parametrize("name", ["baseline", "portable"])
def test_a_clone_needs_nothing_but_the_memory(name: str) -> None:
    """The one mutable global is the stack pointer, and calls leave it where it was."""
    import wasmtime

    core = open_core(name)
    module = wasmtime.Module(wasmtime.Engine(), core.artifact.wasm)
    assert module.imports == []
    mutable = [
        one.name
        for one in module.exports
        if isinstance(one.type, wasmtime.GlobalType) and one.type.mutable
    ]
    assert mutable in ([], ["__stack_pointer"])
    assert mutable_globals(core.artifact.wasm) == 1
    instance = Instance(core)
    for _ in range(3):
        instance.open_session()
        instance.load(FILE)
        first = instance.encode_ids(b"hello", 1)
        if mutable:
            before = instance.exported_global("__stack_pointer")
            assert instance.encode_ids(b"hello", 1) == first
            assert instance.exported_global("__stack_pointer") == before


def mutable_globals(wasm: bytes) -> int:
    """How many the module has, exported or not."""
    from pywasmtok._host.wasm import wasm_file

    for section, start, end in wasm_file._sections(wasm):
        if section == 6:
            count, place = wasm_file._number(wasm, start)
            mutable = 0
            for _ in range(count):
                mutable += wasm[place + 1]
                # A type, whether it is mutable, and an expression: i32.const n, end.
                assert wasm[place + 2] == 0x41
                place = wasm.index(b"\x0b", place + 3) + 1
            assert place == end
            return mutable
    return 0


HOSTILE = [
    b"",
    b"\0" * 1000,
    b"{}",
    b"[]",
    b"{" * 100_000,
    b"[" * 1_000_000,
    b'{"model":' * 10_000,
    FILE[: len(FILE) // 2],
    FILE.replace(b'"h e"', b'"h"'),
    FILE.replace(b'"ByteLevel"', b'"Nothing"'),
    FILE.replace(b'"merges": [', b'"merges": [["a", "b", "c"], '),
    FILE.replace(b'"id": 261', b'"id": -1'),
    FILE.replace(b": 7,", b": 4294967294,"),
    b"\x1f\x8b" + b"x" * 100,
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
]


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("file", HOSTILE, ids=range(len(HOSTILE)))
def test_a_bad_file_gets_a_typed_error_and_no_trap(name: str, file: bytes) -> None:
    with pytest.raises(errors.TokenizerError) as caught:
        host.load_tokenizer(file, build=name, source="bad.json")
    assert not isinstance(caught.value, errors.HostError), caught.value
    assert caught.value.source == "bad.json"


def test_files_with_random_damage_never_trap() -> None:
    damage = random.Random(7)
    for _ in range(60):
        file = bytearray(FILE)
        for _ in range(damage.randrange(1, 4)):
            place = damage.randrange(len(file))
            file[place : place + damage.randrange(3)] = damage.randbytes(damage.randrange(3))
        try:
            tok = host.load_tokenizer(bytes(file))
            tok.decode(tok.encode_ids("hello, world"), True)
        except errors.HostError:
            raise
        except errors.TokenizerError:
            pass


def test_a_bound_below_the_memory_that_a_core_begins_with_is_named() -> None:
    instance = Instance(open_core("portable"), memory_cap=1 << 20)
    with pytest.raises(errors.MemoryLimit, match="more than the 1048576 bytes"):
        instance.load(FILE)


@pytest.mark.parametrize("name", BUILDS)
def test_fork_and_ctrl_c_and_exit(name: str) -> None:
    code = f"""
    import os, signal
    import small_tokenizer as real
    import pywasmtok._host as host

    tok = host.load_tokenizer(real.FILE, build={name!r})
    assert real.numbers(tok.encode_ids("hello")) == real.expected("hello")
    child = os.fork()
    if child == 0:
        assert real.numbers(tok.encode_ids("hello")) == real.expected("hello")
        other = host.load_tokenizer(real.FILE, build={name!r})
        assert real.numbers(other.encode_ids("hello")) == real.expected("hello")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

    long = "hello wörld, 世界! " * 1_000_000
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        tok.encode_ids(long)
    except KeyboardInterrupt:
        print("stopped")
    assert real.numbers(tok.encode_ids("hello")) == real.expected("hello")
    """
    # This process has compiled the core; the other one need not do it again.
    host.load_tokenizer(FILE, build=name)
    shared_cache = str(Cache.for_user().directory or OFF)
    assert run(code, **{ENVIRONMENT: shared_cache}) == "stopped"
