"""Bounds of a tenant: on each call, and on all its calls together."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final

from ..errors import InvalidArgument
from ..tokenizer.limits import Limits, check_count

__all__ = ["TenantLimits"]

_LONGEST: Final = 1e9


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """`calls` bounds each call; the others bound what all calls of the tenant do together."""

    calls: Limits = field(
        default_factory=lambda: Limits(
            deadline=1.0,
            memory=512 << 20,
            max_text_bytes=4 << 20,
            max_tokens=4 << 20,
            max_batch_items=1024,
            max_template_output=4 << 20,
            max_file_bytes=64 << 20,
        )
    )
    load_deadline: float = 10.0
    """Seconds that reading a file of the tenant may take, in its throw-away instance."""
    bytes_per_second: int = 64 << 20
    """What is done for the tenant in a second, in the long run: text, ids (4 each), files."""
    burst_bytes: int = 256 << 20
    """What it may have done at once after a rest."""
    concurrent: int = 8
    """Calls that run at the same time."""
    queued: int = 64
    """Calls that wait for their turn; one more is refused."""
    stored_bytes: int = 1 << 30
    """Files that are kept for it."""
    tokenizers: int = 64
    """How many files are kept for it."""
    streams: int = 256
    """Streams that are open at the same time."""
    stream_bytes: int = 16 << 20
    """Text and ids of one stream."""
    templates: bool = False
    """Whether a request may bring a chat template of its own."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("calls", "templates"):
                continue
            if one.name == "load_deadline":
                _check_seconds(value)
            else:
                check_count(f"TenantLimits.{one.name}", value)
        if not isinstance(self.calls, Limits):
            raise InvalidArgument("TenantLimits.calls must be a pywasmtok.Limits")
        if not isinstance(self.templates, bool):
            raise InvalidArgument("TenantLimits.templates must be True or False")


def _check_seconds(value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _LONGEST:  # type: ignore[operator]
        raise InvalidArgument(f"TenantLimits.load_deadline is from 0 to {_LONGEST:g} seconds")
