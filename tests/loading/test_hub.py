"""Repositories of the hub: from a server on this machine, and from the cache without any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gguf_files
import pytest
import small
from hub_server import COMMIT, Hub, serving
from signals import StopError, arrive, handled

import pywasmtok
from pywasmtok.loading.sources import hub as hub_source
from pywasmtok.loading.sources.hub import fetch, looks_like_repository
from pywasmtok.loading.sources.source import Request

pytest.importorskip("huggingface_hub")

REPOSITORY = {
    "tokenizer.json": small.file(),
    "tokenizer_config.json": json.dumps({"bos_token": "<s>"}).encode(),
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "model.gguf": b"weights",
    "vocab.txt": b"the",
    "run_me.py": b"import os",
    "onnx/tokenizer.json": b"another",
}


BERT = {
    "vocab.txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nHello\n",
    "tokenizer_config.json": b'{"do_lower_case": false, "bos_token": "[CLS]"}',
    "config.json": b'{"model_type": "bert"}',
}
METADATA = gguf_files.gguf(
    gguf_files.byte_level(
        gguf_files.joining("Hello"),
        [("<s>", gguf_files.CONTROL)],
        bos_token_id=260,
        add_bos_token=True,
    )
)
MODEL = METADATA + bytes(20 << 20)
TAIL = gguf_files.gguf({"split.no": 1}, tail=bytes(2 << 20))
PROJECTOR = gguf_files.gguf({"general.architecture": "clip"}, tail=bytes(2 << 20))
GGUF = {
    "Model-Q4_K_M.gguf": MODEL,
    "Model-Q8_0.gguf": MODEL,
    "Model-UD-IQ2_XXS.gguf": MODEL,
    "mmproj-BF16.gguf": PROJECTOR,
    "mmproj-F16.gguf": PROJECTOR,
    "config.json": b'{"eos_token_id": 3}',
}


@pytest.fixture
def hub() -> Iterator[Hub]:
    repositories = {
        "org/name": REPOSITORY,
        "org/weights": {"model.safetensors": b"weights"},
        "bert-base-uncased": BERT,
        "org/gguf": GGUF,
        "org/shards": {f"Q8/m-0000{n}-of-00002.gguf": data for n, data in ((1, MODEL), (2, TAIL))},
        "org/several": {"a.gguf": MODEL, "b.gguf": MODEL},
    }
    with serving(repositories) as server:
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
    expected = ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert sorted(hub.fetched) == expected


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
    answer = ask(hub, tmp_path, "'org/weights'")
    assert answer == "SourceNotFound org/weights: the repository holds no tokenizer"
    answer = ask(None, tmp_path, "'org/name'")
    assert answer.startswith("SourceNotFound org/name: no path, and not in the cache")
    assert "cannot be reached" in answer


def test_a_private_repository(hub: Hub, tmp_path: Path) -> None:
    hub.secret = "hf_secret"
    assert ask(hub, tmp_path, "'org/name'").startswith("SourceNotFound")
    answer = ask(hub, tmp_path, "'org/name', token='hf_secret'")
    assert answer == "org/name/tokenizer.json <s> <s> Hello"
    answer = ask(hub, tmp_path, "'org/gguf', token='hf_secret'")
    assert answer == "org/gguf/Model-Q4_K_M.gguf <s> <s> Hello"


def test_a_name_without_an_owner(hub: Hub, tmp_path: Path) -> None:
    expected = "bert-base-uncased/vocab.txt [CLS] [CLS] Hello [SEP]"
    assert ask(hub, tmp_path, "'bert-base-uncased'") == expected
    assert ask(None, tmp_path, "'bert-base-uncased', offline=True") == expected


def test_a_known_name_is_no_repository(hub: Hub, tmp_path: Path) -> None:
    answer = ask(hub, tmp_path, "'gpt2', offline=True", TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert answer.startswith("SourceNotFound gpt2: the rank file is not kept")


@pytest.mark.parametrize("there", [True, False])
def test_a_name_that_means_nothing(there: bool, hub: Hub, tmp_path: Path) -> None:
    answer = ask(hub if there else None, tmp_path, "'gtp-4o'")
    assert answer.startswith("SourceNotFound gtp-4o: no such file or folder, and no known name")
    assert "Did you mean gpt-4o?" in answer
    assert ("the hub cannot be reached" in answer) is not there


def test_of_a_gguf_file_only_the_metadata_is_fetched(hub: Hub, tmp_path: Path) -> None:
    expected = "org/gguf/Model-Q4_K_M.gguf <s> <s> Hello"
    assert ask(hub, tmp_path, "'org/gguf'") == expected
    first = "Model-Q4_K_M.gguf: 1048576"
    assert hub.fetched == ["config.json", first, "mmproj-BF16.gguf: 1048576"]
    # Again: nothing but what the cache has.
    assert ask(hub, tmp_path, "'org/gguf'") == expected
    assert len(hub.fetched) == 3
    assert ask(None, tmp_path, "'org/gguf', offline=True") == expected
    kept = sorted((tmp_path / "hub" / "models--org--gguf").rglob("*.gguf"))
    assert [path.name for path in kept] == ["Model-Q4_K_M.gguf", "mmproj-BF16.gguf"]
    assert kept[0].read_bytes() == METADATA


def test_what_was_passed_over_in_a_repository(hub: Hub, tmp_path: Path) -> None:
    code = "pywasmtok.get_tokenizer_info('org/gguf')"
    answer = ask(hub, tmp_path, f"'builtin:demo'); info = {code}; print(info.passed_over")
    assert answer.startswith("('mmproj-BF16.gguf: no tokenizer in it',)")


def test_a_repository_of_shards_and_one_of_several_models(hub: Hub, tmp_path: Path) -> None:
    answer = ask(hub, tmp_path, "'org/shards'")
    assert answer == "org/shards/m-00001-of-00002.gguf <s> <s> Hello"
    assert hub.fetched == ["Q8/m-00001-of-00002.gguf: 1048576"]
    assert ask(None, tmp_path, "'org/shards', offline=True") == answer
    answer = ask(hub, tmp_path, "'org/several'")
    assert answer.startswith("AmbiguousDirectory org/several")
    assert "Download one of them" in answer


def test_a_whole_gguf_file_in_the_cache_is_taken(hub: Hub, tmp_path: Path) -> None:
    ask(hub, tmp_path, "'org/gguf'")
    snapshot = tmp_path / "hub" / "models--org--gguf" / "snapshots" / COMMIT
    (snapshot / "Model-Q8_0.gguf").write_bytes(MODEL)
    assert ask(hub, tmp_path, "'org/gguf'") == "org/gguf/Model-Q8_0.gguf <s> <s> Hello"


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
        ("bert-base-uncased", True),
        ("tokenizer.json", False),
        ("two--dashes", False),
        ("two..dots", False),
        ("name/", False),
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


def test_an_exception_of_a_signal_handler_is_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    request = Request(cache_dir=tmp_path)
    with handled():
        monkeypatch.setattr(huggingface_hub, "snapshot_download", arrive)
        with pytest.raises(StopError):
            fetch("org/name", request)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: tmp_path / "a")
        monkeypatch.setattr(hub_source, "_keep_beginnings", arrive)
        with pytest.raises(StopError):
            fetch("org/name", request)
