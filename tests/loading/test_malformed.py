"""Broken, hostile and mistaken files: each gets its typed error at once, or loads as in HF."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import small
from assets import ROOT, needs_assets

import pywasmtok
from pywasmtok import errors
from pywasmtok.backends.hf import HFBackend

pytestmark = needs_assets

FOLDER = ROOT / "malformed"

GOOD = (
    "ok_minimal_tokenizer.json",
    "ok_merges_pairs.json",
    # The reference refuses a byte-order mark, which says nothing about what follows it.
    "ok_bom.json",
    "ok_no_model_type.json",
    # Two tokens with one id, an added token with the id of another one, an empty added token.
    "dup_ids.json",
    "added_id_conflict.json",
    "added_empty.json",
    # Its pattern explodes on some texts, not on these.
    "redos_regex.json",
)

TEXTS = ("abc", "ab c", "", "abcabc\n", "<s>abc", "xyz <unk> é")

BAD: dict[str, type[errors.TokenizerError]] = {
    "empty.json": errors.EmptyFile,
    "whitespace.json": errors.EmptyFile,
    "truncated.json": errors.InvalidFile,
    "array.json": errors.NotATokenizer,
    "scalar.json": errors.NotATokenizer,
    "tokenizer_config_only.json": errors.NotATokenizer,
    "vocab_map.json": errors.NotATokenizer,
    "model_config.json": errors.NotATokenizer,
    "no_model.json": errors.NotATokenizer,
    "unknown_model.json": errors.Unsupported,
    "unknown_pretok.json": errors.Unsupported,
    "bad_regex.json": errors.InvalidFile,
    "merge_oov.json": errors.InvalidFile,
    "merge_arity.json": errors.InvalidFile,
    "merge_result_missing.json": errors.InvalidFile,
    "merges_object.json": errors.InvalidFile,
    "neg_id.json": errors.InvalidFile,
    "huge_id.json": errors.InvalidFile,
    "sparse_id.json": errors.LimitExceeded,
    "float_id.json": errors.InvalidFile,
    "dup_keys.json": errors.InvalidFile,
    "lone_surrogate.json": errors.InvalidFile,
    # 200,000 opening brackets: the first one already says that it is no tokenizer.
    "deep_nesting.json": errors.NotATokenizer,
    "deep_normalizer.json": errors.LimitExceeded,
    "utf16.json": errors.InvalidFile,
    "lfs_pointer.json": errors.GitLfsPointer,
    "lfs_pointer.model": errors.GitLfsPointer,
    "html_page.json": errors.NotATokenizer,
    "gzip.json.gz": errors.Compressed,
    "zip.bin": errors.NotATokenizer,
    "pickle.bin": errors.NotATokenizer,
    "model.safetensors": errors.NotATokenizer,
    "random.bin": errors.UnknownFormat,
    "magic_only.gguf": errors.InvalidFile,
    "v1.gguf": errors.Unsupported,
    "v99.gguf": errors.Unsupported,
    "bigendian.gguf": errors.Unsupported,
    # A count that no file could have is a limit, one that this file cannot have is a defect.
    "kv_huge.gguf": errors.LimitExceeded,
    "str_huge.gguf": errors.LimitExceeded,
    "arr_huge.gguf": errors.LimitExceeded,
    "arr_f32_overflow.gguf": errors.LimitExceeded,
    "nested_array.gguf": errors.InvalidFile,
    "bad_type.gguf": errors.InvalidFile,
    "dup_key.gguf": errors.InvalidFile,
    "no_tokenizer.gguf": errors.NoTokenizerInFile,
    "no_vocab.gguf": errors.NoTokenizerInFile,
    "unknown_model.gguf": errors.Unsupported,
    "unknown_pre.gguf": errors.Unsupported,
    "no_merges.gguf": errors.InvalidFile,
    "scores_short.gguf": errors.InvalidFile,
    "tokens_not_str.gguf": errors.InvalidFile,
    "byte_token_neg.gguf": errors.InvalidFile,
    "bad_utf8_token.gguf": errors.InvalidFile,
    "dup_tokens.gguf": errors.InvalidFile,
    "truncated.gguf": errors.InvalidFile,
    "truncated.model": errors.InvalidFile,
    "len_past_end.model": errors.InvalidFile,
    "varint_overflow.model": errors.InvalidFile,
    "no_pieces.model": errors.InvalidFile,
    "no_unk.model": errors.InvalidFile,
    "two_unk.model": errors.InvalidFile,
    "dup_piece.model": errors.InvalidFile,
    "empty_piece.model": errors.InvalidFile,
    "bad_type.model": errors.Unsupported,
    "nan_score.model": errors.InvalidFile,
    "bad_byte_piece.model": errors.InvalidFile,
    "bad_charsmap.model": errors.InvalidFile,
    "bad_utf8_piece.model": errors.InvalidFile,
    "missing_rank.tiktoken": errors.InvalidFile,
    "bad_base64.tiktoken": errors.InvalidFile,
    "dup_token.tiktoken": errors.InvalidFile,
    "dup_rank.tiktoken": errors.InvalidFile,
    "neg_rank.tiktoken": errors.InvalidFile,
    "huge_rank.tiktoken": errors.InvalidFile,
    "no_bytes.tiktoken": errors.InvalidFile,
}

# A rank file says nothing about its pattern: these load with one, and only then.
GOOD_RANKS = (
    "ok_min.tiktoken",
    "ok_crlf.tiktoken",
    "ok_blank_lines.tiktoken",
    "gap.tiktoken",
    "unsorted.tiktoken",
)

GOOD_OTHERS = (
    "ok_min_spm.gguf",
    "ok_min_bpe.model",
    # sentencepiece serves the type `word` too.
    "word_type.model",
    # llama.cpp takes its default and warns; here it is a note.
    "missing_pre.gguf",
    "bos_oob.gguf",
)

MANIFEST = FOLDER / "manifest.json"


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiling the core, once a machine, is no part of refusing a file."""
    path = small.write(tmp_path_factory.mktemp("warm"))
    pywasmtok.create_tokenizer(path, preload=True).encode("x")


def hf_loads(path: Path) -> bool:
    try:
        HFBackend(path.read_bytes()).load()
    except errors.TokenizerError:
        return False
    return True


def test_no_file_is_forgotten() -> None:
    listed = {entry["file"] for entry in json.loads(MANIFEST.read_text(encoding="utf-8"))}
    assert listed == {*GOOD, *GOOD_OTHERS, *GOOD_RANKS, *BAD}
    assert len(listed) == 93


@pytest.mark.parametrize("name", GOOD)
def test_good_files(name: str) -> None:
    tok = pywasmtok.create_tokenizer(FOLDER / name)
    assert tok.backend.encoder == "core", tok.backend.reason
    hf = HFBackend((FOLDER / name).read_bytes())
    for text in TEXTS:
        ours, theirs = tok.encode(text), hf.encode(text, None, True)
        assert (ours.ids, ours.tokens, ours.offsets) == (theirs.ids, theirs.tokens, theirs.offsets)
        assert tok.decode(ours) == hf.decode(theirs, True)
    assert tok.get_vocab() == hf.vocab(True)


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str) -> None:
    path = FOLDER / name
    choices: list[dict[str, Any]] = [{}, {"encoder": "core"}]
    for options in choices:
        start = time.thread_time()
        with pytest.raises(errors.TokenizerError) as caught:
            pywasmtok.create_tokenizer(path, **options)
        assert time.thread_time() - start < 1
        assert type(caught.value) is BAD[name], str(caught.value)
        assert str(path) in str(caught.value)
    assert (name == "sparse_id.json") == hf_loads(path)


@pytest.mark.parametrize("name", BAD)
def test_bad_files_with_huggingface_alone(name: str) -> None:
    if name == "sparse_id.json":
        return
    # Of another format than its own, the library gets what the core makes of it.
    other = (errors.LimitExceeded, errors.Unsupported) if not name.endswith(".json") else ()
    with pytest.raises((errors.LoadError, *other)):
        pywasmtok.create_tokenizer(FOLDER / name, encoder="hf")


@pytest.mark.parametrize("name", GOOD_OTHERS)
def test_good_files_of_other_formats(name: str) -> None:
    tok = pywasmtok.create_tokenizer(FOLDER / name)
    assert tok.backend.encoder == "core"
    for text in TEXTS:
        tok.decode(tok.encode(text))


@pytest.mark.parametrize("name", GOOD_RANKS)
def test_rank_files_need_a_pattern(name: str) -> None:
    with pytest.raises(errors.AmbiguousPattern) as caught:
        pywasmtok.create_tokenizer(FOLDER / name)
    assert "pattern" in str(caught.value)
    for options in ({"encoding": "gpt2"}, {"pattern": r"\S+|\s+", "special_tokens": {"<s>": 9000}}):
        if "encoding" in options and name != "ok_min.tiktoken":
            continue
        tok = pywasmtok.create_tokenizer(FOLDER / name, **options)
        for text in TEXTS:
            assert tok.decode(tok.encode(text), skip_special_tokens=False) == text


def test_a_regex_that_explodes_is_stopped() -> None:
    tok = pywasmtok.create_tokenizer(FOLDER / "redos_regex.json", encoder="core")
    start = time.thread_time()
    with suppress(errors.LimitExceeded):
        tok.encode("a" * 40 + "!")
    assert time.thread_time() - start < 5
    assert tok.encode("abc").ids == [95]
