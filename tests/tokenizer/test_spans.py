"""Which token wrote what: the spans are the text, and each is found the slow way, too."""

from __future__ import annotations

import codecs
import random

import pytest
import random_files
import random_streams
import small
import streams
from assets import ROOT, Asset, needs_assets, open_huggingface, open_tokenizer
from streams import bytes_of, ids_of

import pywasmtok
from pywasmtok import Unsupported
from tokenizer.test_stream import pools


@pytest.fixture(scope="module")
def byte_level() -> pywasmtok.Tokenizer:
    return streams.open_bytes(small.file())


@pytest.fixture(scope="module")
def llama() -> pywasmtok.Tokenizer:
    return streams.open_bytes(streams.llama())


def short(tok: pywasmtok.Tokenizer, ids: list[int], skip: bool = True) -> list[tuple[object, ...]]:
    return [span[1:] for span in tok.token_spans(ids, skip)]


def test_a_character_of_several_tokens(byte_level: pywasmtok.Tokenizer) -> None:
    end = ids_of(byte_level, "</s>")[0]
    assert short(byte_level, [*bytes_of("aé"), end, *bytes_of("b")]) == [
        (0, 1, 0, "a"),
        (1, 2, 1, "é"),
        (2, 3, 1, ""),
        (3, 3, 2, ""),
        (3, 4, 2, "b"),
    ]


def test_bytes_that_are_no_text(byte_level: pywasmtok.Tokenizer) -> None:
    found = short(byte_level, [0xE4, 0xBD, *bytes_of("x"), 0xFF])
    assert found == [(0, 1, 0, "�"), (1, 2, 0, ""), (2, 3, 1, "x"), (3, 4, 2, "�")]


def test_runs_of_byte_tokens(llama: pywasmtok.Tokenizer) -> None:
    x = ids_of(llama, "x")[0]
    found = short(llama, [0xE4, 0xBD, 0xA0, x])
    assert found == [(0, 1, 0, "你"), (1, 2, 0, ""), (2, 3, 0, ""), (3, 4, 1, "x")]
    # Alone, the first token loses its space; in a run that is no text it does not.
    assert short(llama, [0x20, 0xF0]) == [(0, 0, 0, ""), (0, 2, 0, "��")]
    found = short(llama, [0xE4, 0xBD, 0xA0, 0xFF, x])
    assert found == [(n, n + 1, n, "�") for n in range(4)] + [(4, 5, 4, "x")]


def test_the_first_token_loses_its_space(llama: pywasmtok.Tokenizer) -> None:
    hi, space, end = ids_of(llama, "▁hi", "▁", "</s>")
    assert short(llama, [hi, hi]) == [(0, 2, 0, "hi"), (2, 5, 2, " hi")]
    assert short(llama, [space, hi]) == [(0, 0, 0, ""), (0, 3, 0, " hi")]
    assert short(llama, [end, hi, hi]) == [(0, 0, 0, ""), (0, 2, 0, "hi"), (2, 5, 2, " hi")]
    assert short(llama, [end, hi], False) == [(0, 4, 0, "</s>"), (4, 7, 4, " hi")]


def test_nothing(byte_level: pywasmtok.Tokenizer) -> None:
    assert byte_level.token_spans([]) == []
    assert short(byte_level, [999_999]) == [(0, 0, 0, "")]


def check(tok: pywasmtok.Tokenizer, ids: list[int], skip: bool) -> None:
    spans = tok.token_spans(ids, skip)
    text, data = tok.decode(ids, skip), tok.decode_bytes(ids, skip)
    assert [span.id for span in spans] == ids
    assert "".join(span.text for span in spans) == text
    # Each prefix of the ids has the bytes that its spans say.
    for place, span in enumerate(spans):
        assert len(tok.decode_bytes(ids[: place + 1], skip)) == span.end, (ids, skip)
        assert data[: span.end] == tok.decode_bytes(ids[: place + 1], skip)
        assert span.start == (spans[place - 1].end if place else 0)
        if span.text:
            offset = len("".join(one.text for one in spans[:place]))
            assert span.text_offset in (offset, offset - 1)


@needs_assets
@pytest.mark.parametrize("family", ["gpt2", "llama2", "llama3.1", "gemma3", "qwen3", "t5", "xlnet"])
def test_real_files(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    tok = open_tokenizer(asset)
    dice = random.Random(family)
    some = pools(open_huggingface(asset))
    for _ in range(60):
        ids = streams.any_ids(dice, some)
        for skip in (True, False):
            check(tok, ids, skip)


@needs_assets
@pytest.mark.parametrize(
    "asset",
    [Asset("llama2", "tokenizer.model"), Asset("spm-misc", "nerdstash.model")],
    ids=lambda asset: asset.id,
)
def test_real_files_of_sentencepiece(asset: Asset) -> None:
    tok = open_tokenizer(asset)
    dice = random.Random(str(asset))
    bytes_first = tok.token_to_id("<0x00>")
    assert bytes_first is not None
    for _ in range(200):
        ids = [dice.randrange(tok.vocab_size) for _ in range(dice.randrange(5))]
        ids += [bytes_first + byte for byte in dice.choice(["你 é", " a"]).encode()]
        ids += [bytes_first + dice.randrange(256) for _ in range(dice.randrange(5))]
        if dice.randrange(2):
            dice.shuffle(ids)
        for skip in (True, False):
            check(tok, ids, skip)


@needs_assets
def test_bytes_of_sentencepiece_come_before_they_are_replaced() -> None:
    tok = open_tokenizer(Asset("llama2", "tokenizer.model"))
    ids = [tok.token_to_id(f"<0x{byte:02X}>") or 0 for byte in (0xE4, 0xBD, 0xA0, 0xFF, 0x20, 0xF0)]
    assert tok.decode_bytes(ids[:2]) == b"\xe4\xbd"
    assert short(tok, ids) == [
        (0, 1, 0, "你"),
        (1, 2, 0, ""),
        (2, 3, 0, ""),
        (3, 4, 1, "�"),
        (4, 5, 2, " "),
        (5, 6, 3, "�"),
    ]


@needs_assets
@pytest.mark.parametrize("name", ["llama-spm", "phi-3"])
def test_a_token_that_is_left_out_may_stand_at_the_beginning(name: str) -> None:
    tok = pywasmtok.create_tokenizer(ROOT / "gguf-llamacpp" / f"ggml-vocab-{name}.gguf")
    ids = tok.encode("Hello world").ids
    assert [span.text for span in tok.token_spans(ids)] == ["", " Hello", " world"]
    assert [span.text for span in tok.token_spans(ids[1:])] == ["Hello", " world"]


def test_words_have_their_spaces() -> None:
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    tok = streams.open_bytes(streams.llama(decoder=decoder))
    assert [span.text for span in tok.token_spans(ids_of(tok, "hi", "x"))] == ["hi", " x"]


# Tokens that random decoders find something to do with.
CHAINED = {
    **{f"<0x{byte:02X}>": None for byte in (0x20, 0x41, 0x80, 0xC3, 0xE4, 0xBD, 0xA0, 0xFF)},
    **dict.fromkeys(["▁", "▁a", "a", "b", "ab", "aa", "é", "##a", "a</w>", "</w>", "", " ", "."]),
    **dict.fromkeys(["|", "Ġ", "ä", "½", " ab", "你", "�", "1", "n't", "_", "<s>"]),
}


def chained(decoder: object) -> pywasmtok.Tokenizer:
    model = {"type": "BPE", "vocab": {one: at for at, one in enumerate(CHAINED)}, "merges": []}
    return streams.open_bytes(streams.llama(decoder=decoder, added_tokens=[], model=model))


@pytest.mark.parametrize("seed", range(8))
def test_random_decoders_give_right_spans_or_none(seed: int) -> None:
    maker = random_files.Maker(seed)
    given = 0
    for _ in range(40):
        steps = [maker.one(random_files.DECODERS)(maker) for _ in range(maker.dice.randint(1, 4))]
        tok = chained({"type": "Sequence", "decoders": steps})
        for _ in range(20):
            ids = maker.dice.choices(range(len(CHAINED)), k=maker.dice.randint(0, 8))
            try:
                check(tok, ids, skip=True)
            except Unsupported:
                continue
            given += 1
        tok.close()
    assert given > 100


def test_a_token_that_counts_once() -> None:
    decoder = {"type": "CTC", "pad_token": "</s>", "word_delimiter_token": "▁", "cleanup": False}
    tok = streams.open_bytes(streams.llama(decoder=decoder))
    x, a = ids_of(tok, "x", "a")
    assert [span.text for span in tok.token_spans([x, x, a, x])] == ["x", "", "a", "x"]
    assert [span.text for span in tok.token_spans([x, a, a, x])] == ["x", "a", "", "x"]


@pytest.mark.parametrize(
    "decoder",
    [
        {"type": "BPEDecoder", "suffix": ""},
        {
            "type": "Sequence",
            "decoders": [
                {"type": "Fuse"},
                {"type": "Replace", "pattern": {"Regex": "xa+"}, "content": "x"},
            ],
        },
    ],
    ids=["other bytes", "all at once"],
)
def test_a_decoder_in_which_tokens_have_no_bytes_is_refused(decoder: object) -> None:
    tok = streams.open_bytes(streams.llama(decoder=decoder))
    with pytest.raises(Unsupported, match="bytes of their own"):
        tok.token_spans(ids_of(tok, "Hello", "a", "x"))


def check_behind_prompts(tok: pywasmtok.Tokenizer, ids: list[int], skip: bool) -> None:
    """The spans behind a prompt are what a stream gives behind it, also where the text of the
    prompt alone has a space that goes later."""
    spans = tok.token_spans(ids, skip)
    text, data = tok.decode(ids, skip), tok.decode_bytes(ids, skip)
    assert "".join(span.text for span in spans) == text
    for place, end in enumerate([0, *(span.end for span in spans)]):
        characters = codecs.getincrementaldecoder("utf-8")("replace")
        before = characters.decode(data[:end])
        if not characters.getstate()[0]:
            stream = tok.decode_stream(ids[:place], skip)
            rest = stream.step_batch(ids[place:]) + stream.flush()
            assert before + rest == text, (ids, skip, place)


SPACES = (" ", "  ", " '", "'", " .", ".", ",", "'s", "s", "re", "v", "e", " b", "b", "é")


@pytest.mark.parametrize(
    "name",
    [
        *random_streams.MADE,
        *(pytest.param(name, marks=needs_assets) for name in random_streams.REAL),
    ],
)
def test_files_with_a_clean_up_of_spaces(name: str) -> None:
    tok = random_streams.opened(name, "core")
    dice = random.Random(name)
    common = [one for text in SPACES for one in tok.encode(text, add_special_tokens=False).ids]
    some = [common, common, range(min(tok.vocab_size, 400)), range(tok.vocab_size)]
    for _ in range(150):
        ids = streams.any_ids(dice, some)
        for skip in (True, False):
            check_behind_prompts(tok, ids, skip)


def test_a_space_that_goes_is_taken_from_the_token_that_wrote_it() -> None:
    tok = random_streams.opened("bytes llama-bpe", "core")
    space, dot, dotted, quote, b = ids_of(tok, "Ġ", ".", "Ġ.", "'", "b")
    assert short(tok, [space, dot, b]) == [(0, 0, 0, ""), (0, 1, 0, "."), (1, 2, 1, "b")]
    # Of two spaces the second one goes; it is in the token of the point, or before it.
    for ids, spans in (
        ([b, space, space, dot], ["b", " ", "", "."]),
        ([b, space, dotted], ["b", " ", "."]),
        ([b, space, quote, space, space, b], ["b", "", "'", "", " ", "b"]),
        # A space that is gone may be back: here the point takes the second one.
        ([b, space, quote, space, dot], ["b", " ", "'", "", "."]),
    ):
        assert [span.text for span in tok.token_spans(ids)] == spans
