"""Variables of the one-line templates: each gets those that it names."""

from __future__ import annotations

import re
from typing import Any

POOL: dict[str, Any] = {
    "text": "hello",
    "empty_text": "",
    "spaced": "  a b \n",
    "lines": "one\ntwo\nthree",
    "numbers": [3, 1, 2],
    "words": ["pear", "apple", "fig"],
    "empty_list": [],
    "empty_dict": {},
    "zero": 0,
    "seven": 7,
    "minus": -4,
    "half": 0.5,
    "tiny": 1e-07,
    "huge": 1.5e300,
    "big": 2**62,
    "wide": 10**40 + 7,
    "yes": True,
    "no": False,
    "person": {"name": "Ada", "age": 36, "langs": ["en", "fr"]},
    "people": [
        {"name": "Ada", "age": 36, "langs": ["en"]},
        {"name": "Grace", "age": 85, "langs": []},
        {"name": "Alan", "age": 36, "langs": ["en", "de"]},
    ],
    "nested": {"list": [1, {"key": "deep"}], "dict": {"a": {"b": None}}, "flag": True},
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": []}]}, {"v": 4, "kids": []}],
}
MESSAGES = [
    {"role": "user", "content": " Hi\nthere "},
    {"role": "assistant", "content": "Hello <b>you</b>!"},
]
ONE = [{"role": "user", "content": "Hi"}]


def request(template: str) -> dict[str, Any]:
    """What a one-line template is rendered with."""
    named = set(re.findall(r"[a-z_]+", template))
    made: dict[str, Any] = {"messages": MESSAGES if "messages" in named else ONE}
    arguments = {name: value for name, value in POOL.items() if name in named}
    if arguments:
        made["options"] = {"kwargs": arguments}
    return made
