"""Every real file of every format: recognised, encoded, decoded, described."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import tokenizers
from assets import ROOT, needs_assets, vectors

import pywasmtok
from pywasmtok.cli.main import main
from pywasmtok.loading.conversion import convert

pytestmark = needs_assets


class File(NamedTuple):
    path: str
    format: str
    vectors: str | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    """What the vectors were made with and the file does not say."""


FILES = (
    File("tiktoken-openai/r50k_base.tiktoken", "tiktoken", "tt.r50k_base"),
    File("tiktoken-openai/p50k_base.tiktoken", "tiktoken", "tt.p50k_base"),
    File(
        "tiktoken-openai/p50k_base.tiktoken", "tiktoken", "tt.p50k_edit", {"encoding": "p50k_edit"}
    ),
    File("tiktoken-openai/cl100k_base.tiktoken", "tiktoken", "tt.cl100k_base"),
    File("tiktoken-openai/o200k_base.tiktoken", "tiktoken", "tt.o200k_base"),
    File("llama3/tokenizer.model", "tiktoken", "tt.llama3.tokenizer.model"),
    File("llama4/tokenizer.model", "tiktoken", "tt.llama4.tokenizer.model"),
    File("qwen1/qwen.tiktoken", "tiktoken", "tt.qwen1.qwen.tiktoken"),
    File("mistral-common/tekken_240718.json", "tekken", "tekken.tekken_240718"),
    File("mistral-common/tekken_240911.json", "tekken", "tekken.tekken_240911"),
    File("llama2/tokenizer.model", "sentencepiece", "spm.llama2"),
    File("mistral-v1/tokenizer.model", "sentencepiece", "spm.mistral-v1"),
    File("mistral-v3/tokenizer.model", "sentencepiece", "spm.mistral-v3"),
    File("xlnet/spiece.model", "sentencepiece", "spm.xlnet"),
    File("spm-misc/nai-t5.model", "sentencepiece", "spm.nai-t5"),
    File("spm-misc/nerdstash.model", "sentencepiece", "spm.nerdstash"),
    File("spm-misc/test_model.model", "sentencepiece", "spm.test_model"),
    File("spm-misc/test_ja_model.model", "sentencepiece", "spm.test_ja_model"),
    File("spm-misc/en.wiki.bpe.vs100000.model", "sentencepiece", "spm.en.wiki.bpe.vs100000"),
    File("spm-misc/chatglm-6b-ice_text.model", "sentencepiece"),
    *(
        File(f"gguf-llamacpp/ggml-vocab-{name}.gguf", "gguf", f"gguf.{name}")
        for name in (
            "aquila",
            "bert-bge",
            "deepseek-coder",
            "deepseek-llm",
            "gpt-2",
            "gpt-neox",
            "llama-bpe",
            "llama-spm",
            "phi-3",
            "qwen2",
            "qwen35",
        )
    ),
    File("rwkv/rwkv_vocab_v20230424.txt", "rwkv", "rwkv"),
)


@pytest.fixture
def unpacked(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file under its own name in a folder of its own."""
    path: Path = tmp_path / Path(request.param.path).name
    path.write_bytes(read(request.param.path))
    return path


def read(name: str) -> bytes:
    path = ROOT / name
    if path.is_file():
        return path.read_bytes()
    return lzma.decompress(path.with_name(path.name + ".xz").read_bytes())


def each(*files: File) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("unpacked", "file"),
        [(file, file) for file in files],
        indirect=["unpacked"],
        ids=[file.vectors or file.path for file in files],
    )


@each(*FILES)
def test_vectors_hold_through_the_default_backends(unpacked: Path, file: File) -> None:
    """The core encodes; HuggingFace decodes where it can, and both give what the core gives."""
    tok = pywasmtok.create_tokenizer(unpacked, **file.options)
    alone = pywasmtok.create_tokenizer(unpacked, decoder="core", **file.options)
    assert tok.format == file.format
    assert tok.backend.encoder == "core"
    if file.vectors is None:
        return
    for case in vectors(ROOT / "vectors" / f"{file.vectors}.jsonl"):
        encoding = tok.encode(case["text"], add_special_tokens=False, special="none")
        assert encoding.ids == case["ids"], case["text"]
        text = alone.decode(encoding, skip_special_tokens=False)
        assert tok.decode(encoding, skip_special_tokens=False) == text
    number = tok.vocab_size // 2
    token = tok.id_to_token(number)
    assert token is None or tok.id_to_token(tok.token_to_id(token) or 0) == token


@each(*(file for file in FILES if file.vectors))
def test_huggingface_encodes_a_conversion_alike(unpacked: Path, file: File) -> None:
    """Where nothing but the decoder and the search for special tokens differs, ids do not."""
    encoding = file.options.get("encoding")
    options = json.dumps({"encoding": encoding}).encode() if encoding else b""
    try:
        converted = convert(unpacked.read_bytes(), options, str(unpacked))
    except pywasmtok.Unsupported as refusal:
        if refusal.feature not in {"convert:normalizer", "convert:model:Greedy"}:
            raise
        pytest.skip(refusal.message)
    theirs = tokenizers.Tokenizer.from_buffer(converted.document)
    others = [name for name in converted.differences if not name.startswith("decode")]
    if set(others) - {"added_tokens:in_text", "added_tokens:longest_first"}:
        pytest.skip(f"named as different: {', '.join(others)}")
    theirs.encode_special_tokens = True
    for case in vectors(ROOT / "vectors" / f"{file.vectors}.jsonl"):
        assert theirs.encode(case["text"], add_special_tokens=False).ids == case["ids"]


@each(*FILES)
def test_the_screen(unpacked: Path, file: File, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--encoding", file.options["encoding"]] if file.options else []
    assert main(["inspect", str(unpacked), *options]) == 0
    screen = capsys.readouterr().out
    assert f"{file.format} (" in screen
    assert "core encodes" in screen
    assert len(screen.splitlines()) < 40
    assert max(map(len, screen.splitlines())) < 2000
    assert main(["inspect", str(unpacked), "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == file.format


def test_the_calls_that_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    table = page.partition("| format | files | call |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([^`]+)`.*(create_tokenizer\([^)]*\))", table, re.MULTILINE)
    assert len(rows) == table.count("\n") - 1
    ranks, gpt2 = "o200k_base.tiktoken", json.loads(read("gpt2/tokenizer.json"))["model"]
    bert = json.loads(read("bert-base-cased/tokenizer.json"))["model"]["vocab"]
    merges = (one if isinstance(one, str) else " ".join(one) for one in gpt2["merges"])
    files = {
        "tokenizer.json": read("llama3/tokenizer.json"),
        ranks: read(f"tiktoken-openai/{ranks}"),
        "tekken.json": read("mistral-common/tekken_240911.json"),
        "tokenizer.model": read("llama2/tokenizer.model"),
        "model.gguf": read("gguf-llamacpp/ggml-vocab-llama-bpe.gguf"),
        "vocab.json": json.dumps(gpt2["vocab"]).encode(),
        "merges.txt": "\n".join(merges).encode(),
        "rwkv_vocab_v20230424.txt": read("rwkv/rwkv_vocab_v20230424.txt"),
        "vocab.txt": "\n".join(sorted(bert, key=bert.__getitem__)).encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    for format_, call in rows:
        tok = eval(call, {"create_tokenizer": pywasmtok.create_tokenizer})
        assert (tok.format, tok.backend.encoder) == (format_, "core"), call
        assert tok.decode(tok.encode("hello", add_special_tokens=False)) == "hello"


def test_a_huge_file_costs_its_vocabulary(tmp_path: Path) -> None:
    """100 GB of nothing behind the metadata, on a disk that does not store zeros."""
    path = tmp_path / "model.gguf"
    whole = read("gguf-llamacpp/ggml-vocab-llama-spm.gguf")
    path.write_bytes(whole)
    with path.open("r+b") as stream:
        stream.truncate(100_000_000_000)
    info = pywasmtok.get_tokenizer_info(tmp_path)
    assert info.size == 100_000_000_000
    assert info.chosen == "model.gguf"
    tok = pywasmtok.create_tokenizer(path)
    assert len(tok._recipe.data) <= len(whole)
    assert tok.encode("Hello world", add_special_tokens=False).ids == [15043, 3186]
