"""A conversation that grows: always the ids of the whole, and most of them not encoded again."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import small
from assets import SERVED, Asset, needs_assets, open_tokenizer

import pywasmtok
from chat.whole_reference import ReferenceRenderer
from pywasmtok.chat.session import ChatSession

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.thoughts and loop.last %}<think>"
    "{{ m.thoughts }}</think>{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if quiet %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}"
)
WORDS = (
    "Hello", " world", "  ", "\n", "\n\n", "don't", " 123456", "é", "你好", " 🦜", "<think>",
    "<|im_", "end|>", "<|im_end|>", "<s>", "ſ", "e\u0301", "\u00a0", "a" * 40, "{}", "\t", "'", ".",
    "Ⅷ", "한",
)  # fmt: skip


def test_variables_of_any_name(tok: pywasmtok.Tokenizer) -> None:
    tok.set_chat_template("{{ call }}{{ tok }}")
    variables: dict[str, Any] = {"call": 1, "tok": 2, "self": 3}
    messages = [{"role": "user", "content": "a"}]
    assert tok.chat_session(messages=messages, **variables).render() == "12"
    assert tok.encode_chat(messages, **variables).text == "12"


def test_options_of_a_step_are_as_true_as_in_the_library(tok: pywasmtok.Tokenizer) -> None:
    session = session_of(tok, messages=[{"role": "user", "content": "a"}])
    odd: Any = [1]
    assert session.render(add_generation_prompt=odd) == session.render(add_generation_prompt=True)
    nothing: Any = None
    with pytest.raises(pywasmtok.InvalidArgument, match="messages is a list"):
        session.extend(nothing)


def session_of(tok: pywasmtok.Tokenizer, **arguments: Any) -> ChatSession:
    tok.set_chat_template(TEMPLATE)
    return tok.chat_session(renderer=ReferenceRenderer(), **arguments)


def grow(tok: pywasmtok.Tokenizer, rng: random.Random, turns: int) -> ChatSession:
    session = session_of(tok, quiet=rng.random() < 0.5)
    for turn in range(turns):
        words = "".join(rng.choices(WORDS, k=rng.choice([0, 1, 5, 60, 400])))
        message = {"role": "user" if turn % 2 == 0 else "assistant", "content": words}
        if rng.random() < 0.3:
            message["thoughts"] = "".join(rng.choices(WORDS, k=8))
        session.append(message)
        if rng.random() < 0.1:
            # What was said before is changed.
            rng.choice(session.messages)["content"] += rng.choice(WORDS)
        if rng.random() < 0.05:
            del session.messages[:-1]
        asked = {"add_generation_prompt": rng.random() < 0.7}
        before = session._pieces
        encoding = session.encode(**asked)
        text = session.render(**asked)
        # Without the truncation and the padding that some files state, as in transformers.
        whole = tok.chat_templates.encoder.encode(text, add_special_tokens=False)
        assert encoding.ids == whole.ids, (before, text)
        assert encoding.served_by == whole.served_by
    return session


@needs_assets
@pytest.mark.parametrize("asset", SERVED, ids=lambda asset: asset.id)
def test_the_ids_are_those_of_the_whole(asset: Asset) -> None:
    tok = open_tokenizer(asset)
    session = grow(tok, random.Random(7), 16)
    assert session.stats.calls == 16
    assert (session.stats.reason is None) == (session._backend is not None)


@needs_assets
@pytest.mark.parametrize("family", ["llama3", "qwen3", "gpt2", "deepseek-v3"])
def test_little_is_encoded_again(family: str) -> None:
    tok = open_tokenizer(Asset(family, "tokenizer.json"))
    for quiet in (False, True):
        session = session_of(tok, quiet=quiet)
        for turn in range(60):
            session.append({"role": "user", "content": f"Question {turn}: " + "why not? " * 30})
            session.encode(add_generation_prompt=True)
            session.append({"role": "assistant", "content": "Because it is so. " * 30})
        stats = session.stats
        assert stats.reason is None
        assert (stats.calls, stats.whole) == (60, 1)
        fresh = stats.chars - stats.kept_chars
        assert fresh < stats.chars / 20
        assert session.kept_ids > 0.9 * len(session.encode())


@pytest.fixture
def tok(tmp_path: Path) -> pywasmtok.Tokenizer:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    return pywasmtok.create_tokenizer(tmp_path)


def test_it_is_apply_chat_template(tok: pywasmtok.Tokenizer) -> None:
    renderer = ReferenceRenderer()
    session = session_of(tok)
    session.extend([{"role": "user", "content": "Hello"}, {"role": "user", "content": "x"}])
    ids = session.encode(add_generation_prompt=True)
    expected = tok.apply_chat_template(
        session.messages, renderer=renderer, add_generation_prompt=True
    )
    assert ids.ids == expected["input_ids"]
    assert ids.tokens
    ids = session.encode(continue_final_message=True)
    expected = tok.apply_chat_template(
        session.messages, renderer=renderer, continue_final_message=True
    )
    assert ids.ids == expected["input_ids"]


def test_arguments(tok: pywasmtok.Tokenizer) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="encode"):
        session_of(tok, add_generation_prompt=True)
    with pytest.raises(pywasmtok.InvalidArgument, match="empty"):
        session_of(tok).encode()


def test_without_cuts_everything_is_encoded(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.UNSERVED)
    tok = pywasmtok.create_tokenizer(tmp_path)
    session = grow(tok, random.Random(1), 5)
    assert session.stats.whole == 5
    assert "hf" in str(session.stats.reason)


def test_a_text_that_cannot_be_encoded_leaves_the_session_usable(
    tok: pywasmtok.Tokenizer,
) -> None:
    session = session_of(tok, messages=[{"role": "user", "content": "Hello world " * 50}])
    first = session.encode().ids
    session.append({"role": "user", "content": "\ud800"})
    with pytest.raises(pywasmtok.InvalidText):
        session.encode()
    session.messages.pop()
    assert session.encode().ids == first
    assert pickle.loads(pickle.dumps(session.messages)) == session.messages
