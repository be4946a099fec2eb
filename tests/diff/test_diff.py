"""Pairs of tokenizers that differ in one rule: the cause that is named, and minimal texts."""

from __future__ import annotations

import copy
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from assets import ROOT, needs_assets
from small import UNSERVED, definition, file

import pywasmtok
from pywasmtok.cli.main import main
from pywasmtok.diff.search import Difference, diff
from pywasmtok.diff.shrink import shrink
from pywasmtok.diff.sides import _Transformers

Change = Callable[[dict[str, Any]], None]


def _split(digits: str) -> dict[str, Any]:
    regex = rf"\p{{L}}+|\p{{N}}{digits}|[^\p{{L}}\p{{N}}]+"
    parts = [
        {
            "type": "Split",
            "pattern": {"Regex": regex},
            "behavior": "Isolated",
            "invert": False,
        },
        {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": False,
        },
    ]
    return {"type": "Sequence", "pretokenizers": parts}


def _base() -> dict[str, Any]:
    document: dict[str, Any] = definition(pre_tokenizer=_split("+"))
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    # An added token keeps its id where the vocabulary has it, too.
    vocab |= {token["content"]: token["id"] for token in document["added_tokens"]}
    for pair in ("1 2", "12 3", "123 4", "x y", "y z"):
        vocab[pair.replace(" ", "")] = len(vocab)
        merges.append(pair)
    # No merge makes this one.
    vocab["qq"] = len(vocab)
    return document


def _flag(document: dict[str, Any]) -> None:
    document["added_tokens"][3]["lstrip"] = True


def _missing(document: dict[str, Any]) -> None:
    del document["added_tokens"][3]


def _swap(document: dict[str, Any]) -> None:
    merges = document["model"]["merges"]
    merges[-1], merges[-2] = merges[-2], merges[-1]


def _digits(document: dict[str, Any]) -> None:
    document["pre_tokenizer"] = _split("{1,3}")


def _nfc(document: dict[str, Any]) -> None:
    document["normalizer"] = {"type": "NFC"}


def _no_bos(document: dict[str, Any]) -> None:
    document["post_processor"] = None


def _decoder(document: dict[str, Any]) -> None:
    document["decoder"] = {"type": "Fuse"}


def _no_entry(document: dict[str, Any]) -> None:
    document["model"]["merges"].remove("y z")
    vocab = document["model"]["vocab"]
    vocab["zz"] = vocab.pop("yz")


def _settings(document: dict[str, Any]) -> None:
    document["model"]["ignore_merges"] = True


def _other_ids(document: dict[str, Any]) -> None:
    vocab = document["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]


CHANGES: dict[str, tuple[Change, str, str]] = {
    "flag": (_flag, "added token", "\n<think>"),
    "missing": (_missing, "added token, only in A", "<think>"),
    "swap": (_swap, "merge", "xyz"),
    "digits": (_digits, "split", "1234"),
    "nfc": (_nfc, "normalisation", ""),
    "bos": (_no_bos, "post-processing", ""),
    "decoder": (_decoder, "decode", ""),
    "entry": (_no_entry, "vocabulary entry, only in A", "yz"),
    "settings": (_settings, "model settings", "qq"),
    "ids": (_other_ids, "token ids", "a"),
}


def _write(folder: Path, change: Change | None) -> tuple[str, str]:
    other = _base()
    if change is not None:
        change(other)
    names = []
    for name, document in (("a", _base()), ("b", other)):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        names.append(str(path))
    return names[0], names[1]


def _differs(found: Difference, text: str, cause: str) -> bool:
    """Whether these two differ on the text, said without the search."""
    with (
        pywasmtok.create_tokenizer(found.a, decoder="core") as a,
        pywasmtok.create_tokenizer(found.b, decoder="core") as b,
    ):
        if cause == "decode":
            ids = a.encode(text, add_special_tokens=False)
            return any(a.decode(ids, skip) != b.decode(ids, skip) for skip in (False, True))
        special = cause == "post-processing"
        left, right = (t.encode(text, add_special_tokens=special).ids for t in (a, b))
        return left != right


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_rule_is_named_with_a_smallest_text(name: str, tmp_path: Path) -> None:
    change, cause, text = CHANGES[name]
    found = diff(*_write(tmp_path, change), budget=1500)
    assert [group.cause for group in found.groups] == [cause]
    examples = [example.text for example in found.groups[0].examples]
    if text:
        assert text in examples
    for example in examples:
        assert _differs(found, example, cause)
        for place in range(len(example)):
            assert not _differs(found, example[:place] + example[place + 1 :], cause)


def test_equal_tokenizers_have_no_difference(tmp_path: Path) -> None:
    tried: list[int] = []
    found = diff(*_write(tmp_path, None), budget=2000, progress=tried.append)
    assert found.same
    assert found.texts == 2000
    assert tried == list(range(1, 2001))
    assert not any((found.rules or {"missing": True}).values())


def test_ids_alone_are_no_difference_by_pieces(tmp_path: Path) -> None:
    a, b = _write(tmp_path, _other_ids)
    assert "token ids" not in [group.cause for group in diff(a, b, by="pieces", budget=1000).groups]


def test_several_changes_are_several_causes(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        for one in (_missing, _digits, _swap, _no_bos):
            one(document)

    found = diff(*_write(tmp_path, change), budget=1500)
    causes = {group.cause for group in found.groups}
    assert causes == {"added token, only in A", "split", "merge", "post-processing"}


def test_the_same_seed_gives_the_same_answer(tmp_path: Path) -> None:
    pair = _write(tmp_path, _digits)
    assert diff(*pair, seed=7, budget=2500) == diff(*pair, seed=7, budget=2500)


def test_a_text_of_the_user_comes_first(tmp_path: Path) -> None:
    found = diff(*_write(tmp_path, _swap), budget=1, text="aaxyzbb")
    assert found.groups[0].examples[0].text == "xyz"


def test_shrunk_texts_are_minimal() -> None:
    assert shrink("..a....b..c", lambda text: "a" in text and "c" in text) == "ac"
    assert shrink("abc", lambda _: True) == ""


def test_the_exit_status_says_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = _write(tmp_path, _swap)
    assert main(["diff", a, a, "--budget", "500"]) == 0
    assert "no difference found: 500 texts tried" in capsys.readouterr().out
    assert main(["diff", a, b, "--json", "--budget", "1500"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["groups"][0]["cause"] == "merge"
    assert main(["diff", a, str(tmp_path / "none.json")]) == 2
    assert main(["diff", a]) == 2
    assert "--against" in capsys.readouterr().err


def test_the_core_and_tokenizers_agree(tmp_path: Path) -> None:
    a, _ = _write(tmp_path, None)
    assert diff(a, f"hf:{a}", budget=1500).same


def test_the_core_and_transformers_agree(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="compares with transformers, which is not installed")
    a, _ = _write(tmp_path, None)
    assert diff(a, f"transformers:{a}", budget=500).same


def test_transformers_gets_the_options_about_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    given: list[dict[str, Any]] = []

    def from_pretrained(path: str, **how: Any) -> Any:
        given.append(how)
        return transformers.PreTrainedTokenizerFast(tokenizer_file=f"{path}/tokenizer.json")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", from_pretrained)
    (tmp_path / "tokenizer.json").write_text(json.dumps(_base()), encoding="utf-8")
    a, options = str(tmp_path), ["--revision", "r", "--cache-dir", "c", "--offline"]
    for b in ([f"transformers:{a}", "--pattern", "x"], ["--against", "transformers"]):
        assert main(["diff", a, *b, *options, "--budget", "5"]) == 0
    assert given == 2 * [{"revision": "r", "cache_dir": "c", "local_files_only": True}]
    capsys.readouterr()
    assert main(["diff", a, "--against", "transformers", "--model-map", "names.toml"]) == 2
    assert "model_map" in capsys.readouterr().err


@pytest.mark.parametrize("library", ["hf", "transformers"])
@pytest.mark.parametrize("kind", ["core refuses the file", "all refuse the texts"])
def test_files_and_texts_that_are_refused(kind: str, library: str, tmp_path: Path) -> None:
    pytest.importorskip(library.replace("hf", "tokenizers"))
    path = tmp_path / "tokenizer.json"
    path.write_bytes(UNSERVED)
    if kind == "all refuse the texts":
        words = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"}
        path.write_bytes(file(model=words, added_tokens=[], post_processor=None))
    assert diff(str(path), f"{library}:{path}", budget=100).same


def test_a_panic_of_the_library_is_a_refusal() -> None:
    class Panic(BaseException):
        """As pyo3 raises a panic of Rust."""

    def panic(*_: object, **__: object) -> None:
        raise Panic

    side = _Transformers.__new__(_Transformers)
    side._tokenizer = SimpleNamespace(encode=panic, decode=panic)
    assert side.encode("a", False).error == "backend_failure"
    assert side.decode((1,), False) == "error: backend_failure"


@needs_assets
def test_two_formats_of_one_tokenizer_are_the_same(tmp_path: Path) -> None:
    config = "tokenizer_config.json"
    (tmp_path / config).write_bytes((ROOT / "llama3" / config).read_bytes())
    paths = []
    for name in ("tokenizer.json", "tokenizer.model"):
        path = tmp_path / name
        path.write_bytes(lzma.decompress((ROOT / "llama3" / f"{name}.xz").read_bytes()))
        paths.append(str(path))
    found = diff(*paths, budget=1500)
    assert found.same


@needs_assets
def test_a_name_that_one_format_reads_as_text_is_an_added_token(tmp_path: Path) -> None:
    paths = []
    for name in ("tokenizer.json", "tokenizer.model"):
        path = tmp_path / name
        path.write_bytes(lzma.decompress((ROOT / "mistral-v1" / f"{name}.xz").read_bytes()))
        paths.append(str(path))
    groups = {group.cause: group for group in diff(*paths, budget=500).groups}
    assert "<s>" in [example.text for example in groups["added token"].examples]


def test_changes_are_real() -> None:
    for change, _, _ in CHANGES.values():
        document = _base()
        before = copy.deepcopy(document)
        change(document)
        assert document != before
