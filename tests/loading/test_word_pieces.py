"""BERT's `vocab.txt`, held against transformers' `BertTokenizerFast`."""

from __future__ import annotations

import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from assets import ROOT, needs_assets
from chat.environment import needs_reference

import pywasmtok

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["hello", "##s", "world", "Hello", "a", "b", "##a", "你", "he", "##llo", "e", "é", "<", "x"]
TEXTS = (
    "a <s> </s>b<mask>",
    "Hello worlds [MASK] héllo 你好 <x> a[SEP]b",
    "",
    "[CLS] [unk] [UNK]\thello\u00a0world\n<y>b",
    "hello" * 30,
    "\u0130a\u0307 \ufffd\0e\u0301",
)


def make(folder: Path, lines: list[str], files: dict[str, Any], end: str = "\n") -> Path:
    (folder / "vocab.txt").write_bytes(end.join([*lines, ""]).encode())
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def compare(folder: Path, texts: tuple[str, ...] = TEXTS) -> None:
    transformers = pytest.importorskip("transformers", exc_type=ImportError)
    theirs = transformers.BertTokenizerFast.from_pretrained(str(folder))
    for side in ("core", "hf"):
        ours = pywasmtok.create_tokenizer(folder, encoder=side, decoder=side)
        assert ours.get_vocab() == theirs.get_vocab()
        for text in texts:
            expected = theirs(text)["input_ids"]
            assert ours.encode(text).ids == expected, text
            for skip in (False, True):
                decoded = theirs.backend_tokenizer.decode(expected, skip_special_tokens=skip)
                assert ours.decode(expected, skip_special_tokens=skip) == decoded
        pair = theirs("hello a", "b world")
        both = ours.encode("hello a", "b world")
        assert (both.ids, list(both.type_ids)) == (pair["input_ids"], pair["token_type_ids"])


CONFIG = "tokenizer_config.json"
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
X = {"content": "<x>", "special": False, "normalized": True}
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "alone": ([*SPECIAL, *WORDS], {}),
    "of a model": ([*SPECIAL, *WORDS], {"config.json": {"model_type": "electra"}}),
    "cased": ([*SPECIAL, *WORDS], {CONFIG: {"do_lower_case": False}}),
    "accents": ([*SPECIAL, *WORDS], {CONFIG: {"strip_accents": False}}),
    "cased without accents": (
        [*SPECIAL, *WORDS],
        {CONFIG: {"strip_accents": True, "do_lower_case": False, "never_split": ["x"]}},
    ),
    "chinese": ([*SPECIAL, *WORDS], {CONFIG: {"tokenize_chinese_chars": False}}),
    "other tokens": (
        ["<pad>", "<unk>", "<s>", "</s>", "<mask>", *WORDS],
        {
            CONFIG: {
                "tokenizer_class": "BertTokenizer",
                "unk_token": "<unk>",
                "cls_token": {"__type": "AddedToken", "content": "<s>", **FLAGS, "lstrip": True},
                "sep_token": "</s>",
                "pad_token": "<pad>",
                "mask_token": "<mask>",
            }
        },
    ),
    "a map of them": (
        ["[PAD]", "<unk>", "[CLS]", "[SEP]", *WORDS],
        {"special_tokens_map.json": {"unk_token": "<unk>"}},
    ),
    "one token for two": ([*SPECIAL, *WORDS], {CONFIG: {"cls_token": "[SEP]"}}),
    "without mask and padding": ([*SPECIAL[1:4], *WORDS], {}),
    "added": (
        [*SPECIAL, *WORDS],
        {CONFIG: {"added_tokens_decoder": {"19": X}, "additional_special_tokens": ["<y>"]}},
    ),
    "added without flags": ([*SPECIAL, *WORDS], {"added_tokens.json": {"<x>": 19}}),
    "twice": ([*SPECIAL, *WORDS, "hello", "", "x ", "\u3000", "zz\x1c"], {}),
    "the class": ([*SPECIAL, *WORDS], {CONFIG: {"tokenizer_class": "DistilBertTokenizerFast"}}),
}


@pytest.mark.parametrize("case", CASES)
@needs_reference
def test_a_vocabulary_is_what_transformers_makes_of_it(case: str, tmp_path: Path) -> None:
    compare(make(tmp_path, *CASES[case]))


def test_lines_end_as_on_any_system(tmp_path: Path) -> None:
    compare(make(tmp_path, *CASES["alone"], end="\r\n"))


@needs_assets
@pytest.mark.parametrize("lower", [True, False])
def test_a_real_vocabulary(lower: bool, tmp_path: Path) -> None:
    file = ROOT / "bert-base-cased" / "tokenizer.json.xz"
    vocabulary = json.loads(lzma.decompress(file.read_bytes()))["model"]["vocab"]
    lines = sorted(vocabulary, key=vocabulary.__getitem__)
    make(tmp_path, lines, {CONFIG: {"do_lower_case": lower}})
    compare(tmp_path, (*TEXTS, "Ünïcödé — naïve 东京 déjà-vu, don't! " * 20))


@pytest.mark.parametrize("by", ["folder", "file", "from_file"])
def test_how_it_may_be_named(by: str, tmp_path: Path) -> None:
    make(tmp_path, *CASES["alone"])
    make_one: Any = pywasmtok.create_tokenizer
    if by == "from_file":
        make_one = pywasmtok.create_tokenizer_from_file
    tok = make_one(tmp_path if by == "folder" else tmp_path / "vocab.txt")
    assert tok.encode("Hello worlds").tokens == ["[CLS]", "hello", "world", "##s", "[SEP]"]
    special = tok.special_tokens
    assert (special.cls, special.sep, special.unk) == ("[CLS]", "[SEP]", "[UNK]")
    assert (special.pad, special.mask) == ("[PAD]", "[MASK]")


def test_what_is_said_about_it(tmp_path: Path) -> None:
    make(tmp_path, *CASES["cased"])
    info = pywasmtok.get_tokenizer_info(tmp_path)
    assert (info.chosen, info.sidecars, info.encoder) == ("vocab.txt", (CONFIG,), "core")
    data = (tmp_path / "vocab.txt").read_bytes()
    assert (info.size, info.sha256) == (len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    ("files", "feature"),
    [
        ({"config.json": {"model_type": "mpnet"}}, "vocab.txt:model_type:mpnet"),
        ({CONFIG: {"tokenizer_class": "BertJapaneseTokenizer"}}, "tokenizer_class"),
        ({CONFIG: {"auto_map": {"AutoTokenizer": ["x.Y", None]}}}, "vocab.txt:auto_map"),
    ],
)
def test_classes_that_cut_text_otherwise_are_refused(
    files: dict[str, Any], feature: str, tmp_path: Path
) -> None:
    make(tmp_path, [*SPECIAL, *WORDS], files)
    with pytest.raises(pywasmtok.Unsupported, match=r"vocab\.txt") as caught:
        pywasmtok.create_tokenizer(tmp_path)
    assert feature in str(caught.value.feature)


def test_files_that_are_none(tmp_path: Path) -> None:
    make(tmp_path, ["the", "a"], {})
    with pytest.raises(pywasmtok.NotATokenizer, match="lacks"):
        pywasmtok.create_tokenizer(tmp_path)
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\nhel\xfflo\n")
    with pytest.raises(pywasmtok.InvalidFile, match="UTF-8") as caught:
        pywasmtok.create_tokenizer(tmp_path)
    assert caught.value.offset == 9
    make(tmp_path, *CASES["alone"])
    (tmp_path / CONFIG).write_text('{"do_lower_case": "no"}')
    with pytest.raises(pywasmtok.InvalidFile, match="do_lower_case"):
        pywasmtok.create_tokenizer(tmp_path)
    (tmp_path / CONFIG).write_text("{")
    with pytest.raises(pywasmtok.InvalidFile, match=r"tokenizer_config\.json"):
        pywasmtok.create_tokenizer(tmp_path)


def test_a_vocabulary_of_rwkv_keeps_its_format(tmp_path: Path) -> None:
    lines = [f"{number + 1} {bytes([number])!r} 1\n" for number in range(256)]
    (tmp_path / "vocab.txt").write_text("".join(lines))
    assert pywasmtok.create_tokenizer(tmp_path, decoder="core").format == "rwkv"
