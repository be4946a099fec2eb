"""Errors for a tenant that exceeds its share."""

from __future__ import annotations

from ..errors import Cancelled, QuotaExceeded, TokenizerError

__all__ = ["Cancelled", "Overloaded", "StorageFull", "TooManyRequests", "UnknownTokenizer"]


class TooManyRequests(QuotaExceeded):
    """Bytes a second, calls at once, calls in the queue. `retry_after` is in seconds."""

    kind = "too_many_requests"
    retry_after: float = 1.0


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
