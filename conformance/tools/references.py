"""The libraries that decide what is right, each behind the same few questions.

A reference answers None where it has nothing to say; a case is not made of that.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import patterns
from .option_files import EMPTIED, MOVED, TRUNCATED_OR_PADDED
from .other_files import byte_alphabet
from .probes import PROBES, SHORT, Probe

ROOT = Path(__file__).resolve().parent.parent
TOKENIZERS = ROOT / "tokenizers"

Ids = list[int]

# Files that are there for one thing, by the areas in which that shows.
NARROW = {
    **{"borders": ("encode",), "unigram-ties": ("encode",), "wordpiece-cleanup": ("decode",)},
    # Files for one option, which tools/cases/options.py asks.
    **{name: () for name in (*TRUNCATED_OR_PADDED, *MOVED, *EMPTIED, "bpe-ignore-merges")},
}

# One of each kind of pipeline; the other files are variants of these.
MAIN = frozenset(
    (
        *("bpe-gpt2", "bpe-cl100k", "bpe-o200k", "bpe-deepseek", "bpe-qwen2", "bpe-tekken"),
        *("bpe-roberta", "bpe-metaspace-first", "bpe-gemma", "wordpiece-uncased"),
        *("unigram-metaspace", "unigram-precompiled", "norm-nfkc", "added-flags", "scripts"),
        *("spm-bpe-bytes", "spm-unigram", "ranks-cl100k", "rwkv"),
        *(f"borders-{name}" for name in ("gpt2", "cl100k", "o200k", "qwen2", "tekken", "deepseek")),
        *("unigram-ties", "wordpiece-cleanup"),
    )
)


class Reference:
    oracle = ""
    load_options: dict[str, Any] | None = None

    def encode(self, text: str, *, add_special: bool = False) -> Ids | None:
        raise NotImplementedError

    def decode(self, ids: Ids, *, skip_special: bool) -> str | None:
        return None

    def size(self) -> int | None:
        return None

    def token(self, identity: int) -> str | None:
        return None

    def identity(self, token: str) -> int | None:
        return None


class HuggingFace(Reference):
    oracle = f"tokenizers {version('tokenizers')}"

    def __init__(self, data: bytes) -> None:
        import tokenizers

        self.tokenizer = tokenizers.Tokenizer.from_buffer(data)
        self.document: dict[str, Any] = json.loads(data)

    @classmethod
    def of(cls, name: str) -> HuggingFace:
        return cls((TOKENIZERS / name / "tokenizer.json").read_bytes())

    def encode(self, text: str, *, add_special: bool = False) -> Ids:
        return list(self.tokenizer.encode(text, add_special_tokens=add_special).ids)

    def pair(self, text: str, second: str) -> Ids:
        return list(self.tokenizer.encode(text, second).ids)

    def details(self, text: str) -> dict[str, Any]:
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return {
            "ids": encoding.ids,
            "offsets": [list(pair) for pair in encoding.offsets],
            "tokens": encoding.tokens,
        }

    def decode(self, ids: Ids, *, skip_special: bool) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=skip_special))

    def size(self) -> int:
        return int(self.tokenizer.get_vocab_size(with_added_tokens=True))

    def token(self, identity: int) -> str | None:
        found = self.tokenizer.id_to_token(identity)
        return None if found is None else str(found)

    def identity(self, token: str) -> int | None:
        found = self.tokenizer.token_to_id(token)
        return None if found is None else int(found)

    def with_added(self, keep: Any) -> HuggingFace:
        """The same file with only those added tokens that `keep` keeps, perhaps changed."""
        document = json.loads(json.dumps(self.document))
        document["added_tokens"] = [
            changed for token in document["added_tokens"] if (changed := keep(token)) is not None
        ]
        return HuggingFace(json.dumps(document).encode())


class VocabMerges(HuggingFace):
    def __init__(self) -> None:
        import tokenizers

        folder = TOKENIZERS / "vocab-merges"
        model = tokenizers.models.BPE.from_file(
            str(folder / "vocab.json"), str(folder / "merges.txt")
        )
        self.tokenizer = tokenizers.Tokenizer(model)
        self.tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tokenizer.decoder = tokenizers.decoders.ByteLevel()
        self.document = {}


class Ranks(Reference):
    oracle = f"tiktoken {version('tiktoken')}"
    SPECIAL = {"<|end|>": 700, "<|im_start|>": 701}  # noqa: RUF012
    load_options = {  # noqa: RUF012
        "fallback": "forbid",
        "pattern": patterns.CL100K,
        "special_tokens": SPECIAL,
    }

    def __init__(self) -> None:
        import base64

        import tiktoken

        ranks = {}
        for line in (TOKENIZERS / "ranks-cl100k" / "ranks.tiktoken").read_bytes().splitlines():
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        self.encoding = tiktoken.Encoding(
            "suite", pat_str=patterns.CL100K, mergeable_ranks=ranks, special_tokens=self.SPECIAL
        )

    def encode(self, text: str, *, add_special: bool = False) -> Ids:
        return list(self.encoding.encode(text, allowed_special="all"))

    def decode(self, ids: Ids, *, skip_special: bool) -> str | None:
        if skip_special:
            ids = [n for n in ids if n not in self.SPECIAL.values()]
        return str(self.encoding.decode(ids, errors="replace"))

    def data(self, ids: Ids) -> bytes:
        return bytes(self.encoding.decode_bytes(ids))

    def size(self) -> int:
        return int(self.encoding.max_token_value) + 1


class SentencePiece(Reference):
    oracle = f"sentencepiece {version('sentencepiece')}"

    def __init__(self, name: str) -> None:
        import sentencepiece

        path = TOKENIZERS / name / "tokenizer.model"
        self.processor = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def encode(self, text: str, *, add_special: bool = False) -> Ids | None:
        # What a model adds is not written in it.
        return None if add_special or "\x00" in text else list(self.processor.encode(text))

    def decode(self, ids: Ids, *, skip_special: bool) -> str | None:
        return str(self.processor.decode(ids))

    def size(self) -> int:
        return int(self.processor.get_piece_size())

    def token(self, identity: int) -> str | None:
        return str(self.processor.id_to_piece(identity)) if identity < self.size() else None

    def identity(self, token: str) -> int | None:
        found = int(self.processor.piece_to_id(token))
        return found if self.token(found) == token else None


class Tekken(Reference):
    oracle = f"mistral-common {version('mistral-common')}"

    def __init__(self) -> None:
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        self.tokenizer = Tekkenizer.from_file(TOKENIZERS / "tekken" / "tekken.json")

    def encode(self, text: str, *, add_special: bool = False) -> Ids | None:
        return None if add_special else list(self.tokenizer.encode(text, bos=False, eos=False))

    def size(self) -> int:
        return int(self.tokenizer.n_words)


class Rwkv(Reference):
    """The longest match, as its author's Python does it."""

    oracle = "derived: the longest match at every place"

    def __init__(self) -> None:
        self.ids: dict[bytes, int] = {}
        lines = (TOKENIZERS / "rwkv" / "vocab.txt").read_text(encoding="utf-8").splitlines()
        for line in lines:
            number, rest = line.split(" ", 1)
            literal = ast.literal_eval(rest[: rest.rindex(" ")])
            token = literal if isinstance(literal, bytes) else literal.encode()
            self.ids[token] = int(number)
        self.longest = max(map(len, self.ids))
        self.tokens = {identity: token for token, identity in self.ids.items()}

    def encode(self, text: str, *, add_special: bool = False) -> Ids:
        data, at, found = text.encode(), 0, []
        while at < len(data):
            size = next(n for n in range(self.longest, 0, -1) if data[at : at + n] in self.ids)
            found.append(self.ids[data[at : at + size]])
            at += size
        return found

    def decode(self, ids: Ids, *, skip_special: bool) -> str | None:
        data = b"".join(self.tokens[n] for n in ids if n in self.tokens)
        return data.decode(errors="replace")


class GgufLlama(SentencePiece):
    """llama.cpp merges by score as SentencePiece does; the two files have the same pieces."""

    oracle = f"derived: sentencepiece {version('sentencepiece')} on the same pieces"

    def __init__(self) -> None:
        super().__init__("spm-bpe-bytes")

    def encode(self, text: str, *, add_special: bool = False) -> Ids | None:
        # llama.cpp gives no tokens, not even a space, for no text; and it knows `<s>` in text.
        if not text or any(mark in text for mark in ("<s>", "</s>", "<unk>", "\x00")):
            return None
        ids = list(self.processor.encode(text))
        return [1, *ids] if add_special else ids

    def decode(self, ids: Ids, *, skip_special: bool) -> str | None:
        return None


class GgufLlama3(HuggingFace):
    oracle = f"derived: tokenizers {version('tokenizers')} on the same merges"

    def __init__(self) -> None:
        super().__init__((TOKENIZERS / "bpe-cl100k" / "tokenizer.json").read_bytes())
        size = len(self.document["model"]["vocab"])
        names = ["<|begin|>", "<|end|>"]
        kept = self.document["added_tokens"][: len(names)]
        self.document["added_tokens"] = [
            {**token, "content": name, "id": size + n}
            for n, (token, name) in enumerate(zip(kept, names, strict=True))
        ]
        super().__init__(json.dumps(self.document).encode())
        self.begin = size

    def encode(self, text: str, *, add_special: bool = False) -> Ids:
        ids = super().encode(text)
        return [self.begin, *ids] if add_special else ids

    def decode(self, ids: Ids, *, skip_special: bool) -> str:
        return cleaned(super().decode(ids, skip_special=skip_special))


def cleaned(text: str) -> str:
    """llama.cpp's clean-up of spaces: before closing punctuation, around a lone quote, before the
    rest of a contraction."""
    text = re.sub(r" (?=[?!.,])", "", text)
    text = re.sub(r" ' ", "'", text)
    return re.sub(r" (?='(?:s|m|re|ve))", "", text)


@dataclass(frozen=True)
class Subject:
    """A tokenizer of the suite with its reference."""

    name: str
    format: str
    reference: Reference

    @property
    def probes(self) -> tuple[Probe, ...]:
        """All of them for the main files; for variants of these one of each kind."""
        if self.is_main:
            return PROBES
        return tuple(probe for probe in PROBES if probe.slug in SHORT)

    @property
    def is_main(self) -> bool:
        return self.name in MAIN

    @property
    def areas(self) -> tuple[str, ...]:
        kind = "borders" if self.name.startswith("borders-") else self.name
        return NARROW.get(kind, ("encode", "decode", "stream", "shape"))

    @property
    def lists(self) -> int:
        """How many lists of random ids."""
        return 12 if self.is_main else 6

    @property
    def is_hf(self) -> bool:
        return type(self.reference) is HuggingFace

    @property
    def hf(self) -> HuggingFace:
        assert isinstance(self.reference, HuggingFace)
        return self.reference

    @property
    def load_options(self) -> dict[str, Any]:
        options = self.reference.load_options
        return {} if options is None else {"load_options": options}

    @property
    def origin(self) -> dict[str, Any]:
        return {"oracle": self.reference.oracle}


def subjects(area: str = "") -> tuple[Subject, ...]:
    """All of them, or those that an area has something to ask."""
    return tuple(one for one in _subjects() if not area or area in one.areas)


@cache
def _subjects() -> tuple[Subject, ...]:
    import tomllib

    index = tomllib.loads((TOKENIZERS / "index.toml").read_text())
    return tuple(
        Subject(name, entry["format"], _reference(name, entry["format"]))
        for name, entry in index.items()
        if not name.startswith(("only-", "broken-"))
    )


def subject(name: str) -> Subject:
    return next(one for one in subjects() if one.name == name)


def _reference(name: str, file_format: str) -> Reference:
    special = {
        "vocab-merges": VocabMerges,
        "ranks-cl100k": Ranks,
        "tekken": Tekken,
        "rwkv": Rwkv,
        "gguf-llama": GgufLlama,
        "gguf-llama3": GgufLlama3,
    }
    if name in special:
        return special[name]()
    if file_format == "sentencepiece":
        return SentencePiece(name)
    return HuggingFace.of(name)


def bytes_of_tokens(document: dict[str, Any]) -> dict[int, bytes]:
    """Bytes of the tokens of a byte-level file."""
    alphabet = byte_alphabet()
    found = {
        identity: bytes(alphabet[char] for char in token)
        for token, identity in document["model"]["vocab"].items()
    }
    return found | {token["id"]: token["content"].encode() for token in document["added_tokens"]}
