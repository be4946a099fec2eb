"""Real tokenizer files and reference vectors, from `../shared/assets` beside the repository."""

from __future__ import annotations

import json
import lzma
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tokenizers

import pywasmtok
from pywasmtok._host.snapshots.store import SnapshotStore
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

ROOT = Path(
    os.environ.get("PYWASMTOK_ASSETS") or Path(__file__).resolve().parents[2] / "shared" / "assets"
)

needs_assets = pytest.mark.skipif(
    not (ROOT / "manifest.json").is_file(),
    reason="no real tokenizer files: set PYWASMTOK_ASSETS, or put them in ../shared/assets",
)


class Asset(NamedTuple):
    family: str
    name: str

    @property
    def id(self) -> str:
        if self.name == "tokenizer.json":
            return self.family
        return f"{self.family}/{self.name.removesuffix('.json')}"

    @property
    def path(self) -> Path:
        return ROOT / self.family / self.name

    def read(self) -> bytes:
        return _read(self)

    @property
    def vectors(self) -> Path | None:
        short = self.name.removesuffix(".json")
        names = [f"hf.{self.family}.{short}.jsonl"]
        if self.name == "tokenizer.json":
            names.append(f"hf.{self.family}.jsonl")
        return next((path for name in names if (path := ROOT / "vectors" / name).exists()), None)


# Of a file there may be several tests in a row.
@lru_cache(maxsize=2)
def _read(asset: Asset) -> bytes:
    if asset.path.is_file():
        return asset.path.read_bytes()
    return lzma.decompress(asset.path.with_name(asset.name + ".xz").read_bytes())


# Files that HuggingFace itself refuses: a merge of three parts, a merge of a token that is not
# there, no merges.
REFUSED = [
    Asset("llama2-slow", "tokenizer.json"),
    Asset("added-tokens-mini", "test_hf_tokenizer.json"),
    Asset("added-tokens-mini", "tokenizer.json"),
]

# fmt: off
FAMILIES = (
    "bert-base-cased", "clip", "deepseek-v3", "falcon", "gemma", "gemma3", "gpt-neox", "gpt-oss",
    "gpt2", "gte", "llama2", "llama3", "llama3.1", "llama3.2", "mistral-nemo", "mistral-v1",
    "mistral-v3", "modernbert", "nmt", "phi-2", "phi-3", "qwen2.5", "qwen3", "t5", "xlnet",
)
# fmt: on

# Every real tokenizer.json that HuggingFace loads: the core serves it.
SERVED = [
    Asset("small-wordlevel", "hw_doc_summarizer.json"),
    Asset("small-wordlevel", "sqlpilot.json"),
    *(Asset(family, "tokenizer.json") for family in FAMILIES),
]


# Of these another file above has the normalizer, the steps, the model and the decoder; they have
# other vocabularies or other added tokens. `test_vectors` and most others take them, too.
TWINS = {
    "llama3": "llama3.1",
    "llama3.2": "llama3.1",
    "mistral-v3": "mistral-v1",
    "phi-2": "gpt2",
    "phi-3": "llama2",
    "qwen2.5": "qwen3",
}


def each_kind(files: Sequence[Asset]) -> list[Any]:
    """Parameters for tests that load the reference and ask it much: without twins, those have their
    turn with PYWASMTOK_SLOW=1."""
    slow = pytest.mark.skipif(
        os.environ.get("PYWASMTOK_SLOW") != "1", reason="a twin: set PYWASMTOK_SLOW=1"
    )
    return [
        pytest.param(one, marks=[pytest.mark.slow, slow]) if one.family in TWINS else one
        for one in files
    ]


def by_content() -> list[Asset]:
    """The same list, found by looking into every file: it keeps the one above complete."""
    found = []
    for path in sorted(ROOT.glob("*/*.json*")):
        asset = Asset(path.parent.name, path.name.removesuffix(".xz"))
        if asset.family in {"malformed", "chat", "unicode", "sidecars", "vectors"}:
            continue
        # Parsing all of them would take longer than the tests do.
        data = asset.read()
        if b'"added_tokens":' in data and b'"model":' in data:
            found.append(asset)
    return found


@lru_cache(maxsize=2)
def vectors(path: Path) -> list[dict[str, Any]]:
    """The cases of a file, with what is left out because it is equal filled in."""
    cases = []
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            case = json.loads(line)
            text = case["text"]
            case.setdefault("decoded", text)
            case.setdefault("decoded_skip", text)
            if "ids_special" in case:
                case.setdefault("decoded_special_skip", text)
            else:
                case["ids_special"] = case["ids"]
                case["decoded_special"] = case["decoded"]
                case["decoded_special_skip"] = case["decoded_skip"]
            cases.append(case)
    return cases


def open_tokenizer(
    asset: Asset, *, encoder: str = "auto", decoder: str = "core", data: bytes | None = None
) -> pywasmtok.Tokenizer:
    """A tokenizer from a file that is expanded in memory only, or from `data` in its place. Each is
    a new one, but a file is parsed once in a run of the tests."""
    options = Options(encoder, decoder, build=None, preload=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SnapshotStore, "for_user", _parsed_once)
        return from_recipe(Recipe(data or asset.read(), asset.id, options))


def _parsed_once() -> SnapshotStore | None:
    """Where this run of the tests keeps what it has parsed; see conftest.py."""
    folder = os.environ.get("PYWASMTOK_TEST_PARSED")
    # Bounded: a run that is killed leaves it behind.
    return None if folder is None else SnapshotStore(folder, 512 << 20)


_NO_LIMITS = re.compile(rb'"truncation":\s*null,\s*"padding":\s*null,')


@lru_cache(maxsize=1)
def without_limits(asset: Asset) -> bytes:
    """The file as the vectors were made from it: neither truncation nor padding."""
    data = asset.read()
    if _NO_LIMITS.search(data, 0, 1000):
        return data
    whole = json.loads(data)
    return json.dumps({**whole, "truncation": None, "padding": None}).encode()


@lru_cache(maxsize=1)
def open_huggingface(asset: Asset) -> tokenizers.Tokenizer:
    """The reference. It is shared: who changes its options takes a `new_huggingface`."""
    return new_huggingface(asset)


def new_huggingface(asset: Asset) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_buffer(asset.read())
