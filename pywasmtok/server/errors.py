"""From an error of the library to a status of HTTP and the body of our own API.

Dialects put the same fields into the shapes of their own servers.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from ..errors import (
    BackendFailure,
    BackendUnavailable,
    DeadlineExceeded,
    HostError,
    InputTooLarge,
    LimitExceeded,
    LoadError,
    MemoryLimit,
    QuotaExceeded,
    SourceNotFound,
    TokenizerError,
    Unsupported,
)
from ..tenants.errors import (
    Cancelled,
    Overloaded,
    StorageFull,
    TooManyRequests,
    UnknownTokenizer,
)

__all__ = [
    "BadRequest",
    "BodyTooLarge",
    "Conflict",
    "DamagedRecord",
    "Draining",
    "Forbidden",
    "Idle",
    "MethodNotAllowed",
    "NotFound",
    "SlowBody",
    "StoreFailed",
    "Unauthorized",
    "UnsupportedMedia",
    "body_of",
    "headers_of",
    "status_of",
]


class BadRequest(TokenizerError, ValueError):
    """`path` says where in the body."""

    kind = "bad_request"


class Unauthorized(TokenizerError):
    """No key, or none that is known: which of both is not said."""

    kind = "unauthorized"


class Forbidden(TokenizerError):
    kind = "forbidden"


class NotFound(TokenizerError, LookupError):
    kind = "not_found"


class MethodNotAllowed(TokenizerError):
    """`feature` lists the methods that the path has."""

    kind = "method_not_allowed"


class UnsupportedMedia(TokenizerError):
    """A body of a type, or in an encoding, that is not taken here."""

    kind = "unsupported_media_type"


class Conflict(TokenizerError):
    kind = "conflict"


class BodyTooLarge(InputTooLarge):
    kind = "body_too_large"


class SlowBody(TokenizerError):
    """The body did not arrive in time."""

    kind = "slow_body"


class Idle(TokenizerError):
    """Nothing moved on a connection for as long as one may be idle."""

    kind = "idle"


class StoreFailed(TokenizerError):
    """The disk or the database refuses: it is read-only, damaged, or not ours. Nothing of the
    request is the reason."""

    kind = "store_failed"


class DamagedRecord(StoreFailed):
    """A record of the store has other columns than were written."""

    kind = "damaged_record"


class Draining(Overloaded):
    """The server is about to stop: another one, or the next, will answer."""

    kind = "draining"


# The first that fits: subclasses before their bases.
_STATUS: Final[tuple[tuple[type[TokenizerError], int], ...]] = (
    (BadRequest, 400),
    (Unauthorized, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (UnknownTokenizer, 404),
    (MethodNotAllowed, 405),
    (SlowBody, 408),
    (Idle, 408),
    (UnsupportedMedia, 415),
    (Conflict, 409),
    (TooManyRequests, 429),
    (StorageFull, 507),
    (Overloaded, 503),
    (Cancelled, 499),
    (DeadlineExceeded, 504),
    (MemoryLimit, 507),
    (InputTooLarge, 413),
    (QuotaExceeded, 413),
    (LimitExceeded, 413),
    (SourceNotFound, 404),
    (LoadError, 422),
    (Unsupported, 422),
    # A text that HuggingFace's library gives up on.
    (BackendFailure, 422),
    (BackendUnavailable, 500),
    (HostError, 500),
    (StoreFailed, 500),
)


# Hints of the library that name its own calls, and what a client of HTTP gets; None: nothing.
_HINTS: Final[tuple[tuple[str, str | None], ...]] = (
    (
        r"Limits\(deadline=\.\.\.\) moves the bound",
        "An operator can raise it: the limit `calls.deadline`, or `load_deadline` for a file",
    ),
    (
        r"Limits\((\w+)=\.\.\.\) moves the bound",
        r"An operator can raise it: the limit `calls.\1`",
    ),
    (
        r"tok\.set_chat_template\(.*",
        "`chat_template` of the request can be one, if the limit `templates` allows it",
    ),
    (r"chat_template= (takes .*)", r"`chat_template` \1"),
    (r'special="none" (takes .*)', r'`"special": "none"` \1'),
    (r"add_special_tokens=False (.*)", r'`"add_special_tokens": false` \1'),
    (r"special_tokens\.ids .*|.*errors='replace'.*|text\.encode\(.*", None),
)

# Characters at the beginning and at the end of a text that an answer shows.
_END: Final = 500


def status_of(error: TokenizerError) -> int:
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status
    return 400


def headers_of(error: TokenizerError) -> dict[str, str]:
    if isinstance(error, TooManyRequests | Overloaded):
        wait = {"retry-after": str(max(1, math.ceil(error.retry_after)))}
        # The next request is for another server: this connection has no use any more.
        return {**wait, "connection": "close"} if isinstance(error, Draining) else wait
    if isinstance(error, Unauthorized):
        return {"www-authenticate": "Bearer"}
    if isinstance(error, MethodNotAllowed):
        return {"allow": error.feature or ""}
    return {}


def body_of(error: TokenizerError) -> dict[str, Any]:
    """`{"error": {...}}`: what is known, and nothing about files or folders of the server."""
    found: dict[str, Any] = {"kind": error.kind, "message": _short(error.message)}
    for name in ("path", "offset", "feature", "hint", "limit", "asked", "line", "column", "token"):
        value = getattr(error, name, None)
        if name == "hint" and value is not None:
            value = _hint(value)
        if value is not None:
            found[name] = _short(value) if isinstance(value, str) else value
    if isinstance(error, TooManyRequests | Overloaded):
        found["retry_after"] = error.retry_after
    return {"error": found}


def _hint(said: str) -> str | None:
    for pattern, instead in _HINTS:
        found = re.fullmatch(pattern, said)
        if found is not None:
            return None if instead is None else found.expand(instead)
    return said


def _short(text: str) -> str:
    """Without the middle of a long name that the request chose."""
    return text if len(text) <= 2 * _END else f"{text[:_END]}...{text[-_END:]}"
