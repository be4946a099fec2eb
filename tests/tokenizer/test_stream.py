"""Streams: equal to decoding everything at once, for every list and every cut.

The oracle is the reference's `decode` of the whole list, never its own stream.
"""

from __future__ import annotations

import copy
import os
import random
import threading
import time
from decimal import Decimal
from typing import Any

import assets
import nasty
import numpy
import pytest
import small
import streams
import tokenizers
from assets import Asset, needs_assets, open_huggingface, open_tokenizer
from streams import bytes_of, ids_of

import pywasmtok
from pywasmtok import InvalidArgument, InvalidToken

LISTS = 2000 if os.environ.get("PYWASMTOK_SLOW") == "1" else 400

# Each with who encodes: where that is HuggingFace, the core is given the decoder alone.
CASES = [
    *((asset, "auto") for asset in assets.SERVED),
    *((Asset(family, "tokenizer.json"), "hf") for family in ("bert-base-cased", "llama2", "t5")),
]
EVERY = pytest.mark.parametrize(
    ("asset", "encoder"), CASES, ids=[f"{asset.id}-{encoder}" for asset, encoder in CASES]
)


@pytest.fixture(scope="module")
def byte_level() -> pywasmtok.Tokenizer:
    return streams.open_bytes(small.file())


@pytest.fixture(scope="module")
def llama() -> pywasmtok.Tokenizer:
    return streams.open_bytes(streams.llama())


def steps(tok: pywasmtok.Tokenizer, context: list[int], ids: list[int], **how: object) -> list[str]:
    """What each step gives, and what the flush gives behind it."""
    stream = tok.decode_stream(context, **how)  # type: ignore[arg-type]
    return [*(stream.step(token_id) for token_id in ids), stream.flush()]


def pools(hf: tokenizers.Tokenizer) -> list[list[int]]:
    size = hf.get_vocab_size()
    added = hf.get_added_tokens_decoder()
    texts = list(nasty.texts("streams", 60, [token.content for token in added.values()]))
    text = [n for e in hf.encode_batch(texts, add_special_tokens=False) for n in e.ids]
    spelled = [hf.token_to_id(f"<0x{byte:02X}>") for byte in (0xE4, 0xBD, 0xA0, 0xFF, 0x20, 0x41)]
    alphabet = small.alphabet()
    spelled += [hf.token_to_id(alphabet[byte]) for byte in (0xE4, 0xBD, 0xA0, 0xFF, 0x20, 0xC3)]
    all_pools = [
        text,
        list(range(min(size, 3000))),
        [size - 1 - n for n in range(min(size, 3000))],
        [n for n in spelled if n is not None],
        list(added)[:50],
        [size + 77, 3_000_000],
    ]
    return [pool for pool in all_pools if pool]


@needs_assets
@EVERY
def test_every_real_file(asset: Asset, encoder: str) -> None:
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder=encoder, decoder="hf")
    assert tok.stream_backend.startswith("core")
    dice = random.Random(asset.id)
    some = pools(hf)
    lists = [streams.any_ids(dice, some) for _ in range(LISTS)]
    for skip in (True, False):
        for ids, whole in zip(lists, hf.decode_batch(lists, skip), strict=True):
            stream = tok.decode_stream(skip_special_tokens=skip)
            text = "".join(stream.step_batch(part) for part in streams.cut(dice, ids))
            assert text + stream.flush() == whole, (ids, skip)
            assert "".join(steps(tok, [], ids, skip_special_tokens=skip)) == whole, (ids, skip)
            place = dice.randint(0, len(ids))
            completion = "".join(steps(tok, ids[:place], ids[place:], skip_special_tokens=skip))
            assert whole.endswith(completion), (ids, place, skip)
            before = hf.decode(ids[:place], skip)
            if whole.startswith(before) and not before.endswith("�"):
                rewritten = whole[len(before) :].removesuffix(completion)
                # A byte that breaks a run of the context makes U+FFFD of its characters, too.
                assert rewritten.strip("�") == "", (ids, place, skip)


@needs_assets
@EVERY
def test_the_core_decodes_what_the_reference_decodes(asset: Asset, encoder: str) -> None:
    hf = open_huggingface(asset)
    decoder = "hf" if encoder == "hf" else "core"
    tok = open_tokenizer(asset, encoder=encoder, decoder=decoder)
    dice = random.Random(asset.id)
    some = pools(hf)
    lists = [streams.any_ids(dice, some) for _ in range(LISTS)]
    for skip in (True, False):
        texts = hf.decode_batch(lists, skip)
        assert tok.decode_batch(lists, skip) == texts
        for ids, text in zip(lists, texts, strict=True):
            data = tok.decode_bytes(ids, skip)
            if "�" not in text:
                assert data == text.encode(), (ids, skip)


@needs_assets
@pytest.mark.parametrize(
    "name", ["xlnet/spiece.model", "mistral-v3/tokenizer.model", "spm-misc/test_model.model"]
)
def test_sentencepiece_models(name: str) -> None:
    """Their decoder and `byte_runs="eager"` follow the same rule."""
    asset = Asset(*name.split("/"))
    tok = open_tokenizer(asset, encoder="core")
    dice = random.Random(name)
    size = tok.get_vocab_size()
    spelled = [tok.token_to_id(f"<0x{byte:02X}>") for byte in (0xE4, 0xBD, 0xA0, 0xFF, 0x20)]
    some = [tok.encode("naïve 🌶️ 你好 the end").ids, range(size)]
    some += [[n for n in spelled if n is not None]] if None not in spelled else []
    for _ in range(LISTS):
        ids = streams.any_ids(dice, some)
        whole = tok.decode(ids)
        stream = tok.decode_stream()
        text = "".join(stream.step_batch(part) for part in streams.cut(dice, ids))
        assert text + stream.flush() == whole, ids
        place = dice.randint(0, len(ids))
        assert whole.endswith("".join(steps(tok, ids[:place], ids[place:]))), (ids, place)


class TestNamedCases:
    """Each of these lists makes some other stream lose, repeat or leak text."""

    def test_s1_context_ends_inside_an_emoji(self, byte_level: pywasmtok.Tokenizer) -> None:
        context = [*bytes_of("Hello world "), 0xF0, 0x9F]
        assert steps(byte_level, context, [0x8C, 0xB6]) == ["", "🌶", ""]

    def test_s2_lead_byte_in_the_context(self, byte_level: pywasmtok.Tokenizer) -> None:
        context = [*bytes_of("a"), 0xC3]
        assert steps(byte_level, context, [0xA9, *bytes_of("bcd")]) == ["é", "b", "c", "d", ""]
        assert steps(byte_level, [0xE2], [0x82, 0xAC, *bytes_of("x")]) == ["", "€", "x", ""]

    def test_s3_ends_incomplete(self, byte_level: pywasmtok.Tokenizer) -> None:
        assert steps(byte_level, [], [*bytes_of("a"), 0xC3]) == ["a", "", "�"]

    def test_s4_invalid_bytes_cost_the_same_each(self, byte_level: pywasmtok.Tokenizer) -> None:
        assert steps(byte_level, [], [0x80] * 1600) == ["�"] * 1600 + [""]
        stream = byte_level.decode_stream()
        start = time.process_time()
        for _ in range(20_000):
            stream.step(0x80)
        # Quadratic cost would be minutes.
        assert time.process_time() - start < 5
        assert len(stream.state()) < 64

    def test_s5_a_genuine_replacement_character(self, byte_level: pywasmtok.Tokenizer) -> None:
        """Also defect D4: elsewhere it is held, or deleted for good."""
        ids = bytes_of("x�y")
        assert steps(byte_level, [], ids) == ["x", "", "", "�", "y", ""]
        assert byte_level.sequence(ids).text == "x�y"

    def test_s6_a_run_turns_invalid(self, llama: pywasmtok.Tokenizer) -> None:
        x = ids_of(llama, "x")[0]
        ids = [x, 0xE4, 0xBD, 0xA0, 0xFF, x, x]
        assert steps(llama, [], ids) == ["x", "", "", "", "����", "x", "x", ""]
        eager = steps(llama, [], ids, byte_runs="eager")
        assert eager == ["x", "", "", "你", "�", "x", "x", ""]

    def test_s7_unknown_ids(self, byte_level: pywasmtok.Tokenizer) -> None:
        ids = [999_999, *bytes_of("ok")]
        assert "".join(steps(byte_level, [], ids)) == "ok"
        assert "".join(steps(byte_level, [], ids, unknown_id="replace")) == "�ok"
        stream = byte_level.decode_stream(unknown_id="error")
        assert stream.step(ord("o")) == "o"
        for _ in range(2):
            with pytest.raises(InvalidToken, match="999999"):
                stream.step(999_999)
        # After an error the stream is where it was.
        assert stream.step(ord("k")) == "k"

    def test_s8_the_context_decides_about_spaces(self) -> None:
        metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
        for decoder in (metaspace, streams.LLAMA):
            tok = streams.open_bytes(streams.llama(decoder=decoder))
            hi, end = ids_of(tok, "▁hi", "</s>")
            assert steps(tok, [], [hi]) == ["hi", ""]
            assert steps(tok, [hi], [hi]) == [" hi", ""]
            assert "".join(steps(tok, [end], [hi])) == "hi"
            assert "".join(steps(tok, [end], [hi], skip_special_tokens=False)) == " hi"

    def test_s9_a_leading_space_byte(self, llama: pywasmtok.Tokenizer) -> None:
        assert steps(llama, [], [0x20, *ids_of(llama, "x")]) == ["", "x", ""]

    def test_s10_a_skipped_token_inside_a_run(self, llama: pywasmtok.Tokenizer) -> None:
        end = ids_of(llama, "</s>")[0]
        assert steps(llama, [], [0xE4, end, 0xBD, 0xA0]) == ["", "", "", "", "你"]
        shown = steps(llama, [], [0xE4, end, 0xBD, 0xA0], skip_special_tokens=False)
        assert "".join(shown) == "�</s>��"


def test_d3_no_cut_is_inside_a_character(byte_level: pywasmtok.Tokenizer) -> None:
    text = "naïve 🌶️ 你好 é"
    for ids in (bytes_of(text), byte_level.encode(text, None, False).ids):
        assert "".join(steps(byte_level, [], ids)) == text


def test_f19_nothing_grows(llama: pywasmtok.Tokenizer, byte_level: pywasmtok.Tokenizer) -> None:
    for tok in (llama, byte_level):
        stream = tok.decode_stream()
        ids = [*range(256), *range(256, 268)] * 20
        random.Random(1).shuffle(ids)
        assert max(len(stream.step(n)) and len(stream.state()) for n in ids) < 200


def test_a_run_is_held_up_to_a_bound(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream()
    ids = bytes_of("你" * 3000)
    text = "".join(stream.step(n) for n in ids)
    assert 0 < len(text) < 3000
    assert len(stream.state()) < 4200
    assert text + stream.flush() == "你" * 3000


def test_flush_is_idempotent_and_the_stream_goes_on(
    byte_level: pywasmtok.Tokenizer, llama: pywasmtok.Tokenizer
) -> None:
    stream = byte_level.decode_stream()
    assert stream.step(0xC3) == ""
    assert (stream.flush(), stream.flush()) == ("�", "")
    assert stream.step(0xA9) == "�"
    hi = ids_of(llama, "▁hi")[0]
    stream = llama.decode_stream()
    assert [stream.step(hi), stream.flush(), stream.step(hi)] == ["hi", "", " hi"]


def test_copies_and_marks(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream(history=True)
    x = ids_of(llama, "x")[0]
    stream.step_batch([x, 0xE4])
    mark, twin = stream.checkpoint(), stream.copy()
    assert stream.step_batch([0xBD, 0xA0, x]) == "你x"
    assert copy.copy(stream).text == "x你x"
    stream.rollback(mark)
    assert (stream.tokens, stream.text) == ([x, 0xE4], "x")
    assert stream.step_batch([x]) + stream.flush() == "�x"
    assert twin.step_batch([0xBD, 0xA0]) + twin.flush() == "你"
    assert (twin.tokens, twin.text) == ([x, 0xE4, 0xBD, 0xA0], "x你")


def test_marks_of_another_branch_and_of_copies(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream(history=True)
    early, begin = stream.copy(), stream.checkpoint()
    first, second = ids_of(llama, "x", "a"), ids_of(llama, "x", "x", "a")
    stream.step_batch(first)
    left = stream.checkpoint()
    stream.rollback(begin)
    stream.step_batch(second)
    for one in (stream, early):
        one.rollback(left)
        assert (one.tokens, one.text) == (first, "xa")
        assert one.step_batch(second) == "xxa"
        assert (one.tokens, one.text) == (first + second, "xaxxa")
    with pytest.raises(InvalidArgument, match="no history"):
        early.rollback(llama.decode_stream().checkpoint())
    early.rollback(begin)
    assert early.step_batch(ids_of(llama, "x")) + early.flush() == "x"
    for bad in (None, b"", stream.state()):
        with pytest.raises(InvalidArgument, match="checkpoint"):
            early.rollback(bad)  # type: ignore[arg-type]


def test_an_iterator_is_read_once(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream(history=True)
    ids = ids_of(llama, "x", "a")
    assert stream.step_batch(iter(ids)) == "xa"  # type: ignore[arg-type]
    assert stream.tokens == ids


def test_a_stream_ends_with_its_tokenizer() -> None:
    tok = streams.open_bytes(streams.llama())
    x = ids_of(tok, "x")[0]
    stream, stops = tok.decode_stream(), tok.stop_decoder(pywasmtok.StopSequenceConfig())
    for step in (stream.step, stops.process_token):
        step(x)
        step(x)
    tok.close()
    for step in (stream.step, stops.process_token):
        with pytest.raises(pywasmtok.TokenizerClosed):
            step(x)


@pytest.mark.parametrize("kind", [float, complex, Decimal])
def test_what_only_equals_an_id_is_not_kept(llama: pywasmtok.Tokenizer, kind: Any) -> None:
    (hi,) = ids_of(llama, "hi")
    stream, sequence = llama.decode_stream(history=True), llama.sequence()
    for number in (hi, hi):
        stream.step(number)
        sequence.append_token(number)
    state = stream.state()
    for step in (stream.step, sequence.append_token):
        with pytest.raises(InvalidArgument, match="no integer"):
            step(kind(hi))
    assert stream.state() == state
    assert stream.tokens == sequence.token_ids == [hi, hi]
    short: Any = numpy.uint16(hi)
    assert stream.step(short) == sequence.append_token(short) == "hi"
    assert stream.tokens == sequence.token_ids == [hi] * 3


def test_history_only_when_asked_for(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream()
    for name in ("tokens", "text"):
        with pytest.raises(InvalidArgument, match="history"):
            getattr(stream, name)


def test_a_state_moves_to_another_tokenizer_object(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream()
    stream.step(0xE4)
    twin = streams.open_bytes(streams.llama())
    moved = pywasmtok.DecodeStream.from_state(twin, stream.state())
    assert moved.step_batch([0xBD, 0xA0]) + moved.flush() == "你"
    for other in (small.file(), streams.llama(decoder=None)):
        with pytest.raises(InvalidArgument, match="another tokenizer"):
            pywasmtok.DecodeStream.from_state(streams.open_bytes(other), stream.state())
    for bad in (b"", b"x" * 40, stream.state()[:-1], stream.state() + b"\0"):
        with pytest.raises(InvalidArgument, match="state"):
            pywasmtok.DecodeStream.from_state(llama, bad)


def test_wrong_ids_are_named(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream()
    for bad in ("x", None, 1.5, [1]):
        with pytest.raises(InvalidArgument):
            stream.step(bad)  # type: ignore[arg-type]
    for bad in (-1, 1 << 32):
        with pytest.raises(InvalidToken):
            stream.step(bad)
    with pytest.raises(InvalidArgument, match="byte_runs"):
        llama.decode_stream(byte_runs="soon")
    with pytest.raises(InvalidArgument, match="unknown_id"):
        llama.decode_stream(unknown_id="maybe")


def test_what_is_remembered_is_bounded(byte_level: pywasmtok.Tokenizer) -> None:
    tok = streams.open_bytes(small.file())
    streaming = tok.streaming
    first = tok.decode_stream()
    first.step(65)
    for number in range(20_000):
        tok.decode_stream().step(1_000_000 + number)
    assert streaming.known <= 16_384
    assert sum(map(len, streaming._nodes.values())) <= 16_384
    assert first.step(66) == "B"


def test_threads_share_a_tokenizer(llama: pywasmtok.Tokenizer) -> None:
    ids = bytes_of("你好 🌶 x") * 50
    expected = llama.decode(ids)
    wrong: list[str] = []

    def run() -> None:
        stream = llama.decode_stream()
        text = "".join(stream.step(n) for n in ids) + stream.flush()
        if text != expected:
            wrong.append(text)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_stream_goes_on_behind_a_fork(llama: pywasmtok.Tokenizer) -> None:
    stream = llama.decode_stream()
    stream.step(0xE4)
    child = os.fork()
    if child == 0:
        done = stream.step_batch([0xBD, 0xA0]) + stream.flush() == "你"
        os._exit(0 if done else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert stream.step_batch([0xBD, 0xA0]) + stream.flush() == "你"


class TestOverAnotherLibrary:
    """Where the core does not encode, it still decodes: from the vocabulary and the decoder."""

    def test_the_same_stream(self) -> None:
        tok = streams.open_bytes(streams.llama(), "hf", "hf")
        assert tok.stream_backend == "core (decoder only)"
        x, end = ids_of(tok, "x", "</s>")
        assert steps(tok, [], [x, 0xE4, end, 0xBD, 0xA0, 0xFF]) == ["x", "", "", "", "", "����", ""]
        assert tok.decode_bytes([x, 0xE4, 0xBD]) == b"x\xe4\xbd"
        tok.close()
        with pytest.raises(pywasmtok.TokenizerClosed):
            tok.decode_stream()

    def test_what_the_core_does_not_know_is_held_until_flush(self) -> None:
        from pywasmtok.backends.streaming import HeldStreaming

        tok = streams.open_bytes(streams.llama(), "hf", "hf")
        tok.hybrid._streaming = HeldStreaming(tok.hybrid.decoder, "decoder:Odd")
        assert tok.stream_backend == "held until flush: decoder:Odd"
        hi, x = ids_of(tok, "▁hi", "x")
        assert steps(tok, [], [hi, x, 0xE4]) == ["", "", "", "hix�"]
        assert steps(tok, [hi], [hi, x]) == ["", "", " hix"]
        stream = tok.decode_stream([hi])
        assert stream.step(hi) + stream.flush() == " hi"
        assert stream.flush() == ""
        assert stream.step(x) + stream.flush() == "x"
        again = pywasmtok.DecodeStream.from_state(tok, stream.state())
        assert again.step(x) + again.flush() == "x"
        with pytest.raises(pywasmtok.Unsupported, match="held back"):
            tok.stop_decoder(pywasmtok.StopSequenceConfig(stop_sequences=("x",)))
        assert tok.decode_bytes([hi]) == b"hi"

    def test_a_decoder_that_needs_the_whole_text_says_so(self) -> None:
        pattern = {"type": "Replace", "pattern": {"Regex": "i+"}, "content": "-"}
        decoder = {"type": "Sequence", "decoders": [{"type": "Fuse"}, pattern]}
        tok = streams.open_bytes(streams.llama(decoder=decoder))
        assert tok.stream_backend == "held until flush: decoder:Replace"
        hi = ids_of(tok, "hi")
        assert steps(tok, [], hi) == ["", "h-"]
        assert steps(tok, hi, hi) == ["", "h-"]

    def test_the_mock(self) -> None:
        tok = pywasmtok.create_tokenizer("mock://")
        assert steps(tok, [], [1, 2, 77, 1000, 6]) == ["Hello", " world", "", "", " .", ""]


class TestSequence:
    def test_text_and_ids_mix(self, byte_level: pywasmtok.Tokenizer) -> None:
        sequence = byte_level.sequence()
        assert sequence.append_text("Hello") == "Hello"
        assert [sequence.append_token(n) for n in (0xC3, 0xA9)] == ["", "é"]
        assert sequence.append_text(" world") == " world"
        assert sequence.append_token(0xC3) == ""
        assert sequence.text == "Helloé world�"
        assert sequence.append_token(0xA9) == "é"
        assert sequence.text == "Helloé worldé" == byte_level.decode(sequence.token_ids, False)
        assert len(sequence) == len(sequence.token_ids) == 7
        assert "Helloé" in repr(sequence)

    def test_text_is_everything_ever(self, llama: pywasmtok.Tokenizer) -> None:
        hi = ids_of(llama, "▁hi")[0]
        sequence = llama.sequence([hi])
        for _ in range(100):
            assert sequence.append_token(hi) == " hi"
        assert sequence.text == " ".join(["hi"] * 101)

    def test_a_failed_append_changes_nothing(self, llama: pywasmtok.Tokenizer) -> None:
        sequence = llama.sequence(ids_of(llama, "x"))
        with pytest.raises(InvalidToken):
            sequence.append_token(-1)
        with pytest.raises(InvalidArgument):
            sequence.append_text(5)  # type: ignore[arg-type]
        assert (sequence.text, len(sequence)) == ("x", 1)


class TestDecodeBytes:
    def test_bytes_before_they_are_replaced(self, byte_level: pywasmtok.Tokenizer) -> None:
        assert byte_level.decode([0x61, 0xE4, 0xBD]) == "a�"
        assert byte_level.decode_bytes([0x61, 0xE4, 0xBD]) == b"a\xe4\xbd"

    def test_unknown_ids(self, byte_level: pywasmtok.Tokenizer) -> None:
        assert byte_level.decode_bytes([0x61, 999_999]) == b"a"
        assert byte_level.decode_bytes([0x61, 999_999], unknown_id="replace") == "a�".encode()
        with pytest.raises(InvalidToken, match=r"ids\[1\]"):
            byte_level.decode_bytes([0x61, 999_999], unknown_id="error")
