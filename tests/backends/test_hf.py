"""The seam to HuggingFace `tokenizers`."""

from __future__ import annotations

import json
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import small
from signals import StopError, arrive, handled
from versions import needs_tokenizers

import pywasmtok
from pywasmtok.backends import hf
from pywasmtok.backends.hf import HFBackend

# The regex engine below gives up with a panic on such a text.
HOSTILE = "a" * 30 + "!"
PANICS = {
    "type": "Split",
    "pattern": {"Regex": "(a+)+$"},
    "behavior": "Isolated",
    "invert": False,
}


@pytest.fixture
def panics(tmp_path: Path) -> Path:
    return small.write(tmp_path, pre_tokenizer=PANICS)


def test_a_panic_becomes_an_error(panics: Path) -> None:
    tok = pywasmtok.create_tokenizer(panics, encoder="hf")
    for use in (lambda: tok.encode(HOSTILE), lambda: tok.encode_batch(["x", HOSTILE])):
        with pytest.raises(pywasmtok.BackendFailure, match="PanicException") as caught:
            use()
        assert not isinstance(caught.value.__cause__, Exception)
    assert tok.encode("Hello").tokens == ["<s>", "Hello"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_let_through(
    stop: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = HFBackend(small.file())

    class Interrupted:
        def decode(self, *_: Any, **__: Any) -> str:
            raise stop

    monkeypatch.setattr(backend, "_tokenizer", Interrupted())
    with pytest.raises(stop):
        backend.decode([1], True)


def test_an_exception_of_a_signal_handler_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    import tokenizers

    class Interrupted:
        decode = from_buffer = staticmethod(arrive)

    backend = HFBackend(small.file())
    with handled():
        monkeypatch.setattr(backend, "_tokenizer", Interrupted())
        with pytest.raises(StopError):
            backend.decode([1], True)
        monkeypatch.setattr(tokenizers, "Tokenizer", Interrupted())
        with pytest.raises(StopError):
            HFBackend(small.file()).load()


def test_it_is_built_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    import tokenizers

    built = []
    real = tokenizers.Tokenizer.from_buffer

    class Counting:
        @staticmethod
        def from_buffer(data: bytes) -> Any:
            built.append(threading.get_ident())
            return real(data)

    monkeypatch.setattr(tokenizers, "Tokenizer", Counting)
    tok = pywasmtok.create_tokenizer("builtin:demo")
    ids = tok.encode("Hello world").ids
    assert built == []
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: tok.decode(ids), range(32))) == {"Hello world"}
    assert len(built) == 1


def test_where_it_is_not_installed(panics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(pywasmtok.BackendUnavailable, match="pip install tokenizers"):
        pywasmtok.create_tokenizer(panics, encoder="hf")
    tok = pywasmtok.create_tokenizer("builtin:demo")
    ids = tok.encode("Hello")
    with pytest.raises(pywasmtok.BackendUnavailable) as caught:
        tok.decode(ids)
    assert isinstance(caught.value, ImportError)
    with pywasmtok.create_tokenizer("builtin:demo", decoder="core") as tok:
        assert tok.decode(tok.encode("Hello")) == "Hello"


def test_where_it_cannot_be_imported(panics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second subinterpreter it is installed, and refuses."""
    (panics.parent / "tokenizers.py").write_text("raise ImportError('not here')")
    monkeypatch.delitem(sys.modules, "tokenizers", raising=False)
    monkeypatch.syspath_prepend(panics.parent)
    with pytest.raises(pywasmtok.BackendUnavailable, match=r"not here\. Do without it"):
        pywasmtok.create_tokenizer(panics, encoder="hf")

    def refuse() -> None:
        raise pywasmtok.HostUnsupported("nor here", hint="Elsewhere")

    monkeypatch.setattr("pywasmtok._host.refuse_subinterpreter", refuse)
    with pytest.raises(pywasmtok.BackendUnavailable, match=r"not here\. Elsewhere"):
        pywasmtok.create_tokenizer(panics)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", pywasmtok.EmptyFile),
        (b" \n", pywasmtok.EmptyFile),
        (b"version https://git-lfs.github.com/spec/v1\n", pywasmtok.GitLfsPointer),
        (b"{", pywasmtok.InvalidFile),
        (small.file(model={"type": "Quantum"}), pywasmtok.InvalidFile),
    ],
)
def test_alone_it_refuses_with_typed_errors(
    data: bytes, error: type[pywasmtok.TokenizerError], tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)
    with pytest.raises(error) as caught:
        pywasmtok.create_tokenizer(path, encoder="hf")
    assert type(caught.value) is error
    assert caught.value.source == str(path)


@pytest.mark.parametrize("is_reference", [True, False])
def test_a_refusal_names_the_version_and_the_reference(
    is_reference: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = metadata.version("tokenizers")
    monkeypatch.setattr(hf, "REFERENCE", installed if is_reference else "0.1")
    with pytest.raises(pywasmtok.InvalidFile, match=f"tokenizers {installed} does not") as caught:
        HFBackend(b"{").load()
    assert ("pip install tokenizers==0.1" in (caught.value.hint or "")) == (not is_reference)


def test_the_reference_is_pinned_where_it_is_compared_with() -> None:
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pin = f"tokenizers=={hf.REFERENCE}"
    assert pin in project["optional-dependencies"]["test"]
    cases = (root / "conformance/tools/requirements.txt").read_text(encoding="utf-8")
    assert pin in cases.splitlines()


def test_special_tokens_of_a_real_kind_of_file() -> None:
    backend = HFBackend(json.dumps(small.definition()).encode())
    assert backend.special_tokens().additional == ("<s>", "</s>", "<|user|>")


@needs_tokenizers
@pytest.mark.parametrize("encoder", ["core", "hf"])
@pytest.mark.parametrize("added", ["<x>", "a"])
def test_pieces_that_are_listed_twice_count_twice(added: str, encoder: str, tmp_path: Path) -> None:
    """In the size of a vocabulary, which is then larger than the listing."""
    import tokenizers

    pieces = [["<unk>", 0], ["a", -1], ["b", -2], ["a", -3]]
    (token, *_) = small.definition()["added_tokens"]
    path = tmp_path / "tokenizer.json"
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces}
    tokens = [{**token, "id": 4, "content": added}]
    path.write_bytes(small.file(model=model, added_tokens=tokens, post_processor=None))
    theirs = tokenizers.Tokenizer.from_file(str(path))
    ours = pywasmtok.create_tokenizer(path, encoder=encoder)
    assert ours.get_vocab() == theirs.get_vocab()
    for with_added in (True, False):
        assert ours.get_vocab_size(with_added) == theirs.get_vocab_size(with_added)
    assert len(ours.get_vocab()) < ours.vocab_size
