from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from array import array
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import small

import pywasmtok
from pywasmtok import Tokenizer
from pywasmtok.backends.hf import HFBackend


@pytest.fixture(params=["core/hf", "core/core", "hf/hf", "hf/core"])
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> Tokenizer:
    path = small.write(tmp_path)
    encoder, decoder = request.param.split("/")
    tok = pywasmtok.create_tokenizer(path, encoder=encoder, decoder=decoder)
    assert (tok.backend.encoder, tok.backend.decoder) == (encoder, decoder)
    return tok


def test_round_trip(tok: Tokenizer) -> None:
    encoding = tok.encode(small.TEXT)
    assert tok.decode(encoding) == small.TEXT.replace("<|user|>", "")
    assert tok.decode(encoding, skip_special_tokens=False) == "<s>" + small.TEXT


def test_decode_takes_ids_in_every_form(tok: Tokenizer) -> None:
    encoding = tok.encode("Hello world")
    ids = encoding.ids
    forms: list[Any] = [
        encoding,
        ids,
        tuple(ids),
        encoding.buffer,
        encoding.numpy(),
        np.array(ids, dtype=np.int64),
        array("I", ids),
        array("q", ids),
        [np.uint32(number) for number in ids],
        memoryview(array("H", ids)),
    ]
    assert [tok.decode(form) for form in forms] == ["Hello world"] * len(forms)
    assert tok.decode_batch(forms) == ["Hello world"] * len(forms)
    assert tok.decode([]) == ""
    assert tok.decode_batch([]) == []
    assert tok.decode(range(0, 0)) == ""


MASKED = np.ma.array([1, 2], mask=[False, True], dtype=np.uint32)


@pytest.mark.parametrize(
    "ids",
    [5, "12", b"ab", None, [1.5], ["1"], np.array([1.0]), np.array(3), np.array([[1]]), MASKED],
)
def test_what_are_no_ids(tok: Tokenizer, ids: object) -> None:
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.decode(ids)  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.decode_batch([[1], ids])  # type: ignore[list-item]


@pytest.mark.parametrize("number", [-1, 2**32, 2**80])
def test_ids_outside_u32(tok: Tokenizer, number: int) -> None:
    with pytest.raises(pywasmtok.InvalidToken, match=r"ids\[1\]"):
        tok.decode([1, number])
    with pytest.raises(pywasmtok.InvalidToken, match=r"list 2: ids\[1\]"):
        tok.decode_batch([[1], [], [1, number]])


def test_ids_that_the_vocabulary_lacks_are_skipped(tok: Tokenizer) -> None:
    (hello,) = tok.encode("Hello", add_special_tokens=False)
    assert tok.decode([999_999, hello, 2**32 - 1]) == "Hello"


def test_tokens_and_ids(tok: Tokenizer) -> None:
    assert tok.token_to_id("Hello") == tok.get_vocab()["Hello"]
    assert tok.token_to_id("nothing of it") is None
    assert tok.token_to_id("\ud800") is None
    assert tok.token_to_id("<s>") == tok.encode("").ids[0]
    assert tok.id_to_token(tok.encode("").ids[0]) == "<s>"
    assert [tok.id_to_token(number) for number in (-1, 999_999, 2**32)] == [None] * 3
    assert tok.id_to_token(cast(int, np.uint32(0))) == "Ā"
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.token_to_id(5)  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.id_to_token("5")  # type: ignore[arg-type]


def test_the_vocabulary(tok: Tokenizer) -> None:
    assert tok.vocab_size == tok.get_vocab_size() == len(tok.get_vocab()) == 270
    assert tok.get_vocab_size(with_added_tokens=False) == 266
    assert "<s>" not in tok.get_vocab(with_added_tokens=False)
    tok.get_vocab().clear()
    assert len(tok.get_vocab()) == 270


def test_special_tokens_are_those_of_the_file(tok: Tokenizer) -> None:
    special = tok.special_tokens
    assert special.additional == ("<s>", "</s>", "<|user|>")
    assert special.ids == {"<s>": 266, "</s>": 267, "<|user|>": 268}
    # A name is no statement.
    assert (special.bos, special.eos) == (None, None)
    assert list(special) == ["<s>", "</s>", "<|user|>"]
    assert "<s>" in special
    assert "<think>" not in special


@pytest.mark.parametrize("text", [5, None, b"x", ["x"]])
def test_what_is_no_text(tok: Tokenizer, text: object) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="must be str"):
        tok.encode(text)  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.encode_batch(["x", text])  # type: ignore[list-item]
    if text is not None:
        with pytest.raises(pywasmtok.InvalidArgument, match="must be str"):
            tok.encode("x", text)  # type: ignore[arg-type]


def test_a_batch_is_no_single_text(tok: Tokenizer) -> None:
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.encode_batch("text")
    with pytest.raises(pywasmtok.InvalidArgument, match="item 1"):
        tok.encode_batch(["a", ("b",)])  # type: ignore[list-item]


def test_half_characters_are_refused_with_their_place(tok: Tokenizer) -> None:
    with pytest.raises(pywasmtok.InvalidText, match=r"U\+D800 at character 2") as caught:
        tok.encode("é\n\ud800")
    assert caught.value.offset == 3
    with pytest.raises(pywasmtok.InvalidText):
        tok.encode("x", "\udfff")
    with pytest.raises(pywasmtok.InvalidText, match="text 1"):
        tok.encode_batch(["x", "\ud800", "y"])
    with pytest.raises(pywasmtok.InvalidText, match="text 1"):
        tok.encode_batch(["x", ("y", "\ud800")])


def test_close(tok: Tokenizer) -> None:
    encoding = tok.encode("Hello")
    with tok as same:
        assert same is tok
        assert not tok.closed
    assert tok.closed
    tok.close()
    for use in (
        lambda: tok.encode("x"),
        lambda: tok.encode_batch(["x"]),
        lambda: tok.decode([1]),
        lambda: tok.decode_batch([[1]]),
        lambda: tok.token_to_id("x"),
        lambda: tok.id_to_token(1),
        tok.get_vocab,
        lambda: pickle.dumps(tok),
    ):
        with pytest.raises(pywasmtok.TokenizerClosed):
            use()
    assert encoding.ids
    assert tok.backend.encoder in ("core", "hf")
    assert "closed" in repr(tok)


def test_copies_stand_alone(tok: Tokenizer) -> None:
    copies = [copy.copy(tok), copy.deepcopy(tok), pickle.loads(pickle.dumps(tok))]
    expected = tok.encode(small.TEXT)
    backend = tok.backend
    tok.close()
    for other in copies:
        assert other.encode(small.TEXT) == expected
        assert other.encode(small.TEXT).offsets
        assert other.decode(expected)
        assert other.backend == backend


def test_equal_files_have_equal_pickles(tmp_path: Path) -> None:
    """By which `datasets` finds its cache. Files from 1 MiB on are read when they are needed."""
    for length in (0, 1 << 20):
        made = []
        for name in ("a", "b"):
            (tmp_path / name).mkdir(exist_ok=True)
            path = tmp_path / name / "tokenizer.json"
            path.write_bytes(small.file() + b" " * length)
            made.append(pywasmtok.create_tokenizer(path))
        first, second = map(pickle.dumps, made)
        assert first == second == pickle.dumps(pickle.loads(first))


def test_a_pickle_does_not_look_at_the_environment(
    tok: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(tok)
    monkeypatch.setenv("PYWASMTOK_ENCODER", "hf" if tok.backend.encoder == "core" else "core")
    assert pickle.loads(data).backend == tok.backend


def test_threads_share_one_tokenizer(tok: Tokenizer) -> None:
    texts = [f"{small.TEXT} {number}" for number in range(50)]
    expected = [(tok.encode(text).ids, tok.decode(tok.encode(text))) for text in texts]
    start = threading.Barrier(8)

    def work(_: int) -> bool:
        start.wait()
        return all(
            (tok.encode(text).ids, tok.decode(tok.encode(text))) == answer
            for _ in range(4)
            for text, answer in zip(texts, expected, strict=True)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(tok: Tokenizer) -> None:
    expected = tok.encode(small.TEXT)
    text = tok.decode(expected)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def child() -> None:
        answers.put((tok.encode(small.TEXT).ids, tok.decode(expected)))

    process = context.Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert answers.get() == (expected.ids, text)
    assert tok.encode(small.TEXT) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_another_thread_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = pywasmtok.create_tokenizer(small.write(tmp_path))
    ids = tok.encode("Hello").ids
    loading, forked = threading.Event(), threading.Event()
    parent = os.getpid()
    build = HFBackend._build

    def slow(backend: HFBackend) -> object:
        if os.getpid() == parent:
            loading.set()
            forked.wait(60)
        return build(backend)

    monkeypatch.setattr(HFBackend, "_build", slow)
    thread = threading.Thread(target=tok.decode, args=(ids,))
    thread.start()
    assert loading.wait(60)
    process = multiprocessing.get_context("fork").Process(target=tok.decode, args=(ids,))
    process.start()
    process.join(60)
    process.kill()
    forked.set()
    thread.join()
    assert process.exitcode == 0


def test_spawn(tok: Tokenizer) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        encoding = pool.submit(tok.encode, small.TEXT).result(60)
    assert encoding == tok.encode(small.TEXT)
    assert encoding.offsets == tok.encode(small.TEXT).offsets


def test_roles_that_a_file_states(tmp_path: Path) -> None:
    definition = small.definition()
    definition["model"]["unk_token"] = "!"
    definition["padding"] = {
        "strategy": {"Fixed": 4},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 267,
        "pad_type_id": 0,
        "pad_token": "</s>",
    }
    definition["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", 267],
        "cls": ["<s>", 266],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    path = small.write(tmp_path, **definition)
    for encoder in ("core", "hf"):
        tok = pywasmtok.create_tokenizer(path, encoder=encoder)
        special = tok.special_tokens
        assert (special.unk, special.pad) == ("!", "</s>")
        assert (special.sep, special.cls) == ("</s>", "<s>")
        assert special.additional == ("<|user|>",)
        assert special.ids == {"<s>": 266, "</s>": 267, "<|user|>": 268, "!": 33}
        assert tok.encode("x").attention_mask == [1, 1, 1, 0]
