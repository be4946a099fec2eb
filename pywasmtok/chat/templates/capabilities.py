"""What a template can do, found out by rendering it.

Each probe puts words that stand nowhere else into a conversation and looks what became of them.
Nothing is concluded from the words of the template but which of its variables are worth a try.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ..._signals import raised_by_handler
from ...errors import Cancelled, DeadlineExceeded, HostError, TokenizerError
from ..contract import CompiledTemplate, RenderRequest, TemplateLimits

if TYPE_CHECKING:
    from .catalog import ChatTemplates

__all__ = ["ChatCapabilities", "capabilities_of", "probe"]

# A template from anywhere is rendered some forty times: none of them may take long.
_LIMITS = TemplateLimits(deadline=0.5)

# These end the call, and say nothing of the template.
_NO_REFUSALS = (Cancelled, DeadlineExceeded, HostError, MemoryError)

_SYSTEM, _USER, _ANSWER, _TOOL = "qvsystemq", "qvuserq", "qvanswerq", "qvtoolq"
_CALLS = (("qvcallq", "qvvalueq"), ("qvothercallq", "qvothervalueq"))
"""Name of each call, and the value of its argument."""
_KEY = "qvkeyq"
# Not the key of the calls: some templates print tools as Python and calls as JSON.
_PARAMETER = "qvparameterq"
_THOUGHT, _TITLE, _DOCUMENT = "qvthoughtq", "qvtitleq", "qvdocumentq"

_SWITCHES: tuple[tuple[str, tuple[Any, Any]], ...] = (
    ("enable_thinking", (True, False)),
    ("thinking", (True, False)),
    ("reasoning_effort", ("low", "high")),
    ("reasoning", (True, False)),
    ("thinking_mode", ("on", "off")),
    ("think", (True, False)),
    ("thinking_budget", (0, 4096)),
    ("reasoning_budget", (0, 4096)),
)
_DATES = ("date_string", "current_date", "today", "todays_date", "date")
_OPENS = re.compile(r"<\|?(?:start_)?think(?:ing)?\|?>|\[think\]", re.IGNORECASE)
_CLOSES = re.compile(
    r"<\|?/(?:end_)?think(?:ing)?\|?>|<\|end_thinking\|>|\[/think\]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ChatCapabilities:
    content: Literal["string", "parts", "both", "none"]
    """How a message says its text: as a string, as a list of `{"type": "text", ...}`, or as either.
    `none`: no probe came out."""
    system_role: bool
    tools: bool
    """Whether the schemas of tools are printed."""
    tool_calls: bool
    """Whether the calls of an assistant's message are printed."""
    parallel_tool_calls: bool
    tool_role: bool
    """Whether the answer of a tool is printed."""
    arguments: Literal["object", "string", "both", "none"]
    """How the arguments of a call must be given to come out as JSON."""
    reasoning: bool
    """Whether `reasoning_content` of an assistant is printed, in the last turn at least."""
    reasoning_switch: str | None
    """The variable that switches reasoning, such as `enable_thinking`."""
    generation_prompt: str | None
    """What `add_generation_prompt` adds; None: nothing."""
    thinking_prefill: Literal["open", "closed"] | None
    """Whether that opens a block of thoughts, or opens and closes an empty one."""
    documents: bool
    date: str | None
    """Where the date comes from: `clock`, or the name of a variable."""
    assistant_mask: bool
    """Whether there are generation blocks."""
    how: Mapping[str, str] = field(default_factory=dict)
    """Of each of these, by what it was found out."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def capabilities_of(templates: ChatTemplates) -> ChatCapabilities:
    """Of the default template; where there is one for tools alone, that is asked about tools."""
    known = templates.capabilities
    if known is None:
        chosen = templates.get(None, None)
        for_tools = templates.get(None, [])
        sandbox = templates.sandbox
        plain = chosen.compile(None, strict=False, limits=_LIMITS, sandbox=sandbox)
        tools = plain
        if for_tools != chosen:
            tools = for_tools.compile(None, strict=False, limits=_LIMITS, sandbox=sandbox)
        known = templates.capabilities = probe(plain, templates.special_tokens, tools=tools)
    return known


def probe(
    template: CompiledTemplate,
    special_tokens: Mapping[str, str],
    *,
    tools: CompiledTemplate | None = None,
) -> ChatCapabilities:
    plain = _Probe(template, special_tokens)
    about_tools = plain if tools is None or tools is template else _Probe(tools, special_tokens)
    found: dict[str, Any] = {}
    how: dict[str, str] = {}
    for name, (answer, reason) in {
        **plain.content(),
        **plain.roles(),
        **about_tools.tools(),
        **plain.reasoning(),
        **plain.prefill(),
        **plain.rest(),
    }.items():
        found[name] = answer
        how[name] = reason
    return ChatCapabilities(**found, how=how)


Found = dict[str, tuple[Any, str]]


class _Probe:
    def __init__(self, template: CompiledTemplate, special_tokens: Mapping[str, str]) -> None:
        self._template = template
        self._base = RenderRequest(
            messages=(), special_tokens=special_tokens, now=datetime(2024, 3, 5, 12)
        )
        self._parts = False

    def render(self, messages: list[Any], **changes: Any) -> str | None:
        """The text, or None for a conversation that the template refuses."""
        if self._parts:
            messages = [_in_parts(message) for message in messages]
        try:
            request = replace(self._base, messages=messages, **changes)
            return self._template.render(request).text
        except _NO_REFUSALS:
            raise
        except Exception as error:
            if raised_by_handler(error):
                raise
            # A template that is a function refuses with exceptions of its own.
            return None

    def content(self) -> Found:
        string, parts = self._content({})
        if not (string or parts):
            # Some templates are for tools or documents alone.
            string, parts = self._content({"tools": [_tool()], "documents": _documents()})
        # Everything else is asked in the words that the template understands.
        self._parts = parts and not string
        kind = {(True, True): "both", (True, False): "string", (False, True): "parts"}
        why = f"a user's word came out bare: as a string {_word(string)}, as a part {_word(parts)}"
        return {"content": (kind.get((string, parts), "none"), why)}

    def _content(self, more: dict[str, Any]) -> tuple[bool, bool]:
        part = [{"type": "text", "text": _USER}]
        string, parts = (
            any(_bare(_USER, self.render(chat, **more)) for chat in _shapes(content))
            for content in (_USER, part)
        )
        return string, parts

    def roles(self) -> Found:
        text = self.render([_says("system", _SYSTEM), _says("user", _USER)])
        if text is None:
            return {"system_role": (False, "a system message is refused")}
        return {"system_role": (_SYSTEM in text, "a word of a system message came out or did not")}

    def tools(self) -> Found:
        tool = _tool()
        texts = [self.render(chat, tools=[tool]) for chat in _shapes(_USER)]
        printed = any(text is not None and _TOOL in text for text in texts)
        forms = {kind: self._call(kind, printed) for kind in ("object", "string")}
        good = {
            "object": _is_json(forms["object"], quotes="'"),
            "string": _is_json(forms["string"], quotes='\\"'),
        }
        usable = [kind for kind, is_good in good.items() if is_good]
        called = any(_shows(text, 0) for text in forms.values())
        twice = self._call(usable[0] if usable else "string", printed, calls=2)
        # Some templates print the answer of a tool and not the call.
        answered = any(text is not None and _ANSWER in text for text in (*forms.values(), twice))
        return {
            "tools": (printed, "the name of a tool came out or did not"),
            "tool_calls": (called, "the name or the argument of a call came out or did not"),
            "parallel_tool_calls": (
                _shows(twice, 0) and _shows(twice, 1),
                "two calls of one message: both came out or did not",
            ),
            "tool_role": (answered, "a word of a tool's answer came out or did not"),
            "arguments": (
                "both" if len(usable) == 2 else usable[0] if usable else "none",
                "key and value of the arguments came out as JSON, neither as Python nor escaped",
            ),
        }

    def _call(self, kind: str, printed: bool, calls: int = 1) -> str | None:
        # Nine letters and digits: Mistral's templates take no other id.
        made = [
            {
                "id": f"call0000{number}",
                "type": "function",
                "function": {"name": name, "arguments": _arguments(kind, value)},
            }
            for number, (name, value) in enumerate(_CALLS[:calls])
        ]
        asked = _says("user", _USER)
        answers = [
            {"role": "tool", "tool_call_id": call["id"], "name": name, "content": _ANSWER}
            for call, (name, _) in zip(made, _CALLS, strict=False)
        ]
        for content in ({"content": ""}, {}, {"content": None}):
            calling = {"role": "assistant", **content, "tool_calls": made}
            for chat in ([asked, calling, *answers], [asked, calling]):
                for tools in ([_tool()], None) if printed else (None,):
                    text = self.render(chat, tools=tools)
                    if _shows(text, 0):
                        return text
        return None

    def reasoning(self) -> Found:
        thinking = {**_says("assistant", _ANSWER), "reasoning_content": _THOUGHT}
        turn = [_says("user", _USER), thinking]
        texts = (self.render(turn), self.render([*turn, _says("user", _USER)]))
        printed = any(text is not None and _THOUGHT in text for text in texts)
        switch = next((name for name, values in _SWITCHES if self._switches(name, values)), None)
        return {
            "reasoning": (printed, "a word of reasoning_content came out or did not"),
            "reasoning_switch": (
                switch,
                "no variable of a known name changes the text"
                if switch is None
                else f"{switch} changes the text",
            ),
        }

    def _switches(self, name: str, values: tuple[Any, Any]) -> bool:
        if name not in self._template.source:
            return False
        past = [
            _says("user", _USER),
            {**_says("assistant", _ANSWER), "reasoning_content": _THOUGHT},
            _says("user", _USER),
        ]
        for chat in ([_says("user", _USER)], past):
            first, second = (
                self.render(chat, arguments={name: value}, add_generation_prompt=True)
                for value in values
            )
            if first is not None and second is not None and first != second:
                return True
        return False

    def prefill(self) -> Found:
        added = None
        for chat in _shapes(_USER):
            without = self.render(chat)
            text = self.render(chat, add_generation_prompt=True)
            if without is not None and text is not None and text.startswith(without):
                added = text[len(without) :] or None
                break
        thinking = None
        if added is not None and _OPENS.search(added):
            thinking = "closed" if _CLOSES.search(added) else "open"
        why = "the text with add_generation_prompt, less the text without"
        return {"generation_prompt": (added, why), "thinking_prefill": (thinking, why)}

    def rest(self) -> Found:
        texts = (self.render(chat, documents=_documents()) for chat in _shapes(_USER))
        printed = any(text is not None and _DOCUMENT in text for text in texts)
        return {
            "documents": (printed, "a word of a document came out or did not"),
            "date": self._date(),
            "assistant_mask": self._mask(),
        }

    def _date(self) -> tuple[str | None, str]:
        later = datetime(2031, 11, 28, 17)
        for chat in _shapes(_USER):
            if self.render(chat) != self.render(chat, now=later):
                return "clock", "another time of the clock changes the text"
        for name in _DATES:
            if name in self._template.source:
                text = self.render([_says("user", _USER)], arguments={name: _TITLE})
                if text is not None and _TITLE in text:
                    return name, f"the variable {name} came out"
        return None, "neither the clock nor a variable of a known name changes the text"

    def _mask(self) -> tuple[bool, str]:
        chat = [_says("user", _USER), _says("assistant", _ANSWER)]
        if self._parts:
            chat = [_in_parts(message) for message in chat]
        try:
            request = replace(self._base, messages=chat, generation=True)
            spans = self._template.render(request).generation
        except _NO_REFUSALS:
            raise
        except TokenizerError:
            spans = ()
        return bool(spans), "an assistant's message made spans or did not"


def _says(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _shapes(content: Any) -> list[list[Any]]:
    """Not every template renders a lone user's message."""
    user = _says("user", content)
    return [
        [user],
        [_says("system", _SYSTEM), user],
        [user, _says("assistant", _ANSWER), user],
        [user, _says("assistant", _ANSWER)],
    ]


def _in_parts(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def _bare(word: str, text: str | None) -> bool:
    """Whether it came out by itself, and not as the printed form of a list."""
    if text is None or word not in text:
        return False
    return not re.search(rf"""['"]text['"]: ['"]{word}""", text)


def _arguments(kind: str, value: str) -> Any:
    arguments = {_KEY: value}
    return arguments if kind == "object" else json.dumps(arguments)


def _shows(text: str | None, call: int) -> bool:
    """Some templates print the id of a call, and not its name."""
    return text is not None and any(word in text for word in _CALLS[call])


def _is_json(text: str | None, *, quotes: str) -> bool:
    """Whether key and value are there, and not in quotes of the wrong kind."""
    if text is None or _KEY not in text or _CALLS[0][1] not in text:
        return False
    return f"{quotes}{_KEY}{quotes}" not in text


def _tool() -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {_PARAMETER: {"type": "string", "description": "A word"}},
        "required": [_PARAMETER],
    }
    function = {"name": _TOOL, "description": "A tool", "parameters": parameters}
    return {"type": "function", "function": function}


def _documents() -> list[dict[str, str]]:
    return [{"title": _TITLE, "text": _DOCUMENT}]


def _word(is_so: bool) -> str:
    return "yes" if is_so else "no"
