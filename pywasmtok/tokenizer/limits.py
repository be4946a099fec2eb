"""Bounds on what a file and a call may ask for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final

from ..errors import (
    DeadlineExceeded,
    InvalidArgument,
    MemoryLimit,
    QuotaExceeded,
    TemplateLimitExceeded,
    TokenizerError,
)

__all__ = ["LARGEST", "Limits", "TemplateLimits", "check_count"]

LARGEST: Final = 2**63 - 1

# What one instance of the core may use in any case, and the least that a call of it can run in.
_MOST_MEMORY: Final = 2 << 30
_LEAST_MEMORY: Final = 1 << 20

# A cancelled call ends by as many ticks as are left of its time.
_LONGEST: Final = 3600.0

# Bounds on calls: None means no bound.
_OPTIONAL: Final = (
    "memory",
    "max_text_bytes",
    "max_tokens",
    "max_batch_items",
    "max_template_output",
    "max_file_bytes",
)
# What the core checks while it reads a file.
_FOR_CORE: Final = ("metadata", "pairs", "key", "items", "string", "token")


def check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidArgument(f"{name} must be a count, not {value!r:.40}")
    if value > LARGEST:
        raise InvalidArgument(f"{name} is at most {LARGEST}")


def _check_seconds(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name} is a number of seconds, not {value!r:.40}")
    # This also refuses what is no number.
    if not 0 < value <= _LONGEST:
        raise InvalidArgument(f"{name} is above 0 and at most {_LONGEST:g} seconds")


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """Bounds on chat templates, which no real one touches. The error names the one that did."""

    source: int = 256 << 10
    chain: int = 200
    branches: int = 100
    nesting: int = 100
    depth: int = 128
    output: int = 8 << 20
    fuel: int = 10_000_000
    memory: int = 64 << 20
    deadline: float | None = 2.0
    """Seconds that one render may take; None: as long as it likes."""

    def __post_init__(self) -> None:
        _check_seconds("TemplateLimits.deadline", self.deadline)
        for field in fields(self):
            if field.name != "deadline":
                check_count(f"TemplateLimits.{field.name}", getattr(self, field.name))


@dataclass(frozen=True, slots=True)
class Limits:
    """What passes one is a `LimitExceeded`, which says the `.limit` and what was `.asked`.

    Those of a file have defaults far above every real one, and are checked before anything is
    allocated. Those of a call are off (None) by default. The memory of the core's sandbox has a
    bound of its own, whatever these say. docs/limits.md is the guide.
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

    deadline: float | None = None
    """Seconds that a call may take, loading among them: `DeadlineExceeded`. Of a stream each step
    is a call."""
    memory: int | None = None
    """Bytes that an instance of the core may use for the tables and one call: `MemoryLimit`."""
    max_text_bytes: int | None = None
    """UTF-8 bytes of all texts of one call: `InputTooLarge`."""
    max_tokens: int | None = None
    """Ids of one call: those that it answers (`QuotaExceeded`) or is given (`InputTooLarge`)."""
    max_batch_items: int | None = None
    """Items of a batch, and segments of a text: `InputTooLarge`."""
    max_template_output: int | None = None
    """UTF-8 bytes that a chat template may write: `QuotaExceeded`."""
    max_file_bytes: int | None = None
    """Another name for `file_bytes`, beside the other bounds of a caller."""

    def __post_init__(self) -> None:
        _check_seconds("Limits.deadline", self.deadline)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "deadline" or (value is None and field.name in _OPTIONAL):
                continue
            check_count(f"Limits.{field.name}", value)

        if self.memory is not None and not _LEAST_MEMORY <= self.memory <= _MOST_MEMORY:
            raise InvalidArgument(f"Limits.memory is from {_LEAST_MEMORY} to {_MOST_MEMORY} bytes")
        if self.max_file_bytes is not None:
            object.__setattr__(self, "file_bytes", self.max_file_bytes)

    @classmethod
    def of(cls, limits: Limits | None, bounds: dict[str, Any]) -> Limits:
        """What `limited` was given: a `Limits`, or the arguments of one."""
        if limits is None:
            try:
                return cls(**bounds)
            except TypeError as error:
                raise InvalidArgument(f"limited() takes the arguments of Limits: {error}") from None
        if bounds or not isinstance(limits, Limits):
            raise InvalidArgument("limited() takes a pywasmtok.Limits, or the arguments of one")
        return limits

    def for_core(self) -> dict[str, int]:
        """Those that the core checks."""
        return {name: getattr(self, name) for name in _FOR_CORE}

    def for_templates(self, asked: TemplateLimits | None) -> TemplateLimits:
        """What a call asks for itself, or the defaults, and never more than is said here."""
        return _for_templates(self, asked or TemplateLimits())

    def passed_by_template(self, error: TemplateLimitExceeded) -> TokenizerError:
        """The error of a call whose template passed one of these; else the template's own."""
        said, most = error.message, self.max_template_output
        if error.feature == "deadline" and self.deadline is not None:
            return DeadlineExceeded.of(said, self.deadline, self.deadline)
        if error.feature == "memory" and self.memory is not None:
            return MemoryLimit.of(said, self.memory, None)
        if error.feature == "output" and most is not None:
            return QuotaExceeded.of(said, most, most + 1)
        return error

    def tightened(self, other: Limits) -> Limits:
        """The smaller one of each bound."""
        smaller: dict[str, Any] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            known = [value for value in (mine, theirs) if value is not None]
            smaller[field.name] = min(known, default=None)
        if smaller["max_file_bytes"] is not None:
            smaller["max_file_bytes"] = smaller["file_bytes"]
        return Limits(**smaller)

    @property
    def bounds_calls(self) -> bool:
        """Whether anything is said of calls, and not of files alone."""
        return self.needs_sandbox or any(
            getattr(self, name) is not None for name in _OPTIONAL if name != "max_file_bytes"
        )

    @property
    def needs_sandbox(self) -> bool:
        """Whether only the core can keep these: nothing stops a call of another library."""
        return self.deadline is not None or self.memory is not None


@lru_cache(maxsize=256)
def _for_templates(limits: Limits, asked: TemplateLimits) -> TemplateLimits:
    tighter: dict[str, Any] = {}
    if limits.deadline is not None:
        tighter["deadline"] = min(limits.deadline, asked.deadline or _LONGEST)
    if limits.memory is not None:
        tighter["memory"] = min(limits.memory, asked.memory)
    if limits.max_template_output is not None:
        tighter["output"] = min(limits.max_template_output, asked.output)
    return replace(asked, **tighter) if tighter else asked
