"""The suite's files of tokenizer.json: every component and every flag, each in a small vocabulary.

The vocabularies are trained here; everything else is written out, so that each file says what it
is for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from . import patterns
from .corpus import LINES

Document = dict[str, Any]

VOCABULARY = 700
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": False,
    "use_regex": False,
}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> Document:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": invert,
    }


def sequence(key: str, *steps: Document) -> Document:
    return {"type": "Sequence", key: list(steps)}


def added(content: str, identity: int, **flags: bool) -> Document:
    off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": identity, "content": content, **off, "special": True, **flags}


def metaspace(scheme: str, *, split: bool = True) -> Document:
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": split}


# Vocabularies.


def byte_level_bpe(pattern: str, size: int = VOCABULARY) -> Document:
    """A model over bytes, trained on pieces of the pattern."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    trained.train_from_iterator(LINES, trainer)
    return as_document(trained)


def character_bpe(size: int = VOCABULARY, **more: Any) -> Document:
    """A model over characters with `\u2581` for the space, and tokens for bytes in front."""
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<unk>", "<s>", "</s>", *BYTES],
        limit_alphabet=120,
        show_progress=False,
        **more,
    )
    trained.train_from_iterator(LINES, trainer)
    document = as_document(trained)
    document["added_tokens"] = document["added_tokens"][:3]
    document["model"].update(byte_fallback=True, fuse_unk=True)
    return document


def word_piece(*, lowercase: bool) -> Document:
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        limit_alphabet=250,
        show_progress=False,
    )
    trained.train_from_iterator(LINES, trainer)
    return as_document(trained)


def word_level(*extra: str) -> Document:
    trained = Tokenizer(models.WordLevel(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(
        vocab_size=300, special_tokens=["<unk>", *extra], show_progress=False
    )
    trained.train_from_iterator(LINES, trainer)
    return as_document(trained)


def unigram(pieces: list[tuple[str, float]], *, byte_fallback: bool) -> Document:
    document = as_document(Tokenizer(models.WordLevel({"<unk>": 0}, "<unk>")))
    document["added_tokens"] = []
    document["model"] = {
        "type": "Unigram",
        "unk_id": 0,
        "vocab": [[piece, score] for piece, score in pieces],
        "byte_fallback": byte_fallback,
    }
    return document


def characters(*extra: str) -> Document:
    """No merges: every character is a token, so that cuts and edits show."""
    letters = sorted({c for line in LINES for c in line} | set("\u2581\u0301\u0308"))
    tokens = ["<unk>", *extra, *BYTES, *letters]
    vocabulary = {token: n for n, token in enumerate(dict.fromkeys(tokens))}
    document = as_document(Tokenizer(models.BPE(vocab=vocabulary, merges=[])))
    document["model"].update(unk_token="<unk>", byte_fallback=True)
    document["decoder"] = {"type": "Fuse"}
    return document


def as_document(tokenizer: Tokenizer) -> Document:
    """What there is so far, for the rest to be written into it."""
    document: Document = json.loads(tokenizer.to_str())
    model = document["model"]
    # Byte-level vocabularies out of training are in the order of a hash map: sort by id.
    if isinstance(model.get("vocab"), dict):
        model["vocab"] = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    return document


def _regex(pattern: str) -> Any:
    from tokenizers import Regex

    return Regex(pattern)


# Files.

FILES: dict[str, tuple[str, Callable[[], Document]]] = {}


def file(name: str, about: str) -> Callable[[Callable[[], Document]], Callable[[], Document]]:
    def register(make: Callable[[], Document]) -> Callable[[], Document]:
        FILES[name] = (about, make)
        return make

    return register


def byte_level_file(
    pattern: str, *steps: Document, names: tuple[str, ...] = ("<|end|>",), **model: Any
) -> Document:
    document = byte_level_bpe(pattern)
    document["model"].update(model)
    document["pre_tokenizer"] = sequence("pretokenizers", *steps, BYTE_LEVEL)
    document["decoder"] = BYTE_LEVEL
    document["post_processor"] = BYTE_LEVEL
    size = len(document["model"]["vocab"])
    document["added_tokens"] = [added(name, size + n) for n, name in enumerate(names)]
    return document


CHAT = ("<|im_start|>", "<|im_end|>", "<|end|>")


@file("bpe-gpt2", "byte-level BPE with GPT-2's pattern inside ByteLevel")
def _gpt2() -> Document:
    document = byte_level_file(patterns.GPT2)
    document["pre_tokenizer"] = {**BYTE_LEVEL, "use_regex": True}
    return document


@file("bpe-cl100k", "byte-level BPE with the pattern of cl100k, and whole pieces before merges")
def _cl100k() -> Document:
    return byte_level_file(patterns.CL100K, split(patterns.CL100K), names=CHAT, ignore_merges=True)


@file("bpe-o200k", "byte-level BPE with the pattern of o200k")
def _o200k() -> Document:
    return byte_level_file(patterns.O200K, split(patterns.O200K), names=CHAT)


@file("bpe-tekken", "byte-level BPE with the pattern of tekken, and a token in front")
def _tekken() -> Document:
    document = byte_level_file(patterns.TEKKEN, split(patterns.TEKKEN), names=("<s>", "</s>"))
    size = len(document["model"]["vocab"])
    document["post_processor"] = template({"<s>": size}, single=("<s>", "A"))
    return document


@file("bpe-qwen2", "byte-level BPE behind NFC, with added tokens that are not special")
def _qwen2() -> Document:
    document = byte_level_file(patterns.QWEN2, split(patterns.QWEN2), names=CHAT)
    document["normalizer"] = {"type": "NFC"}
    size = document["added_tokens"][-1]["id"] + 1
    plain = ("<think>", "</think>", "<tool_call>")
    document["added_tokens"] += [
        added(name, size + n, special=False) for n, name in enumerate(plain)
    ]
    return document


@file("bpe-deepseek", "byte-level BPE behind three splits in a row")
def _deepseek() -> Document:
    steps = [split(pattern) for pattern in patterns.DEEPSEEK]
    document = byte_level_file(patterns.CL100K, *steps, names=("<\uff5cend\u2581of\uff5c>",))
    document["normalizer"] = sequence("normalizers")
    return document


@file("bpe-unknown-pattern", "byte-level BPE with a pattern that nobody has seen")
def _unknown_pattern() -> Document:
    pattern = r"(?<=[a-z])(?=[A-Z])|[A-Z]?[a-z]+|\d{2}|[^\S\n]+(?=\S)|\s|."
    return byte_level_file(patterns.CL100K, split(pattern))


@file("bpe-roberta", "byte-level BPE with a space in front, offsets trimmed, pairs")
def _roberta() -> Document:
    document = byte_level_file(patterns.GPT2, names=("<s>", "</s>", "<mask>"))
    document["pre_tokenizer"] = {**BYTE_LEVEL, "add_prefix_space": True, "use_regex": True}
    ids = {token["content"]: token["id"] for token in document["added_tokens"]}
    document["added_tokens"][2]["lstrip"] = True
    document["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", ids["</s>"]],
        "cls": ["<s>", ids["<s>"]],
        "trim_offsets": True,
        "add_prefix_space": True,
    }
    return document


@file("bpe-digits-punctuation", "byte-level BPE behind Digits, Punctuation and WhitespaceSplit")
def _digits_punctuation() -> Document:
    return byte_level_file(
        patterns.CL100K,
        {"type": "WhitespaceSplit"},
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Contiguous"},
    )


@file(
    "bpe-metaspace-first", "character BPE with byte fallback; a space in front of the first piece"
)
def _metaspace_first() -> Document:
    document = character_bpe()
    document["pre_tokenizer"] = metaspace("first", split=False)
    document["decoder"] = llama_decoder()
    document["post_processor"] = template({"<s>": 1}, single=("<s>", "A"), pair=("<s>", "A", "B"))
    return document


@file(
    "bpe-prepend-replace", "character BPE with byte fallback; the space is put there by normalizers"
)
def _prepend_replace() -> Document:
    document = character_bpe()
    document["pre_tokenizer"] = None
    document["normalizer"] = sequence(
        "normalizers",
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    )
    document["decoder"] = llama_decoder()
    document["post_processor"] = template({"<s>": 1}, single=("<s>", "A"))
    return document


@file("bpe-gemma", "character BPE with byte fallback; spaces replaced, nothing in front")
def _gemma() -> Document:
    document = character_bpe()
    document["normalizer"] = {
        "type": "Replace",
        "pattern": {"String": " "},
        "content": "\u2581",
    }
    document["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }
    document["decoder"] = sequence(
        "decoders",
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    )
    return document


@file("bpe-metaspace-always", "Metaspace that always puts a space in front, and cuts")
def _metaspace_always() -> Document:
    document = character_bpe()
    document["pre_tokenizer"] = metaspace("always")
    document["decoder"] = metaspace("always")
    return document


@file("bpe-metaspace-never", "Metaspace that puts nothing in front")
def _metaspace_never() -> Document:
    document = character_bpe()
    document["pre_tokenizer"] = metaspace("never")
    document["decoder"] = metaspace("never")
    return document


@file("bpe-suffix", "BPE with an end of word, as CLIP has it")
def _suffix() -> Document:
    trained = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    trained.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<unk>"],
        end_of_word_suffix="</w>",
        limit_alphabet=120,
        show_progress=False,
    )
    trained.train_from_iterator(LINES, trainer)
    trained.decoder = decoders.BPEDecoder()
    document = as_document(trained)
    document["normalizer"] = sequence(
        "normalizers",
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    )
    return document


@file("bpe-prefix", "BPE with a prefix of what continues a word")
def _prefix() -> Document:
    trained = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    trained.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<unk>"],
        continuing_subword_prefix="##",
        limit_alphabet=120,
        show_progress=False,
    )
    trained.train_from_iterator(LINES, trainer)
    trained.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return as_document(trained)


@file("bpe-unk", "BPE without byte fallback: unknown characters one by one")
def _unk() -> Document:
    document = character_bpe()
    document["model"].update(byte_fallback=False, fuse_unk=False)
    document["pre_tokenizer"] = metaspace("first")
    document["decoder"] = metaspace("first")
    return document


@file("bpe-unk-fused", "BPE without byte fallback: unknown characters fused")
def _unk_fused() -> Document:
    document = _unk()
    document["model"]["fuse_unk"] = True
    return document


@file("added-flags", "added tokens with every flag, some inside others")
def _added_flags() -> Document:
    document = byte_level_file(patterns.CL100K, split(patterns.CL100K), names=())
    document["normalizer"] = sequence("normalizers", {"type": "NFKC"}, {"type": "Lowercase"})
    size = len(document["model"]["vocab"])
    wanted: list[tuple[str, dict[str, bool]]] = [
        ("<left>", {"lstrip": True}),
        ("<right>", {"rstrip": True}),
        ("<both>", {"lstrip": True, "rstrip": True}),
        ("<word>", {"single_word": True}),
        ("END", {"single_word": True}),
        ("<norm>", {"normalized": True}),
        ("<a>", {}),
        ("<a><b>", {}),
        ("<a", {"special": False}),
        ("<plain>", {"special": False}),
        ("plain word", {"special": False, "normalized": True}),
        ("  ", {"special": False}),
        ("\u00e9", {"special": False}),
        ("\n\n", {"special": False, "rstrip": True}),
    ]
    document["added_tokens"] = [
        added(name, size + n, **flags) for n, (name, flags) in enumerate(wanted)
    ]
    return document


@file("only-fallback", "two added tokens that are one text behind the normalizer")
def _only_fallback() -> Document:
    document = byte_level_file(patterns.CL100K, split(patterns.CL100K), names=())
    document["normalizer"] = {"type": "Lowercase"}
    size = len(document["model"]["vocab"])
    document["added_tokens"] = [
        added(name, size + n, normalized=True) for n, name in enumerate(("<norm>", "<NORM>"))
    ]
    return document


@file("wordpiece-uncased", "BERT: lower case, no accents, Chinese characters apart")
def _wordpiece_uncased() -> Document:
    document = word_piece(lowercase=True)
    document["normalizer"] = bert_normalizer(lowercase=True)
    document["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    document["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    document["post_processor"] = {
        "type": "BertProcessing",
        "sep": ["[SEP]", 3],
        "cls": ["[CLS]", 2],
    }
    return document


@file("wordpiece-cased", "WordPiece with case and accents, short words only, a template for pairs")
def _wordpiece_cased() -> Document:
    document = word_piece(lowercase=False)
    document["model"]["max_input_chars_per_word"] = 12
    document["normalizer"] = bert_normalizer(lowercase=False)
    document["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    document["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": False}
    names = {"[CLS]": 2, "[SEP]": 3}
    document["post_processor"] = template(
        names, single=("[CLS]", "A", "[SEP]"), pair=("[CLS]", "A", "[SEP]", "B", "[SEP]")
    )
    return document


@file("wordlevel", "whole words, behind Whitespace")
def _wordlevel() -> Document:
    document = word_level("<pad>")
    document["pre_tokenizer"] = {"type": "Whitespace"}
    return document


@file("wordlevel-ctc", "whole words, decoded as an acoustic model's output is")
def _wordlevel_ctc() -> Document:
    document = word_level("<pad>", "|")
    document["pre_tokenizer"] = {"type": "CharDelimiterSplit", "delimiter": "|"}
    document["decoder"] = {
        "type": "CTC",
        "pad_token": "<pad>",
        "word_delimiter_token": "|",
        "cleanup": True,
    }
    return document


def _split_file(behavior: str, *, invert: bool = False) -> Callable[[], Document]:
    def make() -> Document:
        document = characters()
        document["pre_tokenizer"] = sequence(
            "pretokenizers",
            split(r"[aeiou]+|\s", behavior, invert=invert),
            # Shows where the cuts are: every piece gets a space in front.
            metaspace("always", split=False),
        )
        return document

    return make


for _behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
    _slug = "".join(f"-{c.lower()}" if c.isupper() else c for c in _behavior)
    file(f"split{_slug}", f"a split whose matches are {_behavior}")(_split_file(_behavior))
file("split-inverted", "a split by what does not match")(_split_file("Removed", invert=True))


def _normalizer_file(*steps: Document) -> Callable[[], Document]:
    def make() -> Document:
        document = characters()
        document["normalizer"] = sequence("normalizers", *steps)
        return document

    return make


file("norm-nfkc", "NFKC and nothing else")(_normalizer_file({"type": "NFKC"}))
file("norm-nfd-strip", "NFD, accents off, lower case, ends stripped")(
    _normalizer_file(
        {"type": "NFD"},
        {"type": "StripAccents"},
        {"type": "Lowercase"},
        {"type": "Strip", "strip_left": True, "strip_right": True},
    )
)
file("norm-nmt", "the normalizer of NMT, then NFKD")(
    _normalizer_file({"type": "Nmt"}, {"type": "NFKD"})
)
file("norm-replace", "replacing by text and by pattern, then a prefix")(
    _normalizer_file(
        {"type": "Replace", "pattern": {"Regex": r"\d+"}, "content": "0"},
        {"type": "Replace", "pattern": {"String": "cat"}, "content": "dog"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Prepend", "prepend": ">"},
    )
)


@file("scripts", "pieces of one script each")
def _scripts() -> Document:
    document = characters()
    document["pre_tokenizer"] = sequence(
        "pretokenizers", {"type": "UnicodeScripts"}, metaspace("always", split=False)
    )
    return document


@file("no-decoder", "a file without a decoder: tokens are joined by spaces")
def _no_decoder() -> Document:
    document = characters()
    document["decoder"] = None
    return document


@file("truncated-padded", "a file that truncates with a stride and pads to a length")
def _truncated_padded() -> Document:
    document = byte_level_file(patterns.CL100K, split(patterns.CL100K), names=("<s>", "<pad>"))
    size = len(document["model"]["vocab"])
    document["post_processor"] = template(
        {"<s>": size}, single=("<s>", "A"), pair=("<s>", "A", "<s>", "B")
    )
    document["truncation"] = {
        "direction": "Right",
        "max_length": 12,
        "strategy": "LongestFirst",
        "stride": 2,
    }
    document["padding"] = {
        "strategy": {"Fixed": 12},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": size + 1,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }
    return document


def llama_decoder() -> Document:
    return sequence(
        "decoders",
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    )


def bert_normalizer(*, lowercase: bool) -> Document:
    return {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": lowercase,
    }


def template(
    ids: dict[str, int], *, single: tuple[str, ...], pair: tuple[str, ...] | None = None
) -> Document:
    def steps(parts: tuple[str, ...]) -> list[Document]:
        made: list[Document] = []
        kind = 0
        for part in parts:
            if part in ("A", "B"):
                kind = int(part == "B")
                made.append({"Sequence": {"id": part, "type_id": kind}})
            else:
                made.append({"SpecialToken": {"id": part, "type_id": kind}})
        return made

    return {
        "type": "TemplateProcessing",
        "single": steps(single),
        "pair": steps(pair or (*single, "B")),
        "special_tokens": {
            name: {"id": name, "ids": [number], "tokens": [name]} for name, number in ids.items()
        },
    }


def written(document: Document) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def checked(data: bytes) -> bytes:
    """The reference reads it; `AddedToken` flags and all."""
    tokenizer = Tokenizer.from_buffer(data)
    for token in tokenizer.get_added_tokens_decoder().values():
        assert isinstance(token, AddedToken)
    return data
