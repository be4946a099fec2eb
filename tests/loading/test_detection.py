"""Every real file is recognised for what it is, by its content alone; every broken one for what it
was meant to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from assets import ROOT, Asset, needs_assets

from pywasmtok import _host, errors

pytestmark = needs_assets

_NO_FAMILIES = {"malformed", "chat", "unicode", "vectors", "tiktoken-cache", "sidecars"}


def _expected(path: str) -> str | type[errors.TokenizerError]:
    family, name = path.split("/")
    by_name: dict[str, str | type[errors.TokenizerError]] = {
        "tokenizer_config.json": errors.NotATokenizer,
        "tokenizer_config.ort.json": errors.NotATokenizer,
        "encoder.json": "vocab.json",
        "vocab.bpe": "merges.txt",
        "qwen.tiktoken": "tiktoken",
    }
    if name in by_name:
        return by_name[name]
    if name.startswith("tekken"):
        return "tekken"
    if family in {"llama3", "llama4"} and name == "tokenizer.model":
        return "tiktoken"
    if family == "rwkv":
        return "rwkv"
    endings = {".gguf": "gguf", ".tiktoken": "tiktoken", ".json": "tokenizer.json"}
    return endings.get(Path(name).suffix, "sentencepiece")


def _real_files() -> list[str]:
    names = (
        f"{path.parent.name}/{path.name.removesuffix('.xz')}"
        for path in ROOT.glob("*/*")
        if path.is_file() and path.parent.name not in _NO_FAMILIES
    )
    return sorted(name for name in set(names) if not name.endswith((".inp", ".out", ".md")))


@pytest.mark.parametrize("name", _real_files())
def test_real_files(name: str) -> None:
    family, _, file = name.partition("/")
    data = Asset(family, file).read()
    expected = _expected(name)
    if isinstance(expected, str):
        verdict = _host.detect(data)
        assert verdict["format"] == expected
        assert verdict["reason"]
    else:
        with pytest.raises(expected):
            _host.detect(data)


@pytest.mark.parametrize("path", sorted((ROOT / "sidecars").rglob("*.json*")), ids=lambda p: p.name)
def test_sidecars(path: Path) -> None:
    data = path.read_bytes()
    if path.name.endswith("added_tokens.json"):
        # Many names and numbers: nothing in it says that it is no vocabulary.
        assert _host.detect(data)["format"] == "vocab.json"
    else:
        with pytest.raises(errors.NotATokenizer, match=r"pass the folder|JSON"):
            _host.detect(data)


# What stands in a file shows only when it is read, so detection names its format.
_BROKEN = {"json": "tokenizer.json", "gguf": "gguf", "spm": "sentencepiece", "tiktoken": "tiktoken"}

_NOT_EVEN: dict[str, str | type[errors.TokenizerError]] = {
    "empty.json": errors.EmptyFile,
    "whitespace.json": errors.EmptyFile,
    "array.json": errors.NotATokenizer,
    "scalar.json": errors.NotATokenizer,
    "deep_nesting.json": errors.NotATokenizer,
    "tokenizer_config_only.json": errors.NotATokenizer,
    "model_config.json": errors.NotATokenizer,
    "utf16.json": errors.InvalidFile,
    "vocab_map.json": "vocab.json",
    "lfs_pointer.json": errors.GitLfsPointer,
    "lfs_pointer.model": errors.GitLfsPointer,
    "html_page.json": errors.NotATokenizer,
    "gzip.json.gz": errors.Compressed,
    "zip.bin": errors.NotATokenizer,
    "pickle.bin": errors.NotATokenizer,
    "model.safetensors": errors.NotATokenizer,
    "random.bin": errors.UnknownFormat,
    # Too little of a model to be recognised as a whole one.
    "len_past_end.model": errors.InvalidFile,
    "varint_overflow.model": errors.InvalidFile,
    "no_pieces.model": errors.InvalidFile,
}


def _malformed() -> list[tuple[str, str]]:
    manifest = ROOT / "malformed/manifest.json"
    entries = json.loads(manifest.read_bytes()) if manifest.is_file() else []
    return [(entry["file"], entry["kind"]) for entry in entries]


@pytest.mark.parametrize(("name", "kind"), _malformed())
def test_malformed_files(name: str, kind: str) -> None:
    data = (ROOT / "malformed" / name).read_bytes()
    expected = _NOT_EVEN.get(name) or _BROKEN[kind]
    if isinstance(expected, str):
        assert _host.detect(data)["format"] == expected
    else:
        with pytest.raises(expected):
            _host.detect(data)
