"""A server of tests, in a thread of this process and behind a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server import live
from server.live import service_of

import pywasmtok
from pywasmtok.loading.sources import read_source
from pywasmtok.server import api
from pywasmtok.server.app import create_app
from pywasmtok.server.service import Service

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def local_tokenizer() -> pywasmtok.Tokenizer:
    """What the server serves as `demo`."""
    return pywasmtok.create_tokenizer_with_chat_template("builtin:demo", TEMPLATE, decoder="core")


@contextmanager
def serving(**config: Any) -> Iterator[tuple[str, Service]]:
    """Its address, and its service."""
    data = bytes(read_source("builtin:demo").data)
    with service_of({}, **config) as service:
        service.publish("demo", data, {"chat_template": TEMPLATE})
        app = create_app(service, api.routes(service))
        with live.serving(app, service.config) as port:
            yield f"http://127.0.0.1:{port}", service
