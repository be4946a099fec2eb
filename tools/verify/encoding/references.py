"""A tokenizer file, our tokenizer of it, and the library whose ids count."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from array import array
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

import pywasmtok
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

# Patterns with a scanner of which there may be no file at hand: `FILE@qwen3.5` is FILE with it.
PATTERNS = {
    "qwen3.5": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
        r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    # Of no model: it has no scanner, so the engine's own regular expressions are at work.
    "words": r" ?[\p{L}\p{M}]+|\p{N}{1,2}| ?[^\s\p{L}\p{M}\p{N}]+|\s+",
}

Offsets = list[tuple[int, int]]


class Reference(Protocol):
    name: str
    added: list[str]

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]: ...

    def offsets(self, text: str) -> Offsets | None:
        """With what the post-processor adds; None: this library has none."""


class HuggingFace:
    def __init__(self, data: bytes) -> None:
        import tokenizers

        self.name = f"tokenizers {tokenizers.__version__}"
        self._tokenizer = tokenizers.Tokenizer.from_buffer(data)
        known = self._tokenizer.get_added_tokens_decoder()
        self.added = sorted({token.content for token in known.values()})

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def offsets(self, text: str) -> Offsets | None:
        offsets: Offsets = self._tokenizer.encode(text).offsets
        return offsets


class Tiktoken:
    """With the ranks of the file at hand: nothing is fetched, and both sides have the same."""

    def __init__(self, encoding: str, data: bytes) -> None:
        import tiktoken
        from tiktoken_ext import openai_public

        self.name = f"tiktoken {version('tiktoken')}"
        rows = (line.split() for line in data.splitlines() if line)
        ranks = {base64.b64decode(token): int(rank) for token, rank in rows}
        with mock.patch.object(openai_public, "load_tiktoken_bpe", return_value=ranks):
            described = openai_public.ENCODING_CONSTRUCTORS[encoding]()
        self._encoding = tiktoken.Encoding(**described)
        self.added = sorted(self._encoding.special_tokens_set)

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [self._encoding.encode(text, allowed_special="all") for text in texts]

    def offsets(self, text: str) -> Offsets | None:
        return None


class Subject:
    """What is asked, and what is expected."""

    def __init__(self, argument: str) -> None:
        file, _, pattern = argument.partition("@")
        path = Path(file)
        data = path.read_bytes()
        if path.suffix == ".xz":
            path, data = path.with_suffix(""), lzma.decompress(data)
        self.reference: Reference
        if path.suffix == ".tiktoken":
            self.name, self.data = path.stem, data
            self.reference = Tiktoken(path.stem, data)
        else:
            self.name = "@".join(filter(None, (path.parent.name, pattern)))
            self.data = _prepared(data, pattern)
            self.reference = HuggingFace(self.data)
        self.sha256 = hashlib.sha256(self.data).hexdigest()

    def tokenizer(self) -> pywasmtok.Tokenizer:
        """Ours, without anything to fall back on."""
        options = Options("core", "core", build=None, preload=False)
        return from_recipe(Recipe(self.data, self.name, options))


def flat(ids: Sequence[int]) -> bytes:
    """As our buffers have them."""
    return array("I", ids).tobytes()


def _prepared(data: bytes, pattern: str) -> bytes:
    """The file without bounds on the length of what comes out, and with another pattern if one is
    named."""
    whole = json.loads(data)
    if whole.get("truncation") is None and whole.get("padding") is None and not pattern:
        return data
    whole["truncation"] = whole["padding"] = None
    if pattern:
        _split_of(whole["pre_tokenizer"])["pattern"] = {"Regex": PATTERNS[pattern]}
    return json.dumps(whole).encode()


def _split_of(part: dict[str, Any]) -> dict[str, Any]:
    """The first step of the file that has a regular expression."""
    for step in part.get("pretokenizers", [part]):
        if step["type"] == "Split":
            found: dict[str, Any] = step
            return found
    raise SystemExit("the file has no Split whose pattern could be another")
