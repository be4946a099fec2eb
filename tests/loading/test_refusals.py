"""What the core does not serve exactly: refused by name and place, and `tokenizers` serves it."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import charsmap
import pytest
import small
import tokenizers

import pywasmtok
from pywasmtok import _host, errors
from pywasmtok.backends.hf import HFBackend


def saved(folder: Path, data: bytes) -> Path:
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    return path


def split(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }


def with_dropout(dropout: float | None) -> bytes:
    return small.file(model={**small.definition()["model"], "dropout": dropout})


def test_dropout(tmp_path: Path) -> None:
    path = saved(tmp_path, with_dropout(0.5))
    with pytest.raises(errors.Unsupported) as caught:
        pywasmtok.create_tokenizer(path, encoder="core")
    assert (caught.value.feature, caught.value.path) == ("model:dropout", "$.model.dropout")
    tok = pywasmtok.create_tokenizer(path)
    assert (tok.backend.encoder, tok.backend.reason) == ("hf", "model:dropout")
    # The reference throws dice: that is why.
    assert len({tuple(tok.encode("Hello hello world").ids) for _ in range(50)}) > 1


@pytest.mark.parametrize("dropout", [0.0, None])
def test_dropout_that_is_none(tmp_path: Path, dropout: float | None) -> None:
    tok = pywasmtok.create_tokenizer(saved(tmp_path, with_dropout(dropout)))
    assert tok.backend.encoder == "core"


@pytest.mark.parametrize(
    ("pattern", "feature", "byte"),
    [
        (r"(l)\1", "regex:Escape:1", 3),
        (r"\X", "regex:Escape:X", 0),
        (r"(?i:stop)", "regex:CaseInsensitiveLigature", 5),
        (r"\p{L}|(?~l)", "regex:Group", 6),
    ],
)
def test_a_construct_of_a_pattern(tmp_path: Path, pattern: str, feature: str, byte: int) -> None:
    data = small.file(pre_tokenizer=split(pattern))
    path = saved(tmp_path, data)
    with pytest.raises(errors.Unsupported, match=f"at byte {byte} ") as caught:
        pywasmtok.create_tokenizer(path, encoder="core")
    assert caught.value.feature == feature
    assert str(caught.value.path).startswith("$.pre_tokenizer")
    tok = pywasmtok.create_tokenizer(path)
    assert (tok.backend.encoder, tok.backend.reason) == ("hf", feature)
    text = "stop hello STOP"
    assert tok.encode(text).ids == HFBackend(data).encode(text, None, True).ids


def test_where_the_reference_panics_on_what_was_inserted_first(tmp_path: Path) -> None:
    step = {"type": "Replace", "pattern": {"Regex": "(?=你)"}, "content": "é"}
    data = small.file(normalizer=step)
    tok = pywasmtok.create_tokenizer(saved(tmp_path, data), encoder="core")
    with pytest.raises(errors.BackendFailure):
        HFBackend(data).encode("你好", None, True)
    with pytest.raises(errors.Unsupported) as caught:
        tok.encode("你好")
    assert caught.value.feature == "normalizer:InsertedBeforeStart"
    assert tok.encode("x你好").ids == HFBackend(data).encode("x你好", None, True).ids


def test_a_component_without_a_type(tmp_path: Path) -> None:
    path = saved(tmp_path, small.file(normalizer={"strip_left": True, "strip_right": True}))
    with pytest.raises(errors.Unsupported) as caught:
        pywasmtok.create_tokenizer(path, encoder="core")
    assert (caught.value.feature, caught.value.path) == ("normalizer:untyped", "$.normalizer")
    assert pywasmtok.create_tokenizer(path).backend.encoder == "hf"


def test_pieces_of_no_length(tmp_path: Path) -> None:
    data = small.file(pre_tokenizer={"type": "FixedLength", "length": 0})
    with pytest.raises(errors.Unsupported) as caught:
        pywasmtok.create_tokenizer(saved(tmp_path, data), encoder="core")
    assert caught.value.path == "$.pre_tokenizer.length"
    with pytest.raises(errors.BackendFailure):
        HFBackend(data).encode("a", None, True)


@pytest.mark.parametrize(
    ("model", "feature"),
    [
        ({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}, "model:unk_token"),
        (
            {
                "type": "WordPiece",
                "vocab": {"a": 0},
                "unk_token": "?",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 9,
            },
            "model:unk_token",
        ),
        ({"type": "Unigram", "vocab": [["a", -1.5]], "unk_id": None}, "model:unk_id"),
    ],
    ids=["WordLevel", "WordPiece", "Unigram"],
)
def test_nothing_stands_for_the_unknown(
    tmp_path: Path, model: dict[str, Any], feature: str
) -> None:
    data = small.file(model=model, added_tokens=[], post_processor=None)
    tok = pywasmtok.create_tokenizer(saved(tmp_path, data), encoder="core")
    hf = HFBackend(data)
    assert tok.encode("a").ids == hf.encode("a", None, True).ids
    with pytest.raises(errors.Unsupported) as caught:
        tok.encode("b")
    assert caught.value.feature == feature
    with pytest.raises(errors.TokenizerError):
        hf.encode("b", None, True)


def test_a_map_with_a_key_that_leads_nowhere() -> None:
    """The place of its replacement lies behind the end: a text with the key would look there."""
    here, beyond = (struct.pack("<I", 1 << 31 | place) for place in (0, 1000))
    damaged = charsmap.blob({"a": "b"}).replace(here, beyond)
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(damaged).decode()}
    data = small.file(normalizer=step)
    tokenizers.Tokenizer.from_buffer(data)
    with pytest.raises(errors.InvalidFile):
        _host.load_tokenizer(data)


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
ENDS = {"</s>": {"id": "</s>", "ids": [267], "tokens": ["</s>"]}}
A = {"Sequence": {"id": "A", "type_id": 0}}
B = {"Sequence": {"id": "B", "type_id": 1}}
END = {"SpecialToken": {"id": "</s>", "type_id": 0}}


def template(piece: dict[str, Any], special_tokens: dict[str, Any]) -> dict[str, Any]:
    pieces = {"single": [A, piece], "pair": [A, B, piece]}
    return {"type": "TemplateProcessing", "special_tokens": special_tokens, **pieces}


@pytest.mark.parametrize(
    ("loose", "strict"),
    [
        ({"unknown": 1}, {}),
        ({"version": None}, {}),
        ({"pre_tokenizer": BYTE_LEVEL}, {}),
        ({"pre_tokenizer": {**BYTE_LEVEL, "trim_offsets": "x"}}, {}),
        ({"decoder": {"type": "ByteLevel"}}, {}),
        (
            {"pre_tokenizer": {**split("l"), "pattern": {"String": "l", "Regex": "o"}}},
            {"pre_tokenizer": {**split("l"), "pattern": {"String": "l"}}},
        ),
        (
            {"post_processor": template(END, {"</s>": {"ids": [267], "tokens": ["</s>"]}})},
            {"post_processor": template(END, ENDS)},
        ),
        (
            {"post_processor": template({**END, "other": 1}, ENDS)},
            {"post_processor": template(END, ENDS)},
        ),
    ],
    ids=["key", "version", "none", "type", "decoder", "pattern", "id", "piece"],
)
def test_fields_that_are_not_used_are_not_checked(
    tmp_path: Path, loose: dict[str, Any], strict: dict[str, Any]
) -> None:
    path = saved(tmp_path, small.file(**loose))
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    with pytest.raises(errors.InvalidFile):
        pywasmtok.create_tokenizer(path, decoder="hf").decode([0])
    other = tokenizers.Tokenizer.from_buffer(small.file(**strict))
    for text in ("Hello hello world", " é 🌶 </s>"):
        expected = other.encode(text)
        found = tok.encode(text)
        assert (found.ids, found.offsets) == (expected.ids, expected.offsets)
        assert tok.decode(found) == other.decode(expected.ids)
