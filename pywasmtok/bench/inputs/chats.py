"""Conversations for the chat groups: fresh words each time, in four shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LINES", "OWN_TEMPLATE", "Chat"]

Take = Callable[[int], str]
"""Takes so many bytes of text that no library has seen."""

OWN_TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n# Tools\\n\\n<tools>' }}
    {%- for tool in tools %}
        {{- '\\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '\\n</tools><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {{- message.content | trim }}
        {%- for call in message.tool_calls or [] %}
            {{- '\\n<tool_call>\\n{"name": "' ~ call.function.name ~ '", "arguments": ' }}
            {{- call.function.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


@dataclass(frozen=True)
class Chat:
    """One conversation and its tools."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None

    def copy(self) -> Chat:
        """A copy with strings of its own: a string keeps its UTF-8 form after the first use."""
        return Chat(_copy(self.messages), _copy(self.tools))


@dataclass(frozen=True)
class Line:
    make: Callable[[Take, random.Random], Chat] = field(repr=False)
    calls: int
    """Renders behind one measurement."""
    variants: int
    """Conversations that they are of."""
    turns: int
    """Measurements in each round. A turn of a few milliseconds meets one state of the machine, and
    there are two that are half as fast as each other: only many turns have a median."""


def short(take: Take, _: random.Random) -> Chat:
    return Chat([_said("user", take(60))])


def twenty(take: Take, _: random.Random) -> Chat:
    return Chat([_said(("user", "assistant")[turn % 2], take(200)) for turn in range(20)])


def three_tools(take: Take, rng: random.Random) -> Chat:
    return Chat([_said("system", take(200)), _said("user", take(100))], _tools(rng, 3))


def agent(take: Take, rng: random.Random) -> Chat:
    """Fifty times a question, a call, what it gave, and what the model says of it."""
    messages: list[dict[str, Any]] = []
    while len(messages) < 200:
        identifier = f"call{rng.getrandbits(20):05x}"
        function = {
            "name": rng.choice(_NAMES),
            "arguments": {"path": f"src/{rng.getrandbits(32):x}.py", "line": rng.randrange(2000)},
        }
        call = {"id": identifier, "type": "function", "function": function}
        messages += [
            _said("user", take(150)),
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {
                "role": "tool",
                "name": function["name"],
                "tool_call_id": identifier,
                "content": take(600),
            },
        ]
        messages.append(_said("assistant", take(150)))
    return Chat(messages, _tools(rng, 3))


LINES = {
    "short": Line(short, 20, 10, 6),
    "20 messages": Line(twenty, 10, 5, 6),
    "3 tools": Line(three_tools, 10, 5, 6),
    "agent, 200 messages": Line(agent, 3, 3, 2),
}

_NAMES = ("read_file", "run_command", "search", "write_file", "http_get", "sql_query")


def _said(role: str, content: str) -> dict[str, Any]:
    # Templates trim, each in its own way: that is not what is compared.
    return {"role": role, "content": content.strip() or "-"}


def _tools(rng: random.Random, count: int) -> list[dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = {
        "path": {"type": "string", "description": "The file, from the root of the project"},
        "line": {"type": "integer", "description": "The first line"},
        "mode": {"type": "string", "enum": ["text", "bytes"]},
    }
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"Runs {name} in the project and gives what it prints.",
                "parameters": {
                    "type": "object",
                    "properties": {key: dict(value) for key, value in properties.items()},
                    "required": ["path"],
                },
            },
        }
        for name in rng.sample(_NAMES, count)
    ]


def _copy(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode().decode()
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
