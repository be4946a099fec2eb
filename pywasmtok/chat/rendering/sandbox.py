"""The renderer for templates from anywhere: WebAssembly, with bounds on memory, stack and time."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache, partial
from itertools import count
from typing import Any, Final

from ..._host import refuse_subinterpreter
from ..._host.template import abi
from ..._host.template.instance import HEADER, NotPlain, TemplateInstance
from ..._host.template.pool import TemplatePools, shared
from ..._host.wasm.status import lone_surrogate
from ...errors import CoreTrap
from ..contract import Origin, Rendered, RenderRequest, TemplateLimits
from ..templates.reserved import refuse_reserved
from .plain import pack, pack_plain

__all__ = ["SandboxRenderer", "SandboxTemplate", "contents", "renderer"]

_WORD: Final = 0xFFFF_FFFF
# The last word of a header.
_SIZE: Final = struct.Struct("<I").pack
# The same from the date on.
_DATE_TO_SIZE: Final = struct.Struct("<11I")
_NO_TIME: Final = [0] * 9
_COMPILED: Final = 256
_numbers: Final = count(1)


class SandboxTemplate:
    """A template that every instance of the renderer compiles when it first renders it."""

    def __init__(
        self, source: str, strict: bool, limits: TemplateLimits, pools: TemplatePools
    ) -> None:
        self.source = source
        self._pools = pools
        self._limits = limits
        self._bytes = _utf8(source, "chat_template")
        self._strict = strict
        self._bounds = _bounds(limits)
        # Under this number instances know it.
        self._number = next(_numbers)
        # Only these ask for the time.
        self._asks_for_time = "strftime_now" in source
        # The beginnings of headers by their flags.
        self._heads: dict[int, bytes] = {}
        self._plain_head = self._head(abi.FLAG_PACKED)
        if self._asks_for_time:
            # Up to the time, which is another in each.
            timed = self._head(abi.FLAG_PACKED | abi.FLAG_CLOCK)
            self._plain_head = timed[: HEADER.size - _DATE_TO_SIZE.size]
        self._memory, self._deadline = limits.memory, limits.deadline
        self.warnings = tuple(pools.pool(limits.memory).run(self._first))

    def plain_text(
        self,
        messages: list[Any],
        tools: list[Any] | None,
        add_generation_prompt: bool,
        special: Mapping[str, Any],
        arguments: Mapping[str, Any],
    ) -> str:
        """The text of `render` for what most calls ask for, without what the others need."""
        if arguments:
            refuse_reserved(arguments)
        packed = pack(
            {
                "messages": messages,
                "tools": tools,
                "documents": None,
                "add_generation_prompt": add_generation_prompt,
                "arguments": arguments,
                "special": special,
            }
        )
        if self._asks_for_time:
            now = datetime.now()
            date = now.year, now.month, now.day, now.hour, now.minute, now.second
            behind = _DATE_TO_SIZE.pack(*date, now.microsecond, 0, 0, 0, len(packed))
            content = self._plain_head + behind + packed
        else:
            content = self._plain_head + _SIZE(len(packed)) + packed
        try:
            return self._pools.pool(self._memory).run(self._plain, content)
        except NotPlain:
            request = RenderRequest(
                messages, tools, None, add_generation_prompt, False, special, arguments
            )
            return self.render(request).text

    def _plain(self, instance: TemplateInstance, content: bytes) -> str:
        instance.begin(self._deadline)
        if not instance.knows(self._number):
            self._compile(instance)
        return instance.render(self._number, content)

    def render(self, request: RenderRequest) -> Rendered:
        packed = pack(contents(request))
        try:
            return self._rendered(request, packed)
        except NotPlain:
            pass
        try:
            return self._rendered(request, pack_plain(contents(request)))
        except NotPlain as refused:
            raise CoreTrap(f"the renderer refuses plain data: {refused}") from None

    def _rendered(self, request: RenderRequest, packed: bytes) -> Rendered:
        flags, field = _habits(request)
        extra = request.generation or request.origins
        if request.origins:
            flags |= abi.FLAG_ORIGINS
        if field or self._asks_for_time:
            zone, time = b"", _NO_TIME
            if self._asks_for_time:
                flags, zone, time = _clock(request.now, flags)
            header = HEADER.pack(flags, *self._bounds, *time, len(field), len(packed))
            content = b"".join((header, zone, field, packed))
        else:
            head = self._heads.get(flags) or self._head(flags)
            content = head + _SIZE(len(packed)) + packed
        answer: Rendered = self._pools.pool(self._limits.memory).run(self._work, content, extra)
        return answer

    def _head(self, flags: int) -> bytes:
        """A header without the time, up to the length of what follows."""
        whole = HEADER.pack(flags, *self._bounds, *_NO_TIME, 0, 0)
        head = self._heads[flags] = whole[: -len(_SIZE(0))]
        return head

    def _work(self, instance: TemplateInstance, content: bytes, extra: bool) -> Rendered:
        instance.begin(self._limits.deadline)
        if not instance.knows(self._number):
            self._compile(instance)
        text = instance.render(self._number, content)
        return _with_spans(text, instance) if extra else Rendered(text)

    def _compile(self, instance: TemplateInstance) -> list[str]:
        flags = abi.FLAG_STRICT if self._strict else 0
        header = [flags, *self._bounds, *_NO_TIME, 0, len(self._bytes)]
        return _warnings(json.loads(instance.compile(self._number, header, self._bytes)))

    def _first(self, instance: TemplateInstance) -> list[str]:
        instance.begin(self._limits.deadline)
        return self._compile(instance)


class SandboxRenderer:
    """Its templates are compiled once; what they render, its own instances do."""

    name = "sandbox"

    def __init__(self, pools: TemplatePools = shared, kept: int = _COMPILED) -> None:
        self._compiled = lru_cache(kept)(partial(SandboxTemplate, pools=pools))

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> SandboxTemplate:
        refuse_subinterpreter()
        return self._compiled(source, strict, limits or TemplateLimits())


_renderer: Final = SandboxRenderer()


def renderer() -> SandboxRenderer:
    """The renderer of the process, for tokenizers without one of their own."""
    return _renderer


def contents(request: RenderRequest) -> dict[str, Any]:
    """The request as the renderer takes it; its values are those of the caller."""
    arguments, special = request.arguments, request.special_tokens
    if arguments:
        refuse_reserved(arguments)
    messages, tools = request.messages, request.tools
    return {
        "messages": messages if isinstance(messages, list) else list(messages),
        "tools": tools if tools is None or isinstance(tools, list) else list(tools),
        "documents": request.documents,
        "add_generation_prompt": request.add_generation_prompt,
        "arguments": arguments if isinstance(arguments, dict) else dict(arguments),
        "special": special if isinstance(special, dict) else dict(special),
    }


def _bounds(limits: TemplateLimits) -> list[int]:
    sizes = limits.source, limits.chain, limits.branches, limits.nesting, limits.depth
    fuel = min(limits.fuel, (1 << 64) - 1)
    words = [min(size, _WORD) for size in (*sizes, limits.output)]
    return [*words, fuel & _WORD, fuel >> 32]


def _habits(request: RenderRequest) -> tuple[int, bytes]:
    """Flags, and the name of the field that is continued."""
    flags = abi.FLAG_PACKED
    if request.profile == "hf-4.57":
        flags |= abi.FLAG_HF_4_57
    if request.generation:
        flags |= abi.FLAG_GENERATION
    wanted = request.continue_final_message
    if not wanted:
        return flags, b""
    field = _utf8(wanted, "continue_final_message") if isinstance(wanted, str) else b""
    return flags | abi.FLAG_CONTINUES, field


def _clock(now: datetime | None, flags: int) -> tuple[int, bytes, list[int]]:
    now = now or datetime.now()
    offset = now.utcoffset()
    zone = b"" if offset is None else _utf8(now.tzname() or "", "now")
    seconds = 0 if offset is None else round(offset.total_seconds())
    flags |= abi.FLAG_CLOCK | (0 if offset is None else abi.FLAG_ZONE)
    date = [now.year, now.month, now.day, now.hour, now.minute, now.second, now.microsecond]
    return flags, zone, [*date, seconds & _WORD, len(zone)]


def _with_spans(text: str, instance: TemplateInstance) -> Rendered:
    answer = instance.answer()
    pairs = zip(answer.spans[::2], answer.spans[1::2], strict=True)
    rows = json.loads(answer.origins) if answer.origins else []
    origins = tuple(Origin(start, end, tuple(path)) for start, end, path in rows)
    return Rendered(text, tuple(pairs), origins)


def _warnings(notes: list[dict[str, Any]]) -> list[str]:
    return [
        f"{note['message']} (line {note['line']}, column {note['column']} of the template)"
        if note["line"]
        else str(note["message"])
        for note in notes
    ]


def _utf8(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as found:
        raise lone_surrogate(text, found, path) from None
