"""Loading: the format of a file, its faults, and the library that serves it."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from ..broken_files import BROKEN
from ..references import HuggingFace, subjects
from . import Case, Group

INVALID_UTF8 = (
    ("lone-continuation", b"a\x80b"),
    ("truncated", b"caf\xc3"),
    ("overlong", b"\xc0\xaf"),
    ("surrogate", b"\xed\xa0\x80"),
    ("too-large", b"\xf5\x80\x80\x80"),
)
SINCE = "1.3"


def groups() -> Iterator[Group]:
    yield _formats()
    yield _broken()
    yield _texts()
    yield _requests()
    yield _fallback()


def _formats() -> Group:
    about = "Files of every format are recognised by what is in them."
    origin = {"oracle": "derived: the format that the file was written in"}
    group = Group("load", "formats", about, ["L-1"], origin)
    for subject in subjects():
        size = subject.reference.size()
        group.add(
            *(subject.name, "recognised and loaded", "load"),
            tokenizer=subject.name,
            **subject.load_options,
            requires=["detect"],
            expect={
                "format": subject.format,
                "served_by": "core",
                **({"vocab_size": size} if size is not None else {}),
            },
        )
    return group


def _broken() -> Group:
    about = "Files that are damaged, lie, or ask for what nobody has."
    origin = {"oracle": "derived: a damaged file is refused"}
    group = Group("errors", "broken-files", about, ["L-3", "R-1"], origin)
    for name, broken in BROKEN.items():
        group.add(
            *(name, broken.why, "load"),
            tokenizer=f"broken-{name}",
            spec=list(broken.clauses),
            level=broken.level,
            expect={"error": {"code": list(broken.codes)}},
        )
    return group


def _texts() -> Group:
    about = "Bytes that are no text."
    origin = {"oracle": "derived: bytes that are no UTF-8 are refused"}
    group = Group("errors", "invalid-text", about, ["R-3"], origin)
    for name in ("bpe-cl100k", "bpe-metaspace-first", "wordpiece-uncased", "spm-unigram"):
        for slug, data in INVALID_UTF8:
            group.add(
                *(f"{name}-{slug}", "bytes that are no UTF-8", "encode"),
                tokenizer=name,
                input={"b64": base64.b64encode(data).decode()},
                expect={"error": {"code": ["invalid_text"]}},
            )
    return group


def _requests() -> Group:
    about = "Requests that make no sense."
    group = Group("errors", "requests", about, ["R-4"], {"oracle": "invariant"}, "bpe-gpt2")
    text: Case = {"input": {"text": "the cat"}}
    plain: Case = {"options": {"add_special": False}}
    group.add(
        *("unknown-handle", "a handle that nobody gave", "invariant"),
        invariant="unknown_handle",
        **text,
        **plain,
    )
    invariants: tuple[tuple[str, str, Case], ...] = (
        ("unknown_operation", "an operation that there is not", text | plain),
        ("unloaded_handle", "a handle that is not loaded any more", text | plain),
        ("closed_stream", "a stream that was closed", {"ids": [64], "options": {}}),
        ("closed_stop", "a stop that was closed", {"ids": [64], "options": {}}),
    )
    for name, why, fields in invariants:
        group.add(name, why, "invariant", since=SINCE, invariant=name, **fields)
    refused: Case = {
        "since": SINCE,
        "origin": {"oracle": "derived: what is not known is refused", "by": "tools/generate"},
        "expect": {"error": {"code": ["bad_request"]}},
    }
    encoding: Case = {"options": {"add_specials": False}}
    decoding: Case = {"options": {"skip_specials": False}}
    rendering: Case = {
        "template": {"text": "{{ messages[0].content }}"},
        "messages": [{"role": "user", "content": "a"}],
        "options": {"add_generation_prompts": True},
    }
    flush: Case = {"steps": [{"flush": True}]}
    asked: tuple[tuple[str, Case], ...] = (
        ("load", {"load_options": {"fallback": "forbid", "patterns": "a"}}),
        ("encode", text | encoding),
        ("encode_batch", {"inputs": [text["input"]]} | encoding),
        ("count", text | encoding),
        ("segments", {"segments": [{"text": "the cat", "trusted": True}]} | encoding),
        ("decode", {"ids": [64]} | decoding),
        ("decode_bytes", {"ids": [64]} | decoding),
        ("decode_batch", {"lists": [[64]]} | decoding),
        ("stream", flush | decoding),
        ("stop", {"config": {}} | flush | decoding),
        ("render", rendering),
        ("encode_chat", rendering),
    )
    for op, fields in asked:
        group.add(f"option-{op}", "an option that there is not", op, **refused, **fields)
    group.add(
        *("config-stop", "a key of a stop's configuration that there is not", "stop"),
        **refused,
        config={"stop_strings": ["a"]},
        **flush,
    )
    return group


def _fallback() -> Group:
    """A file that the reference serves and others may refuse: two tokens become one text."""
    reference = HuggingFace.of("only-fallback")
    origin = {"oracle": reference.oracle}
    about = "A file that only the reference may be able to serve."
    group = Group("fallback", "two-as-one", about, ["F-2"], origin, "only-fallback")
    # Which of the two the reference finds is decided anew each time that it loads the file.
    first, second = (token["id"] for token in reference.document["added_tokens"])
    texts = ("the cat", "a <norm> b", "<NORM>")
    group.add(
        *("forbidden", "refused, unless the implementation itself serves it", "load"),
        spec=["F-2", "L-2"],
        expect={"any_of": [{"error": {"code": ["unsupported"]}}, {"served_by": "core"}]},
    )
    for number, text in enumerate(texts):
        ids = reference.encode(text)
        either = [[one if n in (first, second) else n for n in ids] for one in (first, second)]
        group.add(
            *(f"allowed-{number}", "served by somebody, and rightly", "encode"),
            spec=["F-3"],
            requires=["fallback"],
            load_options={"fallback": "allow"},
            input={"text": text},
            options={"add_special": False},
            expect={"any_of": [{"ids": one} for one in either]}
            if either[0] != either[1]
            else {"ids": ids},
        )
    return group
