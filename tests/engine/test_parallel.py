"""Large inputs by several threads: the answers of one call, for every real file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from assets import SERVED, Asset, needs_assets, open_tokenizer
from nasty import texts

import pywasmtok
from pywasmtok import errors
from pywasmtok._host.calls.long_text import LONG_TEXT
from pywasmtok._host.calls.parallel import Parallel
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok.backends.core import CoreBackend

# Ordinary words between what is made to find differences: there are cuts among them.
WORDS = ["word", " Words", "getValue", "the end. ", " a", "\n", "1234", "漢字。", "//\n", "I'm "]
NAMES = ["<s>", "</s>", "<|endoftext|>", "<|eot_id|>", "[SEP]", "[MASK]", "<|im_start|>", "<0x0A>"]


def some_text(seed: str, size: int) -> str:
    rng = random.Random(seed)
    parts: list[str] = []
    nasty = texts(seed, 1000, NAMES)
    while sum(map(len, parts)) < size:
        parts += rng.choices(WORDS, k=rng.randrange(1, 30))
        if rng.random() < 0.6:
            parts.append(next(nasty)[:300])
        if rng.random() < 0.1:
            parts.append(rng.choice(WORDS) * rng.randrange(1, 60))
    return "".join(parts)


def core_of(tok: pywasmtok.Tokenizer) -> CoreTokenizer:
    encoder = tok.hybrid.encoder
    assert isinstance(encoder, CoreBackend)
    return encoder.core


def small_pieces(parallel: Parallel, size: int) -> None:
    parallel.part = parallel.smallest = size
    parallel.shared = 1


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYWASMTOK_THREADS", "3")


def in_one(core: CoreTokenizer, text: str, flags: int) -> bytes:
    """The oracle: the text as it is, in one call."""
    data = text.encode()
    ids: bytes = core._run(len(data), lambda one: one.encode_ids(data, flags))
    return ids


@needs_assets
@pytest.mark.parametrize("asset", SERVED, ids=lambda asset: asset.id)
def test_parts_have_the_ids_of_the_whole(asset: Asset) -> None:
    rng = random.Random(asset.id)
    with open_tokenizer(asset) as tok:
        core = core_of(tok)
        for turn in range(2):
            text = some_text(f"{asset.id} {turn}", rng.randrange(500, 4000))
            small_pieces(core._parallel, rng.choice((48, 100, 333)))
            for special, literal in ((True, False), (False, False), (False, True)):
                flags = special | literal << 2
                whole = in_one(core, text, flags)
                parts = core._parallel.encode_long(core._run, text.encode(), flags, 3)
                assert parts is None or parts == whole
                if core.info()["padding"]:
                    continue
                items = [text[:700], "", text[700:701], text, "a", text[701:]]
                ids, bounds = core.encode_batch_ids(items, special, literal, 3)
                ends = memoryview(bounds).cast("I").tolist()
                each = [ids[4 * start : 4 * end] for start, end in pairwise(ends)]
                assert each == [in_one(core, one, flags) for one in items]
                lists = [one for one in each if one]
                decoded = core.decode_batch(lists, False, threads=3)
                assert decoded == [core.decode(one, False) for one in lists]


@needs_assets
@pytest.mark.parametrize("family", ["llama3.1", "gpt2", "qwen3", "gpt-oss", "llama2", "gemma3"])
def test_these_are_really_cut(family: str) -> None:
    with open_tokenizer(Asset(family, "tokenizer.json")) as tok:
        core = core_of(tok)
        data = ("Some words of a text, one after the other. " * 200).encode()
        text = core._parallel._cutter.parts_of(
            core._parallel._simple(core._run), data, 1, size=1000
        )
        assert text is not None
        run = core._parallel._simple(core._run)
        parts = [text.ids_of(part, run, None) for part in range(text.parts)]
        assert all(parts)
        assert b"".join(parts) == in_one(core, data.decode(), 1)


@needs_assets
def test_text_in_which_no_cut_is_found() -> None:
    with open_tokenizer(Asset("gpt2", "tokenizer.json")) as tok:
        core = core_of(tok)
        small_pieces(core._parallel, 100)
        for text in ("=" * 5000, "a" * 5000, "=" * 3000 + " and then more " * 100):
            assert core._parallel.encode_long(core._run, text.encode(), 0, 3) == in_one(
                core, text, 0
            )


@pytest.fixture(scope="module")
def demo() -> Iterator[pywasmtok.Tokenizer]:
    with pywasmtok.create_tokenizer("builtin:demo", decoder="core", threads=2) as tok:
        yield tok


def test_any_number_of_threads_gives_the_same(demo: pywasmtok.Tokenizer) -> None:
    items = [some_text(str(n), n * 7) for n in range(300)]
    batch = demo.encode_batch(items, threads=1)
    assert [encoding.ids for encoding in batch] == [demo.encode(text).ids for text in items]
    lists = batch.ids
    plain = demo.decode_batch(lists, threads=1)
    for threads in (None, 2, 3, 100):
        assert demo.encode_batch(items, threads=threads) == batch
        assert demo.decode_batch(lists, threads=threads) == plain
    text = "".join(items) * 3
    assert len(text) > LONG_TEXT
    long = demo.encode(text, threads=1)
    assert demo.encode(text, threads=3) == demo.encode(text) == long
    assert long.buffer.tobytes() == in_one(core_of(demo), text, 1)
    assert long.offsets[-1][1] == len(text)


def test_pairs_and_padding_are_as_with_one_thread(demo: pywasmtok.Tokenizer) -> None:
    pairs = [("a text", "another")] * 20
    assert demo.encode_batch(pairs, threads=2) == demo.encode_batch(pairs, threads=1)
    assert demo.encode("a text", "another", threads=2) == demo.encode("a text", "another")


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_wrong_number_of_threads(demo: pywasmtok.Tokenizer, threads: object) -> None:
    for call in (
        lambda: demo.encode("a", threads=threads),  # type: ignore[arg-type]
        lambda: demo.encode_batch(["a"], threads=threads),  # type: ignore[arg-type]
        lambda: demo.decode_batch([[1]], threads=threads),  # type: ignore[arg-type]
        lambda: pywasmtok.create_tokenizer("builtin:demo", threads=threads),  # type: ignore[arg-type]
    ):
        with pytest.raises(errors.InvalidArgument, match="threads="):
            call()


def test_an_error_in_a_batch_names_its_text(demo: pywasmtok.Tokenizer) -> None:
    items = ["some words " * 100] * 200
    items[133] = "\ud800"
    with pytest.raises(errors.InvalidText, match="133"):
        demo.encode_batch(items, threads=3)
    lists = [[1, 2, 3] * 1000] * 50
    lists[31] = [2**31]
    with pytest.raises(errors.InvalidToken) as caught:
        demo.decode_batch(lists, unknown_id="error", threads=3)
    assert caught.value.path == "lists[31]"


def test_the_other_backends_take_the_argument_too() -> None:
    with pywasmtok.create_tokenizer("builtin:demo", encoder="hf", threads=2) as tok:
        assert tok.encode("some text", threads=2) == tok.encode_batch(["some text"], threads=2)[0]
    with pywasmtok.create_tokenizer("mock://") as tok:
        assert tok.encode("Hello", threads=2).ids == [1]
