"""`X-Request-ID`: the name of a request, of the caller or ours. Its answer and the log have it."""

from __future__ import annotations

import os
import re
from itertools import count
from typing import Final

__all__ = ["HEADER", "request_id"]

HEADER: Final = b"x-request-id"

_MOST: Final = 128
_OTHERS: Final = re.compile(rb"[^A-Za-z0-9._:+/=@-]")

_numbers: Final = count(1)
_begins = os.urandom(6).hex().encode()


def _begin_anew() -> None:
    global _begins  # noqa: PLW0603
    _begins = os.urandom(6).hex().encode()


# Two workers must not give the same names.
os.register_at_fork(after_in_child=_begin_anew)


def request_id(said: bytes | None) -> bytes:
    """Of what the caller said, letters, digits and `._:+/=@-` are kept, 128 at most. Where nothing
    is left, a new name."""
    if said is not None:
        kept = _OTHERS.sub(b"", said[: 4 * _MOST])[:_MOST]
        if kept:
            return kept
    return b"%b-%x" % (_begins, next(_numbers))
