"""What goes into the core and what comes out, against a core whose answers are obvious."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from pywasmtok import errors
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.wasm import abi
from pywasmtok._host.wasm.status import reported

from .cores import LONG, ids_of, load

SPECIAL = struct.pack("<I", 300)


@pytest.fixture(scope="module")
def tok() -> CoreTokenizer:
    return load()


@pytest.mark.parametrize("text", ["", "a", "Grüße, 世界 🙂", "\0", "x" * 5000, "é" * LONG])
def test_encode(tok: CoreTokenizer, text: str) -> None:
    assert tok.encode_ids(text, False) == ids_of(text)
    assert tok.encode_ids(text) == SPECIAL + ids_of(text)
    assert tok.decode(ids_of(text), False) == text


def test_inputs_of_every_size_around_the_growth_of_the_buffer(tok: CoreTokenizer) -> None:
    for size in (4095, 4096, 4097, 65_535, 65_536, 65_537, 524_287, 524_288, 700_000, 3, 70_000):
        assert tok.encode_ids("y" * size, False) == ids_of("y") * size


def test_pair(tok: CoreTokenizer) -> None:
    assert tok.encode_pair_ids("ab", "c", True) == SPECIAL + ids_of("abc")
    assert tok.encode_pair_ids("", "", False) == b""


def test_full(tok: CoreTokenizer) -> None:
    full = tok.encode_full("xy", None, True)
    assert full.ids == SPECIAL + ids_of("xy")
    assert full.offsets == struct.pack("<6I", 0, 0, 1, 0, 2, 0)
    assert full.byte_offsets == struct.pack("<6I", 9, 0, 9, 0, 9, 0)
    assert full.type_ids == bytes(12)
    assert full.special_tokens_mask == bytes([1, 0, 0])
    assert full.attention_mask == bytes([1, 1, 1])
    assert full.tokens() == ["a", "a", "a"]
    assert all(type(part) is bytes for part in full[:-1])


def bounds_of(texts: list[str]) -> bytes:
    sums = [0]
    for text in texts:
        sums.append(sums[-1] + len(text.encode()))
    return struct.pack(f"<{len(sums)}I", *sums)


@pytest.mark.parametrize(
    "texts", [[], [""], ["ab", "", "ü"], [str(n) for n in range(3000)], ["x" * LONG, "y"]]
)
def test_batch(tok: CoreTokenizer, texts: list[str]) -> None:
    assert tok.encode_batch_ids(texts, False) == (ids_of("".join(texts)), bounds_of(texts))


def test_a_batch_larger_than_one_call_takes(
    tok: CoreTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("part", "shared", "smallest"):
        monkeypatch.setattr(tok._parallel, name, 10)
    for texts in (["12345", "12345", "1", "", "x" * 50, "", "z"], ["x" * 50], [""] * 3, []):
        assert tok.encode_batch_ids(texts, False) == (ids_of("".join(texts)), bounds_of(texts))
        assert tok.decode_batch([ids_of(text) for text in texts], False) == texts


def test_decode_skips_special_tokens(tok: CoreTokenizer) -> None:
    assert tok.decode(SPECIAL + ids_of("a"), True) == "a"


def test_lookups(tok: CoreTokenizer) -> None:
    assert tok.token_to_id("a") == 97
    assert tok.token_to_id("ab") is None
    assert tok.id_to_token(300) == "<s>"
    assert tok.id_to_token(301) is None
    assert tok.id_to_token(-1) is None
    assert tok.id_to_token(1 << 32) is None
    assert tok.vocab(True) == {"é": 7, "<s>": 300}
    assert tok.vocab(False) == {"é": 7}
    assert tok.info() == {"format": "test"}
    assert tok.build == "test"


# Errors.


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda tok, bad: tok.encode_ids(bad), None),
        (lambda tok, bad: tok.encode_pair_ids("a", bad, True), "pair"),
        (lambda tok, bad: tok.encode_full(bad, None, True), "text"),
        (lambda tok, bad: tok.encode_batch_ids(["a", bad], True), "texts[1]"),
        (lambda tok, bad: tok.token_to_id(bad), "token"),
    ],
)
def test_a_lone_surrogate_is_named_with_its_place(
    tok: CoreTokenizer, call: Callable[[CoreTokenizer, str], object], path: str | None
) -> None:
    with pytest.raises(errors.InvalidText, match=r"character 2 is the lone surrogate U\+D83D") as e:
        call(tok, "aé\ud83dx")
    assert e.value.offset == 3
    assert e.value.path == path
    assert e.value.__cause__ is None
    assert tok.encode_ids("still", False) == ids_of("still")


def test_what_is_no_text_is_refused(tok: CoreTokenizer) -> None:
    for bad in (b"bytes", None, 7):
        with pytest.raises(errors.InvalidArgument, match=f"not {type(bad).__name__}"):
            tok.encode_ids(bad)
    with pytest.raises(errors.InvalidArgument, match="int") as caught:
        tok.encode_batch_ids(["a", 1], True)
    assert caught.value.path == "texts[1]"


def test_ids_that_are_cut_off_are_refused(tok: CoreTokenizer) -> None:
    for call in (lambda: tok.decode(b"abc", True), lambda: tok.decode_batch([b"abcde"], True)):
        with pytest.raises(errors.InvalidArgument, match="whole number of ids"):
            call()


def test_an_error_of_the_core_leaves_the_instance_in_use(tok: CoreTokenizer) -> None:
    idle = list(tok._pool.idle)
    with pytest.raises(errors.LimitExceeded, match="a broken file"):
        tok.encode_ids("\1L")
    with pytest.raises(errors.InvalidToken):
        tok.decode(struct.pack("<I", 301), True)
    assert tok._pool.idle == idle


def test_load_errors_carry_all_that_is_known() -> None:
    with pytest.raises(errors.EmptyFile) as caught:
        load(b"", source="empty.json")
    assert (caught.value.message, caught.value.source) == ("no bytes to load", "empty.json")
    assert (caught.value.offset, caught.value.path, caught.value.feature) == (None, None, None)
    with pytest.raises(errors.InvalidFile) as invalid:
        load(b"!")
    assert invalid.value.offset == 0x1_0000_0002
    assert invalid.value.path == "$.model.merges[3]"
    with pytest.raises(errors.Unsupported) as unsupported:
        load(b"?")
    assert unsupported.value.feature == "normalizer:Odd"
    with pytest.raises(errors.CoreTrap) as trapped:
        load(b"\1p", source="bad.json")
    assert "the test core panicked" in str(trapped.value)
    assert trapped.value.source == "bad.json"


@pytest.mark.parametrize(("number", "name"), abi.ERROR_KINDS.items())
def test_every_kind_of_error_has_a_class(number: int, name: str) -> None:
    error = reported(number, "m", 3, "p", "f")
    assert not isinstance(error, errors.CoreTrap)
    others = {
        "bad_argument": errors.InvalidArgument,
        "out_of_memory": errors.MemoryLimit,
        "internal": errors.BackendFailure,
    }
    expected = others.get(name)
    assert error.kind == (expected.kind if expected else name)


def test_input_beyond_the_bound_is_refused_before_it_crosses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pywasmtok._host.wasm import config

    tok = load()
    monkeypatch.setattr(config, "MAX_INPUT", 200_000)
    with pytest.raises(errors.LimitExceeded, match="300000 bytes"):
        tok.encode_ids("x" * 300_000)
    assert tok.encode_ids("ok", False) == ids_of("ok")


def test_memory_of_the_instance_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    from pywasmtok._host.wasm import config

    monkeypatch.setattr(config, "MEMORY_CAP", 8 * 1024 * 1024)
    capped = load()
    assert len(capped.encode_ids("x" * 1_000_000, False)) == 4_000_000
    with pytest.raises(errors.LimitExceeded, match="memory"):
        capped.encode_pair_ids("x" * 9_000_000, "y", True)
    assert capped.encode_ids("ok", False) == ids_of("ok")
