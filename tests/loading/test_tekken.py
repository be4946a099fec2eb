"""tekken.json against mistral-common: its vectors, and the library where it is installed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import nasty
import pytest
import rawcore
from assets import ROOT, Asset, needs_assets

from pywasmtok import _host

pytestmark = needs_assets

FILES = ("tekken_240718", "tekken_240911")


@cache
def core_of(name: str) -> _host.CoreTokenizer:
    return rawcore.load(Asset("mistral-common", f"{name}.json").read())


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    """What is left to the end of the process is torn down in no order."""
    yield
    core_of.cache_clear()


@pytest.mark.parametrize("name", FILES)
def test_vectors(name: str) -> None:
    lines = (ROOT / "vectors" / f"tekken.{name}.jsonl").read_text(encoding="utf-8").splitlines()
    header, *cases = map(json.loads, lines)
    core = core_of(name)
    texts = [case["text"] for case in cases]
    ids = [case["ids"] for case in cases]
    # Names of special tokens are text, whatever the caller says.
    assert rawcore.encode(core, texts) == ids
    assert rawcore.encode(core, texts, special_is_text=True, add_special=True) == ids
    decoded = [case.get("decoded", case["text"]) for case in cases]
    assert rawcore.decode(core, ids) == decoded
    info = core.info()
    assert info["route"] == "scanner:Tekken"
    assert info["vocab_size_with_added"] == header["n_words"]
    roles = {role: id_ for role, _, id_ in info["roles"]}
    assert (roles["bos"], roles["eos"]) == (header["bos"], header["eos"])


@pytest.mark.parametrize("name", FILES)
def test_side_by_side(name: str, tmp_path: Any) -> None:
    reason = "mistral-common, the reference, is not installed"
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken", reason=reason)
    path = tmp_path / f"{name}.json"
    path.write_bytes(Asset("mistral-common", path.name).read())
    theirs = tekken.Tekkenizer.from_file(path)
    keep, skip = tekken.SpecialTokenPolicy.KEEP, tekken.SpecialTokenPolicy.IGNORE
    core = core_of(name)
    specials = [token["token_str"] for token in theirs._all_special_tokens]
    for token in theirs._all_special_tokens:
        assert core.token_to_id(token["token_str"]) == token["rank"]
        assert core.id_to_token(token["rank"]) == token["token_str"]

    texts = list(nasty.texts(name, rawcore.COUNT, specials[:25]))
    expected = [theirs.encode(text, bos=False, eos=False) for text in texts]
    assert list(rawcore.differences(rawcore.encode(core, texts), expected, texts)) == []

    dice = random.Random(name)
    lists = [
        [
            dice.choice((dice.randrange(1000), 1000 + dice.randrange(256), dice.randrange(131_072)))
            for _ in range(dice.randrange(12))
        ]
        for _ in range(rawcore.COUNT)
    ]
    decoded = [theirs.decode(ids, keep) for ids in lists]
    assert list(rawcore.differences(rawcore.decode(core, lists), decoded, lists)) == []
    # The reference decodes the stretches between special tokens each on its own. Here the bytes
    # around one that is skipped come together, as in HuggingFace's library.
    ordinary = [[id_ for id_ in ids if id_ >= 1000] for ids in lists]
    found = rawcore.decode(core, lists, skip_special=True)
    joined = [theirs.decode(ids, skip) for ids in ordinary]
    assert list(rawcore.differences(found, joined, lists)) == []
