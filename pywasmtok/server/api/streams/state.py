"""The state of a stream between two requests: signed bytes that the client keeps, so that any
worker can go on.

The signature proves that this server made it; the tenant, the tokenizer and the time are signed,
too. It holds the client's own text only, so it is not encrypted.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from collections.abc import Callable
from typing import Final

import msgspec

from ....errors import InputTooLarge
from ...errors import BadRequest
from ..shapes import Stops

__all__ = ["VERSION", "Seal", "Standing"]

VERSION: Final = 1
_TAG_BYTES: Final = 32
_CONTEXT: Final = b"pywasmtok stream 1\0"


class Standing(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Where a stream stands."""

    version: int
    expires: int
    tenant: str
    name: str
    """Of the tokenizer, in the path of the request that opened it."""
    digest: str
    spent: int
    """Bytes of ids and text so far."""
    stops: Stops | None
    """With the ends of sequence that they were opened with."""
    core: bytes
    """The state of the library's stream."""


class Seal:
    def __init__(
        self,
        secret: bytes,
        *,
        seconds: float,
        most_bytes: int,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._secret = secret
        self._seconds = seconds
        self._most = most_bytes
        self._now = now

    def expires(self) -> int:
        return int(self._now() + self._seconds)

    def closed(self, standing: Standing) -> str:
        data = msgspec.msgpack.encode(standing)
        if len(data) > self._most:
            raise InputTooLarge.of(
                f"where this stream stands takes {len(data)} bytes; there may be {self._most}",
                self._most,
                len(data),
                hint="A WebSocket keeps it in the server",
            )
        return _text(self._tag(data) + data)

    def opened(self, state: str, tenant: str, name: str) -> Standing:
        """All invalid states get the same error, without details."""
        standing = self._read(state)
        if standing is None or standing.tenant != tenant or standing.version != VERSION:
            raise BadRequest("this is no state of a stream of yours", path="$.state")
        if standing.expires < self._now():
            raise BadRequest(
                "this state is too old",
                path="$.state",
                hint=f"A stream can be gone on with for {self._seconds:g} seconds",
            )
        if standing.name != name:
            raise BadRequest(
                f"this state is of a stream over {standing.name}, not {name}", path="$.state"
            )
        return standing

    def _read(self, state: str) -> Standing | None:
        # The base64 length of the largest state that was ever given out, with its padding.
        if len(state) > (self._most + _TAG_BYTES) * 4 // 3 + 4:
            return None
        try:
            whole = base64.b64decode(state + "=" * (-len(state) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        if _text(whole) != state:
            # Another spelling of the same bytes.
            return None
        tag, data = whole[:_TAG_BYTES], whole[_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(data)):
            return None
        try:
            return msgspec.msgpack.decode(data, type=Standing)
        except msgspec.DecodeError:
            # Signed by another version of this program.
            return None

    def _tag(self, data: bytes) -> bytes:
        return hmac.digest(self._secret, _CONTEXT + data, "sha256")


def _text(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()
