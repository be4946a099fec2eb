from __future__ import annotations

import copy
import pickle
import sys
from array import array
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small
from assets import Asset, needs_assets, open_huggingface, open_tokenizer

import pywasmtok
from pywasmtok import Encoding, EncodingBatch


@pytest.fixture(params=["core", "hf"])
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> pywasmtok.Tokenizer:
    return pywasmtok.create_tokenizer(small.write(tmp_path), encoder=request.param)


@pytest.fixture
def encoding(tok: pywasmtok.Tokenizer) -> Encoding:
    return tok.encode(small.TEXT)


def test_it_is_a_sequence_of_ids(encoding: Encoding) -> None:
    ids = encoding.ids
    assert isinstance(ids, list)
    assert list(encoding) == ids
    assert len(encoding) == len(ids) == 20
    assert encoding[0] == ids[0]
    assert encoding[-1] == ids[-1]
    assert encoding[2:5] == ids[2:5]
    assert ids[3] in encoding
    assert encoding.index(ids[3]) == 3
    assert encoding.ids is ids


def test_equality_is_that_of_the_ids(tok: pywasmtok.Tokenizer, encoding: Encoding) -> None:
    assert encoding == tok.encode(small.TEXT)
    assert hash(encoding) == hash(tok.encode(small.TEXT))
    assert encoding == encoding.ids
    assert encoding != tok.encode("other")
    assert encoding != "other"


def test_the_buffer_is_flat_and_read_only(encoding: Encoding) -> None:
    buffer = encoding.buffer
    assert (buffer.format, buffer.ndim, buffer.readonly) == ("I", 1, True)
    assert buffer.tolist() == encoding.ids
    with pytest.raises(TypeError):
        buffer[0] = 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ came with Python 3.12")
def test_memoryview_takes_an_encoding(encoding: Any) -> None:
    assert memoryview(encoding).tolist() == encoding.ids


def test_numpy_does_not_copy(encoding: Encoding) -> None:
    flat = encoding.numpy()
    assert flat.dtype == np.uint32
    assert flat.tolist() == encoding.ids
    assert not flat.flags.writeable
    assert np.shares_memory(flat, np.asarray(encoding))
    assert np.asarray(encoding, dtype=np.int64).dtype == np.int64
    assert np.array(encoding).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.asarray(encoding, dtype=np.int64, copy=False)


@pytest.mark.parametrize("largest", [0, 2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("count", [1, 255, 256, 1000])
def test_lists_have_ids_of_any_size(encoding: Encoding, largest: int, count: int) -> None:
    ids = [7] * (count - 1) + [largest]
    data = array("I", ids).tobytes()
    made = Encoding(data, encoding._source, "", None, False)
    assert made.ids == made.buffer.tolist() == ids
    bounds = array("I", [0, 1, count]).tobytes()
    batch = EncodingBatch(data, bounds, encoding._source, ["a", "b"], False)
    assert batch.ids == [ids[:1], ids[1:]]


def test_details(encoding: Encoding) -> None:
    assert encoding.tokens[:4] == ["<s>", "Hello", "Ġwor", "ld"]
    assert encoding.special_tokens_mask == [1] + [0] * 19
    assert encoding.type_ids == [0] * 20
    assert encoding.attention_mask == [1] * 20
    assert encoding.offsets[:4] == [(0, 0), (0, 5), (5, 9), (9, 11)]
    assert small.TEXT[slice(*encoding.offsets[-2])] == "<|user|>"
    data = small.TEXT.encode()
    assert data[slice(*encoding.byte_offsets[-2])] == b"<|user|>"
    assert data[slice(*encoding.byte_offsets[-1])] == b"x"


def test_details_of_a_pair(tok: pywasmtok.Tokenizer) -> None:
    encoding = tok.encode("é world", "你x")
    assert encoding.tokens[0] == "<s>"
    assert encoding.type_ids == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert encoding.special_tokens_mask == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert encoding.offsets[-1] == (1, 2)
    assert encoding.byte_offsets[-1] == (3, 4)
    assert encoding.byte_offsets[3] == (2, 6)


def test_no_special_tokens_when_asked(tok: pywasmtok.Tokenizer) -> None:
    encoding = tok.encode("Hello", add_special_tokens=False)
    assert encoding.tokens == ["Hello"]
    assert tok.encode("Hello", None, False) == encoding


def test_the_empty_text(tok: pywasmtok.Tokenizer) -> None:
    encoding = tok.encode("", add_special_tokens=False)
    assert encoding.ids == []
    assert encoding.tokens == []
    assert encoding.numpy().shape == (0,)
    assert encoding.hash == int.from_bytes(
        blake2b(b"", digest_size=8, person=b"pywasmtok-ids-1").digest(), "little"
    )


def test_the_hash_is_the_documented_function(encoding: Encoding) -> None:
    data = b"".join(number.to_bytes(4, "little") for number in encoding)
    digest = blake2b(data, digest_size=8, person=b"pywasmtok-ids-1").digest()
    assert encoding.hash == int.from_bytes(digest, "little")


def test_the_hash_never_changes() -> None:
    with pywasmtok.create_tokenizer("mock://") as tok:
        assert tok.encode("Hello world").hash == 0x96C5_A1E8_17F6_B347


def test_a_pickle_carries_the_details(encoding: Encoding) -> None:
    again = pickle.loads(pickle.dumps(encoding))
    assert again.texts == copy.copy(encoding).texts == encoding.texts
    assert again == encoding
    assert again.tokens == encoding.tokens
    assert again.byte_offsets == encoding.byte_offsets
    assert again.served_by == encoding.served_by


def test_a_batch(tok: pywasmtok.Tokenizer) -> None:
    texts: list[Any] = ["Hello", "", "world é", ("Hello", "world")]
    batch = tok.encode_batch(texts)
    alone = [tok.encode(*((item,) if isinstance(item, str) else item)) for item in texts]
    assert list(batch) == alone
    assert batch.ids == [encoding.ids for encoding in alone]
    assert len(batch) == 4
    assert batch[-1] == alone[-1]
    assert batch[-1].offsets == alone[-1].offsets
    assert batch[2].tokens == alone[2].tokens
    assert batch[1:3] == alone[1:3]
    with pytest.raises(IndexError):
        batch[4]


def test_the_buffer_of_a_batch(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(text for text in ["Hello", "", "Hello world"])
    assert batch.bounds.tolist() == [0, 2, 3, 7]
    assert batch.buffer.readonly
    assert batch.buffer[3:7].tolist() == batch[2].ids
    flat, bounds = batch.numpy()
    assert flat.tolist() == batch.buffer.tolist()
    assert bounds.tolist() == batch.bounds.tolist()


def test_an_empty_batch(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch([])
    assert list(batch) == []
    assert batch.bounds.tolist() == [0]
    assert batch.ids == []


def test_a_pickled_batch(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(["Hello", ("é", "world")])
    again = pickle.loads(pickle.dumps(batch))
    assert list(again.texts) == list(batch.texts)
    assert again == batch
    assert again[1].offsets == batch[1].offsets


def test_arrays_of_ids_are_as_good_as_lists(tok: pywasmtok.Tokenizer) -> None:
    encoding = tok.encode("Hello world")
    assert array("I", encoding.buffer).tolist() == encoding.ids


@needs_assets
@pytest.mark.parametrize("family", ["bert-base-cased", "gpt2", "llama3", "mistral-v3", "t5", "gte"])
def test_masks_without_the_details(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder="core")
    for text in ("", "a", "Hello, world! caf\u00e9 \U0001f336", "  two  spaces "):
        for special in (True, False):
            theirs = hf.encode(text, add_special_tokens=special)
            for ours in (
                tok.encode(text, add_special_tokens=special),
                *tok.encode_batch([text, text], special),
            ):
                assert ours.attention_mask == theirs.attention_mask
                assert ours.special_tokens_mask == theirs.special_tokens_mask
                assert ours.type_ids == theirs.type_ids


def test_masks_of_a_plain_text_ask_for_no_details(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo", encoder="core")
    assert tok.encode("once").type_ids == [0] * tok.count("once")
    monkeypatch.setattr(type(tok.hybrid.encoder), "details", None)
    encoding = tok.encode("a text of some words")
    for mask in (encoding.attention_mask, encoding.type_ids, encoding.special_tokens_mask):
        assert len(mask) == len(encoding)
