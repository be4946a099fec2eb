"""Stopping: against a search through the whole text, and the cases that break others.

The engine's own tests hold it against the same search on 50,000 scenarios; here the whole way
through the host is tested, on real files.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

import pytest
import small
import streams
from assets import Asset, needs_assets, open_tokenizer
from streams import bytes_of, ids_of

import pywasmtok
from pywasmtok import (
    Held,
    InvalidArgument,
    Matched,
    Stopped,
    StoppedWithText,
    StopSequenceConfig,
    StopSequenceDecoder,
    Text,
)
from pywasmtok.backends import streaming


@pytest.fixture(scope="module")
def byte_level() -> pywasmtok.Tokenizer:
    return streams.open_bytes(small.file())


@pytest.fixture(scope="module")
def llama() -> pywasmtok.Tokenizer:
    return streams.open_bytes(streams.llama())


@dataclass
class Run:
    """What went out, token by token and then at the end."""

    given: list[str] = field(default_factory=list)
    matched: Matched | None = None

    @property
    def text(self) -> str:
        return "".join(self.given)


def run(decoder: StopSequenceDecoder, parts: list[list[int]]) -> Run:
    made = Run()
    for ids in parts:
        output, _ = decoder.process_tokens(ids)
        made.given.append(output.text)
        if output.stopped:
            break
    else:
        made.given.append(decoder.flush().text)
    made.matched = decoder.matched
    return made


def stop(tok: pywasmtok.Tokenizer, *hidden: str, **more: object) -> StopSequenceDecoder:
    return tok.stop_decoder(StopSequenceConfig(stop_sequences=hidden, **more))  # type: ignore[arg-type]


def chunks(*texts: str | bytes) -> list[list[int]]:
    return [bytes_of(text) for text in texts]


# The search through the whole text.


def expected(
    tok: pywasmtok.Tokenizer, config: StopSequenceConfig, context: list[int], ids: list[int]
) -> tuple[list[str], tuple[object, ...] | None]:
    """Text that is out after each token, and kind, number, visible, index, start, end."""
    stream = tok.decode_stream(context)
    text = ""
    out: list[str] = []
    every = [(t, False, n) for n, t in enumerate(config.stop_sequences)]
    every += [(t, True, n) for n, t in enumerate(config.visible_stop_sequences)]

    def first_end(before: int) -> tuple[int, str, bool, int] | None:
        for end in range(before + 1, len(text) + 1):
            found = [one for one in every if text[:end].endswith(one[0])]
            if found:
                return (end, *max(found, key=lambda one: (len(one[0]), not one[1], -one[2])))
        return None

    def stopped(index: int, before: int) -> tuple[object, ...] | None:
        found = first_end(before)
        if found is None:
            return None
        end, stop, visible, number = found
        out.append(text[: end if visible else end - len(stop)])
        return ("string", number, visible, index, end - len(stop), end)

    for index, token_id in enumerate(ids):
        late = index >= config.min_tokens
        hidden = token_id in config.stop_tokens
        before = len(text)
        if late and (hidden or token_id in config.visible_stop_tokens):
            text += stream.flush()
            match = stopped(index, before)
            if match is None:
                start = len(text)
                shown = "" if hidden else _shown(tok, stream, token_id)
                text += shown
                out.append(text)
                match = ("token", token_id, not hidden, index, start, len(text))
            return out, match
        text += stream.step(token_id)
        if late and (match := stopped(index, before)):
            return out, match
        held = max(
            (n for n in range(len(text) + 1) for t, _, _ in every if _begins(t, text, n)), default=0
        )
        out.append(text[: len(text) - held])
    before = len(text)
    text += stream.flush()
    if len(ids) > config.min_tokens or not config.min_tokens:
        match = stopped(len(ids) - 1, before)
        if match:
            return out, match
    out.append(text)
    return out, None


def piece(dice: random.Random, text: str) -> str:
    start = dice.randrange(max(1, len(text)))
    return text[start : start + dice.randint(1, 6)] or "x"


def _begins(stop: str, text: str, length: int) -> bool:
    return 0 < length < len(stop) and text.endswith(stop[:length])


def _shown(tok: pywasmtok.Tokenizer, stream: pywasmtok.DecodeStream, token_id: int) -> str:
    """A visible token behind all that was settled, also if it is special."""
    token = tok.id_to_token(token_id) or ""
    if token in tok.special_tokens:
        return token
    return stream.step(token_id) + stream.flush()


@needs_assets
@pytest.mark.parametrize("family", ["gpt2", "llama2", "llama3.1", "gemma3", "qwen3"])
def test_any_scenario(family: str) -> None:
    tok = open_tokenizer(Asset(family, "tokenizer.json"))
    dice = random.Random(family)
    text = "Hello world, naïve 🌶️ 你好世界 stop. Stop! the end\n\nUser: the theta zeta eta ... END"
    pool = tok.encode(text, None, False).ids
    spelled = [tok.token_to_id(f"<0x{byte:02X}>") for byte in (0xE4, 0xBD, 0xA0, 0xFF, 0x20)]
    spelled += [tok.token_to_id(small.alphabet()[byte]) for byte in (0xE4, 0xBD, 0xA0, 0xFF)]
    special = [tok.special_tokens.ids[name] for name in list(tok.special_tokens)[:3]]
    bytes_pool = [n for n in spelled if n is not None]
    for _ in range(600):
        ids = streams.any_ids(dice, [pool, pool, bytes_pool, special or pool])
        context = streams.any_ids(dice, [pool, bytes_pool])[:4]
        whole = tok.decode(ids)

        config = StopSequenceConfig(
            stop_tokens=tuple(dice.sample(ids, dice.randint(0, min(1, len(ids))))),
            visible_stop_tokens=tuple(dice.sample(ids, dice.randint(0, min(1, len(ids))))),
            stop_sequences=tuple(piece(dice, whole) for _ in range(dice.randint(0, 3))),
            visible_stop_sequences=tuple(piece(dice, whole) for _ in range(dice.randint(0, 2))),
            min_tokens=dice.choice([0, 0, 2]),
        )
        decoder = tok.stop_decoder(config, context, eos_token_ids=())
        made = run(decoder, [[n] for n in ids])
        out, match = expected(tok, config, context, ids)
        ours = ["".join(made.given[: n + 1]) for n in range(len(made.given))]
        # A stop at the end of the input takes the place of what the end would have released.
        assert ours[-1] == out[-1], (config, context, ids)
        assert ours[: len(ids) - 1] == out[: len(ids) - 1], (config, context, ids)
        found = made.matched
        assert (found is None) == (match is None), (config, context, ids)
        if found is not None:
            number = found.id if found.kind == "token" else found.index
            span = (found.start_char, found.end_char)
            assert (found.kind, number, found.visible, found.token_index, *span) == match
        again = tok.stop_decoder(config, context, eos_token_ids=())
        at_once = run(again, [list(part) for part in streams.cut(dice, ids)])
        assert (at_once.text, at_once.matched) == (made.text, made.matched)


class TestNamedCases:
    def test_t1_a_hidden_stop_spans_tokens(self, byte_level: pywasmtok.Tokenizer) -> None:
        """Also defect D5: no piece of it may leak."""
        parts = chunks("a", " zeta", " eta", " theta", "!")
        made = run(stop(byte_level, " zeta eta theta"), parts)
        assert made.given == ["a", "", "", ""]
        assert run(stop(byte_level, " zeta eta theta"), chunks("a zeta eta theta!")).text == "a"

    def test_t2_the_output_is_the_stop(self, byte_level: pywasmtok.Tokenizer) -> None:
        assert run(stop(byte_level, "DEFGHIJ"), chunks("DEFG", "HIJ")).text == ""

    @pytest.mark.parametrize("cut", [["a..", ".b"], ["a...b"], [*"a...b"]])
    def test_t3_stops_that_are_prefixes(
        self, byte_level: pywasmtok.Tokenizer, cut: list[str]
    ) -> None:
        made = run(stop(byte_level, "...", ".."), chunks(*cut))
        assert made.text == "a"
        assert made.matched is not None
        assert made.matched.string == ".."
        assert (made.matched.start, made.matched.end) == (1, 3)

    def test_t4_no_delay_where_nothing_begins(self, byte_level: pywasmtok.Tokenizer) -> None:
        """Also defect F20: a long stop holds nothing that does not begin it."""
        made = run(stop(byte_level, "z" * 100), chunks("every", " token", " out"))
        assert made.given == ["every", " token", " out", ""]

    def test_t5_a_false_start(self, byte_level: pywasmtok.Tokenizer) -> None:
        made = run(stop(byte_level, "abcd"), chunks("abcabc", "e"))
        assert made.given == ["abc", "abce", ""]

    @pytest.mark.parametrize("cut", [["xabcd"], ["xabc", "d"], [*"xabcd"]])
    def test_t6_nested(self, byte_level: pywasmtok.Tokenizer, cut: list[str]) -> None:
        made = run(stop(byte_level, "abcd", "bc"), chunks(*cut))
        assert made.text == "xa"
        assert made.matched is not None
        assert made.matched.string == "bc"

    def test_t7_a_stop_token_behind_half_a_character(self, byte_level: pywasmtok.Tokenizer) -> None:
        end = ids_of(byte_level, "</s>")[0]
        decoder = byte_level.stop_decoder(StopSequenceConfig(stop_tokens=(end,)))
        assert decoder.process_tokens([*bytes_of("a"), 0xE2]).output == Text("a")
        assert decoder.process_token(end) == StoppedWithText("�")
        assert decoder.matched == Matched(
            kind="token",
            id=end,
            string=None,
            index=None,
            visible=False,
            token_index=2,
            tokens_consumed=3,
            start=4,
            end=4,
            start_char=2,
            end_char=2,
        )

    def test_t8_a_visible_special_token(self, byte_level: pywasmtok.Tokenizer) -> None:
        end = ids_of(byte_level, "</s>")[0]
        decoder = byte_level.stop_decoder(StopSequenceConfig(visible_stop_tokens=(end,)))
        assert run(decoder, [bytes_of("hi"), [end]]).text == "hi</s>"

    def test_t9_a_visible_token_with_its_space(self, llama: pywasmtok.Tokenizer) -> None:
        a, b = ids_of(llama, "a", "▁b")
        decoder = llama.stop_decoder(StopSequenceConfig(visible_stop_tokens=(b,)))
        made = run(decoder, [[a], [b]])
        assert made.text == "a b"
        assert made.matched is not None
        assert (made.matched.start, made.matched.end) == (1, 3)

    def test_t10_at_the_very_start(self, byte_level: pywasmtok.Tokenizer) -> None:
        decoder = stop(byte_level, "S")
        assert decoder.process_token(ord("S")) == Stopped()
        assert decoder.process_token(ord("x")) == Stopped()
        assert decoder.flush() == Stopped()

    def test_t11_a_stop_of_several_bytes(self, byte_level: pywasmtok.Tokenizer) -> None:
        made = run(stop(byte_level, "。"), [bytes_of("a"), [0xE3, 0x80], [0x82]])
        assert made.given == ["a", "", ""]
        assert made.matched is not None
        assert (made.matched.start, made.matched.end) == (1, 4)
        assert (made.matched.start_char, made.matched.end_char) == (1, 2)

    def test_t12_the_context_takes_no_part(self, byte_level: pywasmtok.Tokenizer) -> None:
        config = StopSequenceConfig(stop_sequences=("STOP",))
        decoder = byte_level.stop_decoder(config, bytes_of("ST"))
        assert run(decoder, chunks("OP")).given == ["OP", ""]

    def test_t13_held_at_the_end(self, byte_level: pywasmtok.Tokenizer) -> None:
        decoder = stop(byte_level, "STOP")
        assert decoder.process_tokens(bytes_of("ST")) == (Held(), 2)
        assert decoder.flush() == Text("ST")
        assert not decoder.is_stopped
        assert decoder.matched is None

    def test_t14_hidden_wins(self, byte_level: pywasmtok.Tokenizer) -> None:
        config = StopSequenceConfig((1,), ("X",), (1,), ("X",))
        assert run(byte_level.stop_decoder(config), chunks("aX")).text == "a"
        assert run(byte_level.stop_decoder(config), [bytes_of("a"), [1]]).text == "a"

    def test_t15_min_tokens(self, byte_level: pywasmtok.Tokenizer) -> None:
        decoder = byte_level.stop_decoder(StopSequenceConfig((ord("!"),), ("ab",), min_tokens=3))
        assert run(decoder, [[n] for n in bytes_of("a!b!c")]).text == "a!b"
        # A match may begin before, but it has to end behind.
        assert run(stop(byte_level, "ab", min_tokens=3), [bytes_of("xxab!")]).text == "xx"
        assert run(stop(byte_level, "ab", min_tokens=3), [bytes_of("xab!")]).text == "xab!"

    def test_t16_what_follows_in_the_same_token(self) -> None:
        tok = streams.open_bytes(streams.llama(decoder={"type": "Fuse"}))
        hello = ids_of(tok, "Hello")
        hidden, visible = (StopSequenceConfig((), ("el",)), StopSequenceConfig((), (), (), ("el",)))
        assert run(tok.stop_decoder(hidden), [hello]).text == "H"
        assert run(tok.stop_decoder(visible), [hello]).text == "Hel"


class TestEndsOfSequence:
    """`ignore_eos` is about the tokenizer's own ends; an explicit stop stays one."""

    def test_they_stop_unless_ignored(self, byte_level: pywasmtok.Tokenizer) -> None:
        end = ids_of(byte_level, "</s>")[0]
        ids = [*bytes_of("a"), end, *bytes_of("b")]

        def text(config: StopSequenceConfig) -> str:
            return run(byte_level.stop_decoder(config, eos_token_ids=[end]), [ids]).text

        assert text(StopSequenceConfig()) == "a"
        assert text(StopSequenceConfig(ignore_eos=True)) == "ab"
        assert text(StopSequenceConfig(stop_tokens=(end,), ignore_eos=True)) == "a"
        assert text(StopSequenceConfig(visible_stop_tokens=(end,))) == "a</s>"

    def test_a_sequence_that_is_a_skipped_token(self, byte_level: pywasmtok.Tokenizer) -> None:
        end = ids_of(byte_level, "</s>")[0]
        config = StopSequenceConfig(stop_sequences=("</s>",))
        decoder = byte_level.stop_decoder(config)
        assert "special token" in decoder.notes[0]
        assert StopSequenceDecoder.from_state(byte_level, config, decoder.state()).notes == ()
        assert run(decoder, [[*bytes_of("a"), end, *bytes_of("b")]]).text == "a"
        shown = byte_level.stop_decoder(config, (), False)
        assert shown.notes == ()
        made = run(shown, [[*bytes_of("a"), end, *bytes_of("b")]])
        assert made.text == "a"
        assert made.matched is not None
        assert made.matched.kind == "string"


def test_only_new_text_goes_out(byte_level: pywasmtok.Tokenizer) -> None:
    decoder = stop(byte_level, "###")
    outputs = [decoder.process_token(n) for n in bytes_of("ab#c##d")]
    assert outputs == [Text("a"), Text("b"), Held(), Text("#c"), Held(), Held(), Text("##d")]


def test_processing_ends_early(byte_level: pywasmtok.Tokenizer) -> None:
    decoder = stop(byte_level, "X")
    assert decoder.process_tokens(bytes_of("abXcd")) == (StoppedWithText("ab"), 3)
    assert decoder.process_tokens(bytes_of("ef")) == (Stopped(), 0)
    decoder.reset()
    assert decoder.matched is None
    assert decoder.process_tokens(bytes_of("ef")) == (Text("ef"), 2)


def test_copies_marks_and_states(byte_level: pywasmtok.Tokenizer) -> None:
    config = StopSequenceConfig(stop_sequences=("STOP",))
    decoder = byte_level.stop_decoder(config)
    decoder.process_tokens([*bytes_of("aST"), 0xC3])
    mark, twin = decoder.checkpoint(), decoder.copy()
    assert decoder.process_token(0xA9) == Text("STé")
    decoder.rollback(mark)
    assert decoder.process_tokens(bytes_of("OP")).output == Text("ST�OP")
    moved = StopSequenceDecoder.from_state(byte_level, config, twin.state())
    assert moved.process_token(0xA9) == Text("STé")
    assert twin.process_token(0xA9) == Text("STé")
    with pytest.raises(InvalidArgument, match="state"):
        StopSequenceDecoder.from_state(byte_level, StopSequenceConfig(), twin.state())
    for length in range(len(twin.state())):
        with pytest.raises(InvalidArgument, match="state"):
            StopSequenceDecoder.from_state(byte_level, config, twin.state()[:length])


def test_a_stop_survives_a_rollback(byte_level: pywasmtok.Tokenizer) -> None:
    decoder = stop(byte_level, "X")
    before = decoder.checkpoint()
    decoder.process_token(ord("X"))
    after = decoder.checkpoint()
    decoder.rollback(before)
    assert decoder.process_token(ord("a")) == Text("a")
    decoder.rollback(after)
    assert decoder.is_stopped
    assert decoder.matched is not None
    assert decoder.matched.string == "X"


def test_a_mark_that_is_none_changes_nothing(byte_level: pywasmtok.Tokenizer) -> None:
    decoder = stop(byte_level, "X")
    decoder.process_token(ord("X"))
    for bad in (b"x" * 40, b"", None):
        with pytest.raises(pywasmtok.InvalidArgument):
            decoder.rollback(bad)  # type: ignore[arg-type]
        assert decoder.is_stopped


def test_a_state_behind_a_stop_is_what_reset_goes_back_to(byte_level: pywasmtok.Tokenizer) -> None:
    config = StopSequenceConfig(stop_sequences=("X",))
    decoder = byte_level.stop_decoder(config)
    decoder.process_token(ord("X"))
    later = StopSequenceDecoder.from_state(byte_level, config, decoder.state())
    assert later.is_stopped
    for one in (later, later.copy()):
        one.reset()
        assert one.is_stopped
        assert one.matched == decoder.matched
    decoder.reset()
    assert not decoder.is_stopped


def test_what_is_no_configuration_is_refused(byte_level: pywasmtok.Tokenizer) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="StopSequenceConfig"):
        byte_level.stop_decoder("X")  # type: ignore[arg-type]
    for ends in (2, b"1", [None]):
        with pytest.raises(pywasmtok.InvalidArgument):
            byte_level.stop_decoder(
                StopSequenceConfig(),
                eos_token_ids=ends,  # type: ignore[arg-type]
            )


def test_the_builder(byte_level: pywasmtok.Tokenizer) -> None:
    end = ids_of(byte_level, "</s>")[0]
    decoder = (
        StopSequenceDecoder.builder(byte_level)
        .stop_sequence("###")
        .visible_stop_sequence("!")
        .visible_stop_token(end)
        .stop_token(0)
        .min_tokens(1)
        .ignore_eos()
        .skip_special_tokens(True)
        .prompt_ids([0xC3])
        .build()
    )
    assert decoder.process_tokens([0xA9, *bytes_of("a!b")]).output == StoppedWithText("éa!")


@pytest.mark.parametrize(
    "bad",
    [
        {"stop_sequences": ("",)},
        {"stop_sequences": "###"},
        {"stop_sequences": (5,)},
        {"stop_sequences": ("\ud800",)},
        {"stop_tokens": (-1,)},
        {"stop_tokens": 5},
        {"stop_tokens": None},
        {"stop_sequences": 5},
        {"visible_stop_tokens": ("x",)},
        {"min_tokens": -1},
        {"min_tokens": 2**64},
        {"min_tokens": True},
        {"min_tokens": 1.0},
    ],
    ids=json.dumps,
)
def test_what_makes_no_sense_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(pywasmtok.TokenizerError):
        StopSequenceConfig(**bad)  # type: ignore[arg-type]


def test_the_least_count_is_one_of_the_core(byte_level: pywasmtok.Tokenizer) -> None:
    assert not stop(byte_level, "a", min_tokens=2**64 - 1).process_token(ord("a")).stopped
    # Python writes no number of so many digits.
    with pytest.raises(pywasmtok.InvalidArgument, match="min_tokens"):
        StopSequenceConfig(min_tokens=10**5000)


def test_stops_are_bounded(byte_level: pywasmtok.Tokenizer) -> None:
    with pytest.raises(pywasmtok.LimitExceeded, match="stop sequences"):
        stop(byte_level, "x" * 100_000)


def test_what_is_remembered_of_stops_and_streams_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streaming, "MOST", 50)
    tok = streams.open_bytes(small.file())
    for number in range(200):
        config = StopSequenceConfig(stop_sequences=(f"stop{number}",))
        tok.stop_decoder(config).process_tokens([97, 98])
        tok.decode_stream().step_batch([0xF0, 128 + number % 64, 128 + number // 64])
    assert 0 < len(tok.streaming._stop_nodes) <= 50
    assert 0 < len(tok.streaming._nodes) <= 50
