"""`special=`: whether names of special tokens in a text are those tokens."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import small

import pywasmtok

TEXT = "Hello <|user|> wor</s>ld"


@pytest.fixture(params=["core", "hf"])
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> pywasmtok.Tokenizer:
    return pywasmtok.create_tokenizer(small.write(tmp_path), encoder=request.param)


def test_names_are_tokens_or_text(tok: pywasmtok.Tokenizer) -> None:
    token = tok.token_to_id("<|user|>")
    assert tok.encode(TEXT) == tok.encode(TEXT, special="all")
    assert token in tok.encode(TEXT).ids
    literal = tok.encode(TEXT, special="none")
    assert token not in literal.ids
    # What the post-processor adds is not in the text.
    assert literal.tokens[0] == "<s>"
    assert "".join(literal.tokens[1:]).replace("Ġ", " ") == TEXT
    assert tok.decode(literal) == TEXT
    # An added token that is not special stays one.
    assert tok.token_to_id("<think>") in tok.encode("<think>", special="none").ids


def test_details_are_those_of_the_same_ids(tok: pywasmtok.Tokenizer) -> None:
    for special in ("all", "none"):
        for pair in (None, TEXT):
            encoding = tok.encode(TEXT, pair, special=special)
            assert len(encoding.tokens) == len(encoding.offsets) == len(encoding)
            assert pickle.loads(pickle.dumps(encoding)).tokens == encoding.tokens


def test_batches(tok: pywasmtok.Tokenizer) -> None:
    items: list[str | tuple[str, str]] = [TEXT, (TEXT, TEXT), ""]
    for special in ("all", "none"):
        batch = tok.encode_batch(items, special=special)
        single = [tok.encode(TEXT, special=special), tok.encode(TEXT, TEXT, special=special)]
        assert batch.ids[:2] == [encoding.ids for encoding in single]
        assert [item.tokens for item in batch][:2] == [encoding.tokens for encoding in single]
        assert pickle.loads(pickle.dumps(batch))[0].tokens == single[0].tokens
        texts = tok.encode_batch([TEXT, TEXT], special=special)
        assert [item.tokens for item in texts] == [single[0].tokens] * 2


def test_threads_do_not_disturb_each_other(tok: pywasmtok.Tokenizer) -> None:
    expected = {special: tok.encode(TEXT, special=special).ids for special in ("all", "none")}

    def work(number: int) -> bool:
        special = ("all", "none")[number % 2]
        return tok.encode(TEXT, special=special).ids == expected[special]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(400)))


@pytest.mark.parametrize("special", ["some", None, True, ["<s>"]])
def test_other_values_are_refused(tok: pywasmtok.Tokenizer, special: object) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="neither 'all', 'none' nor 'raise'"):
        tok.encode(TEXT, special=special)  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument, match="neither 'all', 'none' nor 'raise'"):
        tok.encode_batch([TEXT], special=special)  # type: ignore[arg-type]


def test_the_mock_knows_it_too() -> None:
    tok = pywasmtok.create_tokenizer("mock://")
    assert tok.encode("<bos> Hello").ids == [1000, 1]
    assert tok.encode("<bos> Hello", special="none").ids == [1]
