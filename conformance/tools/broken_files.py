"""Files that are damaged, lie about their sizes, or contradict themselves.

Each is what a download that broke off, a wrong export or an attacker makes of a good one.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import gguf, hf_files

Document = dict[str, Any]


@dataclass(frozen=True)
class Broken:
    data: bytes
    file: str
    format: str
    why: str
    codes: tuple[str, ...] = ("invalid_model",)
    clauses: tuple[str, ...] = ("L-3", "R-1")
    level: str = "must"


def _good() -> Document:
    return hf_files.characters()


def _json(why: str, change: Callable[[Document], object], **more: Any) -> Broken:
    document = _good()
    change(document)
    return Broken(hf_files.written(document), "tokenizer.json", "tokenizer.json", why, **more)


def _raw(why: str, data: bytes, **more: Any) -> Broken:
    return Broken(data, "tokenizer.json", "tokenizer.json", why, **more)


def _merge_of_nobody(document: Document) -> None:
    document["model"]["merges"] = [["a", "no such token"]]


def _gguf(why: str, data: bytes, **more: Any) -> Broken:
    more.setdefault("clauses", ("L-3", "M-1"))
    more.setdefault("codes", ("invalid_model", "limit_exceeded"))
    return Broken(data, "tokenizer.gguf", "gguf", why, **more)


_HEAD = struct.Struct("<IQQ")
_TOKENS = gguf.container(
    {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "a"]}
)
_DEEP = 40_000

BROKEN: dict[str, Broken] = {
    "empty-object": _raw("an object of nothing", b"{}"),
    "truncated-json": _raw("a download that broke off", hf_files.written(_good())[:3000]),
    "deep-json": _raw(
        *("brackets forty thousand deep", b'{"model":' + b"[" * _DEEP + b"]" * _DEEP + b"}"),
        clauses=("L-3", "M-1"),
    ),
    "json-list": _raw("a list instead of an object", b"[1, 2, 3]"),
    "json-no-utf8": _raw("bytes that are no text", b'{"version": "1.0", "model": {"a": "\xff"}}'),
    "html": _raw("the page of an error", b"<!DOCTYPE html><html><body>404</body></html>"),
    "lfs-pointer": _raw(
        "a pointer of git LFS in place of the file",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:"
        + b"0" * 64
        + b"\nsize 9085657\n",
    ),
    "no-model": _json("no model", lambda document: document.pop("model")),
    "model-null": _json("a model that is null", lambda document: document.update(model=None)),
    "unknown-model": _json(
        *("a model that nobody has", lambda document: document["model"].update(type="Neural")),
        codes=("unsupported", "invalid_model"),
        clauses=("L-2", "L-3"),
    ),
    "unknown-normalizer": _json(
        *("a normalizer that nobody has", lambda d: d.update(normalizer={"type": "Rot13"})),
        codes=("unsupported", "invalid_model"),
        clauses=("L-2", "L-3"),
    ),
    "unknown-decoder": _json(
        *("a decoder that nobody has", lambda d: d.update(decoder={"type": "Oracle"})),
        codes=("unsupported", "invalid_model"),
        clauses=("L-2", "L-3"),
    ),
    "merge-of-nobody": _json("a merge of a token that is not there", _merge_of_nobody),
    "vocabulary-list": _json("a vocabulary that is a list", lambda d: d["model"].update(vocab=[1])),
    "vocabulary-text-ids": _json(
        "ids that are texts", lambda d: d["model"].update(vocab={"a": "0", "b": "1"})
    ),
    "vocabulary-negative-ids": _json(
        "ids below zero", lambda d: d["model"].update(vocab={"a": -1, "b": 0})
    ),
    "vocabulary-huge-ids": _json(
        *("ids beyond 32 bits", lambda d: d["model"].update(vocab={"a": 0, "b": 1 << 40})),
        clauses=("L-3", "M-1"),
    ),
    "bad-regex": _json(
        "a pattern with a bracket that nobody closes",
        lambda d: d.update(pre_tokenizer=hf_files.split("[a-z")),
        codes=("invalid_model", "unsupported"),
    ),
    "added-without-content": _json(
        "an added token of no content", lambda d: d.update(added_tokens=[{"id": 1}])
    ),
    "gguf-magic-only": _gguf("nothing but the magic", b"GGUF"),
    "gguf-truncated": _gguf("a file that ends inside a list", _TOKENS[:-9]),
    "gguf-version": _gguf(
        *("a version that nobody has", b"GGUF" + _HEAD.pack(99, 0, 0)),
        codes=("unsupported", "invalid_model"),
    ),
    "gguf-many-pairs": _gguf("billions of pairs", b"GGUF" + _HEAD.pack(3, 0, 1 << 60)),
    "gguf-long-string": _gguf(
        "a key longer than any file",
        b"GGUF" + _HEAD.pack(3, 0, 1) + struct.pack("<Q", 1 << 62) + b"key",
    ),
    "gguf-long-array": _gguf(
        "a list longer than any file",
        b"GGUF"
        + _HEAD.pack(3, 0, 1)
        + struct.pack("<Q", 21)
        + b"tokenizer.ggml.tokens"
        + struct.pack("<IIQ", 9, 8, 1 << 61),
    ),
    "gguf-no-tokenizer": _gguf(
        *("a model without a tokenizer", gguf.container({"general.architecture": "llama"})),
        clauses=("L-3",),
    ),
    "ranks-no-base64": Broken(
        *(b"IQ== 0\n!!!! 1\nIw== 2\n" * 20, "ranks.tiktoken", "tiktoken"),
        "a line that is no base64",
    ),
    "ranks-twice": Broken(
        b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256)) + b"YWI= 7\n",
        *("ranks.tiktoken", "tiktoken", "a rank that two tokens have"),
    ),
    "spm-truncated": Broken(
        b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\xff\xff\xff\xff\x0f",
        *("tokenizer.model", "sentencepiece", "a piece longer than the file"),
        clauses=("L-3", "M-1"),
    ),
    "tekken-no-vocabulary": Broken(
        json.dumps({"config": {"pattern": "a"}, "vocab": []}).encode(),
        *("tekken.json", "tekken", "a file without tokens"),
    ),
}
