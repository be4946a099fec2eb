"""What the writers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import Unsupported

__all__ = ["Facts", "Written", "refused"]


class Facts(NamedTuple):
    """What is known of a tokenizer beside its tokenizer.json."""

    roles: Mapping[str, str]
    chat_templates: Mapping[str, str]
    encoding: str | None
    """The known encoding that it was loaded as."""


class Written(NamedTuple):
    data: bytes
    read_with: Mapping[str, Any]
    """Load options with which the file says the same."""


def refused(
    to: str, part: str, message: str, *, hint: str | None = "A tokenizer.json says it (--to json)"
) -> Unsupported:
    return Unsupported(message, feature=f"convert:{to}:{part}", hint=hint)
