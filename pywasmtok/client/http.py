"""What both clients need of httpx: how it is set up, and its errors as ours."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import BackendUnavailable, InvalidArgument, TokenizerError
from .address import Address, Key
from .call import Answer, Call
from .errors import BadAnswer, ConnectionFailed, RemoteTimeout
from .retry import Retries, check_seconds

try:
    import httpx
except ImportError as error:
    raise BackendUnavailable(
        "the package httpx, which the client sends with, is not installed",
        hint="Run: pip install 'pywasmtok[client]'",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Settings", "answer_of", "error_from", "httpx", "is_lost"]

# Ids do not compress, and nothing that was not asked for is unpacked.
_HEADERS = {"accept-encoding": "identity", "user-agent": "pywasmtok-client"}


@dataclass(frozen=True)
class Settings:
    address: Address
    key: Key
    timeout: float | httpx.Timeout | None
    deadline: float
    retries: Retries
    limits: httpx.Limits | None
    verify: ssl.SSLContext | bool
    transport: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_seconds("deadline", self.deadline)
        if not (self.timeout is None or isinstance(self.timeout, httpx.Timeout)):
            check_seconds("timeout", self.timeout)
        for name, kinds in (("retries", Retries), ("verify", ssl.SSLContext | bool)):
            value = getattr(self, name)
            if not isinstance(value, kinds):
                raise InvalidArgument(f"{name}= cannot be {value!r:.80}")

    def for_client(self) -> dict[str, Any]:
        """Arguments of httpx's own clients. Redirections are not followed: a key is for the server
        that it was given for."""
        more = {} if self.limits is None else {"limits": self.limits}
        if self.transport is not None:
            more["transport"] = self.transport
        return {
            "timeout": self.timeout,
            "verify": self.verify,
            "headers": _HEADERS | self.key.headers(),
            "follow_redirects": False,
            **more,
        }

    def request(self, call: Call[Any], remaining: float) -> dict[str, Any]:
        """Arguments of `build_request`."""
        headers = {"accept": call.accept}
        if call.content_type is not None:
            headers["content-type"] = call.content_type
        return {
            "method": call.method,
            "url": self.address.api + call.path,
            "params": dict(call.query) or None,
            "content": call.content or None,
            "headers": headers,
            "timeout": within(self.timeout, remaining),
        }


def within(timeout: float | httpx.Timeout | None, remaining: float) -> httpx.Timeout:
    """Each step of an attempt has its own timeout, and none has more than is left."""
    steps = httpx.Timeout(timeout).as_dict()
    return httpx.Timeout(
        **{name: remaining if to is None else min(to, remaining) for name, to in steps.items()}
    )


def answer_of(response: httpx.Response, content: bytes) -> Answer:
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, content)


def error_from(error: httpx.HTTPError | httpx.InvalidURL) -> TokenizerError:
    said = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return RemoteTimeout(f"the server did not answer in time ({type(error).__name__})")
    if isinstance(error, httpx.DecodingError | httpx.InvalidURL | httpx.UnsupportedProtocol):
        return BadAnswer(said)
    return ConnectionFailed(said)


def is_lost(error: Exception) -> bool:
    """Whether asking again has a point: the connection failed, and not the certificate; an answer
    that is late is not asked for twice, as the server may be at work on it."""
    if isinstance(error, httpx.ConnectTimeout):
        return True
    if not isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return False
        cause = cause.__cause__ or cause.__context__
    return True
