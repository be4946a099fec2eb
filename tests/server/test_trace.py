"""`traceparent`, and spans where OpenTelemetry is set up."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pywasmtok.server.observe import trace

GOOD = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_what_the_standard_says_is_read() -> None:
    found = trace.read(GOOD)
    assert found == trace.Trace("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 1)


def test_a_later_version_may_say_more() -> None:
    found = trace.read(GOOD.replace(b"00-", b"01-", 1) + b"-what-the-future-brings")
    assert found == trace.read(GOOD)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"nonsense",
        GOOD + b"-more",
        GOOD.upper(),
        GOOD + b"\n",
        GOOD.replace(b"00-", b"ff-", 1),
        b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01",
        b"00-0af7651916cd43dd8448eb211c80319c-" + b"0" * 16 + b"-01",
        b"01" + GOOD[2:] + b"-\x1b[31m\n",
        b"01" + GOOD[2:] + b"-" + b"x" * 300,
    ],
)
def test_anything_else_is_nothing(header: bytes | None) -> None:
    assert trace.read(header) is None


# The provider of a process is set once: each case has a process of its own.
SPANS = """
import json
from opentelemetry import trace as api
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pywasmtok.server.observe import trace

with trace.span("encode", None) as made:
    assert made is None  # nobody has set anything up
    trace.end(made, 200, None)

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
api.set_tracer_provider(provider)
parent = trace.read(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
with trace.span("encode", parent, dialect="own") as made:
    trace.end(made, 200, None)
try:
    with trace.span("decode", None) as made:
        trace.end(made, 504, "deadline_exceeded")
        raise ValueError("MARKER of a text")
except ValueError:
    pass
print(json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spans_continue_the_callers_trace_and_hold_no_text() -> None:
    pytest.importorskip("opentelemetry.sdk.trace")
    written = run(SPANS)
    first, second = json.loads(written)
    assert first["name"] == "pywasmtok encode"
    assert first["kind"] == "SpanKind.SERVER"
    assert first["context"]["trace_id"] == "0x0af7651916cd43dd8448eb211c80319c"
    assert first["parent_id"] == "0xb7ad6b7169203331"
    assert first["attributes"] == {"dialect": "own", "http.response.status_code": 200}
    assert first["status"]["status_code"] == "UNSET"
    assert second["parent_id"] is None
    assert second["attributes"]["error.type"] == "deadline_exceeded"
    assert second["status"]["status_code"] == "ERROR"
    assert "MARKER" not in written


def test_without_opentelemetry_nothing_is_imported() -> None:
    code = (
        "import sys\n"
        "from pywasmtok.server.observe import trace\n"
        "with trace.span('encode', None) as made:\n"
        "    assert made is None\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    run(code)
