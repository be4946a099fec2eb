"""What a tenant is told when it asks for more than its share."""

from __future__ import annotations

from ..errors import Cancelled, QuotaExceeded, TokenizerError

__all__ = ["Cancelled", "Overloaded", "StorageFull", "TooManyRequests", "UnknownTokenizer"]


class TooManyRequests(QuotaExceeded):
    """Bytes a second, calls at once, calls in the queue. `retry_after` is in seconds."""

    kind = "too_many_requests"
    retry_after: float = 1.0


class Overloaded(TokenizerError):
    """The process has no room for anybody's call; nothing of this tenant's is the reason."""

    kind = "overloaded"
    retry_after: float = 1.0


class StorageFull(QuotaExceeded):
    """Stored bytes, number of tokenizers; or the disk."""

    kind = "storage_full"


class UnknownTokenizer(TokenizerError, LookupError):
    """None of this name that the tenant may see. It never says whether another tenant has it."""

    kind = "unknown_tokenizer"
