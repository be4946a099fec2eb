"""A server of tests, in a thread of this process and behind a real socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from server.fakes import FakeService

import pywasmtok
from pywasmtok.server import api
from pywasmtok.server.app import create_app
from pywasmtok.server.config import Config
from pywasmtok.server.http.options import uvicorn_options

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def local_tokenizer() -> pywasmtok.Tokenizer:
    """What the server serves as `demo`."""
    return pywasmtok.create_tokenizer_with_chat_template("builtin:demo", TEMPLATE, decoder="core")


@contextmanager
def serving(service: Any = None) -> Iterator[str]:
    """The address of a server over `service`."""
    if service is None:
        service = FakeService(Config())
        service.add_public("demo", local_tokenizer())
    app = create_app(service, api.routes(service))
    options = uvicorn_options(service.config)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", **options))
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
