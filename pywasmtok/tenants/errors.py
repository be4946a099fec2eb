"""Errors for a tenant that exceeds its share."""

from __future__ import annotations

from typing import Any, Final, Self

from ..errors import Cancelled, QuotaExceeded, TokenizerError

__all__ = [
    "FOREVER",
    "Cancelled",
    "Overloaded",
    "StorageFull",
    "TooManyRequests",
    "UnknownTokenizer",
]

FOREVER: Final = 86_400.0
"""Seconds that stand for ever, small enough for a header."""


class TooManyRequests(QuotaExceeded):
    """Bytes a second, calls at once, calls in the queue. `retry_after` is in seconds."""

    kind = "too_many_requests"
    retry_after: float = 1.0

    @classmethod
    def of(cls, message: str, limit: float, asked: float | None, **rest: Any) -> Self:
        error = super().of(message, limit, asked, **rest)
        if not limit:
            # There will be no room later, either.
            error.retry_after = FOREVER
        return error


class Overloaded(TokenizerError):
    """The process has no room for more calls of any tenant; this tenant's load is not the cause."""

    kind = "overloaded"
    retry_after: float = 1.0


class StorageFull(QuotaExceeded):
    """Stored bytes, number of tokenizers; or the disk."""

    kind = "storage_full"


class UnknownTokenizer(TokenizerError, LookupError):
    """None of this name that the tenant may see. It never says whether another tenant has it."""

    kind = "unknown_tokenizer"
