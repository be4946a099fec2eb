"""A published file over HTTP, with a bound on its size and on the time that it takes."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ....errors import LoadError, TokenizerError

if TYPE_CHECKING:
    import http.client
    import ssl

    from ...._host.calls.deadline import End

__all__ = ["download"]

_SILENCE_SECONDS: Final = 30
_WHOLE_SECONDS: Final = 300
_PART: Final = 1 << 16


def download(address: str, most: int, name: str, hint: str) -> bytes:
    """The bytes at `address`, at most `most` of them. Proxies are those of the environment."""
    # Importing these takes longer than loading most tokenizers.
    import http.client
    import urllib.request

    from ...._host.calls.deadline import current

    end = current()
    silence = _SILENCE_SECONDS if end is None else min(_SILENCE_SECONDS, end.check())
    if not address.lower().startswith(("http://", "https://")):
        raise LoadError(f"{address} is no address of http:// or https://", source=name, hint=hint)
    try:
        with urllib.request.urlopen(address, timeout=silence, context=_certificates()) as response:
            return _body(response, most, end)
    except TokenizerError as error:
        error.message = f"cannot download {address}: {error.message}"
        error.source, error.hint = name, error.hint or hint
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:
        if end is not None:
            end.check()
        raise LoadError(f"cannot download {address}: {error}", source=name, hint=hint) from error


def _body(response: http.client.HTTPResponse, most: int, end: End | None) -> bytes:
    last = time.monotonic() + _WHOLE_SECONDS
    parts, size = [], 0
    while part := response.read1(_PART):
        parts.append(part)
        size += len(part)
        if size > most:
            raise LoadError(f"it is larger than {most} bytes")
        if time.monotonic() > last:
            raise LoadError(f"not complete after {_WHOLE_SECONDS} s")
        if end is not None:
            end.check()
    return b"".join(parts)


def _certificates() -> ssl.SSLContext:
    """Those of the system, and what the clients of tiktoken and of the hub trust beside them."""
    import ssl

    context = ssl.create_default_context()
    with suppress(ImportError):
        import certifi

        context.load_verify_locations(certifi.where())
    if bundle := os.environ.get("REQUESTS_CA_BUNDLE"):
        context.load_verify_locations(bundle)
    return context
