"""Every library of the benchmark behind the same few calls, so that like is set against like.

A library that is not installed, or does not take a tokenizer, is left out and named.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..names import TWIN
from .files import TokenizerFile
from .native import NAME as NATIVE
from .native import Native, NoNativeBuildError, build

__all__ = ["PEERS", "TWIN", "LeftOutError", "Library", "libraries", "load", "names_of", "opened"]

Call = Callable[[Any], Any]


class LeftOutError(Exception):
    """Why a library cannot take part."""


@dataclass(frozen=True)
class Library:
    """One loaded tokenizer. Forms are "buffer" (a flat array of ids) and "list"."""

    name: str
    encode: Mapping[str, Call]
    """By form: a text to its ids."""
    batch: Mapping[str, Call] = field(default_factory=dict)
    """By form: texts to the ids of all: one buffer, or a list of lists."""
    decode: Call | None = None
    """A list of ids to text."""
    stream: Callable[[], tuple[Call, Call]] | None = None
    """A new stream: its step (an id to text or None), and its end (nothing to text)."""
    tokenizer: Any = None
    """Of ours: the tokenizer itself, for what only it has."""


def imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LeftOutError(f"{name}: not installed ({error})") from None


def ours(file: TokenizerFile, build: str, name: str) -> Library:
    from ...loading.factory import create_tokenizer

    tokenizer = create_tokenizer(file.source, encoder="core", decoder="core", build=build)
    if tokenizer.backend.build != build:
        raise LeftOutError(f"pywasmtok: asked for {build}, got {tokenizer.backend.build}")
    encode, batch = tokenizer.encode, tokenizer.encode_batch

    def stream() -> tuple[Call, Call]:
        one = tokenizer.decode_stream()
        return one.step, lambda _: one.flush()

    return Library(
        name,
        {
            "buffer": lambda text: encode(text, add_special_tokens=False).buffer,
            "list": lambda text: encode(text, add_special_tokens=False).ids,
        },
        {
            "buffer": lambda texts: batch(texts, add_special_tokens=False).buffer,
            "list": lambda texts: batch(texts, add_special_tokens=False).ids,
        },
        tokenizer.decode,
        stream,
        tokenizer,
    )


def fastokens(file: TokenizerFile) -> list[Library]:
    create = imported("fastokens").Tokenizer.from_json_str
    try:
        tokenizer = create(file.text)
    except ValueError:
        tokenizer = create(without_added_tokens(file.text))
    numpy = imported("numpy")
    native = imported("fastokens._native")
    flat, many = tokenizer.encode_batch_flat, tokenizer.encode_batch

    def stream() -> tuple[Call, Call]:
        one = native.DecodeStream(skip_special_tokens=True)
        return lambda token_id: one.step(tokenizer, token_id), nothing

    return [
        Library(
            "fastokens",
            {
                "buffer": lambda text: numpy.frombuffer(flat([text])[0], "<u4"),
                "list": lambda text: tokenizer.encode(text).ids,
            },
            {
                "buffer": lambda texts: numpy.frombuffer(flat(texts)[0], "<u4"),
                "list": lambda texts: [one.ids for one in many(texts)],
            },
            lambda ids: tokenizer.decode(ids, True),
            stream,
        )
    ]


def without_added_tokens(text: str) -> str:
    """fastokens takes no vocabulary with tokens that no merge makes; added tokens are found before
    the model is asked, so their places there are not needed."""
    document = json.loads(text)
    vocab = document["model"]["vocab"]
    if isinstance(vocab, dict):
        for token in document["added_tokens"]:
            vocab.pop(token["content"], None)
    return json.dumps(document)


def gigatoken(file: TokenizerFile) -> list[Library]:
    tokenizer = imported("gigatoken").Tokenizer.from_json(file.text)
    encode, decode = tokenizer.encode, tokenizer.decode
    batch, lists = tokenizer.encode_batch, tokenizer.encode_batch_list

    return [
        Library(
            "gigatoken",
            {"buffer": encode, "list": lambda text: encode(text).tolist()},
            {
                "buffer": lambda texts: batch(texts, parallel=False).layout.content.data,
                "list": lambda texts: lists(texts, parallel=False),
            },
            lambda ids: decode(ids).decode(errors="replace"),
        )
    ]


def tiktoken(file: TokenizerFile) -> list[Library]:
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
    many = encoding.encode_ordinary_batch
    return [
        Library(
            "tiktoken",
            {"buffer": encoding.encode_to_numpy, "list": encoding.encode_ordinary},
            {"list": lambda texts: many(texts, num_threads=1)},
            encoding.decode,
        )
    ]


def byte_alphabet() -> list[str]:
    """The character that stands for each byte in byte-level vocabularies."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def hugging_face(file: TokenizerFile) -> list[Library]:
    package = imported("tokenizers")
    tokenizer = package.Tokenizer.from_file(str(file.path))
    encode, many, fast = tokenizer.encode, tokenizer.encode_batch, tokenizer.encode_batch_fast

    def stream() -> tuple[Call, Call]:
        one = package.decoders.DecodeStream(skip_special_tokens=True)
        return lambda token_id: one.step(tokenizer, token_id), nothing

    return [
        Library(
            "hf",
            {"list": lambda text: encode(text, add_special_tokens=False).ids},
            {"list": lambda texts: [one.ids for one in many(texts, add_special_tokens=False)]},
            tokenizer.decode,
            stream,
        ),
        Library(
            "hf-fast",
            {"list": lambda text: fast([text], add_special_tokens=False)[0].ids},
            {"list": lambda texts: [one.ids for one in fast(texts, add_special_tokens=False)]},
        ),
    ]


def native(file: TokenizerFile) -> list[Library]:
    try:
        one = Native(build(), file.path.read_bytes())
    except NoNativeBuildError as reason:
        raise LeftOutError(f"{NATIVE}: {reason}") from None
    encode = one.encode
    return [Library(NATIVE, {"buffer": encode, "list": lambda text: encode(text).tolist()})]


def nothing(_: object) -> None:
    """These streams have no end of their own: what they hold back is lost."""


PEERS: dict[str, Callable[[TokenizerFile], list[Library]]] = {
    "fastokens": fastokens,
    "gigatoken": gigatoken,
    "tiktoken": tiktoken,
    "hf": hugging_face,
    NATIVE: native,
}
# Takes a compiler, and minutes the first time: only where it is asked for by name.
ASKED_FOR = frozenset({NATIVE})


def names_of(builds: Sequence[str], only: Sequence[str] = ()) -> list[str]:
    """The libraries that take part. The first of our builds takes part twice: the difference
    between both is noise."""
    wanted = [*builds, *([TWIN] if builds else []), *PEERS]
    if not only:
        return [name for name in wanted if name not in ASKED_FOR]
    return [name for name in wanted if name in only or (name == "hf" and _hf(only))]


def _hf(only: Sequence[str]) -> bool:
    return "hf-fast" in only


def load(name: str, file: TokenizerFile, builds: Sequence[str]) -> list[Library]:
    """What stands behind a name; LeftOutError with the reason if that cannot be."""
    try:
        found = opened(name, file, builds)
        for library in found:
            try_out(library)
        return found
    except LeftOutError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        # A peer that refuses the file, or panics, must not end the run.
        kind = type(error)
        raise LeftOutError(f"{name}: {kind.__module__}.{kind.__name__}: {error}") from None


def opened(name: str, file: TokenizerFile, builds: Sequence[str]) -> list[Library]:
    """The same, not tried out."""
    if name in PEERS:
        return PEERS[name](file)
    return [ours(file, builds[0] if name == TWIN else name, name)]


def try_out(library: Library) -> None:
    """Every call once, so that one that does not work is known before anything is timed."""
    (encode, *_) = library.encode.values()
    for call in library.encode.values():
        call("a b")
    for call in library.batch.values():
        call(["a b", "c"])
    ids = encode("a b")
    ids = ids if isinstance(ids, list) else ids.tolist()
    if library.decode is not None:
        library.decode(ids)
    if library.stream is not None:
        step, end = library.stream()
        for token_id in ids:
            step(token_id)
        end(None)


def libraries(
    file: TokenizerFile, builds: Sequence[str], only: Sequence[str] = ()
) -> tuple[list[Library], list[str]]:
    """Those that can take part, and the reasons of those that cannot."""
    found: list[Library] = []
    reasons: list[str] = []
    for name in names_of(builds, only):
        try:
            found += load(name, file, builds)
        except LeftOutError as reason:
            reasons.append(str(reason))
    if only:
        found = [library for library in found if library.name in only]
    return found, reasons
