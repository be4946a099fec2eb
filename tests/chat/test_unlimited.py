"""Truncation and padding are cut out of a file without parsing it on the host."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import small
from hypothesis import given, settings
from hypothesis import strategies as st

import pywasmtok
from pywasmtok.chat.templates import ChatTemplates
from pywasmtok.chat.unlimited import without

NAMES = ("truncation", "padding")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(NAMES) | st.text(max_size=5) | st.sampled_from(['"', "\\", "{", "a:,"])


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=200, deadline=None)
def test_it_is_what_parsing_gives(
    whole: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    data = json.dumps(whole, ensure_ascii=ascii_only, indent=indent).encode()
    wanted = {name: None if name in NAMES else value for name, value in whole.items()}
    found = without(data, NAMES)
    assert json.loads(data if found is None else found) == wanted
    if found is None:
        assert whole == wanted


def test_escaped_names_are_names() -> None:
    assert without(b'{"tr\\u0075ncation" : {"a":[1]} , "b":2}', NAMES) == (
        b'{"tr\\u0075ncation" :null, "b":2}'
    )


def test_what_a_stranger_fills_a_file_with_is_not_built() -> None:
    data = b'{"x":[' + b"[]," * 300_000 + b'0],"truncation":{"max_length":3}}'
    tracemalloc.start()
    try:
        found = without(data, NAMES)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found is not None
    assert found.endswith(b'"truncation":null}')
    # Parsed, these brackets would take twenty times as much as the file.
    assert peak < 4 * len(data)


@pytest.mark.parametrize("stated", NAMES)
def test_chats_are_encoded_without(tmp_path: Path, stated: str) -> None:
    values = {
        "truncation": {
            "max_length": 3,
            "strategy": "LongestFirst",
            "stride": 0,
            "direction": "Right",
        },
        "padding": {
            "strategy": {"Fixed": 64},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "<s>",
        },
    }
    plain, limited = tmp_path / "plain.json", tmp_path / "limited.json"
    plain.write_bytes(small.file())
    limited.write_bytes(small.file(**{stated: values[stated]}))
    wanted = pywasmtok.create_tokenizer(plain).encode(small.TEXT).ids
    tok = pywasmtok.create_tokenizer(limited)
    assert tok.encode(small.TEXT).ids != wanted
    assert ChatTemplates.of(tok).encoder.encode(small.TEXT).ids == wanted
