"""Every library of the benchmark behind one call: text in, ids out, in one of two forms.

A library that is not installed, or does not take a tokenizer, is left out and named.
"""

from __future__ import annotations

import importlib
import json
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Encode = Callable[[str], Any]


class LeftOutError(Exception):
    """Why a library cannot take part."""


@dataclass(frozen=True)
class Contender:
    """`form` is "buffer" (a flat array of ids) or "list"; like is compared with like."""

    name: str
    form: str
    encode: Encode

    def ids(self, answer: Any) -> list[int]:
        return answer if self.form == "list" else answer.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class TokenizerFile:
    name: str
    text: str  # of tokenizer.json
    path: Path  # of a file that holds this text unpacked

    @staticmethod
    def read(name: str, path: Path, folder: Path) -> TokenizerFile:
        data = path.read_bytes()
        if path.suffix == ".xz":
            data = lzma.decompress(data)
        unpacked = folder / name / "tokenizer.json"
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        unpacked.write_bytes(data)
        return TokenizerFile(name, data.decode(), unpacked)


def imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LeftOutError(f"{name}: not installed ({error})") from None


def ours(file: TokenizerFile, build: str, label: str) -> list[Contender]:
    create = imported("pywasmtok").create_tokenizer
    tokenizer = create(str(file.path), encoder="core", decoder="core", build=build)
    if tokenizer.backend.build != build:
        raise LeftOutError(f"pywasmtok: asked for {build}, got {tokenizer.backend.build}")
    encode = tokenizer.encode
    return [
        Contender(label, "buffer", lambda text: encode(text, add_special_tokens=False).buffer),
        Contender(label, "list", lambda text: encode(text, add_special_tokens=False).ids),
    ]


def fastokens(file: TokenizerFile) -> list[Contender]:
    tokenizer = imported("fastokens").Tokenizer.from_json_str(file.text)
    numpy = imported("numpy")
    flat = tokenizer.encode_batch_flat
    return [
        Contender("fastokens", "buffer", lambda text: numpy.frombuffer(flat([text])[0], "<u4")),
        Contender("fastokens", "list", lambda text: tokenizer.encode(text).ids),
    ]


def gigatoken(file: TokenizerFile) -> list[Contender]:
    encode = imported("gigatoken").Tokenizer.from_json(file.text).encode
    return [
        Contender("gigatoken", "buffer", encode),
        Contender("gigatoken", "list", lambda text: encode(text).tolist()),
    ]


def tiktoken(file: TokenizerFile) -> list[Contender]:
    """tiktoken reads no tokenizer.json; ids carry over where they are ranks (they are checked)."""
    package = imported("tiktoken")
    document = json.loads(file.text)
    try:
        splits = document["pre_tokenizer"]["pretokenizers"]
        (pattern,) = (part["pattern"]["Regex"] for part in splits if part["type"] == "Split")
    except (KeyError, TypeError, ValueError):
        raise LeftOutError("tiktoken: the file has no single split pattern") from None
    if document["normalizer"] is not None and document["normalizer"]["type"] != "NFC":
        raise LeftOutError("tiktoken: no normalizers")
    byte_of = {char: byte for byte, char in enumerate(byte_alphabet())}
    ranks = {
        bytes(byte_of[char] for char in token): rank
        for token, rank in document["model"]["vocab"].items()
        if all(char in byte_of for char in token)
    }
    encoding = package.Encoding(
        file.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return [
        Contender("tiktoken", "buffer", encoding.encode_to_numpy),
        Contender("tiktoken", "list", encoding.encode_ordinary),
    ]


def byte_alphabet() -> list[str]:
    """The character that stands for each byte in byte-level vocabularies."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def hugging_face(file: TokenizerFile) -> list[Contender]:
    tokenizer = imported("tokenizers").Tokenizer.from_str(file.text)
    encode, batch = tokenizer.encode, tokenizer.encode_batch_fast
    return [
        Contender("hf", "list", lambda text: encode(text, add_special_tokens=False).ids),
        Contender("hf-fast", "list", lambda text: batch([text], add_special_tokens=False)[0].ids),
    ]


PEERS = (fastokens, gigatoken, tiktoken, hugging_face)


def contenders(file: TokenizerFile, builds: Sequence[str]) -> tuple[list[Contender], list[str]]:
    """Those that can take part, and the reasons of those that cannot.

    The first of our builds takes part twice: what separates the twins is noise.
    """
    found: list[Contender] = []
    reasons: list[str] = []
    makers: list[Callable[[], list[Contender]]] = []
    for build in builds:
        makers.append(lambda build=build: ours(file, build, build))  # type: ignore[misc]
    if builds:
        makers.append(lambda: ours(file, builds[0], "twin"))
    makers.extend(lambda peer=peer: peer(file) for peer in PEERS)  # type: ignore[misc]
    for make in makers:
        try:
            found.extend(make())
        except LeftOutError as reason:
            reasons.append(str(reason))
        except Exception as error:  # a peer that refuses the file must not end the run
            reasons.append(f"{type(error).__module__}.{type(error).__name__}: {error}")
    return found, reasons
