"""Conversations out of Hypothesis: near what servers send, and further and further from it."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from pywasmtok.chat.contract import RenderRequest

from ..corpus import NOW, special_tokens

WORDS = [
    "",
    " ",
    "a",
    "Hello, world",
    " padded \n",
    "\n\nlines\n",
    "<think>\nhm\n</think>\n\nyes",
    "</think>",
    "<|im_start|>",
    "[INST] x [/INST]",
    'it\'s "quoted" & <b>',
    "äöü 漢字 😀",
    "\x1c\x1d x \x1f",
    "\u2028\x85\u00a0",
    "{{ x }}{% y %}",
    '{"a": 1}',
    "%s %(a)s {0}",
    "\x00\x7f\\",
    "tool_call",
    "user",
]
ROLES = ["system", "user", "assistant", "tool", "developer", "function", "ipython", "x", ""]

texts = st.one_of(
    st.sampled_from(WORDS),
    st.lists(st.sampled_from(WORDS), max_size=4).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
numbers = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**63, -(2**63), 2**64, 2**100, 0.5, 1.0, -0.0, 1e16, 1e-7, 1e22, 0.1]),
    st.floats(allow_nan=False, allow_infinity=False),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)
keys = st.sampled_from(
    ["a", "name", "type", "items", "keys", "get", "content", "city", "x y", "ä", "", "_p", "enum"]
)
data: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(keys, texts), inner, max_size=4)
    ),
    max_leaves=8,
)
schemas = st.fixed_dictionaries(
    {"type": st.sampled_from(["object", "string", "array"])},
    optional={
        "properties": st.dictionaries(
            keys,
            st.fixed_dictionaries(
                {"type": st.sampled_from(["string", "integer", "array", ["string", "null"]])},
                optional={
                    "description": texts,
                    "enum": st.lists(leaves, max_size=3),
                    "items": st.fixed_dictionaries({"type": st.just("string")}),
                    "default": data,
                },
            ),
            max_size=3,
        ),
        "required": st.lists(keys, max_size=2),
    },
)
functions = st.fixed_dictionaries(
    {"name": st.sampled_from(["get_weather", "search", "ä b"]), "parameters": schemas},
    optional={"description": texts, "return": schemas, "strict": st.booleans()},
)
tools = st.one_of(
    functions.map(lambda function: {"type": "function", "function": function}), functions
)
calls = st.fixed_dictionaries(
    {
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["get_weather", "search"]),
                "arguments": st.one_of(
                    st.dictionaries(keys, data, max_size=3), st.sampled_from(['{"a": 1}', "", "x"])
                ),
            }
        ),
    },
    optional={"id": st.sampled_from(["call_1", "abcdefghi", "123456789"])},
)
parts = st.one_of(
    texts.map(lambda text: {"type": "text", "text": text}),
    st.sampled_from(
        [
            {"type": "image"},
            {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
            {"type": "audio"},
            {"text": "no type"},
            {"type": "video", "video": "v.mp4"},
        ]
    ),
)
contents = st.one_of(texts, texts, st.none(), st.lists(parts, max_size=3), data)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES[:4])},
    optional={
        "content": contents,
        "tool_calls": st.one_of(st.none(), st.lists(calls, max_size=2)),
        "reasoning_content": st.one_of(st.none(), texts),
        "thinking": texts,
        "name": st.sampled_from(["get_weather", "", "bob"]),
        "tool_call_id": st.sampled_from(["call_1", "abcdefghi"]),
        "weight": numbers,
    },
)
plain = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(ROLES[:3]),
    texts,
)


def _turns(contents: list[str], system: bool) -> list[dict[str, str]]:
    roles = ["user", "assistant"]
    chat = [
        {"role": roles[place % 2], "content": content} for place, content in enumerate(contents)
    ]
    return [{"role": "system", "content": contents[0]}, *chat] if system and contents else chat


chats = st.one_of(
    st.builds(_turns, st.lists(texts, min_size=1, max_size=5), st.booleans()),
    st.lists(plain, min_size=1, max_size=4),
    st.lists(messages, min_size=1, max_size=5),
    st.lists(
        st.dictionaries(st.sampled_from(["role", "content", "a"]), data), min_size=1, max_size=3
    ),
)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "enable_thinking": st.booleans(),
        "thinking": st.booleans(),
        "reasoning_effort": st.sampled_from(["low", "high", ""]),
        "date_string": texts,
        "custom_tools": st.none(),
        "tools_in_user_message": st.booleans(),
        "bos_token": texts,
        "x": data,
        "y": data,
        "content": contents,
    },
)
requests = st.builds(
    RenderRequest,
    messages=chats,
    tools=st.one_of(st.none(), st.none(), st.lists(tools, max_size=2)),
    documents=st.one_of(
        st.none(), st.none(), st.lists(st.dictionaries(keys, texts, max_size=2), max_size=2)
    ),
    add_generation_prompt=st.booleans(),
    special_tokens=st.just(special_tokens()),
    arguments=arguments,
    now=st.just(NOW),
)


def drawn(number: int, start: int) -> list[RenderRequest]:
    """So many requests, the same ones for the same start."""
    found: list[RenderRequest] = []

    @seed(start)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests)
    def collect(request: RenderRequest) -> None:
        found.append(request)

    collect()
    return found
