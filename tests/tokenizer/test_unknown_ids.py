"""`unknown_id=`: what becomes of an id that there is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import small

import pywasmtok

MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small.write(tmp_path)


@pytest.mark.parametrize("decoder", ["core", "hf"])
def test_skipped_or_refused(decoder: str, path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path, decoder=decoder)
    good = tok.encode("Hello", add_special_tokens=False).ids
    ids = [*good, 5000, *good]
    # HuggingFace leaves them out, and so this is the habit of a tokenizer.json.
    assert tok.decode(ids) == tok.decode(ids, unknown_id="skip") == "HelloHello"
    assert tok.decode(good * 2, unknown_id="error") == "HelloHello"
    with pytest.raises(pywasmtok.InvalidToken, match=r"ids\[1\] = 5000"):
        tok.decode(ids, unknown_id="error")
    assert tok.decode_batch([good, ids]) == ["Hello", "HelloHello"]
    with pytest.raises(pywasmtok.InvalidToken, match=r"ids\[1\] = 5000"):
        tok.decode_batch([good, ids], unknown_id="error")


def test_replaced(path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path, decoder="core")
    good = tok.encode("Hello", add_special_tokens=False).ids
    assert tok.decode([*good, 5000, *good, 2**32 - 1], unknown_id="replace") == (
        f"Hello{MARK}Hello{MARK}"
    )
    assert tok.decode_batch([[5000], good], unknown_id="replace") == [MARK, "Hello"]


def test_huggingface_has_nothing_to_put_there(path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path)
    good = tok.encode("Hello", add_special_tokens=False).ids
    assert tok.decode(good, unknown_id="replace") == "Hello"
    with pytest.raises(pywasmtok.Unsupported, match="decoder=") as caught:
        tok.decode([5000], unknown_id="replace")
    assert caught.value.feature == "unknown_id:replace"


def test_the_mock_knows_it_too() -> None:
    tok = pywasmtok.create_tokenizer("mock://")
    assert tok.decode([1, 77, 2]) == "Hello world"
    assert tok.decode([1, 77, 2], unknown_id="replace") == f"Hello {MARK} world"
    with pytest.raises(pywasmtok.InvalidToken):
        tok.decode([1, 77, 2], unknown_id="error")


@pytest.mark.parametrize("value", ["ignore", "", 0, False])
def test_other_values_are_refused(value: object, path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path)
    with pytest.raises(pywasmtok.InvalidArgument, match="none of skip, error, replace"):
        tok.decode([1], unknown_id=value)  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument, match="none of skip, error, replace"):
        tok.decode_batch([[1]], unknown_id=value)  # type: ignore[arg-type]
