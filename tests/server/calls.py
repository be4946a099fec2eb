"""Requests to the application of a service, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.testclient import TestClient

from pywasmtok.server import api
from pywasmtok.server.app import create_app
from pywasmtok.server.requests.record import Exchange
from pywasmtok.server.service import Service

__all__ = ["PREFIX", "client_of", "error_of", "events_of", "recorded", "words_of"]

PREFIX = "/api/v1"


@contextmanager
def client_of(service: Service) -> Iterator[TestClient]:
    """All requests of it run in one event loop."""
    app = create_app(service, api.routes(service))
    with TestClient(app, base_url=f"http://127.0.0.1{PREFIX}") as client:
        yield client


def error_of(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = response.json()["error"]
    return found


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """What an answer of server-sent events says, as a program of the standard reads it."""
    found = []
    for block in text.split("\n\n"):
        if block:
            name, data = block.split("\n")
            assert name.startswith("event: ")
            assert data.startswith("data: ")
            found.append((name[7:], json.loads(data[6:])))
    return found


def words_of(*tokens: str) -> bytes:
    """A tokenizer of whole words; its vocabulary tells it apart."""
    vocabulary = {token: number for number, token in enumerate(("[UNK]", *tokens))}
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        }
    ).encode()


def recorded(exchange: Exchange) -> dict[str, Any]:
    """What metrics and access log see of a request, without its name and its times."""
    found = msgspec.structs.asdict(exchange)
    assert found.pop("seconds") >= 0
    assert found.pop("request_id")
    for name in ("started", "bodies", "body", "held"):
        del found[name]
    return found
