"""Conversations of every shape that templates meet."""

from __future__ import annotations

from typing import Any

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Says what the weather is <now> & here.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city's name"},
                "unit": {"type": "string", "enum": ["C", "F"]},
            },
            "required": ["city"],
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def call(name: str, arguments: Any, number: str = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": number, "type": "function", "function": function}


def tool(text: Any, number: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "name": "get_weather", "content": text}


PROMPT = {"add_generation_prompt": True}

# name, what is tested, the request
CONVERSATIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("one", "one message and a prompt", {"messages": [user("Hi")], "options": PROMPT}),
    (
        "turns",
        "several turns with a system message",
        {"messages": [system("Be brief."), user("Hi"), assistant("Hello!"), user("Bye")]},
    ),
    (
        "space",
        "white space around what the messages say",
        {
            "messages": [system(" s \n"), user("\n a\tb \n\n"), assistant("  c  ")],
            "options": PROMPT,
        },
    ),
    (
        "odd",
        "characters that json, html and templates treat in their own ways",
        {"messages": [user("<b>&amp;</b> {{ x }} {% y %} \"q\" 'r' \\n \u4f60 \U0001f336 \u0000")]},
    ),
    ("empty", "messages that say nothing", {"messages": [system(""), user(""), assistant("")]}),
    (
        "tools",
        "tools are offered",
        {"messages": [user("Weather?")], "tools": [WEATHER, CLOCK], "options": PROMPT},
    ),
    (
        "calls",
        "a call with arguments as an object, and its answer",
        {
            "messages": [
                user("Weather?"),
                assistant(
                    "", tool_calls=[call("get_weather", {"city": "Par\u00eds", "unit": "C"})]
                ),
                tool('{"t": 3.0}'),
                assistant("Cold."),
            ],
            "tools": [WEATHER],
        },
    ),
    (
        "parallel",
        "two calls at once, without content, arguments as text",
        {
            "messages": [
                user("Both?"),
                assistant(
                    None,
                    tool_calls=[
                        call("get_weather", '{"city": "Oslo"}'),
                        call("clock", "{}", "c2"),
                    ],
                ),
                tool("1", "c1"),
                tool("2", "c2"),
            ],
            "tools": [WEATHER, CLOCK],
            "options": PROMPT,
        },
    ),
    (
        "reasoning",
        "reasoning beside the content",
        {"messages": [user("2+2?"), assistant("4", reasoning_content="Add.\n"), user("Sure?")]},
    ),
    (
        "thoughts",
        "reasoning inside the content",
        {"messages": [user("2+2?"), assistant("<think>\nAdd.\n</think>\n\n4"), user("Sure?")]},
    ),
    (
        "parts",
        "content in parts, one of them an image",
        {
            "messages": [
                user(
                    [
                        {"type": "image"},
                        {"type": "text", "text": "What "},
                        {"type": "text", "text": "is it?"},
                    ]
                ),
                assistant([{"type": "text", "text": "A cat."}]),
            ]
        },
    ),
    (
        "documents",
        "documents to answer from",
        {
            "messages": [user("Why?")],
            "documents": [{"title": "A", "text": "First."}, {"title": "B", "text": 'Second "x".'}],
            "options": PROMPT,
        },
    ),
    ("order", "an assistant speaks first", {"messages": [assistant("Hello"), user("Hi")]}),
    (
        "unknown",
        "a role that no template knows",
        {"messages": [{"role": "critic", "content": "No."}]},
    ),
    (
        "switches",
        "arguments of the caller's that the template may read",
        {
            "messages": [user("Hi"), assistant("Yo"), user("Again")],
            "options": {
                "add_generation_prompt": True,
                "kwargs": {
                    "enable_thinking": False,
                    "date_string": "01 Jan 2020",
                    "bos_token": "[B]",
                },
            },
        },
    ),
]
