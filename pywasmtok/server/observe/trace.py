"""`traceparent` of the W3C, and spans of OpenTelemetry where a program has set that up.

The header is checked and kept beside the request; one that is not exactly of the standard's form is
ignored. Spans are made only when OpenTelemetry is installed and has a provider, as with
`opentelemetry-instrument pywasmtok serve ...`; else there are none.
"""

from __future__ import annotations

import re
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

__all__ = ["Trace", "end", "read", "span"]

_FORM: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_LATER_FORM: Final = re.compile(_FORM.pattern + rb"-[ -~]*")
_NOTHING: Final = nullcontext(None)


class Trace(NamedTuple):
    trace_id: str
    span_id: str
    """The caller's."""
    flags: int


def read(header: bytes | None) -> Trace | None:
    if header is None or len(header) > 256:
        return None
    match = _FORM.fullmatch(header)
    if match is None:
        # A later version may say more, behind what this one says.
        match = _LATER_FORM.fullmatch(header)
        if match is None or match[1] == b"00":
            return None
    version, trace_id, span_id, flags = (part.decode("ascii") for part in match.groups())
    if version == "ff" or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return Trace(trace_id, span_id, int(flags, 16))


def span(route: str, trace: Trace | None, **attributes: str | int) -> AbstractContextManager[Any]:
    """Around a request. What it gives is for `end`; None: no provider is set."""
    # A program that has set up OpenTelemetry has imported it.
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return _NOTHING
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
        return _NOTHING
    context = None
    if trace is not None:
        parent = api.SpanContext(
            int(trace.trace_id, 16), int(trace.span_id, 16), True, api.TraceFlags(trace.flags)
        )
        context = api.set_span_in_context(api.NonRecordingSpan(parent))
    spans: AbstractContextManager[Any] = provider.get_tracer(
        "pywasmtok.server"
    ).start_as_current_span(
        f"pywasmtok {route}",
        context=context,
        kind=api.SpanKind.SERVER,
        attributes=attributes,
        # What an error says may hold what a caller wrote.
        record_exception=False,
        set_status_on_exception=False,
    )
    return spans


def end(made: Any, status: int, error: str | None) -> None:
    """Inside the span, before it closes. `error`: a kind, never a text."""
    if made is None:
        return
    made.set_attribute("http.response.status_code", status)
    if error is not None:
        made.set_attribute("error.type", error)
    if status >= 500:
        from opentelemetry.trace import Status, StatusCode

        made.set_status(Status(StatusCode.ERROR))
