"""The way of a request through the server is one that can be read."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pywasmtok.server.app import create_app
from pywasmtok.server.config import Logs

from .live import Connection, service_of, serving

TOKENIZER = Path(__file__).parents[2] / "conformance" / "http" / "tokenizer"
MOST = 12

# The rooms that schedule and count; each has its own tests, and no request is read there.
BESIDE = ("pywasmtok.server.scheduling.", "pywasmtok.server.observe.")


def _request(text: str) -> bytes:
    body = json.dumps({"prompt": text}).encode()
    head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


class Always:
    """In place of what is learned from how long calls take, which a busy machine may change."""

    deadline = 30.0

    def given(self, *_: Any) -> bool:
        return True

    def saw(self, *_: Any) -> None:
        """It does not learn."""


def test_a_request_goes_through_few_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    # Another test may have loaded it; then all requests go through the application.
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    entered: set[str] = set()
    traced = threading.Event()

    def seen(frame: Any, event: str, _: Any) -> None:
        if event == "call" and traced.is_set():
            entered.add(frame.f_globals.get("__name__", ""))

    # Of threads that begin from here on, that of the event loop among them.
    threading.setprofile(seen)
    try:
        with service_of({"m": str(TOKENIZER)}, logs=Logs(access=False)) as service:
            work: Any = service.work
            work._permission = Always()
            with (
                serving(create_app(service), service.config) as port,
                Connection(port) as connection,
            ):
                # The first one waits until the tokenizer is read.
                for text in ("one", "two", "three"):
                    connection.send(_request(text))
                    assert connection.answer()[0] == 200
                traced.set()
                ways = []
                for _ in range(20):
                    entered.clear()
                    connection.send(_request("Hello world"))
                    status, answer = connection.answer()
                    assert (status, json.loads(answer)["count"]) == (200, 3)
                    ways.append({name for name in entered if name.startswith("pywasmtok.server.")})
                traced.clear()
    finally:
        threading.setprofile(None)
    # What runs beside a request, such as looking for news of the store, is not in all of them.
    way = set.intersection(*ways)
    assert "pywasmtok.server.dialects.tokenize" in way
    assert len({name for name in way if not name.startswith(BESIDE)}) <= MOST
