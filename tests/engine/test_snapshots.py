"""Real files out of snapshots: every answer is that of a load that parsed the file."""

from __future__ import annotations

import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import small
from assets import Asset, needs_assets
from cli.test_cli import answer

import pywasmtok
from pywasmtok.backends.core import CoreBackend
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

FILES = [
    Asset("llama3", "tokenizer.json"),
    Asset("gpt-oss", "tokenizer.json"),
    Asset("gemma3", "tokenizer.json"),
    Asset("mistral-v1", "tokenizer.json"),
    Asset("t5", "tokenizer.json"),
    Asset("bert-base-cased", "tokenizer.json"),
]

TEXTS = [
    "",
    "Hello world, it's 2026!",
    "Grüße, 世界 🙂 नमस्ते",
    "<s>x</s><|endoftext|><bos>",
    "def f(x):\n\treturn x ** 2  # " + "=" * 100,
    "na" * 3000,
    "".join(chr(n) for n in range(1, 0x3000, 7)),
]


def opened(data: bytes, store: Any) -> pywasmtok.Tokenizer:
    options = Options("core", "core", build=None, preload=False, snapshots=store)
    return from_recipe(Recipe(data, "a file", options))


def from_snapshot(tok: pywasmtok.Tokenizer) -> bool:
    backend = tok.hybrid.encoder
    assert isinstance(backend, CoreBackend)
    return backend.core.from_snapshot


@needs_assets
@pytest.mark.parametrize("asset", FILES, ids=lambda asset: asset.id)
def test_every_answer_is_equal(asset: Asset, tmp_path: Path) -> None:
    data = asset.read()
    store = pywasmtok.SnapshotStore(tmp_path)
    parsed, built, mapped = (opened(data, where) for where in (False, store, store))
    assert [from_snapshot(tok) for tok in (parsed, built, mapped)] == [False, False, True]
    dice = random.Random(1)
    size = parsed.get_vocab_size()
    lists = [[dice.randrange(size + 3) for _ in range(40)] for _ in range(50)]
    for tok in (built, mapped):
        assert tok.get_vocab() == parsed.get_vocab()
        assert tok.backend == parsed.backend
        assert tok.special_tokens == parsed.special_tokens
        for text in TEXTS:
            ours, theirs = tok.encode(text), parsed.encode(text)
            assert ours.ids == theirs.ids
            assert ours.tokens == theirs.tokens
            assert ours.offsets == theirs.offsets
            assert ours.special_tokens_mask == theirs.special_tokens_mask
            assert tok.encode(text, special="none").ids == parsed.encode(text, special="none").ids
            assert tok.encode(text, "pair").ids == parsed.encode(text, "pair").ids
        for ids in lists:
            expected = parsed.decode(ids, skip_special_tokens=False)
            assert tok.decode(ids, skip_special_tokens=False) == expected
            stream = tok.decode_stream(skip_special_tokens=False)
            assert "".join(map(stream.step, ids)) + stream.flush() == expected
        assert tok.encode_batch(TEXTS).ids == parsed.encode_batch(TEXTS).ids


def big_file(path: Path) -> Path:
    path.write_bytes(small.file() + b" " * (1 << 20))
    return path


def load(path: Path, **options: Any) -> pywasmtok.Tokenizer:
    return pywasmtok.create_tokenizer(path, **{"encoder": "core", "decoder": "core"} | options)


@pytest.fixture
def store(tmp_path: Path) -> pywasmtok.SnapshotStore:
    return pywasmtok.SnapshotStore(tmp_path / "snapshots")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were made a moment ago count as old."""
    monkeypatch.setattr("pywasmtok.loading.sources.lazy._SETTLED_SECONDS", -1)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each file whose bytes are read."""
    from pywasmtok.loading.sources.lazy import LazyFile

    reads: list[int] = []
    real = LazyFile._read

    def counted(self: LazyFile) -> bytes:
        reads.append(len(self))
        return real(self)

    monkeypatch.setattr(LazyFile, "_read", counted)
    return reads


def test_a_file_that_did_not_change_is_not_read_again(
    tmp_path: Path, store: pywasmtok.SnapshotStore, settled: None, read: list[int]
) -> None:
    path = big_file(tmp_path / "tokenizer.json")
    ids = load(path, snapshots=store).encode(small.TEXT).ids
    assert len(read) == 1
    for _ in range(3):
        tok = load(path, snapshots=store)
        assert from_snapshot(tok)
        assert tok.encode(small.TEXT).ids == ids
    assert len(read) == 1
    # HuggingFace needs the bytes, when it decodes.
    tok = load(path, snapshots=store, decoder="hf")
    assert len(read) == 1
    path.unlink()
    assert tok.decode(ids, skip_special_tokens=False).endswith("x")
    assert len(read) == 2
    copy = pickle.loads(pickle.dumps(tok))
    assert copy.encode(small.TEXT).ids == ids


def test_a_file_that_changed_just_now_is_always_read(
    tmp_path: Path, store: pywasmtok.SnapshotStore, read: list[int]
) -> None:
    path = big_file(tmp_path / "tokenizer.json")
    for _ in range(3):
        load(path, snapshots=store)
    assert len(read) == 3


@pytest.mark.parametrize("replace", [False, True])
def test_what_is_written_into_a_file_is_noticed(
    tmp_path: Path,
    store: pywasmtok.SnapshotStore,
    settled: None,
    read: list[int],
    replace: bool,
) -> None:
    path = big_file(tmp_path / "tokenizer.json")
    for _ in range(2):
        load(path, snapshots=store)
    changed = path.read_bytes().replace(b"<think>", b"<THINK>")
    if replace:
        other = tmp_path / "other"
        other.write_bytes(changed)
        other.replace(path)
    else:
        path.write_bytes(changed)
    tok = load(path, snapshots=store)
    assert not from_snapshot(tok)
    assert tok.token_to_id("<THINK>") is not None
    assert len(read) == 2


def test_bytes_that_are_needed_later_must_be_those_that_were_hashed(
    tmp_path: Path, store: pywasmtok.SnapshotStore, settled: None
) -> None:
    path = big_file(tmp_path / "tokenizer.json")
    load(path, snapshots=store)
    tok = load(path, snapshots=store, decoder="hf")
    assert from_snapshot(tok)
    path.write_bytes(path.read_bytes().replace(b"<think>", b"<THINK>"))
    with pytest.raises(pywasmtok.LoadError, match="was changed after"):
        tok.decode([1])
    assert tok.encode(small.TEXT).ids


def test_a_note_of_somebody_else_is_not_believed(
    tmp_path: Path, store: pywasmtok.SnapshotStore, settled: None, read: list[int]
) -> None:
    path = big_file(tmp_path / "tokenizer.json")
    load(path, snapshots=store)
    (note,) = store.directory.glob("*.digest")
    right = note.read_bytes()
    for wrong in (b"", b"0" * 63, b"x" * 64, right + b"0"):
        note.write_bytes(wrong)
        assert from_snapshot(load(path, snapshots=store))
        assert note.read_bytes() == right
    note.chmod(0o666)
    load(path, snapshots=store)
    assert len(read) == 6


def test_other_options_are_another_snapshot(tmp_path: Path, store: pywasmtok.SnapshotStore) -> None:
    """A configuration beside the file is no part of it, but of what was made from it."""
    path = big_file(tmp_path / "tokenizer.json")
    config = tmp_path / "tokenizer_config.json"
    tokens: dict[str, Any] = {"added_tokens_decoder": {}}
    for token in ("<new>", "<newer>"):
        tokens["added_tokens_decoder"]["900"] = {
            "content": token, "special": True, "normalized": False,
            "lstrip": False, "rstrip": False, "single_word": False,
        }  # fmt: skip
        config.write_text(json.dumps(tokens))
        for found in (False, True):
            tok = load(path, snapshots=store, apply_config="tokens")
            assert from_snapshot(tok) == found
            assert tok.token_to_id(token) is not None
    assert not from_snapshot(load(path, snapshots=store))


def test_only_a_store_will_do(tmp_path: Path) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="SnapshotStore"):
        pywasmtok.create_tokenizer("builtin:demo", snapshots=str(tmp_path))  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYWASMTOK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
    empty = answer("cache", "list")
    assert (empty["cores"], empty["snapshots"]) == ([], [])
    path = big_file(tmp_path / "tokenizer.json")
    load(path)
    (snapshot,) = answer("cache", "list")["snapshots"]
    assert snapshot["about"]["format"] == "tokenizer.json"
    assert str(path) not in json.dumps(snapshot)
    assert answer("cache", "verify")["snapshots"][0]["problem"] is None
    # The doctor has loaded the embedded one.
    assert answer("doctor")["host"]["snapshots"]["count"] == 2
    file = next((tmp_path / "cache" / "snapshots").glob("*.snapshot"))
    file.chmod(0o600)
    with file.open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\7")
    from pywasmtok.cli.main import main

    assert main(["cache", "verify"]) == 1
    cleared = answer("cache", "clear")
    assert cleared["snapshots"] == 2
    assert list((tmp_path / "cache").rglob("*.snapshot")) == []
    monkeypatch.setenv("PYWASMTOK_CACHE_DIR", "off")
    assert answer("cache", "list")["directory"] is None
    assert main(["cache", "list"]) == 0


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_the_commands_say_what_is_wrong_with_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pywasmtok.cli.main import main

    def said(*command: str) -> tuple[int, Any]:
        status = main([*command, "--json"])
        return status, json.loads(capsys.readouterr().out)

    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    (cache / "snapshots").write_bytes(b"in the way")
    (cache / f"{'0' * 64}.cwasm").symlink_to("nowhere")
    monkeypatch.setenv("PYWASMTOK_CACHE_DIR", str(cache))
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
    status, report = said("cache", "list")
    assert (status, len(report["cores"])) == (1, 1)
    assert "Not a directory" in report["problem"]
    status, report = said("doctor")
    assert status == 0
    assert "Not a directory" in report["host"]["snapshots"]["problem"]

    def refuse(*given: object, **named: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        status, cleared = said("cache", "clear")
        assert (status, cleared["cores"]) == (1, 0)
        assert cleared["left"] >= 1
    (cache / "snapshots").unlink()
    status, cleared = said("cache", "clear")
    assert (status, cleared["left"], cleared["problem"]) == (0, 0, None)
    assert list(cache.iterdir()) == []
