"""Every real tokenizer.json: the core serves it and answers what the reference answered."""

from __future__ import annotations

from typing import Any

import pytest
from assets import (
    REFUSED,
    SERVED,
    Asset,
    by_content,
    needs_assets,
    open_tokenizer,
    vectors,
    without_limits,
)

import pywasmtok

pytestmark = needs_assets

# Files that ask for truncation or padding, which the vectors leave out.
LIMITED = {"gte"}

WITH_VECTORS = [asset for asset in SERVED if asset.vectors is not None]


def differences(
    what: str, cases: list[dict[str, Any]], field: str, answers: list[Any]
) -> list[str]:
    return [
        f"{what} of {case['id']} {case['text'][:60]!r}: {answer} instead of {case[field]}"
        for case, answer in zip(cases, answers, strict=True)
        if answer != case[field]
    ]


@pytest.mark.parametrize("asset", WITH_VECTORS, ids=lambda asset: asset.id)
def test_vectors(asset: Asset) -> None:
    assert asset.vectors is not None
    cases = vectors(asset.vectors)
    texts = [case["text"] for case in cases]
    tok = open_tokenizer(asset)
    assert tok.backend.encoder == "core", tok.backend.reason
    if asset.family in LIMITED:
        tok = open_tokenizer(asset, encoder="core", data=without_limits(asset))

    plain = [tok.encode(text, add_special_tokens=False) for text in texts]
    special = [tok.encode(text) for text in texts]
    wrong = differences("ids", cases, "ids", [encoding.ids for encoding in plain])
    wrong += differences("ids_special", cases, "ids_special", [made.ids for made in special])
    for made, batch in (
        (plain, tok.encode_batch(texts, add_special_tokens=False)),
        (special, tok.encode_batch(texts)),
    ):
        wrong += [
            f"batch of {case['id']}"
            for case, alone, together in zip(cases, made, batch, strict=True)
            if alone != together
        ]

    short = [(case, made) for case, made in zip(cases, plain, strict=True) if "offsets" in case]
    offsets = [[list(span) for span in made.offsets] for _, made in short]
    wrong += differences("offsets", [case for case, _ in short], "offsets", offsets)

    for field, skip, source in (
        ("decoded", False, "ids"),
        ("decoded_skip", True, "ids"),
        ("decoded_special", False, "ids_special"),
        ("decoded_special_skip", True, "ids_special"),
    ):
        lists = [case[source] for case in cases]
        wrong += differences(field, cases, field, tok.decode_batch(lists, skip))
        wrong += differences(field, cases, field, [tok.decode(ids, skip) for ids in lists])

    assert wrong[:5] == [], f"{len(wrong)} differences"
    assert tok.fallbacks == {}


def test_no_file_is_forgotten() -> None:
    assert set(by_content()) == {*SERVED, *REFUSED}


@pytest.mark.parametrize("asset", REFUSED, ids=lambda asset: asset.id)
def test_files_that_the_reference_refuses(asset: Asset) -> None:
    with pytest.raises(pywasmtok.InvalidFile, match="merge"):
        open_tokenizer(asset)
