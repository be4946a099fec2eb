"""A core that answers nonsense hurts itself: its instance is dropped, and nothing is read."""

from __future__ import annotations

import pytest

from pywasmtok import errors
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.wasm.instance import Handles, Instance

from .cores import TRAPS, ids_of, load, sample_core, sample_wasm

LIES = {
    "\1B": "answered -2",
    "\1E": "failed without an error",
    "\1K": "unknown kind 99",
    "\1M": "outside its memory",
    "\1N": "outside its memory",
    "\1P": "outside its memory",
}


@pytest.fixture
def tok() -> CoreTokenizer:
    tokenizer = load()
    tokenizer.encode_ids("first")
    return tokenizer


@pytest.mark.parametrize(("text", "what"), LIES.items())
def test_lies_of_encode(tok: CoreTokenizer, text: str, what: str) -> None:
    (liar,) = tok._pool.idle
    with pytest.raises(errors.CoreTrap, match=what):
        tok.encode_ids(text)
    assert liar not in tok._pool.idle
    assert tok.encode_ids("next", False) == ids_of("next")


@pytest.mark.parametrize(("text", "what"), [("\1T", "cut off"), ("\1U", "no UTF-8")])
def test_lies_in_the_table_of_tokens(tok: CoreTokenizer, text: str, what: str) -> None:
    with pytest.raises(errors.CoreTrap, match=what):
        tok.encode_full(text, None, True).tokens()


def test_bounds_that_run_backwards(tok: CoreTokenizer) -> None:
    with pytest.raises(errors.CoreTrap, match="do not divide"):
        tok.encode_batch_ids(["\2", "b"], True)


def test_parts_that_are_not_in_the_text(tok: CoreTokenizer) -> None:
    with pytest.raises(errors.CoreTrap, match="not in the text"):
        tok.truncate("\2bc", 2, False, False, keep_end=False, more_text=False)
    with pytest.raises(errors.CoreTrap, match="behind the place"):
        tok.last_cut("\2bc", 2)
    kept, report = tok.truncate("abc", 2, False, False, keep_end=False, more_text=False)
    assert (kept, report.ids) == ("ab", ids_of("ab"))
    assert tok.last_cut("abc", 2) == (2, "")
    assert tok.count("abc", True, False) == 4


def test_text_that_is_no_utf8(tok: CoreTokenizer) -> None:
    with pytest.raises(errors.CoreTrap, match="no UTF-8"):
        tok.decode(b"\xff\0\0\0", True)


@pytest.mark.parametrize(
    "handles",
    [
        Handles(6, 0, 0, 0),
        Handles(0xFFFF_FFF0, 0, 0, 0),
        Handles(1024, 0, 0xFFFF_0000, 0x2_0000),
    ],
)
def test_a_session_or_input_outside_the_memory(tok: CoreTokenizer, handles: Handles) -> None:
    instance = tok._pool.acquire()
    with pytest.raises(errors.CoreTrap):
        instance.adopt(handles)


@pytest.mark.parametrize(("text", "code"), TRAPS.items())
def test_traps_are_typed_and_the_next_call_is_right(
    tok: CoreTokenizer, text: str, code: str
) -> None:
    with pytest.raises(errors.CoreTrap, match=code):
        tok.encode_ids(text)
    assert tok.encode_ids("next", False) == ids_of("next")


@pytest.mark.parametrize("text", ["\1g", "\1c"])
def test_all_memory_taken_is_a_limit_and_the_next_call_is_right(
    tok: CoreTokenizer, text: str
) -> None:
    with pytest.raises(errors.MemoryLimit, match="in parts"):
        tok.encode_ids(text)
    assert tok.encode_ids("next", False) == ids_of("next")


def test_the_panic_text_is_told(tok: CoreTokenizer) -> None:
    with pytest.raises(errors.CoreTrap, match="UNREACHABLE: the test core panicked"):
        tok.encode_ids("\1p")


def test_memory_that_grows_during_a_call_is_seen(tok: CoreTokenizer) -> None:
    before = tok._pool.idle[0].size
    text = "\1G" + "x" * 1000
    assert tok.encode_ids(text, False) == ids_of(text)
    assert tok._pool.idle[0].size > before


def test_nothing_that_is_handed_out_looks_into_the_guest(tok: CoreTokenizer) -> None:
    """Results are copies: they outlive the tokenizer and the next call."""
    ids = tok.encode_ids("abc", False)
    full = tok.encode_full("abc", None, False)
    tok.encode_ids("xyz")
    tok.close()
    del tok
    assert ids == full.ids == ids_of("abc")
    assert type(ids) is bytes


def test_a_module_of_another_shape_is_refused() -> None:
    import wasmtime

    from pywasmtok._host.wasm.artifacts import Artifact
    from pywasmtok._host.wasm.core import check_exports, check_imports
    from pywasmtok._host.wasm.wasm_file import Shape, shape_of

    def shape(text: str) -> Shape:
        return shape_of(bytes(wasmtime.wat2wasm(text)))

    artifact = Artifact("odd", b"")
    importing = shape('(module (import "env" "now" (func (result i32))))')
    with pytest.raises(errors.ArtifactError, match=r"imports env\.now instead of nothing"):
        check_imports(importing, artifact)
    with pytest.raises(errors.ArtifactError, match="imports nothing instead of one shared memory"):
        check_imports(shape_of(sample_wasm(False)), Artifact("threads", b""))
    with pytest.raises(errors.ArtifactError, match="exports no function"):
        check_exports(shape("(module)"), artifact)
    wrong = shape('(module (func (export "pwt_abi_version") (result i64) (i64.const 1)))')
    with pytest.raises(errors.ArtifactError, match=r"pwt_abi_version .* another type"):
        check_exports(wrong, artifact)


def test_an_export_of_another_kind_is_not_used() -> None:
    machine = Instance(sample_core(False))._machine
    with pytest.raises(LookupError):
        machine.function("memory", 1)
    with pytest.raises(LookupError):
        machine.number("pwt_abi_version")


def test_a_trap_where_the_text_of_a_panic_is_asked_for_is_the_end(tok: CoreTokenizer) -> None:
    with pytest.raises(errors.CoreTrap, match="UNREACHABLE"):
        tok.encode_ids("\1q")
