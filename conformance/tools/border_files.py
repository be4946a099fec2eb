"""Files in which every cut shows: neighbours are joined that no ordinary training joins.

A vocabulary that was trained on the pieces of a pattern has no token that crosses a border of that
pattern, so most wrong borders change no id. Here the merges come from whole probes, without any
pattern; the patterns then decide which of them can happen.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from . import patterns
from .hf_files import (
    BYTE_LEVEL,
    FILES,
    Document,
    as_document,
    file,
    sequence,
    split,
    unigram,
    word_piece,
)
from .probes import PROBES

__all__ = ["FILES"]

LONGEST = 28
CLEANED = (".", "?", "!", ",", "'", "n't", "'m", "'s", "'ve", "'re", "do", "not", "do not")
STEPS = {
    "gpt2": (patterns.GPT2,),
    "cl100k": (patterns.CL100K,),
    "o200k": (patterns.O200K,),
    "qwen2": (patterns.QWEN2,),
    "tekken": (patterns.TEKKEN,),
    "deepseek": patterns.DEEPSEEK,
}


@cache
def _across() -> str:
    """A model over bytes that knows whole probes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=2200,
        min_frequency=1,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    short = [probe.text for probe in PROBES if len(probe.text.encode()) <= LONGEST]
    tokenizer.train_from_iterator(short, trainer)
    return tokenizer.to_str()


def _border_file(name: str) -> None:
    @file(f"borders-{name}", f"the pattern of {name}, and merges over all of its borders")
    def make() -> Document:
        document = as_document(Tokenizer.from_str(_across()))
        steps = [split(pattern) for pattern in STEPS[name]]
        document["pre_tokenizer"] = sequence("pretokenizers", *steps, BYTE_LEVEL)
        document["decoder"] = BYTE_LEVEL
        return document


for _name in STEPS:
    _border_file(_name)


@file("unigram-ties", "Unigram in which every way to cut a text has the same score")
def _ties() -> Document:
    texts = [probe.text for probe in PROBES if probe.text.isascii()]
    letters = sorted({char for text in texts for char in text})
    pairs = sorted({a + b for text in texts for a, b in pairwise(text)})
    threes = sorted(
        {a + b + c for text in texts for a, b, c in zip(text, text[1:], text[2:], strict=False)}
    )
    pieces = [(piece, -float(len(piece))) for piece in (*letters, *pairs[::2], *threes[::3])]
    return unigram([("<unk>", 0.0), *pieces], byte_fallback=False)


@file("wordpiece-cleanup", "WordPiece with the tokens that its decoder's clean-up is about")
def _cleanup() -> Document:
    document = word_piece(lowercase=True)
    vocabulary = document["model"]["vocab"]
    for token in CLEANED:
        vocabulary.setdefault(token, len(vocabulary))
    document["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    document["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    return document
