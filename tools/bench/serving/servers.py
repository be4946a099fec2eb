"""The servers that are compared, each in a process of its own.

    python -m tools.bench.serving.servers WHICH FILE

prints its port, and ends with its standard input. The two minimal ones are what one writes in five
minutes: Starlette, one route, the library called on the event loop. They have no keys, no limits,
no tenants and no numbers; ours has all of that.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from typing import Any

__all__ = ["WHICH"]

WHICH = ("ours", "fastokens", "hf")


def main() -> int:
    which, path = sys.argv[1:]
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(listening.getsockname()[1], flush=True)
    threading.Thread(target=_end_with_standard_input, daemon=True).start()
    if which == "ours":
        return ours(path, listening)
    minimal(_encoder(which, path), listening)
    return 0


def _end_with_standard_input() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def ours(path: str, listening: socket.socket) -> int:
    from pywasmtok.server.config import read_config
    from pywasmtok.server.opening import open_service
    from pywasmtok.server.workers.supervisor import serve

    # Everything is on as it is by default; the log goes where a log goes. What a tenant may have
    # done in a second is above what is measured, for a refusal would be quick.
    config = read_config(
        None,
        {
            "tokenizers": {"default": path},
            "limits": {"bytes_per_second": 1 << 40, "burst_bytes": 1 << 40, "queued": 256},
        },
    )
    service = open_service(config)
    try:
        return serve(service, listening)
    finally:
        service.close()


def minimal(encode: Any, listening: socket.socket) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def tokenize(request: Request) -> JSONResponse:
        ids = encode((await request.json())["prompt"])
        return JSONResponse({"count": len(ids), "max_model_len": 2**31 - 1, "tokens": ids})

    app = Starlette(routes=[Route("/tokenize", tokenize, methods=["POST"])])
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


def _encoder(which: str, path: str) -> Any:
    if which == "hf":
        from tokenizers import Tokenizer

        tok = Tokenizer.from_file(path)
        return lambda text: tok.encode(text).ids
    import fastokens

    fast = fastokens.Tokenizer.from_file(path)
    return lambda text: fast.encode(text).ids


if __name__ == "__main__":
    sys.exit(main())
