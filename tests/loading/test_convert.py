"""Every tokenizer.json written anew by the core: HuggingFace and the core take it for the same."""

from __future__ import annotations

import json
from array import array
from typing import Any

import nasty
import pytest
import small
import tokenizers
from assets import SERVED, Asset, each_kind, needs_assets, vectors
from random_files import Maker
from sidebyside import difference

from pywasmtok import _host, errors


def numbers(count: int, end: int) -> list[list[int]]:
    return list(nasty.id_lists("convert", count, end))


def check_same(data: bytes, written: bytes, texts: list[str]) -> None:
    """What HuggingFace says with the one file and with the other."""
    one, other = (tokenizers.Tokenizer.from_buffer(file) for file in (data, written))
    for special in (True, False):
        before = one.encode_batch(texts, add_special_tokens=special)
        after = other.encode_batch(texts, add_special_tokens=special)
        for text, ours, theirs in zip(texts, after, before, strict=True):
            assert difference(ours, theirs) == {}, ascii(text)
        lists = [encoding.ids for encoding in before] + numbers(300, one.get_vocab_size() + 50)
        for skip in (True, False):
            assert other.decode_batch(lists, skip) == one.decode_batch(lists, skip)
    assert other.get_vocab() == one.get_vocab()
    assert other.get_added_tokens_decoder() == one.get_added_tokens_decoder()


def info(data: bytes) -> dict[str, Any]:
    return _host.load_tokenizer(data).info()


@needs_assets
@pytest.mark.parametrize("asset", each_kind(SERVED), ids=lambda asset: asset.id)
def test_real_files(asset: Asset) -> None:
    data = asset.read()
    written, differences = _host.convert(data)
    assert differences == []
    assert _host.convert(written) == (written, [])
    assert info(written) == info(data)
    texts = [case["text"] for case in vectors(asset.vectors)] if asset.vectors else []
    check_same(data, written, texts + list(nasty.texts(f"{asset.id} 3", 100, [])))


@pytest.mark.parametrize("seed", range(60))
def test_random_files(seed: int) -> None:
    data = Maker(seed).file()
    written, differences = _host.convert(data)
    assert differences == []
    assert _host.convert(written) == (written, [])
    try:
        expected = info(data)
    except errors.Unsupported:
        # What cannot be served can be written all the same.
        return
    assert info(written) == expected


def encoding(name: str) -> bytes:
    return json.dumps({"encoding": name}).encode()


# Files of other formats that a tokenizer.json says wholly: the same ids and texts.
SAME = [
    (Asset("tiktoken-openai", "cl100k_base.tiktoken"), encoding("cl100k_base")),
    (Asset("tiktoken-openai", "o200k_base.tiktoken"), encoding("o200k_harmony")),
    (Asset("tiktoken-openai", "p50k_base.tiktoken"), encoding("p50k_edit")),
    (Asset("llama3", "tokenizer.model"), b""),
    (Asset("qwen1", "qwen.tiktoken"), b""),
]

CONTROL = {"added_tokens:in_text", "decode:unknown", "decode:control"}

# And what it cannot say of others.
NEAR = [
    (
        Asset("mistral-common", "tekken_240911.json"),
        {"added_tokens:in_text", "added_tokens:in_vocabulary"},
    ),
    (Asset("llama2", "tokenizer.model"), CONTROL | {"model:ties", "decode:byte_runs"}),
    (
        Asset("spm-misc", "nerdstash.model"),
        CONTROL | {"normalizer:user_defined", "model:ties", "decode:byte_runs"},
    ),
    (
        Asset("spm-misc", "nai-t5.model"),
        CONTROL
        | {"normalizer:charsmap", "normalizer:user_defined", "model:scores", "decode:spaces"},
    ),
]


def ids_of(tok: _host.CoreTokenizer, text: str) -> list[int]:
    return memoryview(tok.encode_ids(text, True)).cast("I").tolist()


def texts_of(hf: tokenizers.Tokenizer) -> list[str]:
    added = sorted(token.content for token in hf.get_added_tokens_decoder().values())
    return list(nasty.texts("convert", 1000, added))


@needs_assets
@pytest.mark.parametrize(("asset", "options"), SAME, ids=lambda value: getattr(value, "id", ""))
def test_other_formats(asset: Asset, options: bytes) -> None:
    data = asset.read()
    written, differences = _host.convert(data, options)
    assert differences == []
    hf = tokenizers.Tokenizer.from_buffer(written)
    tok = _host.load_tokenizer(data, options=options)
    for text in texts_of(hf):
        assert hf.encode(text).ids == ids_of(tok, text), ascii(text)
    for ids in numbers(1000, hf.get_vocab_size() + 50):
        for skip in (True, False):
            assert hf.decode(ids, skip) == tok.decode(array("I", ids).tobytes(), skip), ids


@needs_assets
@pytest.mark.parametrize(("asset", "names"), NEAR, ids=lambda value: getattr(value, "id", ""))
def test_what_a_tokenizer_json_cannot_say(asset: Asset, names: set[str]) -> None:
    data = asset.read()
    written, differences = _host.convert(data)
    assert set(differences) == names
    hf = tokenizers.Tokenizer.from_buffer(written)
    back = _host.load_tokenizer(written)
    assert all(hf.encode(text).ids == ids_of(back, text) for text in texts_of(hf))
    # Plain text is plain text everywhere.
    tok = _host.load_tokenizer(data)
    for text in ("Hello, world!", "The quick brown fox jumps over the lazy dog."):
        assert hf.encode(text).ids == ids_of(tok, text)


def test_what_has_no_model_there() -> None:
    with pytest.raises(errors.Unsupported) as caught:
        _host.convert("".join(f"{n + 1} {bytes([n])!r} 1\n" for n in range(256)).encode())
    assert caught.value.feature == "convert:model:Greedy"


def test_scores_are_written_as_the_reference_reads_them() -> None:
    scores = [-1.0000001, -10.345678329467773, -0.1, 1e-7, 123456.789e3, -0.0, 3.0]
    model = {"type": "Unigram", "unk_id": 0, "vocab": [[str(n), s] for n, s in enumerate(scores)]}
    data = small.file(model=model, added_tokens=[], post_processor=None)
    written, _ = _host.convert(data)
    theirs = json.loads(tokenizers.Tokenizer.from_buffer(data).to_str())
    assert json.loads(written)["model"]["vocab"] == theirs["model"]["vocab"]


def test_what_is_no_tokenizer_is_not_converted() -> None:
    with pytest.raises(errors.NotATokenizer):
        _host.convert(b"<html></html>")
    with pytest.raises(errors.TokenizerError):
        _host.convert(small.file(), b"{")
    with pytest.raises(errors.Unsupported):
        _host.convert(small.file(normalizer={"type": "Later"}))
