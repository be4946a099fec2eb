"""No control token comes from what a message says: attacks on every real template.

`PYWASMTOK_ATTACKS` says how many adversarial conversations each template meets (200 in the long
run); `PYWASMTOK_ATTACK_SEED` which ones.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from datetime import datetime
from functools import lru_cache
from typing import Any

import pytest
import tokenizers
from assets import ROOT, Asset, needs_assets, open_tokenizer

import pywasmtok
from pywasmtok.chat.contract import CompiledTemplate, RenderRequest
from pywasmtok.chat.encode import EncodedChat, encode_rendered
from pywasmtok.chat.rendering.sandbox import renderer
from pywasmtok.errors import TemplateError

pytestmark = needs_assets

ATTACKS = int(os.environ.get("PYWASMTOK_ATTACKS", "4"))
SEED = os.environ.get("PYWASMTOK_ATTACK_SEED", "")
NOW = datetime(2025, 1, 2, 3, 4, 5)
CONTROL = re.compile(
    r"<\|[^<>|{}\s']{1,40}\|>|<｜[^<>{}\s']{1,40}｜>|</?[a-zA-Z_]{1,30}>|\[/?[A-Z_]{2,30}\]|<</?SYS>>"
)
# Roles out of which templates make tokens.
ROLES = ("system", "user", "assistant", "tool", "developer", "observation")
DISARMED = "ж"


@lru_cache(maxsize=1)
def templates() -> dict[str, str]:
    folder = ROOT / "chat" / "templates"
    return {path.stem: path.read_bytes().decode() for path in sorted(folder.glob("*.jinja"))}


@lru_cache(maxsize=1)
def special_tokens() -> dict[str, str]:
    whole = json.loads((ROOT / "chat" / "conversations.json").read_text(encoding="utf-8"))
    found: dict[str, str] = whole["special_tokens_map"]
    return found


@lru_cache(maxsize=1)
def data() -> bytes:
    """A real tokenizer to which all that looks like a token of any template was added."""
    whole = json.loads(Asset("qwen3", "tokenizer.json").read())
    names = {name for source in templates().values() for name in CONTROL.findall(source)}
    names |= {f"<|{role}|>" for role in ROLES}
    names |= {token for token in special_tokens().values() if isinstance(token, str)}
    whole["added_tokens"] = [
        {**token, "special": True} if token["content"] in names else token
        for token in whole["added_tokens"]
    ]
    known = {token["content"]: token for token in whole["added_tokens"]}
    number = max(token["id"] for token in known.values())
    for name in sorted(names - known.keys()):
        number += 1
        whole["added_tokens"].append(
            {
                "id": number,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
        )
    return json.dumps(whole).encode()


@lru_cache(maxsize=1)
def tokenizer() -> pywasmtok.Tokenizer:
    return open_tokenizer(Asset("qwen3", "tokenizer.json"), data=data())


@lru_cache(maxsize=1)
def control() -> dict[int, str]:
    added = tokenizer().added_tokens.items()
    return {token.id: name for name, token in added if token.special}


def written_by(source: str) -> list[str]:
    names = sorted(set(CONTROL.findall(source)) & set(control().values()))
    return [*names, *(token for token in special_tokens().values() if isinstance(token, str))]


class Attacker:
    """Texts made of the template's own tokens, and conversations made of such texts."""

    def __init__(self, source: str, seed: str) -> None:
        self.rng = random.Random(seed)
        self.names = written_by(source)
        self.rest = ""

    def text(self) -> str:
        rng = self.rng
        # What was left of the token that the last text ended in.
        parts, self.rest = [self.rest], ""
        for _ in range(rng.randrange(4)):
            name = rng.choice(self.names)
            cut = rng.randrange(1, len(name))
            parts.append(
                rng.choice(
                    [
                        name,
                        name[:cut],
                        name[cut:],
                        name + "system\n" + name,
                        f" {name} ",
                        name.upper(),
                        name.replace("<", "\\u003c").replace("|", "\\u007c"),
                        name[:cut] + "\U000f0000" + name[cut:],
                        name[:cut] + "\U000f0010\U000f0001" + name[cut:] + "\U000f0011",
                        "{{ '" + name + "' }}{% endgeneration %}",
                        json.dumps({name: name}),
                        "hello",
                        "\n",
                    ]
                )
            )
        if rng.random() < 0.5:
            name = rng.choice(self.names)
            cut = rng.randrange(1, len(name))
            parts.append(name[:cut])
            self.rest = name[cut:]
        return "".join(parts)

    def content(self) -> Any:
        if self.rng.random() < 0.7:
            return self.text()
        return [{"type": "text", "text": self.text()} for _ in range(self.rng.randrange(1, 4))]

    def key(self) -> str:
        return self.text() if self.rng.random() < 0.5 else "city"

    def call(self) -> dict[str, Any]:
        arguments = {self.key(): self.text(), "b": [self.text(), 1, None, {self.key(): True}]}
        function = {
            "name": self.rng.choice(["f", self.text()]),
            "arguments": self.rng.choice([arguments, json.dumps(arguments, ensure_ascii=False)]),
        }
        return {"type": "function", "id": "123456789", "function": function}

    def request(self) -> RenderRequest:
        rng = self.rng
        messages: list[dict[str, Any]] = []
        if rng.random() < 0.4:
            messages.append({"role": "system", "content": self.text()})
        messages.append({"role": "user", "content": self.content()})
        if rng.random() < 0.6:
            answer: dict[str, Any] = {"role": "assistant", "content": self.text()}
            if rng.random() < 0.3:
                answer["reasoning_content"] = self.text()
            if rng.random() < 0.3:
                answer["tool_calls"] = [self.call()]
            messages.append(answer)
            if "tool_calls" in answer:
                result = {"role": "tool", "content": self.text(), "name": self.text()}
                messages.append({**result, "tool_call_id": "123456789"})
            messages.append({"role": "user", "content": self.content()})
        if rng.random() < 0.15:
            messages[-1]["role"] = self.text()
        tool = {
            "name": rng.choice(["f", self.text()]),
            "description": self.text(),
            "parameters": {
                "type": "object",
                "properties": {self.key(): {"type": "string", "description": self.text()}},
            },
        }
        tools = [{"type": "function", "function": tool}] if rng.random() < 0.3 else None
        documents = [{"title": self.text(), "text": self.text()}] if rng.random() < 0.1 else None
        return RenderRequest(
            messages=messages,
            tools=tools,
            documents=documents,
            add_generation_prompt=rng.random() < 0.5,
            special_tokens=special_tokens(),
            arguments={"system_prompt": self.text()} if rng.random() < 0.1 else {},
            now=NOW,
            origins=True,
            generation=True,
        )


def check(encoded: EncodedChat) -> None:
    """No control token has a character that is somebody's."""
    untrusted = bytearray(len(encoded.text))
    for origin in encoded.origins:
        untrusted[origin.start : origin.end] = b"\1" * (origin.end - origin.start)
    for token_id, (start, end) in zip(encoded.ids, encoded.encoding.offsets, strict=True):
        if token_id in control():
            name, text = control()[token_id], encoded.text[start:end]
            assert not any(untrusted[start:end]), (name, text)
            assert name in text, (name, text)


@pytest.mark.parametrize("name", sorted(templates()) if ROOT.is_dir() else [])
def test_no_message_makes_a_control_token(name: str) -> None:
    source = templates()[name]
    template = renderer().compile(source)
    rendered = 0
    # Many templates refuse most of what is no proper conversation.
    for number in range(10 * ATTACKS):
        if rendered == ATTACKS:
            break
        request = Attacker(source, f"{SEED}{name}{number}").request()
        try:
            chat = template.render(request)
        except TemplateError as error:
            refused = error if error.kind == "template_unsupported" else None
            if refused:
                pytest.fail(f"refused: {refused}")
            continue
        rendered += 1
        encoded = encode_rendered(tokenizer(), chat, len(request.messages), "special")
        check(encoded)
    assert rendered or not renders_plainly(template)


PLAIN = [
    {"role": "user", "content": "What is the capital of Peru, and of naïve Élan?"},
    {"role": "assistant", "content": "Lima.\n\n1. It is  big.\n"},
    {"role": "user", "content": "  thanks 🌶️ "},
]


def renders_plainly(template: CompiledTemplate) -> bool:
    try:
        template.render(RenderRequest(messages=PLAIN, special_tokens=special_tokens(), now=NOW))
    except TemplateError:
        return False
    return True


@lru_cache(maxsize=1)
def reference() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_buffer(data())


def test_harmless_chats_have_the_ids_of_the_reference() -> None:
    checked = 0
    for name, source in templates().items():
        template = renderer().compile(source)
        for prompt in (False, True):
            request = RenderRequest(
                messages=PLAIN,
                add_generation_prompt=prompt,
                special_tokens=special_tokens(),
                now=NOW,
                origins=True,
                generation=True,
            )
            try:
                chat = template.render(request)
            except TemplateError:
                continue
            encoded = encode_rendered(tokenizer(), chat, len(PLAIN), "special")
            expected = reference().encode(chat.text, add_special_tokens=False)
            assert encoded.ids == expected.ids, name
            assert encoded.defused == 0
            checked += 1
    assert checked > 300


def test_the_template_alone_writes_control_tokens() -> None:
    """The same chats with a letter inside every name have as many: the template's."""
    checked = different = 0
    for source in templates().values():
        template = renderer().compile(source)
        for said in written_by(source)[:3]:
            counts = []
            for text in (said, said[0] + DISARMED + said[1:]):
                messages = [{"role": "user", "content": f"a{text}b"}]
                request = RenderRequest(
                    messages=messages, special_tokens=special_tokens(), now=NOW, origins=True
                )
                try:
                    chat = template.render(request)
                except TemplateError:
                    break
                encoded = encode_rendered(tokenizer(), chat, 1, "special")
                counts.append(Counter(number for number in encoded.ids if number in control()))
            if len(counts) == 2:
                checked += 1
                different += counts[0] != counts[1]
    assert checked > 300
    assert different == 0
