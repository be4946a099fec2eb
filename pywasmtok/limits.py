"""Bounds on what a file may ask for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from .errors import InvalidArgument

__all__ = ["Limits"]

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Checked before anything is allocated; what passes one is a `LimitExceeded`.

    The defaults are far above every real file. The memory of the core's sandbox is a bound of its
    own, whatever these say.
    """

    metadata: int = 256 << 20
    """Bytes of the metadata of a GGUF file; of what lies behind it nothing is read."""
    pairs: int = 4096
    """Key and value pairs of a GGUF file."""
    key: int = 64 << 10
    """Bytes of one key."""
    items: int = 1 << 22
    """Items of one array, and tokens of a vocabulary."""
    string: int = 16 << 20
    """Bytes of one string."""
    token: int = 64 << 10
    """Bytes of one token."""
    file_bytes: int = 512 << 20
    """Bytes of a file that is read whole."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidArgument(f"Limits.{field.name} must be a count, not {value!r}")
            if value > _LARGEST:
                raise InvalidArgument(f"Limits.{field.name} is at most {_LARGEST}")

    def for_core(self) -> dict[str, int]:
        """Those that the core checks."""
        bounds = asdict(self)
        del bounds["file_bytes"]
        return bounds
