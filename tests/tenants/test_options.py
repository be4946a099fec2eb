"""What a digest speaks of."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import pywasmtok
from pywasmtok.errors import InvalidArgument
from pywasmtok.tenants import digest_of, read_source
from pywasmtok.tenants.options import Reading

from .parts import TEMPLATE, limits, pool, small


def test_without_options_it_is_that_of_the_bytes() -> None:
    assert digest_of(b"abc") == hashlib.sha256(b"abc").hexdigest()
    # What is said and is the default anyway says nothing.
    assert digest_of(b"abc", {"gguf_compat": "llama.cpp", "pattern": None}) == digest_of(b"abc")


def test_options_are_part_of_it() -> None:
    names = [
        digest_of(b"abc", options)
        for options in (
            {},
            {"pattern": "a"},
            {"pattern": "b"},
            {"encoding": "a"},
            {"special_tokens": {"a": 1, "b": 2}},
            {"chat_template": "a"},
        )
    ]
    assert len(set(names)) == len(names)
    assert digest_of(b"abd", {"pattern": "a"}) != names[1]
    in_order = {"special_tokens": {"b": 2, "a": 1}}
    assert digest_of(b"abc", in_order) == names[4]
    assert digest_of(hashlib.sha256(b"abc").hexdigest(), in_order) == names[4]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threads": 4}, "no option of a file: threads"),
        ({"pattern": 4}, "pattern must be str"),
        ({"pattern": {1, 2}}, "plain data"),
        ({"chat_template": lambda: ""}, "plain data"),
        ({"chat_template": 5}, "chat_template must be"),
        ({"special_tokens": {"a": "b"}}, "special_tokens"),
        ({"parts": [["vocab.json"]]}, "parts must be"),
        ({"sidecars": {"../secret.json": {}}}, "no file beside a tokenizer"),
        ({"sidecars": {"config.json": "x"}}, "must be an object"),
        ({"sidecars": {"chat_template.jinja": {}}}, "must be a text"),
        ({"sidecars": ["config.json"]}, "sidecars must be"),
        ({"gguf_compat": "mine"}, "gguf_compat"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Reading(options)


def test_a_folder_becomes_bytes_and_options(tmp_path: Path) -> None:
    """Whatever stands beside the file comes along, and is read from nowhere later."""
    (tmp_path / "tokenizer.json").write_bytes(small())
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("other")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    reference = pywasmtok.create_tokenizer(tmp_path, encoder="core", decoder="core")
    data, options = read_source(tmp_path)
    assert json.loads(json.dumps(options)) == options
    for file in sorted(tmp_path.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()

    tenant = pool().add("a", limits())
    info = tenant.add(bytes(data), **options)
    assert info.chat_template
    tok = tenant.tokenizer(info.digest)
    assert tok.chat_template == {"default": TEMPLATE, "rag": "other"} == reference.chat_template
    assert tok.special_tokens.eos_token_ids == reference.special_tokens.eos_token_ids != ()


def test_vocabulary_and_merges(tmp_path: Path) -> None:
    whole = json.loads(small())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(whole["vocab"]))
    merges = [" ".join(one) if isinstance(one, list) else one for one in whole["merges"]]
    (tmp_path / "merges.txt").write_text("\n".join(merges))
    reference = pywasmtok.create_tokenizer(tmp_path, encoder="core", decoder="core")
    data, options = read_source(tmp_path)
    tenant = pool().add("a", limits())
    info = tenant.add(bytes(data), **options)
    assert info.format == "vocab+merges"
    text = "Hello world"
    assert tenant.tokenizer(info.digest).encode(text).ids == reference.encode(text).ids


def test_a_template_among_the_options_is_rendered() -> None:
    tenant = pool().add("a", limits())
    tok = tenant.tokenizer(tenant.add(small(), chat_template=TEMPLATE).digest)
    messages = [{"role": "user", "content": "Hi"}]
    assert tok.apply_chat_template(messages, tokenize=False) == "<|user|>Hi"
