"""The smallest case that still fails the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from ..outcomes import Case
from .pieces import split, tags

OPTIONAL = ("tools", "documents", "arguments", "special_tokens", "add_generation_prompt")


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 10.0) -> Case:
    """Fewer pieces of template and less context, as long as it fails and time remains."""
    end = time.monotonic() + seconds

    def still(smaller: Case) -> bool:
        return time.monotonic() < end and fails(smaller)

    before = None
    while case != before and time.monotonic() < end:
        before = case
        case = _smaller_request(case, still)
        for cut in (tags, split):
            case = _smaller_source(case, cut, still)
    return case


def _smaller_source(
    case: Case, cut: Callable[[str], list[str]], fails: Callable[[Case], bool]
) -> Case:
    pieces = cut(case.source)
    size = max(1, len(pieces) // 2)
    while size:
        start = 0
        while start < len(pieces):
            fewer = pieces[:start] + pieces[start + size :]
            smaller = replace(case, source="".join(fewer))
            if fails(smaller):
                pieces, case = fewer, smaller
            else:
                # Overlapping steps: a block and its end may lie across two of them.
                start += max(1, size // 2)
        # Few pieces are tried in all numbers: a block may be any of them.
        size = size // 2 if size > 8 else size - 1
    return case


def _smaller_request(case: Case, fails: Callable[[Case], bool]) -> Case:
    defaults = {one.name: one for one in fields(case.request)}
    for name in OPTIONAL:
        value = getattr(case.request, name)
        empty: Any = {} if name in {"arguments", "special_tokens"} else defaults[name].default
        if value != empty:
            smaller = replace(case, request=replace(case.request, **{name: empty}))
            if fails(smaller):
                case = smaller
    for name in ("messages", "tools", "documents", "arguments"):
        case = _smaller_value(case, name, fails)
    return case


def _smaller_value(case: Case, name: str, fails: Callable[[Case], bool]) -> Case:
    progress = True
    while progress:
        progress = False
        for value in less(getattr(case.request, name)):
            smaller = replace(case, request=replace(case.request, **{name: value}))
            if fails(smaller):
                case, progress = smaller, True
                break
    return case


def less(value: Any) -> Iterator[Any]:
    """Values that are a step smaller, the boldest steps first."""
    if isinstance(value, str):
        if value:
            yield ""
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
            yield from _without_one(value)
    elif isinstance(value, list | tuple):
        yield from _without_one(list(value))
        for place, item in enumerate(value):
            for smaller in less(item):
                yield [*value[:place], smaller, *value[place + 1 :]]
    elif isinstance(value, dict):
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            for smaller in less(item):
                yield {**value, key: smaller}
    elif isinstance(value, bool) or value is None:
        return
    elif value:
        yield type(value)(0)


def _without_one(value: Any) -> Iterator[Any]:
    if 1 < len(value) <= 40:
        for place in range(len(value)):
            yield value[:place] + value[place + 1 :]
    elif len(value) == 1 and isinstance(value, list):
        yield []
