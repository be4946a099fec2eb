"""A head like the last one of a connection: clients that ask again and again send the same bytes,
but for the length of the body. What the parser made of them once, it would make of them again."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ..requests.straight import Screened

__all__ = ["KnownHead", "known_head"]

_LENGTH: Final = re.compile(rb"\r\ncontent-length: ([1-9][0-9]{0,5})\r\n", re.IGNORECASE)
_DIGITS: Final = 6

# Each connection keeps one.
_LONGEST: Final = 2048


class KnownHead(NamedTuple):
    before: bytes
    """All in front of the digits of the length."""
    after: bytes
    """All behind them, up to the body."""
    url: bytes
    screened: Screened
    keys: object
    """Those that were known then."""

    def body(self, data: bytes, most: int) -> bytes | None:
        """The body, if `data` is one such head with all of its body and nothing else, and that is
        at most so long."""
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


def known_head(
    data: bytes, body: bytes, url: bytes, screened: Screened, keys: object
) -> KnownHead | None:
    """Of a request that was read from the beginning of `data`; None where more lies behind it."""
    size = len(data) - len(body)
    # The first empty line is where the head ends: what looks like one in a second request is none.
    if size > _LONGEST or data.find(b"\r\n\r\n") + 4 != size or screened.trace is not None:
        return None
    head = data[:size]
    found = _LENGTH.search(head)
    if found is None or int(found[1]) != len(body):
        return None
    start, end = found.span(1)
    return KnownHead(head[:start], head[end:], url, screened, keys)
