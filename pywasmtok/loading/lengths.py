"""`truncation=` and `padding=` of `create_tokenizer`: the file as if it stated these.

A tokenizer.json may state that every text is cut at 512 ids, and that every text is padded to 512.
Both are part of the file for all backends, so the statements are exchanged before a backend reads
it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from .sources.lazy import LazyFile

__all__ = ["Stated", "check_lengths", "restated"]

Stated = Mapping[str, Any] | bool | None
"""None: what the file states; False: nothing; a mapping: this."""

_BOM: Final = b"\xef\xbb\xbf"

_DIRECTIONS: Final = {"right": "Right", "left": "Left"}
_STRATEGIES: Final = {
    "longest_first": "LongestFirst",
    "only_first": "OnlyFirst",
    "only_second": "OnlySecond",
}
_TRUNCATION: Final = {"max_length": None, "stride": 0, "strategy": "longest_first"}
_PADDING: Final = {"length": None, "pad_to_multiple_of": None}
_PADDING_IDS: Final = {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}


def check_lengths(truncation: Stated, padding: Stated) -> None:
    """Raises for values that no file may have."""
    for name, stated, make in (
        ("truncation", truncation, _truncation),
        ("padding", padding, _padding),
    ):
        if isinstance(stated, Mapping):
            make(stated)
        elif stated is not None and stated is not False:
            raise InvalidArgument(f"{name} must be None, False or a mapping, not {stated!r}")


def restated(data: bytes | LazyFile, truncation: Stated, padding: Stated) -> bytes | None:
    """The file with other statements; None: it is no tokenizer.json that can be read."""
    try:
        document = json.loads(bytes(data).removeprefix(_BOM))
    except (ValueError, RecursionError):
        # The core says what is wrong with it.
        return None
    if not isinstance(document, dict) or "model" not in document:
        return None
    if truncation is not None:
        document["truncation"] = None if truncation is False else _truncation(truncation)
    if padding is not None:
        document["padding"] = None if padding is False else _padding(padding)
    return json.dumps(document).encode()


def _truncation(stated: Any) -> dict[str, Any]:
    given = _given("truncation", stated, {**_TRUNCATION, "direction": "right"})
    length, stride = given["max_length"], given["stride"]
    _check_size("truncation", "max_length", length)
    _check_size("truncation", "stride", stride)
    if stride and stride >= length:
        raise InvalidArgument(f"truncation: stride {stride} is not below max_length {length}")
    return {
        "max_length": length,
        "stride": stride,
        "strategy": _one_of("truncation", "strategy", given["strategy"], _STRATEGIES),
        "direction": _one_of("truncation", "direction", given["direction"], _DIRECTIONS),
    }


def _padding(stated: Any) -> dict[str, Any]:
    given = _given("padding", stated, {**_PADDING, **_PADDING_IDS, "direction": "right"})
    for name in ("length", "pad_to_multiple_of"):
        if given[name] is not None:
            _check_size("padding", name, given[name])
    for name in ("pad_id", "pad_type_id"):
        _check_size("padding", name, given[name])
    if not isinstance(given["pad_token"], str):
        raise InvalidArgument("padding: pad_token must be str")
    length = given["length"]
    return {
        **{name: given[name] for name in ("pad_to_multiple_of", *_PADDING_IDS)},
        "strategy": "BatchLongest" if length is None else {"Fixed": length},
        "direction": _one_of("padding", "direction", given["direction"], _DIRECTIONS),
    }


def _given(what: str, stated: Mapping[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in stated if name not in known]
    if unknown:
        raise InvalidArgument(f"{what} has no {unknown[0]!r}; it has {', '.join(known)}")
    return {**known, **stated}


def _check_size(what: str, name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**32:
        raise InvalidArgument(f"{what}: {name} must be a number from 0 to 2**32 - 1, not {value!r}")


def _one_of(what: str, name: str, value: object, choices: dict[str, str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(f"{what}: {name}={value!r} is none of {', '.join(choices)}")
    return choices[value]
