"""The options of `chat`."""

from __future__ import annotations

import argparse
from typing import Any

from ..common import backend_options
from .parser import Parser, command, group

__all__ = ["add"]


def add(commands: Any) -> None:
    inner = group(commands, "chat", "conversations, as the model was trained to read them")
    made = _command(
        inner,
        "render",
        "a conversation as text",
        (
            "pywasmtok chat render chat.json --template template.jinja --prompt",
            "cat chat.json | pywasmtok chat render - --template template.jinja --json",
        ),
    )
    _conversation_options(made)
    made = _command(
        inner,
        "encode",
        "a conversation as ids, none of them forged by a message",
        ("pywasmtok chat encode chat.json --template template.jinja --prompt",),
    )
    _conversation_options(made)
    _command(
        inner,
        "inspect",
        "which templates there are, and what they can do",
        ("pywasmtok chat inspect --template template.jinja",),
    )


def _command(inner: Any, name: str, text: str, examples: tuple[str, ...]) -> Parser:
    made = command(inner, name, f"chat:{name}", text, examples)
    made.add_argument(
        "--template",
        metavar="FILE|TEXT",
        help="your own template, in place of the model's; -: standard input",
    )
    backend_options(made)
    return made


def _conversation_options(made: Parser) -> None:
    made.add_argument(
        "messages",
        nargs="?",
        metavar="FILE",
        help="JSON: a list of messages, or an object with messages, tools, documents; else "
        "standard input, as with -",
    )
    made.add_argument("--tools", metavar="FILE", help="JSON: a list of tools")
    made.add_argument("--documents", metavar="FILE", help="JSON: a list of documents")
    made.add_argument("--name", metavar="NAME", help="of several templates this one")
    made.add_argument("--prompt", action="store_true", help="add the generation prompt")
    made.add_argument(
        "--continue",
        dest="continues",
        nargs="?",
        const=True,
        default=False,
        metavar="FIELD",
        help="end with the last message (its content, or this field), to be continued",
    )
    made.add_argument("--now", metavar="TIME", help="what strftime_now tells, as 2025-01-02T03:04")
    made.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the template, as JSON or else as text; may be repeated",
    )
    # Says that there is nothing to choose.
    made.add_argument("--renderer", help=argparse.SUPPRESS)
    made.add_argument("--lenient", action="store_true", help="warn of what is not rendered exactly")
    made.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours for origins; default: auto, on a terminal",
    )
