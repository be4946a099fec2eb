"""Random tokenizer.json files: every component there is, in combinations nobody ships."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any, TypeVar

import charsmap
import small

T = TypeVar("T")

LETTERS = "abcehlorstwABS'.,-_ \n123é中ß\u0301\u3000▁#"

ADDED = ("<s>", "</s>", "<|user|>", "<mask>", " ab", "a", "ab c", "1", "é", "  ", "\n\n", "ABC")

# fmt: off
STRANGERS = (
    "👋🏽", "\0", "Σ", "e\u0301", "a\u0301\u0327", "\r\n", "ж", "カ", "ﬁ", "\u200b", "x", "Å", "\t",
    "''s",
)
# fmt: on

STARTS = (
    " ",
    "  ",
    "\n",
    "\t ",
    "\u0301",
    "\u200b",
    "\0",
    "\u3000",
    "ab",
    "a",
    "1",
    "中",
    "_",
    "▁",
)

PATTERNS = (
    {"String": " "},
    {"String": "ab"},
    {"Regex": r"\s+"},
    {"Regex": r"\d"},
    {"Regex": r"x*"},
    {"Regex": r"[a-c]+|\p{N}{1,3}"},
    {"Regex": r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"},
    {"Regex": r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"},
)

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


class Maker:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def flip(self, chance: float = 0.5) -> bool:
        return self.dice.random() < chance

    def one(self, choices: Sequence[T]) -> T:
        return self.dice.choice(choices)

    def steps(self, makers: Sequence[Any], most: int) -> dict[str, Any] | None:
        """None, one step or a Sequence of some."""
        count = self.one((0, 1, 1, *range(1, most + 1)))
        if count == 0:
            return None
        made = [self.one(makers)(self) for _ in range(count)]
        return made[0] if count == 1 and self.flip() else {"type": "Sequence", "_": made}

    def file(self) -> bytes:
        byte_level = self.flip()
        model = self.model(byte_level)
        vocab = model["vocab"]
        added = self.added(
            {word: number for number, (word, _) in enumerate(vocab)}
            if isinstance(vocab, list)
            else vocab
        )
        pre_tokenizer = self.steps(PRE_TOKENIZERS, 3)
        if byte_level:
            step = _byte_level(self)
            pre_tokenizer = (
                {"type": "Sequence", "_": [*_flat(pre_tokenizer), step]} if self.flip() else step
            )
        whole = {
            "version": "1.0",
            "truncation": self.truncation() if self.flip(0.2) else None,
            "padding": self.padding() if self.flip(0.2) else None,
            "added_tokens": added,
            "normalizer": _named(self.steps(NORMALIZERS, 3), "normalizers"),
            "pre_tokenizer": _named(pre_tokenizer, "pretokenizers"),
            "post_processor": _named(self.steps(POST_PROCESSORS, 2), "processors"),
            "decoder": _named(self.steps(DECODERS, 3), "decoders"),
            "model": model,
        }
        return json.dumps(whole).encode()

    def model(self, byte_level: bool) -> dict[str, Any]:
        makers = (self.bpe, self.bpe, self.bpe, self.word_level, self.word_piece, self.unigram)
        return self.one(makers)(byte_level)

    def words(self, byte_level: bool, most: int) -> list[str]:
        """All letters or most of them, and words of few of them."""
        letters = small.alphabet() if byte_level else [c for c in LETTERS if self.flip(0.9)]
        pool = [letter for letter in letters if letter in "abceĠ' 1▁é"] or letters
        count = self.dice.randint(0, 40)
        made = (
            "".join(self.dice.choices(pool, k=self.dice.randint(1, most))) for _ in range(count)
        )
        return list(dict.fromkeys([*letters, *made]))

    def word_level(self, byte_level: bool) -> dict[str, Any]:
        words = [*self.words(byte_level, 3), "<unk>"]
        return {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": self.one(("<unk>", "<unk>", "[UNK]")),
        }

    def word_piece(self, byte_level: bool) -> dict[str, Any]:
        prefix = self.one(("##", "##", "", "a"))
        words = self.words(byte_level, 3)
        rest = [prefix + word for word in words if self.flip(0.8)]
        return {
            "type": "WordPiece",
            "vocab": {word: n for n, word in enumerate(dict.fromkeys([*words, *rest, "<unk>"]))},
            "unk_token": self.one(("<unk>", "<unk>", "[UNK]")),
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": self.one((100, 100, 4)),
        }

    def unigram(self, byte_level: bool) -> dict[str, Any]:
        words = ["<unk>", *self.words(byte_level, 4)]
        byte_fallback = self.flip(0.3)
        if byte_fallback:
            words += [f"<0x{byte:02X}>" for byte in range(256) if self.flip(0.99)]
        if self.flip(0.1):
            words.append(self.one(words))
        # Few scores, so that there are ties; positive ones, so that unknown text may win.
        scores = self.one(((-1.0, -2.0, -3.5), (-1.1, -2.2, -3.3, -0.1), (50, 51.5, 3)))
        return {
            "type": "Unigram",
            "unk_id": self.one((0, 0, 0, 3, None)),
            "byte_fallback": byte_fallback,
            "vocab": [[word, self.one(scores)] for word in words],
        }

    def bpe(self, byte_level: bool) -> dict[str, Any]:
        prefix = self.one(("##", "", None)) if self.flip(0.2) and not byte_level else None
        suffix = self.one(("</w>", "", None)) if self.flip(0.2) and not byte_level else None
        letters = small.alphabet() if byte_level else [c for c in LETTERS if self.flip(0.8)]
        vocab: dict[str, int] = {}
        for letter in letters:
            for form in (letter, (prefix or "") + letter, letter + (suffix or "")):
                vocab.setdefault(form, len(vocab))
        pool = [letter for letter in letters if letter in "abcehlorstwABSĠ' 1▁é"] or letters
        merges = []
        for _ in range(self.dice.randint(0, 40)):
            left, right = self.one(pool), self.one(pool)
            second = (prefix or "") + right
            if second not in vocab or left not in vocab:
                continue
            merges.append([left, second])
            vocab.setdefault(left + right, len(vocab))
            pool.append(left + right)
        unknown = self.one((None, "<unk>", letters[0]))
        if unknown is not None:
            vocab.setdefault(unknown, len(vocab))
        byte_fallback = self.flip(0.3)
        if byte_fallback:
            for byte in range(256):
                if self.flip(0.98):
                    vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
        return {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": prefix,
            "end_of_word_suffix": suffix,
            "fuse_unk": self.flip(),
            "byte_fallback": byte_fallback,
            "ignore_merges": self.flip(0.3),
            "vocab": vocab,
            "merges": merges,
        }

    def added(self, vocab: dict[str, int]) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        end = len(vocab)
        for content in self.dice.sample(ADDED, self.dice.randint(0, len(ADDED))):
            known = vocab.get(content)
            made.append(
                {
                    "id": end if known is None else known,
                    "content": content,
                    "single_word": self.flip(0.3),
                    "lstrip": self.flip(0.3),
                    "rstrip": self.flip(0.3),
                    "normalized": self.flip(),
                    "special": self.flip(),
                }
            )
            end += known is None
        return sorted(made, key=lambda token: token["id"])

    def truncation(self) -> dict[str, Any]:
        return {
            "direction": self.one(("Left", "Right")),
            "max_length": self.dice.randint(4, 12),
            "strategy": self.one(("LongestFirst", "OnlyFirst", "OnlySecond")),
            "stride": self.one((0, 0, 1)),
        }

    def padding(self) -> dict[str, Any]:
        return {
            "strategy": self.one(("BatchLongest", {"Fixed": self.dice.randint(1, 12)})),
            "direction": self.one(("Left", "Right")),
            "pad_to_multiple_of": self.one((None, None, 4)),
            "pad_id": 3,
            "pad_type_id": self.one((0, 2)),
            "pad_token": "<pad>",
        }

    def replace(self) -> dict[str, Any]:
        content = self.one(("", " ", "▁", "xa"))
        return {"type": "Replace", "pattern": self.one(PATTERNS), "content": content}

    def metaspace(self) -> dict[str, Any]:
        return {
            "type": "Metaspace",
            "replacement": self.one(("▁", "_")),
            "prepend_scheme": self.one(("always", "never", "first")),
            "split": self.flip(),
        }

    def template(self) -> dict[str, Any]:
        def special(which: int) -> dict[str, Any]:
            return {"SpecialToken": {"id": f"[{which}]", "type_id": self.one((0, 1))}}

        def sequence(name: str) -> dict[str, Any]:
            return {"Sequence": {"id": name, "type_id": self.one((0, 1))}}

        def around(*pieces: dict[str, Any]) -> list[dict[str, Any]]:
            made: list[dict[str, Any]] = []
            for piece in pieces:
                made += [special(self.dice.randint(0, 1))] if self.flip() else []
                made.append(piece)
            return made + ([special(1)] if self.flip() else [])

        return {
            "type": "TemplateProcessing",
            "single": around(sequence("A")),
            "pair": around(sequence("A"), sequence("B")),
            "special_tokens": {
                "[0]": {"id": "[0]", "ids": [0], "tokens": ["[0]"]},
                "[1]": {"id": "[1]", "ids": [1, 2], "tokens": ["[1]", "[2]"]},
            },
        }


def _byte_level(maker: Maker) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": maker.flip(),
        "trim_offsets": maker.flip(),
        "use_regex": maker.flip(),
    }


def _split(maker: Maker) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": maker.one(PATTERNS),
        "behavior": maker.one(BEHAVIORS),
        "invert": maker.flip(0.3),
    }


def _ends(kind: str) -> Any:
    def make(maker: Maker) -> dict[str, Any]:
        return {
            "type": kind,
            "sep": ["[SEP]", 4],
            "cls": ["[CLS]", 5],
            **(
                {"trim_offsets": maker.flip(), "add_prefix_space": maker.flip()}
                if kind == "RobertaProcessing"
                else {}
            ),
        }

    return make


def _plain(kind: str) -> Any:
    return lambda _: {"type": kind}


# What becomes longer, shorter, nothing; one key that begins another; clusters of two characters.
RULES = {
    "é": "e",
    "ﬁ": "fi",
    "ß": "ss",
    "\u3000": " ",
    "\u0301": "",
    "\u200b": "",
    "e\u0301": "é",
    "a\u0301": "abc",
    "a\u0301\u0327": "á",
    "\r\n": "\n",
    "\t": "",
    "h": "H",
    "中": "zhong",
}


def _precompiled(maker: Maker) -> dict[str, Any]:
    return charsmap.normalizer({key: text for key, text in RULES.items() if maker.flip(0.8)})


NORMALIZERS = (
    *map(_plain, ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
    _precompiled,
    _precompiled,
    lambda maker: {
        "type": "BertNormalizer",
        "clean_text": maker.flip(),
        "handle_chinese_chars": maker.flip(),
        "strip_accents": maker.one((None, True, False)),
        "lowercase": maker.flip(),
    },
    *[
        lambda maker: {
            "type": "Strip",
            "strip_left": maker.flip(),
            "strip_right": maker.flip(),
        }
    ]
    * 2,
    Maker.replace,
    Maker.replace,
    lambda maker: {"type": "Prepend", "prepend": maker.one(("▁", "a", ""))},
)

PRE_TOKENIZERS = (
    *map(_plain, ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")),
    lambda maker: {"type": "FixedLength", "length": maker.dice.randint(1, 6)},
    lambda maker: {"type": "Digits", "individual_digits": maker.flip()},
    lambda maker: {"type": "Punctuation", "behavior": maker.one(BEHAVIORS)},
    lambda maker: {"type": "CharDelimiterSplit", "delimiter": maker.one((" ", "-", "1"))},
    _split,
    _split,
    Maker.metaspace,
    Maker.metaspace,
)

POST_PROCESSORS = (
    Maker.template,
    Maker.template,
    _byte_level,
    _ends("RobertaProcessing"),
    _ends("BertProcessing"),
)

DECODERS = (
    *map(_plain, ("ByteFallback", "Fuse")),
    _byte_level,
    lambda maker: {
        "type": "Strip",
        "content": maker.one((" ", "a", "▁")),
        "start": maker.dice.randint(0, 2),
        "stop": maker.dice.randint(0, 2),
    },
    Maker.replace,
    Maker.metaspace,
    lambda maker: {"type": "BPEDecoder", "suffix": maker.one(("</w>", "##", ""))},
    lambda maker: {
        "type": "WordPiece",
        "prefix": maker.one(("##", "a")),
        "cleanup": maker.flip(),
    },
    lambda maker: {
        "type": "CTC",
        "pad_token": maker.one(("<s>", "a", "")),
        "word_delimiter_token": maker.one(("|", " ", "▁")),
        "cleanup": maker.flip(),
    },
)


def plain(model: dict[str, Any]) -> bytes:
    """Nothing but a model."""
    empty = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return json.dumps({"version": "1.0", "added_tokens": [], **empty, "model": model}).encode()


def _flat(step: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if step is None else step.get("_", [step])


def _named(step: dict[str, Any] | None, name: str) -> dict[str, Any] | None:
    if step is None or "_" not in step:
        return step
    return {"type": "Sequence", name: step["_"]}


def text(dice: random.Random) -> str:
    """From the few characters of the vocabularies above, the added tokens, and strangers."""
    # What normalizers remove or rewrite often stands at the beginning.
    pieces = [dice.choice(STARTS)] if dice.random() < 0.4 else []
    for _ in range(dice.randint(0, 10)):
        kind = dice.random()
        if kind < 0.2:
            pieces.append(dice.choice(ADDED))
        elif kind < 0.9:
            pieces.append("".join(dice.choices(LETTERS, k=dice.randint(1, 5))))
        else:
            pieces.append(dice.choice(STRANGERS))
    return "".join(pieces)
