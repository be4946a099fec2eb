"""The protocol that answers short requests without starting a request of the application.

A complete head is held back until the bytes of the present read are parsed, no longer. If the
request is complete by then, it may be answered at once. Otherwise it begins as in uvicorn, with the
bytes received so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .heads import known_head
from .protocol import BoundedHttp

if TYPE_CHECKING:
    from ..requests.direct import Direct
    from ..requests.straight import Screened
    from .heads import KnownHead

__all__ = ["DirectHttp"]


class DirectHttp(BoundedHttp):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Not with middleware in front of the application, which has to see all requests.
        direct = None if self.root_path else getattr(self.app, "direct", None)
        self._direct: Direct | None = direct
        # The request that is held back, and its body.
        self._held: Screened | None = None
        self._body = b""
        # One request a read: pipelined requests must not delay other connections.
        self._may_answer = False
        # The head of the last request that was answered here, and the time.
        self._known: KnownHead | None = None
        self._answered_at = 0.0
        self._all = b""

    def data_received(self, data: bytes) -> None:
        if self._known is not None and self._answered_again(self._known, data):
            return
        direct = self._direct
        self._may_answer = direct is not None
        # If a read begins with a request, its head may be learned.
        self._all = data if direct is not None and self._is_between() else b""
        super().data_received(data)
        if self._held is not None:
            self._begin_held()

    def _is_between(self) -> bool:
        """Whether the parser has read nothing of a next request."""
        return not self._in_message and not self._unfinished

    def _answered_again(self, known: KnownHead, data: bytes) -> bool:
        """Answers a request with the head of the last one, which need not be parsed again."""
        cycle, direct = self.cycle, self._direct
        if (
            direct is None
            or not self._is_between()
            or not (cycle is None or cycle.response_complete)
            or self.flow.write_paused
            or self._bad_next
            or self.transport.is_closing()
        ):
            return False
        body = known.body(data, direct.most)
        if body is None or not direct.still_good(known):
            return False
        return self._wrote(known.screened, known.url, body)

    def begin_request(self) -> None:
        if self._may_answer and self._is_next() and self.parser.get_method() == b"POST":
            assert self._direct is not None
            self._held = self._direct.screened(self.url, self.headers)
            if self._held is not None:
                return
        super().begin_request()

    def _is_next(self) -> bool:
        """Whether no other response is unfinished and the client asks for nothing special."""
        cycle, parser = self.cycle, self.parser
        return (
            (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.expect_100_continue
            and not parser.should_upgrade()
            and parser.should_keep_alive()
            and parser.get_http_version() == "1.1"
        )

    def on_body(self, body: bytes) -> None:
        if self._held is None:
            super().on_body(body)
            return
        self._finished = True
        self._body += body

    def on_message_complete(self) -> None:
        if self._held is None or not self._answered():
            if self._held is not None:
                self._begin_held()
            super().on_message_complete()

    def _answered(self) -> bool:
        direct, held, body = self._direct, self._held, self._body
        assert direct is not None
        assert held is not None
        self._may_answer = False
        if not self._wrote(held, self.url, body):
            return False
        self._held, self._body = None, b""
        self._in_message = False
        self._finished = True
        if self._all:
            self._known = known_head(self._all, body, self.url, held, direct.keys)
        return True

    def _wrote(self, screened: Screened, url: bytes, body: bytes) -> bool:
        assert self._direct is not None
        client = self.client[0] if self.client else None
        lines = self.server_state.default_headers
        answer = self._direct.answer(screened, url, body, client, lines)
        if answer is None:
            return False
        self.transport.write(answer)
        self.server_state.total_requests += 1
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._wait_for_next(self.timeout_keep_alive)
        return True

    def _wait_for_next(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def timeout_keep_alive_handler(self) -> None:
        # The timer is not restarted for each request, so it may fire early.
        left = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._wait_for_next(left)
        else:
            super().timeout_keep_alive_handler()

    def _begin_held(self) -> None:
        """Begins the request in the application, from its start."""
        body = self._body
        self._held, self._body = None, b""
        if self.parser is None or self.transport.is_closing():
            return
        super().begin_request()
        if body:
            super().on_body(body)
