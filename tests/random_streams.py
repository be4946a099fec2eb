"""Random streams of GGUF files, cut anywhere, with prompts and stops, against whole decodes."""

from __future__ import annotations

import itertools
import random
from functools import cache

import assets
import gguf_files
import streams

import pywasmtok

REAL = (
    *("aquila", "bert-bge", "deepseek-coder", "deepseek-llm", "gpt-2", "gpt-neox", "llama-bpe"),
    *("llama-spm", "phi-3", "qwen2", "qwen35"),
)
TEXT = "na\u00efve . don 't , a ' b \U0001f336\ufe0f 's ! we 're n't \u4f60\u597d ?  x\n . \u00e9"
STREAMS = 12
"""What one seed compares."""

_WORDS = (" .", " ,", "n't", " 's", " 're", "\u00e9", "\u4f60", "ab", "  ", "\U0001f336")
_SPECIALS = (("<eos>", gguf_files.CONTROL), ("<think>", gguf_files.USER_DEFINED))


def _made(name: str) -> bytes:
    if name.startswith("bytes "):
        merges = [pair for word in _WORDS for pair in gguf_files.joining(word)]
        return gguf_files.gguf(gguf_files.byte_level(merges, _SPECIALS, pre=name[6:]))
    pieces = [(word.replace(" ", "\u2581"), -1.0) for word in (*_WORDS, " a", "b", " ")]
    return gguf_files.gguf(gguf_files.scored(pieces, _SPECIALS))


MADE = ("bytes llama-bpe", "bytes gpt-2", "bytes qwen2", "bytes falcon", "scored")


@cache
def opened(name: str, decoder: str) -> pywasmtok.Tokenizer:
    if name in MADE:
        return streams.open_bytes(_made(name), decoder=decoder)
    path = assets.Asset("gguf-llamacpp", f"ggml-vocab-{name}.gguf")
    return assets.open_tokenizer(path, encoder="auto", decoder=decoder)


def _begun(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    for count in range(min(len(data), 3), 0, -1):
        for missing in (1, 2, 3):
            for more in itertools.product(b"\x80\x90\xa0", repeat=missing):
                try:
                    if len((data[-count:] + bytes(more)).decode()) == 1:
                        return count
                except UnicodeDecodeError:
                    continue
    return 0


def compare(seed: int) -> bool:
    """Raises AssertionError where a stream is not what the whole decode says."""
    dice = random.Random(seed)
    name = dice.choice((*REAL, *MADE))
    tok = opened(name, dice.choice(("core", "hf")))
    size = tok.vocab_size
    pools = [tok.encode(TEXT, add_special_tokens=False).ids, range(min(size, 400)), range(size)]
    for _ in range(STREAMS):
        ids = [number for _ in range(dice.randint(1, 3)) for number in streams.any_ids(dice, pools)]
        skip = dice.random() < 0.5
        try:
            _compare(tok, ids, skip, dice)
        except AssertionError as difference:
            raise AssertionError(f"{name}, skip={skip}, ids={ids}: {difference}") from None
    return True


def _compare(tok: pywasmtok.Tokenizer, ids: list[int], skip: bool, dice: random.Random) -> None:
    whole = tok.decode(ids, skip)
    stream = tok.decode_stream(skip_special_tokens=skip)
    text = "".join(stream.step_batch(part) for part in streams.cut(dice, ids)) + stream.flush()
    assert text == whole, f"{text!r} is not {whole!r}"

    place = dice.randint(0, len(ids))
    behind = tok.decode_stream(ids[:place], skip_special_tokens=skip)
    parts = streams.cut(dice, ids[place:])
    completion = "".join(behind.step_batch(part) for part in parts) + behind.flush()
    assert whole.endswith(completion), f"prompt of {place}: {completion!r} is no end of {whole!r}"
    # A character that the prompt begins belongs to what follows.
    data = tok.decode_bytes(ids[:place], skip_special_tokens=skip)
    prompt = data[: len(data) - _begun(data)].decode(errors="replace")
    if whole.startswith(prompt):
        assert prompt + completion == whole, f"prompt of {place}: {prompt!r} + {completion!r}"

    if whole and "\ufffd" not in whole:
        at = dice.randrange(len(whole))
        stop = whole[at : at + dice.randint(1, 5)]
        config = pywasmtok.StopSequenceConfig(stop_sequences=(stop,))
        stops = tok.stop_decoder(config, skip_special_tokens=skip, eos_token_ids=())
        given = ""
        for number in ids:
            output = stops.process_token(number)
            given += output.text
            if output.stopped:
                break
        else:
            given += stops.flush().text
        expected = whole[: whole.find(stop)]
        assert given == expected, f"before {stop!r}: {given!r} is not {expected!r}"
