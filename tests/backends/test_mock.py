from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import pywasmtok


def test_the_eight_words() -> None:
    tok = pywasmtok.create_tokenizer("mock://")
    assert tok.encode("Hello world . <eos> unknown").ids == [1, 2, 6, 999]
    assert tok.decode([1000, 1, 2, 999]) == "Hello world"
    assert tok.decode([1000, 1, 2, 999], skip_special_tokens=False) == "<bos> Hello world <eos>"
    assert tok.backend == ("mock", "mock", None, None, None)
    assert tok.vocab_size == 8
    assert tok.special_tokens.bos == "<bos>"
    assert tok.special_tokens.ids == {"<bos>": 1000, "<eos>": 999}
    assert tok.decode_batch([[1], [2, 3]]) == ["Hello", "world test"]


def test_details() -> None:
    tok = pywasmtok.create_tokenizer("mock://")
    encoding = tok.encode("é Hello", "x world")
    assert encoding.tokens == ["Hello", "world"]
    assert encoding.offsets == [(2, 7), (2, 7)]
    assert encoding.byte_offsets == [(3, 8), (2, 7)]
    assert encoding.type_ids == [0, 1]
    assert tok.encode_batch(["Hello", ("world", "test")]).ids == [[1], [2, 3]]


@pytest.mark.parametrize("source", ["mock://", "builtin:demo"])
@pytest.mark.parametrize("unknown_id", ["skip", "error"])
@pytest.mark.parametrize("odd", ["x", 1.5, [1], None, -1, 1 << 40])
def test_odd_ids_are_refused_as_by_a_real_tokenizer(odd: Any, unknown_id: str, source: str) -> None:
    tok = pywasmtok.create_tokenizer(source)
    with pytest.raises((pywasmtok.InvalidToken, pywasmtok.InvalidArgument)):
        tok.decode([1, odd], unknown_id=unknown_id)
    with pytest.raises((pywasmtok.InvalidToken, pywasmtok.InvalidArgument)):
        tok.decode_batch([[1], [1, odd]], unknown_id=unknown_id)


def test_it_can_be_pickled() -> None:
    tok = pickle.loads(pickle.dumps(pywasmtok.create_tokenizer("mock://")))
    assert tok.encode("test").ids == [3]


@pytest.mark.parametrize("name", ["mock", "test", "mock:/x"])
def test_only_its_own_name_reaches_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pywasmtok.SourceNotFound):
        pywasmtok.create_tokenizer(name)
