"""The command `pywasmtok chat`: render, encode, inspect."""

from __future__ import annotations

import argparse
import json
import os
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..chat.contract import Origin, Rendered
from ..chat.rendering.renderers import refuse_unknown
from ..errors import InvalidArgument, UnsupportedTemplateFeature
from .common import (
    STDIN,
    json_text,
    open_tokenizer,
    print_json,
    print_tree,
    read_input,
    shown_source,
    source_file,
)

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["encode", "inspect", "render"]

# Colours of the terminal, by origin: the role of the message or the name of the argument.
COLOURS = {
    "template": "2",
    "user": "32",
    "assistant": "36",
    "system": "35",
    "developer": "35",
    "tool": "33",
    "tools": "34",
    "documents": "34",
}
OTHER = "31"


def render(options: argparse.Namespace) -> int:
    from ..chat.face import Asked, Chat

    coloured = _coloured(options)
    with _opened(options) as tok:
        messages, asked = _asked(options, tok)
        chat = Chat(tok.chat_templates, Asked(**asked))
        # The end of a text that goes on has no generation spans.
        wants_spans = options.json and not options.continues
        request = chat.request(messages, generation=wants_spans)
        try:
            rendered = chat.template.render(replace(request, origins=coloured or options.json))
        except UnsupportedTemplateFeature:
            # The text may be exact although the origins are unknown.
            rendered = chat.template.render(request)
            coloured = False
        for warning in chat.template.warnings:
            print(f"pywasmtok: warning: {warning}", file=sys.stderr)
    if options.json:
        return print_json(
            {
                "text": rendered.text,
                "generation": rendered.generation,
                "origins": [asdict(origin) for origin in rendered.origins],
            }
        )
    if coloured:
        _paint(rendered, messages)
        return 0
    sys.stdout.write(rendered.text)
    if sys.stdout.isatty() and not rendered.text.endswith("\n"):
        print()
    return 0


def encode(options: argparse.Namespace) -> int:
    with _opened(options) as tok:
        messages, asked = _asked(options, tok)
        name = asked.pop("chat_template")
        encoded = tok.encode_chat(messages, chat_template=name, **asked)
        tokens = encoded.encoding.tokens
        spans = [None if span is None else asdict(span) for span in encoded.messages]
        answer: dict[str, Any] = {
            "ids": encoded.ids,
            "tokens": tokens,
            "messages": spans,
            "assistant_mask": encoded.assistant_mask,
            "defused": encoded.defused,
        }
        if options.json:
            return print_json(answer)
        offsets = encoded.encoding.offsets
    shown = [json_text(token) for token in tokens]
    if _coloured(options):
        who = _Writers(encoded.origins, messages)
        shown = [
            _in_colour(one, who.at(start)) for one, (start, _) in zip(shown, offsets, strict=True)
        ]
    print("ids:     ", " ".join(map(str, encoded.ids)))
    print("tokens:  ", " ".join(shown))
    for place, span in enumerate(encoded.messages):
        where = f"tokens {span.token_start}-{span.token_end}" if span else "nothing"
        print(f"message {place}: {_role(messages, place)}, {where}")
    print(f"defused:  {encoded.defused} control tokens that a message names")
    return 0


def inspect(options: argparse.Namespace) -> int:
    with _opened(options) as tok:
        templates = tok.chat_templates
        place = templates.place
        if place is None:
            raise templates.none()
        sizes = {name: f"{len(text):,} characters" for name, text in place.templates.items()}
        capabilities = asdict(tok.chat_capabilities)
        answer: dict[str, Any] = {
            "source": shown_source(templates.source),
            "from": place.place,
            "templates": sizes,
            "outranked": [other.place for other in templates.places[1:]],
            "capabilities": capabilities,
        }
    if options.json:
        return print_json(answer)
    how = capabilities.pop("how", {})
    for name, value in capabilities.items():
        if name in how:
            capabilities[name] = f"{value} ({how[name]})"
    print_tree(answer)
    return 0


def _opened(options: argparse.Namespace) -> Tokenizer:
    tok = open_tokenizer(options)
    if options.template is not None:
        tok.set_chat_template(source_file(options.template))
    return tok


def _asked(options: argparse.Namespace, tok: Tokenizer) -> tuple[list[Any], dict[str, Any]]:
    """The messages, and everything else that is said about them."""
    refuse_unknown(options.renderer)
    given = _json(options.messages)
    said: dict[str, Any] = given if isinstance(given, dict) else {"messages": given}
    messages = said.get("messages")
    if not isinstance(messages, list) or said.keys() - {"messages", "tools", "documents"}:
        raise InvalidArgument(
            "a conversation is a list of messages, or an object with messages, tools, documents",
            source=_named(options.messages),
        )
    for name in ("tools", "documents"):
        file = getattr(options, name)
        if file is not None:
            said = {**said, name: _json(file)}
    return messages, {
        "tools": said.get("tools"),
        "documents": said.get("documents"),
        "chat_template": _name(options.name, tok),
        "add_generation_prompt": options.prompt,
        "continue_final_message": options.continues,
        "now": _time(options.now),
        "strict": not options.lenient,
        "arguments": dict(map(_argument, options.arg)),
    }


def _name(given: str | None, tok: Tokenizer) -> str | None:
    """The name of one of several templates: what is no name would be rendered itself."""
    place = tok.chat_templates.place
    if given is None or place is None or place.problem is not None:
        return None
    if given not in place.templates:
        raise InvalidArgument(
            f"no chat template has the name {given!r}",
            hint=f"There are {', '.join(sorted(place.templates))}",
        )
    return given if place.named else None


def _json(file: str | None) -> Any:
    try:
        return json.loads(read_input(file or STDIN))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"no JSON: {error}", source=_named(file)) from error


def _named(file: str | None) -> str:
    return "standard input" if file in {None, "-"} else file


def _argument(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not name or not equals:
        raise InvalidArgument(f"--arg wants NAME=VALUE, not {given!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
    except RecursionError as error:
        raise InvalidArgument(f"--arg {name}: JSON of too many levels") from error


def _time(given: str | None) -> datetime | None:
    if given is None:
        return None
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise InvalidArgument(f"--now wants a time as 2025-01-02T03:04, not {given!r}") from None


def _coloured(options: argparse.Namespace) -> bool:
    if options.json or options.color == "never":
        return False
    if options.color == "always":
        return True
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


class _Writers:
    """The origin of the character at a place."""

    def __init__(self, origins: Sequence[Origin], messages: Sequence[Any]) -> None:
        self._origins = origins
        self._messages = messages
        self._starts = [origin.start for origin in origins]

    def at(self, place: int) -> str:
        n = bisect_right(self._starts, place) - 1
        if n < 0 or place >= self._origins[n].end:
            return "template"
        return self.of(self._origins[n])

    def of(self, origin: Origin) -> str:
        match origin.path:
            case ("messages", int(place), *_):
                return _role(self._messages, place)
            case (first, *_):
                return str(first)
            case _:
                return "mixed"


def _role(messages: Sequence[Any], place: int) -> str:
    message = messages[place]
    return str(message.get("role")) if isinstance(message, dict) else "message"


def _paint(rendered: Rendered, messages: Sequence[Any]) -> None:
    """The text in colours, and on standard error what they mean."""
    seen: dict[str, None] = {}
    for text, who in _parts(rendered, _Writers(rendered.origins, messages)):
        seen[who] = None
        sys.stdout.write("\n".join(_in_colour(_visible(line), who) for line in text.split("\n")))
    if not rendered.text.endswith("\n"):
        print()
    sys.stdout.flush()
    print("by", ", ".join(_in_colour(_visible(who), who) for who in seen), file=sys.stderr)


def _parts(rendered: Rendered, who: _Writers) -> Iterator[tuple[str, str]]:
    at = 0
    for origin in rendered.origins:
        if at < origin.start:
            yield rendered.text[at : origin.start], "template"
        yield rendered.text[origin.start : origin.end], who.of(origin)
        at = origin.end
    if at < len(rendered.text):
        yield rendered.text[at:], "template"


def _in_colour(text: str, who: str) -> str:
    return f"\x1b[{COLOURS.get(who, OTHER)}m{text}\x1b[0m" if text else ""


def _visible(text: str) -> str:
    """A message must not paint the terminal itself."""
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in text)
