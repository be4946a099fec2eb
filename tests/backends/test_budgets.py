"""Bounds on calls: each at its edge, what they leave alone, and what they cannot bound."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok import Limits, Tokenizer, errors

Call = Callable[[Tokenizer], Any]

MESSAGES = [{"role": "user", "content": "Hello"}]
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


def make(**bounds: Any) -> Tokenizer:
    tok = pywasmtok.create_tokenizer("builtin:demo", decoder="core", snapshots=False)
    return tok.limited(**bounds) if bounds else tok


def calls(tok: Tokenizer, text: str) -> dict[str, Callable[[], Any]]:
    return {
        "encode": lambda: tok.encode(text),
        "encode_pair": lambda: tok.encode(text[:1], text[1:]),
        "encode_batch": lambda: tok.encode_batch([text[:1], (text[1:2], text[2:])]),
        "encode_segments": lambda: tok.encode_segments([(text[:1], True), (text[1:], False)]),
        "count": lambda: tok.count(text),
        "count_batch": lambda: tok.count_batch([text[:1], text[1:]]),
        "fits": lambda: tok.fits(text, 1),
        "truncate": lambda: tok.truncate(text, 1),
    }


@pytest.mark.parametrize("text", ["abcdef", "aé€😀"])
@pytest.mark.parametrize("name", list(calls(None, "")))  # type: ignore[arg-type]
def test_bytes_of_text(name: str, text: str) -> None:
    size = len(text.encode())
    calls(make(max_text_bytes=size), text)[name]()
    with pytest.raises(errors.InputTooLarge) as caught:
        calls(make(max_text_bytes=size - 1), text)[name]()
    assert (caught.value.limit, caught.value.asked) == (size - 1, size)
    assert f"{size}" in str(caught.value)


def test_lone_surrogates_are_still_told() -> None:
    with pytest.raises(errors.InvalidText):
        make(max_text_bytes=100).encode("a\ud800")


def test_ids_that_are_answered() -> None:
    text = "one two three four"
    plain = make()
    kinds: tuple[Call, ...] = (
        lambda tok: tok.encode(text),
        lambda tok: tok.encode(text, special="none"),
        lambda tok: tok.encode_batch([text, text]),
        lambda tok: tok.encode_segments([(text, True)]),
        lambda tok: tok.truncate(text, 1000),
    )
    for call in kinds:
        answer = call(plain)
        each = answer if isinstance(answer, pywasmtok.EncodingBatch) else None
        encoding = answer.encoding if isinstance(answer, pywasmtok.Truncated) else answer
        count = sum(map(len, each)) if each is not None else len(encoding)
        call(plain.limited(max_tokens=count))
        with pytest.raises(errors.QuotaExceeded) as caught:
            call(plain.limited(max_tokens=count - 1))
        assert (caught.value.limit, caught.value.asked) == (count - 1, count)
    assert plain.limited(max_tokens=1).count(text) > 1


def test_ids_that_are_given() -> None:
    ids = make().encode("one two three four").ids
    kinds: tuple[Call, ...] = (
        lambda tok: tok.decode(ids),
        lambda tok: tok.decode(tuple(ids)),
        lambda tok: tok.decode_batch([ids[:1], ids[1:]]),
        lambda tok: tok.decode_bytes(ids),
        lambda tok: tok.token_spans(ids),
        lambda tok: tok.decode_stream(ids),
        lambda tok: tok.stop_decoder(pywasmtok.StopSequenceConfig(), ids),
        lambda tok: tok.sequence(ids),
    )
    for call in kinds:
        call(make(max_tokens=len(ids)))
        with pytest.raises(errors.InputTooLarge) as caught:
            call(make(max_tokens=len(ids) - 1))
        assert (caught.value.limit, caught.value.asked) == (len(ids) - 1, len(ids))


def test_items() -> None:
    kinds: tuple[Callable[[Tokenizer, list[str]], Any], ...] = (
        lambda tok, items: tok.encode_batch(items),
        lambda tok, items: tok.count_batch(items),
        lambda tok, items: tok.decode_batch([[1]] * len(items)),
        lambda tok, items: tok.encode_segments([(item, True) for item in items]),
    )
    for call in kinds:
        call(make(max_batch_items=3), ["a"] * 3)
        with pytest.raises(errors.InputTooLarge) as caught:
            call(make(max_batch_items=3), ["a"] * 4)
        assert (caught.value.limit, caught.value.asked) == (3, 4)
    with pytest.raises(errors.InputTooLarge):
        make(max_batch_items=3).encode_batch(repeat("a"))


def test_the_file(tmp_path: Path) -> None:
    path = small.write(tmp_path)
    size = path.stat().st_size
    assert pywasmtok.create_tokenizer(path, limits=Limits(max_file_bytes=size)).limits is None
    with pytest.raises(errors.InputTooLarge) as caught:
        pywasmtok.create_tokenizer(path, limits=Limits(max_file_bytes=size - 1))
    assert (caught.value.limit, caught.value.asked) == (size - 1, size)


def chat(tok: Tokenizer, **arguments: Any) -> Any:
    return tok.apply_chat_template(MESSAGES, chat_template=TEMPLATE, tokenize=False, **arguments)


def test_what_a_template_writes() -> None:
    text = chat(make())
    assert chat(make(max_template_output=len(text))) == text
    with pytest.raises(errors.QuotaExceeded) as caught:
        chat(make(max_template_output=len(text) - 1))
    assert caught.value.limit == len(text) - 1


def test_a_template_cannot_spin_longer_than_a_call_may() -> None:
    bomb = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    from pywasmtok.chat.contract import TemplateLimits

    tok = make(deadline=0.05)
    wide = TemplateLimits(fuel=1 << 62, deadline=None)
    with pytest.raises(errors.DeadlineExceeded) as caught:
        tok.apply_chat_template(MESSAGES, chat_template=bomb, limits=wide)
    assert caught.value.limit == 0.05
    # With time enough, in the same sandbox.
    assert chat(make()) == "<user>Hello"


def test_text_of_a_chat_counts() -> None:
    text = chat(make())
    arguments: dict[str, Any] = {"chat_template": TEMPLATE}
    for name in ("apply_chat_template", "encode_chat"):
        getattr(make(max_text_bytes=len(text)), name)(MESSAGES, **arguments)
        with pytest.raises(errors.InputTooLarge):
            getattr(make(max_text_bytes=len(text) - 1), name)(MESSAGES, **arguments)


def test_answers_are_the_same() -> None:
    plain = make()
    tok = make(deadline=30, memory=256 << 20, max_text_bytes=1 << 24, max_tokens=1 << 22)
    for text in ("", "Hello, world", "é😀" * 50, "word " * 300_000):
        ids = plain.encode(text)
        assert tok.encode(text).ids == ids.ids
        assert tok.encode(text).offsets == ids.offsets
        assert tok.decode(ids) == plain.decode(ids)
        assert tok.count(text) == len(ids)
    texts = ["some text", "x" * 70_000] * 20
    assert tok.encode_batch(texts).ids == plain.encode_batch(texts).ids
    lists = plain.encode_batch(texts).ids
    assert tok.decode_batch(lists) == plain.decode_batch(lists)
    stream = tok.decode_stream()
    steps = plain.encode("Hello, world").ids
    assert "".join(filter(None, map(stream.step, steps))) + (stream.flush() or "") == "Hello, world"


def test_a_view_allows_no_more_than_what_it_is_a_view_of() -> None:
    tok = make(max_text_bytes=3)
    wider = tok.limited(max_text_bytes=100, max_tokens=5)
    assert wider.limits == Limits(max_text_bytes=3, max_tokens=5)
    assert tok.limited(max_text_bytes=100, max_tokens=5) is wider
    wider.close()
    assert tok.limited(max_text_bytes=100, max_tokens=5).encode("abc")


def test_a_view_has_the_template_of_its_tokenizer() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    chat = [{"role": "user", "content": "x"}]

    def texts() -> list[str]:
        views = (tok, tok.limited(max_tokens=100), tok.limited(max_tokens=101))
        return [one.apply_chat_template(chat, tokenize=False) for one in views]

    tok.set_chat_template("OLD")
    assert texts() == ["OLD"] * 3
    tok.set_chat_template("NEW")
    assert texts() == ["NEW"] * 3
    # What is set of a view is its own.
    tok.limited(max_tokens=100).set_chat_template("OTHER")
    assert texts() == ["NEW"] * 3


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({"max_text_bytes": 100}, pywasmtok.InputTooLarge),
        ({"max_tokens": 10}, pywasmtok.QuotaExceeded),
        ({"max_template_output": 100}, pywasmtok.QuotaExceeded),
        ({"deadline": 1e-9}, pywasmtok.DeadlineExceeded),
    ],
)
def test_what_remembers_beginnings_keeps_the_bounds(bounds: Any, error: Any) -> None:
    text = "hello world " * 1000
    chat = [{"role": "user", "content": text}]
    with pywasmtok.create_tokenizer("builtin:demo") as tok:
        tok.set_chat_template("{{ messages[0].content }}")
        cache = pywasmtok.PrefixCache(1 << 20)
        assert cache.encode(tok, text).ids == tok.chat_session(messages=chat).encode().ids
        view = tok.limited(**bounds)
        with pytest.raises(error):
            view.chat_session(messages=chat).encode()
        if "max_template_output" not in bounds:
            with pytest.raises(error):
                cache.encode(view, text)


def test_texts_of_conversations_are_items_of_a_batch() -> None:
    chat = [{"role": "user", "content": "x"}]
    with pywasmtok.create_tokenizer("builtin:demo") as tok:
        tok.set_chat_template("x")
        view = tok.limited(max_batch_items=2)
        assert view.apply_chat_template([chat] * 2, tokenize=False) == ["x"] * 2
        with pytest.raises(pywasmtok.InputTooLarge):
            view.apply_chat_template([chat] * 3, tokenize=False)


def test_the_smaller_bound_of_a_file_under_either_name() -> None:
    one, other = pywasmtok.Limits(max_file_bytes=1000), pywasmtok.Limits(file_bytes=10)
    assert one.tightened(other).file_bytes == other.tightened(one).file_bytes == 10


def test_a_view_ends_with_its_tokenizer() -> None:
    plain = make()
    view = plain.limited(deadline=1, memory=256 << 20)
    view.close()
    with pytest.raises(errors.TokenizerClosed):
        view.encode("a")
    view = plain.limited(deadline=2)
    assert view.encode("a").ids == plain.encode("a").ids
    counted = [plain.limited(max_tokens=n) for n in range(1, 100)]
    streams = [one.decode_stream() for one in (view, counted[0], counted[-1])]
    for stream in streams:
        assert stream.step(64) == stream.step(64) == "a"
    plain.close()
    for one in (view, *counted):
        assert one.closed
        with pytest.raises(errors.TokenizerClosed):
            one.encode("a")
    for stream in streams:
        with pytest.raises(errors.TokenizerClosed):
            stream.step(64)
    with pytest.raises(errors.TokenizerClosed):
        plain.limited(deadline=3)


def test_bounds_come_along(tmp_path: Path) -> None:
    limits = Limits(deadline=5, max_text_bytes=3)
    tok = pywasmtok.create_tokenizer("builtin:demo", limits=limits)
    assert (tok.backend.encoder, tok.backend.decoder) == ("core", "core")
    for again in (tok, copy.copy(tok), pickle.loads(pickle.dumps(tok))):
        assert again.limits == limits
        with pytest.raises(errors.InputTooLarge):
            again.encode("abcd")


def test_what_cannot_be_bounded_is_refused() -> None:
    limits = Limits(deadline=1)
    with pytest.raises(errors.InvalidArgument, match="hf"):
        pywasmtok.create_tokenizer("builtin:demo", encoder="hf", limits=limits)
    hf = pywasmtok.create_tokenizer("builtin:demo", encoder="hf")
    with pytest.raises(errors.Unsupported, match="only the core"):
        hf.limited(deadline=1)
    with pytest.raises(errors.InputTooLarge):
        hf.limited(max_text_bytes=1).encode("ab")
    with pytest.raises(errors.Unsupported) as caught:
        pywasmtok.create_tokenizer("builtin:demo", build="threads", limits=limits)
    assert caught.value.feature == "limits:threads"
    with pytest.raises(errors.Unsupported):
        pywasmtok.create_tokenizer("builtin:demo", build="threads").limited(deadline=1)


def test_too_little_memory_for_the_tables() -> None:
    with pytest.raises(errors.MemoryLimit) as caught:
        pywasmtok.create_tokenizer("builtin:demo", limits=Limits(memory=2 << 20))
    assert caught.value.limit == 2 << 20
    with pytest.raises(errors.MemoryLimit) as caught:
        make().limited(memory=2 << 20)
    assert (caught.value.asked or 0) > 2 << 20


def test_memory_of_a_call() -> None:
    tok = make(memory=64 << 20)
    plain = make()
    text = "é" + "a" * (80 << 20)
    for _ in range(3):
        with pytest.raises(errors.MemoryLimit) as caught:
            tok.encode_segments([(text, False)])
        assert caught.value.limit == 64 << 20
        assert tok.encode("fine").ids == plain.encode("fine").ids


@pytest.mark.parametrize(
    "bounds",
    [
        {"deadline": 0},
        {"deadline": -1},
        {"deadline": float("nan")},
        {"deadline": 3601},
        {"deadline": "1"},
        {"deadline": True},
        {"memory": 1},
        {"memory": 1 << 40},
        {"max_tokens": -1},
        {"max_text_bytes": 1.5},
        {"no_such_bound": 1},
    ],
)
def test_what_is_no_bound(bounds: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgument):
        make().limited(**bounds)


def generated() -> Iterator[str]:
    yield "a"


def test_without_bounds_a_tokenizer_is_what_it_was() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo", limits=Limits(items=1 << 21))
    assert type(tok) is Tokenizer
    assert type(tok.core_backend.core).__name__ == "CoreTokenizer"  # type: ignore[union-attr]
    assert make(max_batch_items=1).encode_batch(generated()).ids


@pytest.mark.parametrize("bound", [7, 8, 31, 32, 33])
def test_a_batch_that_surely_fits_is_no_other_than_one_that_was_measured(bound: int) -> None:
    """Sizes on both sides of what is told without a look at each text."""
    batches: tuple[list[Any], ...] = (
        ["ab", "cdefgh"],
        ["é" * 4],
        ["😀😀"],
        ["a", ("bcd", "efgh")],
        ["x"] * 8,
    )
    for batch in batches:
        size = sum(len(text.encode()) for item in batch for text in item)
        tok = make(max_text_bytes=bound)
        calls: list[Callable[[Any], Any]] = [tok.encode_batch]
        if all(isinstance(item, str) for item in batch):
            calls.append(tok.count_batch)
        for call in calls:
            if size <= bound:
                assert len(call(batch)) == len(batch)
            else:
                with pytest.raises(errors.InputTooLarge) as caught:
                    call(batch)
                assert (caught.value.limit, caught.value.asked) == (bound, size)
