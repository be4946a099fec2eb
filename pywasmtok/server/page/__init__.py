"""The status page: one file without anything from elsewhere, and the numbers that it shows.

The page itself says nothing about this server, so it needs no key. It fetches its numbers with the
key that the user types, which stays in the memory of that page. A tenant sees its own load; an
admin sees that of the process.
"""

from __future__ import annotations

import base64
import hashlib
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from ... import __version__
from ..scheduling.executor import ThreadWork

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from ..contract import Caller
    from ..service import Service

__all__ = ["content_security_policy", "page", "routes"]


def page() -> str:
    return files(__package__).joinpath("status.html").read_text(encoding="utf-8")


def content_security_policy(html: str) -> str:
    """The page's own style and script, by their hashes, and questions to this server: no more."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash_of(html, 'style')}",
            f"script-src {_hash_of(html, 'script')}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hash_of(html: str, tag: str) -> str:
    inside = html.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    return f"'sha256-{digest}'"


_HEADERS: Final = {
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def routes(service: Service) -> list[Route]:
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Route

    html = page()
    headers = {**_HEADERS, "content-security-policy": content_security_policy(html)}
    started = time.monotonic()

    async def show(request: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    async def status(request: Request) -> Response:
        found = _status(service, request.state.caller, time.monotonic() - started)
        return JSONResponse(found, headers={"cache-control": "no-store"})

    return [
        Route("/", show, methods=["GET"]),
        Route("/status.json", status, methods=["GET"]),
    ]


def _status(service: Service, caller: Caller, uptime: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "version": __version__,
        "tenant": caller.tenant,
        "admin": caller.admin,
        "ready": service.lifecycle.ready,
        "draining": service.lifecycle.draining,
        "uptime_seconds": uptime,
        "load": {},
        "history": None,
    }
    work, metrics = service.work, service.metrics
    if isinstance(work, ThreadWork):
        if caller.admin:
            numbers = work.numbers()
            found["load"] = {
                "queued": numbers.queued,
                "running": numbers.running,
                "threads": numbers.threads,
            }
        else:
            queued, running = work.numbers_of(caller.tenant)
            found["load"] = {"queued": queued, "running": running}
    if metrics is not None and metrics.enabled:
        histories = metrics.histories
        of = histories.all if caller.admin else histories.of(caller.tenant)
        found["history"] = of.plain()
    return found
