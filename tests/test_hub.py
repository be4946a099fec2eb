"""Repositories of the hub: from a server on this machine, and from the cache without any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import small
from hub_server import COMMIT, Hub, serving

import pywasmtok
from pywasmtok.sources.hub import looks_like_repository

pytest.importorskip("huggingface_hub")

REPOSITORY = {
    "tokenizer.json": small.file(),
    "tokenizer_config.json": json.dumps({"bos_token": "<s>"}).encode(),
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "model.gguf": b"weights",
    "run_me.py": b"import os",
    "onnx/tokenizer.json": b"another",
}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving({"org/name": REPOSITORY, "org/weights": {"model.gguf": b"GGUF"}}) as server:
        yield server


def ask(hub: Hub | None, home: Path, call: str, **environment: str) -> str:
    """The answer of another process: huggingface_hub reads its settings once."""
    settings = {
        "HF_ENDPOINT": hub.address if hub else "http://127.0.0.1:9",
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        **environment,
    }
    removed = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE")
    inherited = {name: value for name, value in os.environ.items() if name not in removed}
    code = (
        "import pywasmtok\n"
        "try:\n"
        f"    tok = pywasmtok.create_tokenizer({call})\n"
        "    print(tok.source, tok.special_tokens.bos, *tok.encode('Hello').tokens)\n"
        "except pywasmtok.TokenizerError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**inherited, **settings},
    )
    return done.stdout.strip()


def test_only_what_belongs_to_a_tokenizer_is_fetched(hub: Hub, tmp_path: Path) -> None:
    assert ask(hub, tmp_path, "'org/name'") == "org/name/tokenizer.json <s> <s> Hello"
    assert sorted(hub.fetched) == ["config.json", "tokenizer.json", "tokenizer_config.json"]


def test_the_cache_serves_without_a_network(hub: Hub, tmp_path: Path) -> None:
    ask(hub, tmp_path, f"'org/name', revision={COMMIT!r}")
    expected = f"org/name@{COMMIT}/tokenizer.json <s> <s> Hello"
    there = f"'org/name', revision={COMMIT!r}"
    assert ask(None, tmp_path, f"{there}, offline=True") == expected
    assert ask(None, tmp_path, there, HF_HUB_OFFLINE="1") == expected


def test_a_cache_of_ones_own(hub: Hub, tmp_path: Path) -> None:
    cache = tmp_path / "elsewhere"
    ask(hub, tmp_path, f"'org/name', cache_dir={str(cache)!r}")
    assert (cache / "models--org--name").is_dir()


def test_nothing_is_fetched_when_that_is_switched_off(hub: Hub, tmp_path: Path) -> None:
    answer = ask(hub, tmp_path, "'org/name', offline=True")
    assert answer.startswith("SourceNotFound org/name: no path, and not in the cache")
    assert "switched off" in answer
    assert hub.fetched == []


def test_what_the_hub_does_not_have(hub: Hub, tmp_path: Path) -> None:
    assert ask(hub, tmp_path, "'org/other'").startswith("SourceNotFound org/other: neither a path")
    answer = ask(hub, tmp_path, "'org/name', revision='v9'")
    assert answer.startswith("SourceNotFound org/name: the hub has no such revision: v9")
    assert "GGUF" in ask(hub, tmp_path, "'org/weights'")
    answer = ask(None, tmp_path, "'org/name'")
    assert answer.startswith("SourceNotFound org/name: no path, and not in the cache")
    assert "cannot be reached" in answer


def test_a_private_repository(hub: Hub, tmp_path: Path) -> None:
    hub.secret = "hf_secret"
    assert ask(hub, tmp_path, "'org/name'").startswith("SourceNotFound")
    answer = ask(hub, tmp_path, "'org/name', token='hf_secret'")
    assert answer == "org/name/tokenizer.json <s> <s> Hello"


def test_what_exists_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org").mkdir()
    (tmp_path / "org" / "name").write_bytes(small.file())
    assert pywasmtok.create_tokenizer("org/name").vocab_size == 270


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("meta-llama/Llama-3.1-8B", True),
        ("o/n", True),
        ("name", False),
        ("a/b/c", False),
        ("./name", False),
        ("../name", False),
        ("/name", False),
        ("folder/tokenizer.json", False),
        ("org/name ", False),
        ("org/-name", False),
        ("org\\name", False),
    ],
)
def test_names_of_repositories(name: str, is_one: bool) -> None:
    assert looks_like_repository(name) is is_one


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(pywasmtok.BackendUnavailable, match="huggingface_hub"):
        pywasmtok.create_tokenizer("org/no-such-name")
