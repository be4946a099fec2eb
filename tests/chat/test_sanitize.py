"""`sanitize_control_tokens=True` against transformers' own functions."""

from __future__ import annotations

import random
from collections import UserDict
from dataclasses import dataclass
from typing import Any

import assets
import pytest
from assets import ROOT, Asset, needs_assets

from pywasmtok import Tokenizer
from pywasmtok.chat.sanitize import control_tokens, encode_marked, mark
from pywasmtok.errors import TemplateLimitExceeded, Unsupported
from pywasmtok.loading.literals import literal_text

from .environment import needs_reference

pytest.importorskip("jinja2")
transformers = pytest.importorskip("transformers")
theirs = pytest.importorskip("transformers.utils.chat_template_utils")
pytestmark = needs_reference

FAMILIES = ("qwen3", "llama2", "t5")
FILES = [asset for asset in assets.SERVED if asset.family in FAMILIES]
WORDS = ["hello ", " world", "\n", "  x", "<|", "|>", "é", "\U000f0000", "\U000f0001", "a b"]


def templates() -> list[str]:
    folder = ROOT / "chat" / "templates"
    return [path.read_bytes().decode() for path in sorted(folder.glob("*.jinja"))]


def theirs_encoded(tokenizer: Any, text: str) -> list[int] | None:
    try:
        found: list[int] = theirs.encode_marked_chat(tokenizer, text)
        return found
    except ValueError:
        return None


def ours_encoded(tok: Tokenizer, text: str) -> list[int] | None:
    try:
        return encode_marked(tok, text)
    except Unsupported:
        return None


@needs_assets
@pytest.mark.parametrize("asset", FILES, ids=lambda asset: asset.id)
def test_ids_are_those_of_transformers(asset: Asset) -> None:
    reference = transformers.PreTrainedTokenizerFast(tokenizer_object=assets.new_huggingface(asset))
    tok = assets.open_tokenizer(asset, data=assets.without_limits(asset))
    names = [token.content for token in reference.added_tokens_decoder.values()]
    rng, sources = random.Random(asset.id), templates()[::9]
    for number in range(40):
        source = sources[number % len(sources)]
        control = reference._get_control_tokens(source)
        assert set(control_tokens(tok, source)) == set(control)
        said = "".join(
            rng.choice(names if rng.random() < 0.5 else WORDS) for _ in range(rng.randrange(1, 7))
        )
        value = {"role": "user", said: [said, ("x", said), 1, None]}
        pattern, _ = theirs._get_control_token_patterns(control)
        marked = mark(value, control)
        assert marked == theirs.mark_control_tokens(value, pattern)
        text = f"{rng.choice(names)}user\n{marked[said][0]}{rng.choice(names)}x"
        if rng.random() < 0.3:
            text = text[: rng.randrange(len(text))]
        ours, expected = ours_encoded(tok, text), theirs_encoded(reference, text)
        # t5's model makes `</s>` of plain text: transformers refuses, our encoder does not do it.
        assert ours == expected or (asset.family == "t5" and expected is None), (said, text)


@needs_assets
def test_chosen_tokens_take_the_place_of_those_that_the_template_writes() -> None:
    tok = assets.open_tokenizer(assets.Asset("qwen3", "tokenizer.json"))
    source = "{{ '<think>' }}<tool_call>"
    written = set(control_tokens(tok, source))
    assert {"<think>", "<tool_call>", "<|im_end|>"} <= written
    assert "</think>" not in written
    chosen = set(control_tokens(tok, source, ["</think>"]))
    assert written - chosen == {"<think>", "<tool_call>"}
    assert chosen - written == {"</think>"}


SOURCES = [
    "",
    "a{{ 'b' }}c{% if x == \"d\" %}e{% endif %}",
    "{# 'no' #}{% raw %}{{ 'raw' }}{% endraw %}",
    "{{ {'a': {'b': '}}'}} }}tail",
    "{{ 'x' 'y' }}{{ 'x' ~ 'y' }}",
    "{{ '\\u003cq\\u003e\\n\\'' }}",
    '{%- set a = ["it\'s", \'say "hi"\'] -%}',
    "{{ x['k'] }}{{ f(a='b', **{'c': 1}) }}",
    "{%- raw -%} <a> {%- endraw -%}<b>",
    "é🌶{{ 'é🌶' }}",
]


@pytest.mark.parametrize("source", SOURCES)
def test_the_literals_of_a_template_are_those_of_jinja2(source: str) -> None:
    expected = set(theirs._get_template_literal_text(source).split("\0"))
    found = set(literal_text(source).split("\0"))
    squeezed = {text.strip() for text in expected} - {""}
    assert {text.strip() for text in found} - {""} == squeezed


@needs_assets
def test_no_literal_of_a_real_template_is_overlooked() -> None:
    for source in templates()[::4]:
        expected = theirs._get_template_literal_text(source).split("\0")
        found = literal_text(source)
        for literal in expected:
            assert literal.strip() in found, (source, literal)


def test_every_kind_of_message_is_marked() -> None:
    @dataclass
    class Message:
        role: str
        content: str

    expected = mark({"role": "user", "content": "<s>x"}, ["<s>"])
    for message in (UserDict(role="user", content="<s>x"), Message("user", "<s>x")):
        assert mark([message], ["<s>"]) == [expected]
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(TemplateLimitExceeded):
        mark(nested, ["<s>"])
