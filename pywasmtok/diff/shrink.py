"""A text made smaller while it keeps a property."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["shrink"]


def shrink(text: str, holds: Callable[[str], bool]) -> str:
    """Delta debugging over characters. `holds(text)` is true; the result is 1-minimal: without any
    one of its characters it has the property no longer."""
    size = max(1, len(text) // 2)
    while True:
        start, removed = 0, False
        while start < len(text):
            smaller = text[:start] + text[start + size :]
            if holds(smaller):
                text, removed = smaller, True
            else:
                start += size
        if size == 1 and not removed:
            return text
        size = max(1, min(size, len(text)) // 2)
