"""Ids of texts: every probe for every tokenizer."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator

from ..probes import LONG, PROBES, RARE
from ..references import Subject, subjects
from . import Group

PAIRS = (
    ("words", "the cat", "on the mat"),
    ("empty-second", "the cat", ""),
    ("empty-first", "", "the cat"),
    ("spaces", " the ", " cat "),
)
WITH_SPECIAL = ("empty", "words", "sentence", "emoji", "leading-space", "han")
LONG_FOR = (
    *("bpe-gpt2", "bpe-cl100k", "bpe-o200k", "bpe-deepseek", "bpe-metaspace-first", "bpe-gemma"),
    *("wordpiece-uncased", "unigram-metaspace", "unigram-bytes", "rwkv"),
    *("spm-bpe-bytes", "spm-unigram", "ranks-cl100k", "tekken", "norm-nfkc"),
)


def groups() -> Iterator[Group]:
    for subject in subjects("encode"):
        yield _probes(subject)
        if subject.is_hf:
            yield from _post_processed(subject)
        if subject.name in LONG_FOR:
            yield _long(subject)


def _clauses(subject: Subject) -> list[str]:
    name = subject.name
    if name.startswith("norm-"):
        return ["E-1", "E-2"]
    if name.startswith(("split-", "scripts", "bpe-digits", "bpe-unknown-pattern")):
        return ["E-1", "E-3"]
    return ["E-1", "E-4"]


def _probes(subject: Subject) -> Group:
    about = f"Probes of {subject.name}, without added tokens."
    group = Group("encode", subject.name, about, _clauses(subject), subject.origin, subject.name)
    for probe in (*subject.probes, *(RARE if subject.is_main else ())):
        ids = subject.reference.encode(probe.text)
        if ids is not None:
            group.add(
                *(probe.slug, probe.why, "encode"),
                **subject.load_options,
                **({"since": "1.3"} if probe in RARE else {}),
                input={"text": probe.text},
                options={"add_special": False},
                expect={"ids": ids},
                **({"spec": ["E-5"]} if probe.slug == "empty" else {}),
            )
    return group


def _post_processed(subject: Subject) -> Iterator[Group]:
    reference = subject.hf
    if reference.encode("a", add_special=True) == reference.encode("a"):
        return
    name = f"{subject.name}-special"
    clauses = ["E-6"]
    if subject.name == "truncated-padded":
        clauses.append("E-8")
    about = f"What the post-processor of {subject.name} adds."
    group = Group("encode", name, about, clauses, subject.origin, subject.name)
    for probe in PROBES:
        if probe.slug in WITH_SPECIAL:
            group.add(
                *(probe.slug, f"{probe.why}, with what the file adds", "encode"),
                input={"text": probe.text},
                expect={"ids": reference.encode(probe.text, add_special=True)},
            )
    for pair_name, first, second in PAIRS:
        group.add(
            *(f"pair-{pair_name}", "two texts joined as the file says", "encode"),
            spec=["E-7"],
            input={"text": first},
            pair={"text": second},
            expect={"ids": reference.pair(first, second)},
        )
    yield group


def _long(subject: Subject) -> Group:
    name = f"{subject.name}-long"
    about = f"Long texts without a good place to cut, for {subject.name}."
    group = Group("limits", name, about, ["E-9"], subject.origin, subject.name)
    for slug, text, count, why in LONG:
        ids = subject.reference.encode(text * count)
        if ids is None:
            continue
        data = array("I", ids).tobytes()
        group.add(
            *(slug, why, "encode"),
            **subject.load_options,
            input={"repeat": {"text": text, "n": count}},
            options={"add_special": False},
            expect={
                "ids_digest": {
                    "len": len(ids),
                    "sha256_le32": hashlib.sha256(data).hexdigest(),
                    "head": ids[:8],
                    "tail": ids[-8:],
                }
            },
        )
    return group
