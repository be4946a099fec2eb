"""Chat templates: what transformers renders, from templates and conversations of our own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from ..chat import extras, hostile, rare
from ..chat.conversations import CONVERSATIONS
from ..chat.lines import LINES
from ..chat.models import TEMPLATES
from ..chat.reference import (
    NOW,
    ORACLE,
    RAISED,
    REQUEST,
    RUN,
    SPECIAL_TOKENS,
    SYNTAX,
    RefusedError,
    render,
)
from ..chat.values import request as line_request
from ..references import HuggingFace
from . import Group, slug

# Codes that count as right for each error: a name may be looked up while parsing or rendering, and
# an implementation may refuse what it does not support.
REFUSALS = {
    SYNTAX: [SYNTAX, RUN, "unsupported"],
    RUN: [RUN, SYNTAX, "unsupported"],
    REQUEST: [REQUEST],
}
STOPPED = ["limit_exceeded", "deadline", RUN, SYNTAX, "unsupported"]
SINCE = "1.1"


def groups() -> Iterator[Group]:
    for name, (about, clause, templates) in LINES.items():
        group = _group(name, f"Templates of a line: {about}.", [clause])
        if name == "refusals":
            group.level = "should"
        for template in templates:
            _add(group, _named(template), about, template, line_request(template))
        yield group
    for name, (about, template) in TEMPLATES.items():
        group = _group(f"template-{name}", f"A whole template: {about}.", ["C-1"])
        for conversation, why, request in CONVERSATIONS:
            _add(group, conversation, why, template, request)
        yield group
    for name, clause, rows in (
        ("preparation", "C-8", extras.preparation()),
        ("continuation", "C-9", extras.continuation()),
        ("generation", "C-10", extras.generation()),
    ):
        group = _group(name, f"More than a template: {name}.", [clause])
        if name != "generation":
            group.requires = ["preparation"]
        for row in rows:
            _add(group, *row)
        yield group
    yield _rare()
    yield _hostile()
    for tokenizer in ("bpe-cl100k", "bpe-qwen2", "added-flags"):
        yield _encoded(tokenizer)


def _group(name: str, about: str, spec: list[str]) -> Group:
    return Group("chat", name, about, spec, {"oracle": ORACLE})


def _named(template: str) -> str:
    """A name that stays when others come and go."""
    digest = hashlib.sha256(template.encode()).hexdigest()[:4]
    return f"{slug(template)[:40].strip('-')}-{digest}"


def _add(group: Group, name: str, why: str, template: str, request: dict[str, Any]) -> None:
    group.add(
        name, why, "render", **_fields(template, request), expect=_expected(template, request)
    )


def _fields(template: str, request: dict[str, Any]) -> dict[str, Any]:
    fields = {**request, "template": {"text": template}, "since": SINCE}
    clock = {"now": NOW} if "strftime_now" in template else {}
    fields["options"] = {"special_tokens": SPECIAL_TOKENS, **clock, **request.get("options", {})}
    return fields


def _expected(template: str, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return render(template, request)
    except RefusedError as refusal:
        if refusal.code == RAISED:
            return {"error": {"code": [RAISED], "message": refusal.message}}
        return {"error": {"code": REFUSALS[refusal.code]}}


def _rare() -> Group:
    group = _group("rare", "What no known template has.", ["C-14"])
    for name, why, template, request in rare.rare():
        expected = _expected(template, request)
        if "error" not in expected:
            expected = {"any_of": [expected, {"error": {"code": ["unsupported"]}}]}
        group.add(name, why, "render", **_fields(template, request), expect=expected)
    return group


def _hostile() -> Group:
    about = "Templates that ask for more than anybody has, and a plain one after each."
    group = Group("chat", "hostile", about, ["C-15"], {"oracle": "derived"})
    afterwards = _fields(hostile.AFTERWARDS, {"messages": [{"role": "user", "content": "Hi"}]})
    for name, why, template in hostile.HOSTILE:
        fields = {**afterwards, "template": template}
        refused = {"error": {"code": STOPPED}}
        group.add(name, f"{why} ends in an error, in time", "render", **fields, expect=refused)
        group.add(
            *(f"{name}-after", f"a plain template behind {why}", "render"),
            **{**afterwards, "expect": {"text": "user"}},
        )
    return group


def _encoded(name: str) -> Group:
    """Ids of conversations in which messages contain the names of special tokens.

    For the reference, special tokens are renamed to private characters in the file, the template
    and the variables of the tokenizer. Messages are not changed: the old names in them are text.
    """
    reference = HuggingFace.of(name)
    special = [token["content"] for token in reference.document["added_tokens"] if token["special"]]
    stand_ins = {content: chr(0xF0000 + n) for n, content in enumerate(special)}
    renamed = reference.with_added(
        lambda token: {**token, "content": stand_ins.get(token["content"], token["content"])}
    )
    about = f"Conversations as ids, with special tokens of {name} in what the messages say."
    origin = {"oracle": f"{ORACLE}; {reference.oracle}, with the special tokens under other names"}
    group = Group("chat", f"encoded-{name}", about, ["C-17"], origin, name)
    first, last = special[0], special[-1]
    for kind, template in hostile.control_templates(first, last).items():
        for slug_, why, request in hostile.attacks(first, last):
            if (kind == hostile.DOCUMENTS) != ("documents" in request):
                continue
            options = {"special_tokens": {"bos_token": first}, **request.get("options", {})}
            hidden = _renamed(template, stand_ins)
            named = "bos_token" in options.get("kwargs", {})
            variables = {} if named else {"bos_token": stand_ins[first]}
            text = render(hidden, {**request, "variables": variables})["text"]
            group.add(
                *(f"{kind}-{slug_}", f"{why}; the template: {kind}", "encode_chat"),
                template={"text": template},
                **{**request, "options": options},
                since="1.3" if kind == hostile.DOCUMENTS else SINCE,
                spec=["C-16"] if slug_.startswith("harmless") else ["C-17"],
                expect={"ids": renamed.encode(text)},
            )
    return group


def _renamed(text: str, stand_ins: dict[str, str]) -> str:
    for content in sorted(stand_ins, key=len, reverse=True):
        text = text.replace(content, stand_ins[content])
    return text
