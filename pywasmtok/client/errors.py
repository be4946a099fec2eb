"""What can go wrong between here and a server, and the server's own errors as classes again."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from .. import errors as of_library
from ..errors import DeadlineExceeded, TokenizerError
from ..server import errors as of_server
from ..tenants import errors as of_tenants

__all__ = ["BadAnswer", "ConnectionFailed", "RemoteError", "RemoteTimeout", "error_of"]


class RemoteError(TokenizerError):
    """Of the way to a server; also what a server says that has no class of its own here."""

    kind = "remote_error"
    status: int | None = None
    """Of HTTP, where there was an answer."""


class ConnectionFailed(RemoteError, ConnectionError):
    """No connection, or one that ended before the answer did."""

    kind = "connection_failed"


class RemoteTimeout(RemoteError, DeadlineExceeded, TimeoutError):
    """No answer in time. `limit` is in seconds."""

    kind = "remote_timeout"


class BadAnswer(RemoteError):
    """What came is no answer of this API: another server, or something between that answers."""

    kind = "bad_answer"


def _by_kind(*modules: ModuleType) -> dict[str, type[TokenizerError]]:
    found = (getattr(module, name) for module in modules for name in module.__all__)
    return {
        one.kind: one for one in found if isinstance(one, type) and issubclass(one, TokenizerError)
    }


_CLASSES: Final = _by_kind(of_library, of_tenants, of_server)

_TEXTS: Final = ("path", "feature", "hint", "token")
_PLACES: Final = ("offset", "line", "column", "character")
_AMOUNTS: Final = ("limit", "asked", "retry_after")

# Of an answer that is not ours: a page of a proxy, say.
_SHOWN: Final = 200


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> TokenizerError:
    """The error that an answer speaks of, with all that it says."""
    said = _said(content)
    if said is None:
        return _foreign(status, headers, content)
    kind, message = said["kind"], said["message"]
    found = _CLASSES.get(kind)
    error = RemoteError(message) if found is None else found(message)
    if isinstance(error, RemoteError):
        error.kind, error.status = kind, status
    for name in _TEXTS:
        if isinstance(said.get(name), str):
            setattr(error, name, said[name])
    for name in _PLACES:
        if _is_number(said.get(name), int):
            setattr(error, name, said[name])
    for name in _AMOUNTS:
        if _is_number(said.get(name), int | float):
            setattr(error, name, said[name])
    return error


def _said(content: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    said = document.get("error") if isinstance(document, dict) else None
    if not isinstance(said, dict):
        return None
    return (
        said if isinstance(said.get("kind"), str) and isinstance(said.get("message"), str) else None
    )


def _is_number(value: object, kinds: Any) -> bool:
    return (
        isinstance(value, kinds)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


def _foreign(status: int, headers: Mapping[str, str], content: bytes) -> RemoteError:
    """Of something that does not speak this API, such as a proxy whose server is away."""
    text = content[:_SHOWN].decode("utf-8", "replace").strip()
    shown = "".join(c if c.isprintable() else " " for c in text)
    to = headers.get("location")
    message = f"answered {status}" + (f" to {to}" if to else "") + (f": {shown}" if shown else "")
    error = RemoteError(
        message,
        hint="Is this the address of a pywasmtok server? Redirections are not followed",
    )
    error.status = status
    return error
