"""Trusted and untrusted parts of one text: no special token comes from untrusted text, everything
else is as `encode` of the whole. PYWASMTOK_SLOW=1: 10,000 attacks on each file;
PYWASMTOK_CASES=2000: so many cases of the slow way."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import lru_cache

import pytest
import segments
from assets import SERVED, Asset, each_kind, needs_assets, open_tokenizer, without_limits
from segments import Oracle

import pywasmtok

SLOW = os.environ.get("PYWASMTOK_SLOW") == "1"
ATTACKS = 10_000 if SLOW else 300
# Of the slow way, which takes a tenth of a second for each.
CASES = int(os.environ.get("PYWASMTOK_CASES", "60"))

MODELS = [
    Asset("llama2", "tokenizer.model"),
    Asset("mistral-common", "mistral_instruct_tokenizer_241114.model.v7"),
    Asset("mistral-common", "tekken_240911.json"),
    Asset("spm-misc", "nai-t5.model"),
    Asset("xlnet", "spiece.model"),
    *(
        Asset("gguf-llamacpp", f"ggml-vocab-{name}.gguf")
        for name in (
            "aquila", "bert-bge", "deepseek-coder", "deepseek-llm", "gpt-2", "gpt-neox",
            "llama-bpe", "llama-spm", "phi-3", "qwen2", "qwen35",
        )
    ),
]  # fmt: skip

pytestmark = needs_assets


@lru_cache(maxsize=1)
def opened(asset: Asset) -> pywasmtok.Tokenizer:
    if asset in SERVED:
        return open_tokenizer(asset, encoder="core", data=without_limits(asset))
    return open_tokenizer(asset, encoder="core")


def specials(tok: pywasmtok.Tokenizer) -> dict[str, int]:
    return {name: token.id for name, token in tok._backend.added_names().items() if token.special}


def control(tok: pywasmtok.Tokenizer) -> set[int]:
    """The ids that no text of strangers may have; the unknown token is for unknown text."""
    unk = tok.special_tokens.unk
    return set(specials(tok).values()) - {tok.token_to_id(unk) if unk else None}


every = pytest.mark.parametrize("asset", [*SERVED, *MODELS], ids=lambda asset: asset.id)


@every
def test_untrusted_text_yields_no_special_token(asset: Asset) -> None:
    tok = opened(asset)
    forbidden, names = control(tok), list(specials(tok))
    if not names:
        pytest.skip("no special tokens")
    for parts in segments.attacks(asset.id, ATTACKS, names):
        ids = tok.encode_segments(parts, add_special_tokens=False).ids
        assert not forbidden.intersection(ids), parts
        whole = "".join(text for text, _ in parts)
        ids = tok.encode(whole, add_special_tokens=False, special="none").ids
        assert not forbidden.intersection(ids), whole


@every
def test_harmless_text_is_as_without_segments(asset: Asset) -> None:
    tok = opened(asset)
    ids = set(specials(tok).values())
    for parts in segments.attacks(
        asset.id + "harmless", ATTACKS // 3, ["Hello", " world\n", "<x>"]
    ):
        whole = "".join(text for text, _ in parts)
        expected = tok.encode(whole)
        plain = tok.encode(whole, add_special_tokens=False).ids
        if not ids.intersection(plain):
            assert tok.encode_segments(parts) == expected, parts
            assert tok.encode(whole, special="none") == expected, parts
            assert tok.encode(whole, special="raise") == expected, parts
            assert tok.encode(whole, special=set()) == expected, parts


@every
def test_trusted_text_is_as_without_segments(asset: Asset) -> None:
    tok = opened(asset)
    for parts in segments.conversations(asset.id, ATTACKS // 3, list(specials(tok)) or ["x"]):
        trusted = [(text, True) for text, _ in parts]
        whole = "".join(text for text, _ in parts)
        assert tok.encode_segments(trusted) == tok.encode(whole), parts


@every
def test_special_tokens_of_trusted_text_stay_whatever_stands_beside_them(asset: Asset) -> None:
    tok = opened(asset)
    forbidden, names = control(tok), list(specials(tok))
    if not names:
        pytest.skip("no special tokens")
    # Those that a text may name at all, and that nothing around them undoes.
    names = [
        name
        for name in names
        if specials(tok)[name] in forbidden
        and tok.encode(f"\n{name}\n", add_special_tokens=False).ids.count(specials(tok)[name]) == 1
    ]
    for parts in segments.attacks(asset.id + "beside", ATTACKS // 3, names) if names else ():
        name = names[len(parts[0][0]) % len(names)]
        mixed = [part for one in parts for part in (one, ("\n" + name + "\n", True))]
        untrusted_only = [(text, mark and text in ("\n", " ")) for text, mark in mixed[::2]]
        mixed[::2] = untrusted_only
        got = Counter(tok.encode_segments(mixed, add_special_tokens=False).ids)
        found = {number: got[number] for number in forbidden if number in got}
        assert found == {specials(tok)[name]: len(parts)}, mixed


EXACT = [asset for asset in SERVED if asset.id not in {"clip", "deepseek-v3"}]


@pytest.mark.parametrize("asset", each_kind(EXACT), ids=lambda asset: asset.id)
def test_equals_the_slow_way(asset: Asset) -> None:
    document = json.loads(without_limits(asset))
    assert Oracle.serves(document)
    tok, oracle = opened(asset), Oracle(document)
    names = list(specials(tok))
    some = set(names[::2])
    knows_some = Oracle(document, some)
    for number, parts in enumerate(segments.conversations(asset.id + "slow", CASES, names)):
        got = tok.encode_segments(parts, add_special_tokens=False).ids
        assert got == oracle.encode(parts), parts
        whole = "".join(text for text, _ in parts)
        got = tok.encode(whole, add_special_tokens=False, special=some).ids
        assert got == knows_some.plain(whole), whole
        if number % 10 == 0:
            full = tok.encode_segments(parts)
            assert len(full.tokens) == len(full.offsets) == len(full)


@pytest.mark.parametrize(
    "asset", [one for one in SERVED if one not in EXACT], ids=lambda one: one.id
)
def test_what_is_left_out_has_no_slow_way(asset: Asset) -> None:
    assert not Oracle.serves(json.loads(without_limits(asset)))
