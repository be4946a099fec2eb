"""The protocol that answers complete requests without starting a request of the application.

A complete head is held back until the bytes of the present read are parsed, no longer. If the
request is complete by then, it is read, and answered at once if nothing has to be waited for.
Otherwise it begins as in uvicorn: with the request that was read, or with the bytes so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..requests.endpoint import CALL, Call
from .protocol import BoundedHttp
from .repeated_head import repeated_head

if TYPE_CHECKING:
    from ..requests.at_once import Accepted, AtOnce
    from .repeated_head import RepeatedHead

__all__ = ["OneStepHttp"]


class OneStepHttp(BoundedHttp):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Not with middleware in front of the application, which has to see all requests.
        at_once = None if self.root_path else getattr(self.app, "at_once", None)
        self._at_once: AtOnce | None = at_once
        # The request that is held back, and its body.
        self._held: Accepted | None = None
        self._body = b""
        # A request that was read and has to wait: the application takes it as it is.
        self._call: Call | None = None
        # One request a read: pipelined requests must not delay other connections.
        self._may_answer = False
        # The head of the last request that was answered here, and the time.
        self._repeated: RepeatedHead | None = None
        self._answered_at = 0.0
        self._all = b""

    def data_received(self, data: bytes) -> None:
        self._call = None
        if self._repeated is not None and self._answered_again(self._repeated, data):
            return
        at_once = self._at_once
        self._may_answer = at_once is not None and self._call is None
        # If a read begins with a request, its head may be learned.
        self._all = data if self._may_answer and self._is_between() else b""
        super().data_received(data)
        if self._held is not None:
            self._begin_held()

    def _is_between(self) -> bool:
        """Whether the parser has read nothing of a next request."""
        return not self._in_message and not self._unfinished

    def _answered_again(self, repeated: RepeatedHead, data: bytes) -> bool:
        """Answers a request with the head of the last one, which need not be parsed again."""
        cycle, at_once = self.cycle, self._at_once
        if (
            at_once is None
            or not self._is_between()
            or not (cycle is None or cycle.response_complete)
            or self.flow.write_paused
            or self._bad_next
            or self.transport.is_closing()
        ):
            return False
        body = repeated.body(data, at_once.most)
        accepted = repeated.accepted
        if body is None or not at_once.is_still_accepted(accepted, repeated.keys):
            return False
        return self._wrote(accepted, body)

    def begin_request(self) -> None:
        if self._call is not None:
            self._begin_read(self._call)
            return
        if self._may_answer and self._is_next() and self.parser.get_method() == b"POST":
            assert self._at_once is not None
            self._held = self._at_once.accepted(self.url, self.headers)
            if self._held is not None:
                if not self._is_known:
                    self.now_known()
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
        if self._call is None and self._held is None:
            super().on_body(body)
            return
        self._finished = True
        if self._call is None:
            self._body += body

    def on_message_complete(self) -> None:
        if self._held is not None and self._answered(self._held):
            return
        if self._held is not None and self._call is not None:
            self._held, self._body = None, b""
            self._begin_read(self._call)
        self._call = None
        super().on_message_complete()

    def _answered(self, held: Accepted) -> bool:
        self._may_answer = False
        body = self._body
        if not self._wrote(held, body):
            return False
        self._held, self._body = None, b""
        self._in_message = False
        self._finished = True
        if self._all:
            assert self._at_once is not None
            self._repeated = repeated_head(self._all, body, held, self._at_once.keys)
        return True

    def _wrote(self, accepted: Accepted, body: bytes) -> bool:
        assert self._at_once is not None
        client = self.client[0] if self.client else None
        lines = self.server_state.default_headers
        answer = self._at_once.answer(accepted, body, client, lines)
        if isinstance(answer, Call):
            self._call = answer
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

    def _begin_read(self, call: Call) -> None:
        """Begins a request that was read in the application, which does not need its body."""
        self.scope[CALL] = call  # type: ignore[typeddict-unknown-key]
        super().begin_request()

    def _begin_held(self) -> None:
        """Begins the request in the application, from its start."""
        body = self._body
        self._held, self._body = None, b""
        if self.parser is None or self.transport.is_closing():
            return
        super().begin_request()
        if body:
            super().on_body(body)
