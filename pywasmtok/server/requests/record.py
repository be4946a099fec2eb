"""What metrics, access log and tracing record of a request and its answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from .body_budget import FREE

if TYPE_CHECKING:
    from ..contract import Caller
    from .body_budget import Bodies

__all__ = ["LAST_WORDS", "Exchange", "route_class"]


class Exchange(Struct):
    """Holds no text of the request, no key, and no path that the caller chose."""

    method: str
    route: str = "other"
    """Which kind of route; never the path itself, for that may hold names."""
    dialect: str = "none"
    """`own`, `vllm`, `sglang`, `llamacpp`, `tgi`; `none` until it is known."""
    caller: Caller | None = None
    client: str | None = None
    """The address that asks."""
    request_id: bytes = b""
    """Of few characters, so that it may stand in a log."""
    trace: Any = None
    """What `traceparent` said, if it said anything that makes sense."""
    status: int = 0
    received: int = 0
    bodies: Bodies | None = None
    body: int = 0
    """Bytes of the body that are in memory, if they are many."""
    held: int = 0
    """Bytes of the body and the answer that `bodies` counts."""
    sent: int = 0
    error: str | None = None
    """The kind of the error."""
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    """From the start to the end of the answer."""

    @property
    def payer(self) -> str:
        """The tenant that the request is counted for; `""` for requests without a caller."""
        return "" if self.caller is None else self.caller.tenant

    def hold(self, size: int) -> None:
        """So many bytes of the body are in memory by now."""
        self._take(size)
        self.body = size

    def hold_answer(self, size: int) -> None:
        """So many bytes of the answer are in memory, until `let_go`."""
        if size > FREE:
            self._take(self.body + size)

    def _take(self, size: int) -> None:
        if self.bodies is not None and size > self.held:
            self.bodies.take(self.payer, size - self.held, self.held)
            self.held = size

    def let_go(self) -> None:
        if self.bodies is not None and self.held:
            self.bodies.give_back(self.payer, self.held)
            self.held = 0


_CLASSES = {
    "/tokenize": "tokenize",
    "/v1/tokenize": "tokenize",
    "/detokenize": "detokenize",
    "/v1/detokenize": "detokenize",
    "/chat_tokenize": "chat",
    "/apply-template": "chat",
    "/tokenizer_info": "info",
    "/info": "info",
    "/health": "probe",
    "/ready": "probe",
    "/metrics": "probe",
    "/": "page",
}
LAST_WORDS = frozenset({"encode", "decode", "count", "fits", "truncate", "stream"})


def route_class(pattern: str) -> str:
    """One of few words for the pattern of a route: what a metric can bear as a label."""
    known = _CLASSES.get(pattern)
    if known is not None:
        return known
    if not pattern.startswith("/api/v1/"):
        return "other"
    last = pattern.rpartition("/")[2]
    if last in LAST_WORDS:
        return last
    area = pattern.split("/")[3]
    if area in ("tenants", "reload"):
        return "admin"
    if "/chat/" in pattern:
        return "chat"
    return "tokenizers" if area in ("tokenizers", "aliases") else "other"
