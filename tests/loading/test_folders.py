"""Which file of a folder is the tokenizer, and what is said about the others."""

from __future__ import annotations

import json
from pathlib import Path

import gguf_files
import pytest
import small

import pywasmtok
from pywasmtok.loading.sources.folders import choose

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


def make(folder: Path, *names: str, content: bytes = b"x") -> bytes:
    for name in names:
        (folder / name).write_bytes(content)
    return str(folder).encode()


ORDER = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "tiktoken.model",
    "some.tiktoken",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json + merges.txt",
    "encoder.json + vocab.bpe",
    "vocab.txt",
    "rwkv_vocab_v20230424.txt",
    "some.gguf",
)


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_order_of_files(first: int, tmp_path: Path) -> None:
    here = ORDER[first:]
    folder = make(tmp_path, *(name for item in here for name in item.split(" + ")), "README.md")
    choice = choose(folder)
    assert " + ".join(name.decode() for name in choice.files) == here[0]
    passed = [name for item in here[1:] for name in item.split(" + ")]
    assert [text.partition(":")[0] for text in choice.passed_over] == passed


def test_what_was_chosen_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    make(tmp_path, "tokenizer.model", "model.gguf")
    info = pywasmtok.get_tokenizer_info(tmp_path)
    assert info.chosen == "tokenizer.json"
    assert info.passed_over == (
        "tokenizer.model: tokenizer.json comes first",
        "model.gguf: tokenizer.json comes first",
    )
    assert pywasmtok.create_tokenizer(tmp_path).encode("Hello").tokens == ["<s>", "Hello"]


def test_shards_of_one_file_are_one_choice(tmp_path: Path) -> None:
    folder = make(tmp_path, *(f"model-0000{n}-of-00003.gguf" for n in (1, 2, 3)))
    choice = choose(folder)
    assert choice.files == (b"model-00001-of-00003.gguf",)
    assert choice.passed_over == (
        "model-00002-of-00003.gguf: a shard without the metadata",
        "model-00003-of-00003.gguf: a shard without the metadata",
    )


@pytest.mark.parametrize(
    "names",
    [
        ("a.gguf", "b.gguf"),
        ("a-00001-of-00002.gguf", "b-00001-of-00002.gguf"),
        ("a-00001-of-00002.gguf", "a-00001-of-00003.gguf"),
        ("a-00002-of-00003.gguf", "a-00003-of-00003.gguf"),
        ("gpt2.tiktoken", "multilingual.tiktoken"),
    ],
)
def test_several_that_could_be_meant(names: tuple[str, ...], tmp_path: Path) -> None:
    folder = make(tmp_path, *names)
    with pytest.raises(pywasmtok.AmbiguousDirectory, match=names[0]) as caught:
        choose(folder)
    assert caught.value.kind == "ambiguous_directory"
    with pytest.raises(pywasmtok.AmbiguousDirectory):
        pywasmtok.create_tokenizer(tmp_path)


MODEL = gguf_files.gguf(gguf_files.byte_level(), tail=bytes(64))
PROJECTOR = gguf_files.gguf({"general.architecture": "clip"}, tail=bytes(64))


@pytest.mark.parametrize("others", [("mmproj.gguf",), ("a-mmproj-f16.gguf", "z.gguf")])
def test_a_gguf_file_without_a_tokenizer_is_passed_over(
    others: tuple[str, ...], tmp_path: Path
) -> None:
    make(tmp_path, "model.gguf", content=MODEL)
    make(tmp_path, *others, content=PROJECTOR)
    assert pywasmtok.create_tokenizer(tmp_path).vocab_size == 256
    info = pywasmtok.get_tokenizer_info(tmp_path)
    assert info.chosen == "model.gguf"
    assert info.passed_over == tuple(f"{name}: no tokenizer in it" for name in others)


def test_shards_beside_a_projector(tmp_path: Path) -> None:
    make(tmp_path, "m-00001-of-00002.gguf", content=MODEL)
    make(tmp_path, "m-00002-of-00002.gguf", "mmproj.gguf", content=PROJECTOR)
    info = pywasmtok.get_tokenizer_info(tmp_path)
    assert info.chosen == "m-00001-of-00002.gguf"
    assert info.passed_over == (
        "m-00002-of-00002.gguf: a shard without the metadata",
        "mmproj.gguf: no tokenizer in it",
    )
    # The path of a later shard means the file that they make up.
    tok = pywasmtok.create_tokenizer(tmp_path / "m-00002-of-00002.gguf")
    assert tok.source == str(tmp_path / "m-00001-of-00002.gguf")


def test_a_damaged_gguf_file_may_be_what_is_meant(tmp_path: Path) -> None:
    make(tmp_path, "model.gguf", content=MODEL)
    make(tmp_path, "other.gguf", content=POINTER)
    with pytest.raises(pywasmtok.AmbiguousDirectory):
        pywasmtok.create_tokenizer(tmp_path)


def test_gguf_files_that_all_lack_a_tokenizer(tmp_path: Path) -> None:
    make(tmp_path, "mmproj.gguf", content=PROJECTOR)
    with pytest.raises(pywasmtok.NoTokenizerInFile):
        pywasmtok.create_tokenizer(tmp_path)
    make(tmp_path, "mmproj-2.gguf", content=PROJECTOR)
    with pytest.raises(pywasmtok.AmbiguousDirectory):
        pywasmtok.create_tokenizer(tmp_path)


def test_a_pointer_does_not_fall_through(tmp_path: Path) -> None:
    make(tmp_path, "tokenizer.json", content=POINTER)
    make(tmp_path, "tokenizer.model", content=b"\x0a\x0e")
    with pytest.raises(pywasmtok.GitLfsPointer):
        pywasmtok.create_tokenizer(tmp_path)


def test_a_folder_with_sidecars_only(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(pywasmtok.NotATokenizer, match=r"tokenizer_config\.json"):
        pywasmtok.create_tokenizer(tmp_path)
    make(tmp_path, "vocab.json")
    with pytest.raises(pywasmtok.NotATokenizer, match=r"merges\.txt"):
        pywasmtok.create_tokenizer(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(pywasmtok.SourceNotFound, match=r"Looked for tokenizer\.json"):
        pywasmtok.create_tokenizer(tmp_path)


@pytest.mark.parametrize("given", ["vocab.json", "merges.txt", "."])
def test_a_vocabulary_and_its_merges_are_one_tokenizer(given: str, tmp_path: Path) -> None:
    model = small.definition()["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(model["merges"]) + "\n")
    tok = pywasmtok.create_tokenizer(tmp_path / given)
    assert tok.format == "vocab+merges"
    assert tok.encode("Hello world").tokens == ["Hello", "Ġwor", "ld"]
    assert tok.decode(tok.encode("Hello world")) == "Hello world"
