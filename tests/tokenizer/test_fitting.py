"""count, fits and truncate against the slow way: encode everything, then look."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from assets import SERVED, Asset, needs_assets, open_tokenizer

import pywasmtok
from pywasmtok.errors import InvalidArgument, InvalidText, TokenizerClosed
from pywasmtok.tokenizer.tokenizer import Tokenizer

# ruff: noqa: E501
PARTS = [
    "Hello", " world", "The quick brown fox", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", ".", ", ",
    "...", "don't", "I'll", " it's", "123", " 4567", "1,000.5", "x = y + 1;\n    return x\n", "naïve",
    " café", "e\u0301", "Zürich", "漢字", "中文测试。", "日本語のテキスト、", "한국어", "ไทย", "हिन्दी",
    " Привет мир", "🌶", " 🌶️", "👨‍👩‍👧", "🇩🇪", "\u200b", "\xa0", "_", "##", "▁", "</s>", "<s>", "[SEP]",
    "<|endoftext|>", "<|im_start|>user\n", "http://a.b/c?d=e", "aaaaaaaaaaaaaaaaaaaaaaaa", "İ", "ﬁ",
]  # fmt: skip


def text_of(rng: random.Random, most: int = 40) -> str:
    return "".join(rng.choice(PARTS) for _ in range(rng.randrange(most)))


def longest(tok: Tokenizer, text: str, n: int, side: str, special: bool) -> str | None:
    """The longest part with at most n ids that are the first (or last) of the whole text's."""
    whole = tok.encode(text, add_special_tokens=special)
    if len(whole) <= n:
        return text
    body = tok.encode(text, add_special_tokens=False).ids
    for length in range(len(text) - 1, -1, -1):
        part = text[:length] if side == "right" else text[len(text) - length :]
        if len(tok.encode(part, add_special_tokens=special)) > n:
            continue
        ids = tok.encode(part, add_special_tokens=False).ids
        if ids == (body[: len(ids)] if side == "right" else body[len(body) - len(ids) :]):
            return part
    return None


def check(tok: Tokenizer, text: str, n: int, side: str, special: bool) -> None:
    expected = longest(tok, text, n, side, special)
    kept = tok.truncate(text, n, side, special)
    assert kept.ids == tok.encode(kept.text, add_special_tokens=special).ids
    assert kept.count == len(kept.ids) <= n
    assert kept.truncated == (kept.text != text)
    if expected:
        assert kept.text == expected, (text, n, side, special, kept)
        assert kept.exact
    elif kept.text:
        # Nothing but the empty text would do, and something is better.
        assert not kept.exact
    count = len(tok.encode(text, add_special_tokens=special))
    assert tok.count(text, special) == count
    assert tok.fits(text, n, special) == (count <= n)


def of_empty(tok: Tokenizer, special: bool) -> int:
    return len(tok.encode("", add_special_tokens=special))


@needs_assets
@pytest.mark.parametrize("asset", SERVED, ids=lambda asset: asset.id)
def test_real_files(asset: Asset) -> None:
    rng = random.Random(asset.id)
    tok = open_tokenizer(asset, encoder="core")
    for _ in range(60):
        text = text_of(rng)
        side = rng.choice(("left", "right"))
        special = rng.random() < 0.5
        n = max(rng.randrange(60), of_empty(tok, special))
        if n < of_empty(tok, special) or len(tok.encode(text)) > 100000:
            continue
        check(tok, text, n, side, special)


@needs_assets
@pytest.mark.parametrize(
    "asset",
    [
        Asset(name, "tokenizer.json")
        for name in ("gpt2", "llama3.1", "qwen3", "llama2", "t5", "bert-base-cased")
    ],
    ids=lambda asset: asset.id,
)
def test_parts_of_long_texts(asset: Asset) -> None:
    """Where only a part of the text is looked at, the answer is that of the whole."""
    rng = random.Random(asset.id)
    tok = open_tokenizer(asset, encoder="core")
    text = "".join(text_of(rng) for _ in range(200))
    body = tok.encode(text, add_special_tokens=False).ids
    for n in (0, 1, 2, 3, 7, 20, 100, 500, len(body) - 1, len(body), len(body) + 1):
        for side in ("right", "left"):
            kept = tok.truncate(text, n, side, False)
            assert kept.ids == tok.encode(kept.text, add_special_tokens=False).ids
            assert len(kept.ids) <= n
            if kept.exact and kept.count:
                own = kept.ids
                assert own == (body[: len(own)] if side == "right" else body[-len(own) :])
            assert kept.truncated == (n < len(body))
        assert tok.fits(text, n, False) == (len(body) <= n)
    assert tok.count(text, False) == len(body)


@needs_assets
@pytest.mark.parametrize(
    ("name", "text", "n"),
    [
        ("t5", "123", 1),
        ("llama2", " .", 1),
        ("gpt2", " ▁👋🏽", 1),
        ("clip", "👋🏽", 1),
        ("clip", "天地玄黄宇宙洪荒" * 50, 100),
    ],
)
def test_where_no_beginning_is_exact(name: str, text: str, n: int) -> None:
    """docs/fitting.md has these."""
    tok = open_tokenizer(Asset(name, "tokenizer.json"), encoder="core")
    kept = tok.truncate(text, n, "right", False)
    assert (kept.exact, kept.truncated, bool(kept.text)) == (False, True, True)
    check(tok, text, n, "right", False)


@needs_assets
@pytest.mark.parametrize("name", ["gpt2", "llama3", "llama2", "bert-base-cased", "t5", "qwen3"])
def test_the_fallback_answers_the_same(name: str) -> None:
    asset = Asset(name, "tokenizer.json")
    core, hf = (open_tokenizer(asset, encoder=encoder) for encoder in ("core", "hf"))
    rng = random.Random(name)
    for _ in range(40):
        text, side = text_of(rng), rng.choice(("left", "right"))
        n = 2 + rng.randrange(40)
        ours, theirs = core.truncate(text, n, side), hf.truncate(text, n, side)
        assert (ours.text, ours.ids, ours.exact) == (theirs.text, theirs.ids, theirs.exact)
        assert core.count(text) == hf.count(text)
        assert core.fits(text, n) == hf.fits(text, n)


@needs_assets
def test_between_characters_and_not_inside() -> None:
    """A token may end inside a character: it is not kept without the rest of it."""
    tok = open_tokenizer(Asset("gpt2", "tokenizer.json"), encoder="core")
    text = "Hello 🌶 ok"
    assert tok.encode(text).ids == [15496, 12520, 234, 114, 12876]
    for n in (1, 2, 3):
        assert tok.truncate(text, n).text == "Hello"
    assert tok.truncate(text, 4).text == "Hello 🌶"
    assert tok.truncate(text, 5).truncated is False


def made(normalizer: dict[str, str], vocab: list[str], merges: list[list[str]]) -> bytes:
    token: dict[str, Any] = {"id": 0, "content": "<u>", "rstrip": True, "lstrip": False}
    token |= {"single_word": False, "normalized": False, "special": True}
    model: dict[str, Any] = {"type": "BPE", "unk_token": "<u>", "merges": merges}
    model["vocab"] = {text: number for number, text in enumerate(["<u>", *vocab])}
    file = {"version": "1.0", "added_tokens": [token], "normalizer": normalizer, "model": model}
    return json.dumps(file).encode()


PREPEND = {"type": "Prepend", "prepend": "▁"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        # The white space belongs to the token before it, so a prefix follows it.
        (made(PREPEND, ["▁", "a", "b", "▁b", "\n"], [["▁", "b"]]), "<u>\nba"),
        # The letter behind the cut becomes another one.
        (made({"type": "NFC"}, ["x", "e", "é", "xé"], [["x", "é"]]), "xe\u0301 "),
    ],
)
def test_no_cut_where_the_second_half_would_begin_otherwise(
    tmp_path: Path, file: bytes, text: str
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(file)
    tok = pywasmtok.create_tokenizer(tmp_path, encoder="core")
    reference = tokenizers.Tokenizer.from_str(file.decode())
    whole = text * 20_000
    expected = reference.encode(whole).ids
    assert tok.encode(whole).ids == expected
    assert tok.count(whole) == len(expected)
    assert not tok.fits(whole, len(expected) - 1)
    for n in range(1, 9):
        kept = tok.truncate(text * 4, n)
        assert kept.ids == reference.encode(kept.text).ids, (text, n)


@needs_assets
def test_ids_are_those_of_the_whole_and_not_of_a_slice() -> None:
    """Cutting the text by characters first gives other ids than the text has."""
    tok = open_tokenizer(Asset("gpt2", "tokenizer.json"), encoder="core")
    text = "unbelievable stories"
    kept = tok.truncate(text, 2)
    assert kept.ids == tok.encode(text).ids[: kept.count]


@needs_assets
def test_ids_around_the_text_count() -> None:
    tok = open_tokenizer(Asset("bert-base-cased", "tokenizer.json"), encoder="core")
    kept = tok.truncate("Hello world again", 4)
    assert kept.encoding.tokens == ["[CLS]", "Hello", "world", "[SEP]"]
    with pytest.raises(InvalidArgument, match="already the empty text has 2"):
        tok.truncate("Hello", 1)
    assert not tok.fits("", 1)
    assert tok.fits("", 2)


@needs_assets
def test_files_that_truncate_and_pad() -> None:
    """gte pads every text to 512 ids, and truncates at as many."""
    tok = open_tokenizer(Asset("gte", "tokenizer.json"), encoder="core")
    text = "word " * 1000
    assert tok.count(text) == len(tok.encode(text)) == 512
    kept = tok.truncate(text, 512)
    assert not kept.truncated
    assert kept.ids == tok.encode(text).ids
    with pytest.raises(InvalidArgument, match="already the empty text has 512"):
        tok.truncate(text, 100)


def test_a_text_without_a_cut_is_read_to_its_end() -> None:
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        text = "a" * 20_000
        ids = tok.encode(text).ids
        for side in ("right", "left"):
            kept = tok.truncate(text, 10, side, False)
            assert kept.count <= 10
            assert kept.ids == tok.encode(kept.text).ids
        assert tok.count(text) == len(ids)
        assert not tok.fits(text, 10)


def test_the_mock_and_closed_ones() -> None:
    tok = pywasmtok.create_tokenizer("mock://")
    assert tok.count("Hello world test") == 3
    assert tok.fits("Hello world test", 3)
    assert tok.truncate("Hello world test", 2).ids == [1, 2]
    assert tok.truncate("Hello world test", 2, "left").ids == [2, 3]
    tok.close()
    with pytest.raises(TokenizerClosed):
        tok.count("Hello")


def test_special_names_as_text() -> None:
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        name = next(iter(tok.special_tokens.ids))
        assert tok.count(name, False) == 1
        assert tok.count(name, False, special="none") > 1
        assert tok.truncate(name + " x", 1, add_special_tokens=False).text == name
        assert tok.truncate(name + " x", 1, add_special_tokens=False, special="none").text != name


def test_batches() -> None:
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        texts = ["", "Hello", "Hello world"]
        assert tok.count_batch(texts) == [len(tok.encode(text)) for text in texts]
        assert tok.count_batch(iter(texts)) == tok.count_batch(texts)
        with pytest.raises(InvalidArgument):
            tok.count_batch("Hello")


def test_wrong_arguments() -> None:
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        with pytest.raises(InvalidArgument, match="must be int"):
            tok.fits("Hello", "3")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="cannot be -1"):
            tok.truncate("Hello", -1)
        with pytest.raises(InvalidArgument, match="neither 'left' nor 'right'"):
            tok.truncate("Hello", 1, "middle")
        with pytest.raises(InvalidArgument, match="must be str"):
            tok.count(b"Hello")  # type: ignore[arg-type]
        with pytest.raises(InvalidText, match="at character 5"):
            tok.count("Hello\ud800")
