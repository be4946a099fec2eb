"""Plain calls of `apply_chat_template` go a shorter way, set against that of all others."""

from __future__ import annotations

import copy
from collections import OrderedDict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import small
from hypothesis import given, settings
from hypothesis import strategies as st

import pywasmtok
from pywasmtok import errors
from pywasmtok.chat import face
from pywasmtok.chat.rendering import sandbox
from pywasmtok.chat.rendering.sandbox import SandboxTemplate

TEMPLATE = (
    "{{ messages }}|{{ tools }}|{{ documents }}|{{ add_generation_prompt }}|{{ bos_token }}|"
    "{{ x }}|{{ messages[0].content + 'y' if x == 1 }}{{ raise_exception('no') if x == 2 }}"
)
USER = [{"role": "user", "content": "Hi"}]


class Odd:
    """No plain data."""


@pytest.fixture(scope="module")
def tok(tmp_path_factory: pytest.TempPathFactory) -> pywasmtok.Tokenizer:
    return opened(tmp_path_factory.mktemp("plain"))


def opened(folder: Path, template: Any = TEMPLATE) -> pywasmtok.Tokenizer:
    (folder / "tokenizer.json").write_bytes(small.file())
    return pywasmtok.create_tokenizer_with_chat_template(folder, template)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=30)
    | st.sampled_from(["\ud800", Odd(), OrderedDict(a=1), b"b", {1, 2}, Ellipsis]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "name", "content"]), inner, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=6,
)
MESSAGES = st.dictionaries(
    st.sampled_from(["role", "content", "thinking", "tool_calls"]), VALUES, max_size=4
)
CONVERSATIONS = st.lists(MESSAGES, max_size=4) | st.lists(MESSAGES | VALUES, max_size=3) | VALUES
TOOLS = st.none() | st.lists(MESSAGES, max_size=2) | st.tuples(MESSAGES) | st.lists(VALUES)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["x", "bos_token", "add_generation_prompts", "conversations"]),
    VALUES | st.sampled_from([1, 2]),
    max_size=2,
)


def said(work: Any) -> tuple[Any, ...]:
    try:
        return ("text", work())
    except (pywasmtok.TokenizerError, TypeError, AttributeError) as error:
        return (type(error), str(error))


@given(CONVERSATIONS, TOOLS, st.booleans() | VALUES, ARGUMENTS)
@settings(max_examples=200)
def test_both_ways_say_the_same(
    tok: pywasmtok.Tokenizer, chat: Any, tools: Any, prompt: Any, arguments: dict[str, Any]
) -> None:
    # The first call of its kind chooses the template.
    tok.apply_chat_template(USER, tokenize=False)
    tok.apply_chat_template(USER, tools=[], tokenize=False)
    asked = face.Asked(tools=tools, add_generation_prompt=prompt, arguments=dict(arguments))
    slowly = said(lambda: face.chat_text(tok, chat, asked))
    quickly = said(
        lambda: tok.apply_chat_template(
            chat, tools=tools, add_generation_prompt=prompt, tokenize=False, **arguments
        )
    )
    assert quickly == slowly


def test_a_call_like_one_before_makes_no_request(
    tok: pywasmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    chat: list[dict[str, Any]] = [{"role": "user", "content": "Hi", "thinking": None}]
    before = copy.deepcopy((chat, tools))
    first = [tok.apply_chat_template(chat, given, tokenize=False) for given in (None, tools)]
    monkeypatch.setattr(SandboxTemplate, "render", lambda *_: pytest.fail("the slow way"))
    assert first == [
        tok.apply_chat_template(chat, given, tokenize=False) for given in (None, tools)
    ]
    assert (chat, tools) == before


def test_what_is_no_plain_call_goes_the_other_way(tmp_path: Path) -> None:
    tok = opened(tmp_path, "{{ messages[0].content }}{{ documents }}{{ strftime_now('%Y') }}")
    now = datetime(1999, 5, 6)
    year = datetime.now().year
    for _ in range(2):
        assert tok.apply_chat_template(USER, tokenize=False) in {
            f"HiNone{year}",
            f"HiNone{year + 1}",
        }
        assert tok.apply_chat_template(USER, tokenize=False, now=now) == "HiNone1999"
        assert (
            tok.apply_chat_template(USER, documents=[{}], tokenize=False, now=now) == "Hi[{}]1999"
        )
        assert tok.apply_chat_template(USER, chat_template="{{ 1 }}", tokenize=False) == "1"
        assert tok.apply_chat_template([USER, USER], chat_template="x", tokenize=False) == [
            "x",
            "x",
        ]
        with pytest.raises(errors.InvalidArgument, match="exclude"):
            tok.apply_chat_template(
                USER, tokenize=False, add_generation_prompt=True, continue_final_message=True
            )
        with pytest.raises(errors.InvalidArgument, match="hf-3"):
            tok.apply_chat_template(USER, tokenize=False, profile="hf-3")  # type: ignore[arg-type]
    tok.set_chat_template("{{ messages|length }}")
    assert tok.apply_chat_template(USER, tokenize=False) == "1"
    tok.set_chat_template(lambda messages, **_: f"{len(messages)} by code")
    assert [tok.apply_chat_template(USER, tokenize=False) for _ in range(2)] == ["1 by code"] * 2


def test_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2031, 12, 30, 23, 58, 59, 987_654)

    monkeypatch.setattr(sandbox, "datetime", Stopped)
    tok = opened(tmp_path, "{{ strftime_now('%Y-%m-%d %H:%M:%S.%f|%z|%Z') }}")
    texts = [tok.apply_chat_template(USER, tokenize=False) for _ in range(2)]
    assert texts == ["2031-12-30 23:58:59.987654||"] * 2


def test_templates_by_name(tmp_path: Path) -> None:
    tok = opened(tmp_path, {"default": "plain", "tool_use": "{{ tools|length }} tools"})
    for _ in range(2):
        assert tok.apply_chat_template(USER, tokenize=False) == "plain"
        assert tok.apply_chat_template(USER, tools=[{}, {}], tokenize=False) == "2 tools"


def test_who_is_closed_renders_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as tok:
        assert tok.apply_chat_template(USER, tokenize=False)
    ways: list[dict[str, Any]] = [{}, {"tokenize": False}, {"tokenize": False, "strict": False}]
    for how in ways:
        with pytest.raises(pywasmtok.TokenizerClosed):
            tok.apply_chat_template(USER, **how)
    with pytest.raises(pywasmtok.TokenizerClosed):
        tok.chat_template  # noqa: B018
