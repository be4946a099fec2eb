"""A cache of the last parsed head of a connection.

Clients that repeat a request send the same bytes but for the length of the body, and what was found
for the first head holds for them, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ..auth.keys import KeyIndex
    from ..requests.at_once import Accepted

__all__ = ["RepeatedHead", "repeated_head"]

_LENGTH: Final = re.compile(rb"\r\ncontent-length: ([1-9][0-9]{0,5})\r\n", re.IGNORECASE)
_DIGITS: Final = 6

# Each connection keeps one.
_LONGEST: Final = 2048


class RepeatedHead(NamedTuple):
    before: bytes
    """All bytes before the digits of the length."""
    after: bytes
    """All bytes after them, up to the body."""
    accepted: Accepted
    keys: KeyIndex
    """The key index at that time."""

    def body(self, data: bytes, most: int) -> bytes | None:
        """The body, if `data` is one such head with its whole body and nothing else, and the body
        has at most `most` bytes."""
        begin = len(self.before)
        if not data.startswith(self.before):
            return None
        end = data.find(b"\r", begin, begin + _DIGITS + 1)
        digits = data[begin:end]
        if end < 0 or not digits.isdigit() or digits[0] == 0x30:
            return None
        place = end + len(self.after)
        size = int(digits)
        if size > most or len(data) - place != size or not data.startswith(self.after, end):
            return None
        return data[place:]


def repeated_head(
    data: bytes, body: bytes, accepted: Accepted, keys: KeyIndex
) -> RepeatedHead | None:
    """The head of a request that began at the start of `data`; None if more bytes follow it."""
    size = len(data) - len(body)
    # The head ends at the first empty line; a second request in the same read is not learned.
    if size > _LONGEST or data.find(b"\r\n\r\n") + 4 != size or accepted.trace is not None:
        return None
    head = data[:size]
    found = _LENGTH.search(head)
    if found is None or int(found[1]) != len(body):
        return None
    start, end = found.span(1)
    return RepeatedHead(head[:start], head[end:], accepted, keys)
