"""Text of ids: of texts, of no text at all, with and without special tokens."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator

from ..border_files import CLEANED
from ..references import HuggingFace, Ids, Ranks, Subject, bytes_of_tokens, subjects
from . import Group

FROM_TEXT = (
    *("empty", "words", "sentence", "leading-spaces", "trailing-spaces", "newlines", "tab"),
    *("contraction", "punctuation-space", "code", "accents", "decomposed", "han", "kana", "hangul"),
    *("emoji", "emoji-zwj", "nul", "replacement", "metaspace", "byte-token", "unk-text"),
    *("bom", "bom-inside"),
)


def groups() -> Iterator[Group]:
    for subject in subjects("decode"):
        if subject.reference.decode([], skip_special=True) is None:
            continue
        yield _texts(subject)
        yield _random(subject)
    yield _cleaned()
    yield _unknown()
    yield _bytes()


def _texts(subject: Subject) -> Group:
    about = f"Ids that texts give, by {subject.name}."
    group = Group("decode", subject.name, about, ["D-1"], subject.origin, subject.name)
    for probe in subject.probes:
        ids = subject.reference.encode(probe.text)
        if probe.slug not in FROM_TEXT or ids is None:
            continue
        text = subject.reference.decode(ids, skip_special=False)
        group.add(
            *(probe.slug, f"ids of a text: {probe.why}", "decode"),
            **subject.load_options,
            ids=ids,
            options={"skip_special": False},
            expect={"text": text},
        )
    lists = [case["ids"] for case in group.cases]
    group.add(
        *("batch", "all of them at once", "decode_batch"),
        **subject.load_options,
        spec=["D-6"],
        lists=lists,
        options={"skip_special": False},
        expect={"texts": [case["expect"]["text"] for case in group.cases]},
    )
    return group


def _random(subject: Subject) -> Group:
    """Lists that no text gives: this is where decoders are told apart."""
    about = f"Random ids, by {subject.name}."
    name = f"{subject.name}-random"
    group = Group("decode", name, about, ["D-1", "D-3"], subject.origin, subject.name)
    dice = random.Random(f"decode {subject.name}")
    size = subject.reference.size() or 600
    first = 1 if subject.format == "rwkv" else 0  # its ids begin at 1
    for number in range(subject.lists):
        skip = number % 2 == 0
        # Special tokens and bytes stand at the beginning or at the end of a vocabulary.
        ends = [*range(first, min(size, 20)), *range(max(0, size - 8), size)]
        ids = [
            dice.choice(ends) if dice.random() < 0.3 else dice.randrange(1, size)
            for _ in range(dice.randrange(1, 14))
        ]
        try:
            text = subject.reference.decode(ids, skip_special=skip)
        except KeyError:  # a gap in the ids, which the reference refuses
            continue
        group.add(
            *(f"n{number}", "ids in no order that a text has", "decode"),
            **subject.load_options,
            **({"spec": ["D-2", "D-3"]} if skip else {}),
            ids=ids,
            options={"skip_special": skip},
            expect={"text": text},
        )
    return group


def _cleaned() -> Group:
    """The clean-up sees one token at a time, and only behind another one has it a space."""
    reference = HuggingFace.of("wordpiece-cleanup")
    about = "Spaces that the clean-up of WordPiece takes out."
    origin = {"oracle": reference.oracle}
    group = Group("decode", "cleaned", about, ["D-1"], origin, "wordpiece-cleanup")
    (word,) = reference.encode("cat")
    for token in CLEANED:
        ids = [word, reference.identity(token) or 0, word]
        group.add(
            *(f"n{ids[1]}", f"a word, {token!r}, and a word", "decode"),
            ids=ids,
            options={"skip_special": False},
            expect={"text": reference.decode(ids, skip_special=False)},
        )
    return group


def _unknown() -> Group:
    origin = {"oracle": "derived: the rule of the option"}
    about = "Ids that do not exist."
    group = Group("decode", "unknown-ids", about, ["D-4"], origin, "bpe-gpt2", requires=["any_id"])
    reference = HuggingFace.of("bpe-gpt2")
    ids = reference.encode("the cat")
    ids[1:1] = [123456]
    kept = reference.decode(ids, skip_special=True)
    halves = [reference.decode(part, skip_special=True) for part in (ids[:1], ids[2:])]
    group.add(
        *("habit", "without the option as the reference does", "decode"),
        ids=ids,
        origin={"oracle": reference.oracle, "by": "tools/generate"},
        expect={"text": kept},
    )
    group.add(
        *("skip", "left out", "decode"),
        ids=ids,
        options={"unknown": "skip"},
        requires=["any_id", "unknown:skip"],
        expect={"text": kept},
    )
    group.add(
        *("replace", "shown as U+FFFD", "decode"),
        ids=ids,
        options={"unknown": "replace"},
        requires=["any_id", "unknown:replace"],
        expect={"text": "\ufffd".join(halves)},
    )
    group.add(
        *("error", "refused with an error", "decode"),
        ids=ids,
        options={"unknown": "error"},
        requires=["any_id", "unknown:error"],
        spec=["D-4", "R-1"],
        expect={"error": {"code": ["invalid_token"]}},
    )
    return group


def _bytes() -> Group:
    about = "Bytes of ids before anything becomes U+FFFD."
    origin = {"oracle": "derived: the bytes of the tokens, one behind the other"}
    group = Group("decode", "bytes", about, ["D-5"], origin)
    for name in ("bpe-gpt2", "bpe-cl100k", "bpe-o200k"):
        reference = HuggingFace.of(name)
        tokens = bytes_of_tokens(reference.document)
        for number, ids in enumerate(_cuts(reference)):
            data = b"".join(tokens[n] for n in ids)
            group.add(
                *(
                    f"{name}-{number}",
                    "a list that ends or begins inside a character",
                    "decode_bytes",
                ),
                tokenizer=name,
                ids=ids,
                options={"skip_special": False},
                expect={"b64": base64.b64encode(data).decode()},
            )
    ranks = Ranks()
    ids = ranks.encode("na\u00efve \U0001f336<|end|>")
    for number, part in enumerate((ids, ids[:-1], ids[:-2], ids[2:])):
        group.add(
            *(f"ranks-{number}", "ids of a rank file are bytes", "decode_bytes"),
            tokenizer="ranks-cl100k",
            load_options=ranks.load_options,
            ids=part,
            options={"skip_special": False},
            expect={"b64": base64.b64encode(ranks.data(part)).decode()},
        )
    return group


def _cuts(reference: HuggingFace) -> Iterator[Ids]:
    ids = reference.encode("a \U0001f336\u4f60 \u00e9")
    for at in range(1, len(ids)):
        yield ids[:at]
        yield ids[at:]
