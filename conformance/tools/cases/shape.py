"""Offsets, vocabularies, batches: what is said beside the ids."""

from __future__ import annotations

from collections.abc import Iterator

from ..probes import PROBES
from ..references import Subject, subjects
from . import Group

OFFSET_PROBES = (
    *("empty", "words", "sentence", "leading-spaces", "trailing-spaces", "newlines", "crlf"),
    *(
        "digits-10",
        "contraction",
        "code",
        "accents",
        "decomposed",
        "marks",
        "ligature",
        "fullwidth",
    ),
    *("dotted-i", "sharp-s", "han-mixed", "kana-voiced", "jamo", "emoji", "emoji-zwj", "nul"),
    *("metaspace", "chat-marks", "devanagari", "nbsp", "bom"),
)
BATCH_PROBES = ("empty", "words", "emoji", "space", "code", "han", "sentence", "unseen-word")


def groups() -> Iterator[Group]:
    for subject in subjects("shape"):
        if subject.is_hf:
            yield _offsets(subject)
        yield _batches(subject)
        yield _vocabulary(subject)
    yield _round_trips()


def _offsets(subject: Subject) -> Group:
    about = f"Where the tokens of {subject.name} come from."
    group = Group("offsets", subject.name, about, ["O-1"], subject.origin, subject.name)
    for probe in subject.probes:
        if probe.slug not in OFFSET_PROBES:
            continue
        details = subject.hf.details(probe.text)
        group.add(
            *(probe.slug, f"offsets and tokens: {probe.why}", "encode"),
            input={"text": probe.text},
            options={"add_special": False},
            want=["offsets", "tokens"],
            expect=details,
        )
    encoding = subject.hf.tokenizer.encode("the cat")
    plain = subject.hf.tokenizer.encode("the cat", add_special_tokens=False)
    if encoding.ids != plain.ids:
        group.add(
            *("added", "tokens that no text made", "encode"),
            spec=["O-3"],
            input={"text": "the cat"},
            want=["offsets"],
            expect={"offsets": [list(pair) for pair in encoding.offsets]},
        )
    return group


def _batches(subject: Subject) -> Group:
    origin = {"oracle": "invariant"}
    about = f"Batches, counting and offsets of {subject.name}, without stored answers."
    group = Group("batch", subject.name, about, ["B-1"], origin, subject.name)
    texts = [{"text": probe.text} for probe in PROBES if probe.slug in BATCH_PROBES]
    fields = {**subject.load_options, "op": "invariant"}
    group.add(
        *("batch", "a batch of texts of all kinds"),
        **fields,
        invariant="batch_equals_single",
        inputs=texts,
        options={"add_special": True},
    )
    group.add(
        *("memory", "the same texts once more"),
        **fields,
        spec=["E-10"],
        invariant="no_memory",
        inputs=texts,
        options={"add_special": False},
    )
    for probe in PROBES:
        if probe.slug in ("empty", "sentence", "code", "emoji-zwj"):
            group.add(
                *(f"count-{probe.slug}", f"counted: {probe.why}"),
                **fields,
                spec=["B-2"],
                invariant="count_equals_encode",
                input={"text": probe.text},
                options={"add_special": True},
            )
        if probe.slug in ("sentence", "decomposed", "emoji-zwj", "fullwidth", "spaces-newlines"):
            group.add(
                *(f"offsets-{probe.slug}", f"offsets lie in the text: {probe.why}"),
                **fields,
                spec=["O-2"],
                invariant="offsets_slice_text",
                input={"text": probe.text},
                options={"add_special": False},
            )
    return group


def _vocabulary(subject: Subject) -> Group:
    reference = subject.reference
    about = f"Names and numbers of the tokens of {subject.name}."
    group = Group("vocab", subject.name, about, ["V-1"], subject.origin, subject.name)
    size = reference.size()
    if size is not None:
        group.add(
            *("size", "how many tokens there are", "info"),
            **subject.load_options,
            spec=["L-4"],
            expect={"vocab_size": size},
        )
    if size is not None and reference.token(0) is not None:
        for identity in (0, 1, 5, size // 2, size - 2, size - 1):
            token = reference.token(identity)
            if token is None or "\ufffd" in token:
                continue
            group.add(
                *(f"token-{identity}", "the token of an id", "id_to_token"),
                **subject.load_options,
                token_id=identity,
                expect={"token": token},
            )
            group.add(
                *(f"id-{identity}", "the id of a token", "token_to_id"),
                **subject.load_options,
                token=token,
                expect={"id": reference.identity(token)},
            )
    if size is not None:
        group.add(
            *("id-of-the-size", "the id that is the number of tokens", "id_to_token"),
            **subject.load_options,
            since="1.2",
            spec=["V-2"],
            token_id=size,
            expect={"token": reference.token(size)},
        )
    group.add(
        *("no-id", "an id beyond the vocabulary", "id_to_token"),
        **subject.load_options,
        spec=["V-2"],
        token_id=9_999_999,
        expect={"token": None},
    )
    group.add(
        *("no-token", "a token that is in no vocabulary", "token_to_id"),
        **subject.load_options,
        spec=["V-2"],
        token="\ue0ff no such token",
        expect={"id": None},
    )
    if subject.is_main or not subject.is_hf:
        group.add(
            *("wide-id", "an id that is another one in its low sixteen bits", "id_to_token"),
            **subject.load_options,
            since="1.3",
            spec=["V-2"],
            token_id=(1 << 16) + 1,
            expect={"token": reference.token((1 << 16) + 1)},
        )
        group.add(
            *("empty-token", "the token of no text", "token_to_id"),
            **subject.load_options,
            since="1.3",
            spec=["V-2"],
            token="",
            expect={"id": reference.identity("")},
        )
    group.add(
        *("round-trip", "the name of an id has an id", "invariant"),
        **subject.load_options,
        spec=["V-3"],
        origin={"oracle": "invariant", "by": "tools/generate"},
        invariant="vocabulary_round_trip",
        ids=[*range(0, 40), *range(280, 320)],
    )
    return group


def _round_trips() -> Group:
    origin = {"oracle": "invariant"}
    about = "Byte-level files without a normalizer give every text back."
    group = Group("decode", "round-trips", about, ["D-7"], origin)
    for name in ("bpe-gpt2", "bpe-cl100k", "bpe-o200k", "bpe-unknown-pattern", "bpe-deepseek"):
        for probe in PROBES[::4]:
            group.add(
                *(f"{name}-{probe.slug}", f"there and back: {probe.why}", "invariant"),
                tokenizer=name,
                invariant="roundtrip",
                input={"text": probe.text},
            )
    return group
