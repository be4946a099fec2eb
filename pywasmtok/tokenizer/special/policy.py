"""`special=`: whether the name of a special token in a text is a token, text or an error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple

from ...errors import InvalidArgument

__all__ = [
    "ALL",
    "NAMES_ARE_TEXT",
    "NONE",
    "WITH_SPECIAL_TOKENS",
    "AddedName",
    "Policy",
    "Special",
    "control_ids",
    "is_flag",
    "policy_of",
    "segments_document",
]

# Flags of a short call (`backends.base.Quick`).
WITH_SPECIAL_TOKENS: Final = 1
NAMES_ARE_TEXT: Final = 4

Special = str | Set[str]
"""`"all"`, `"none"`, `"raise"`, or the set of the names that are tokens."""


class AddedName(NamedTuple):
    """What a name in a set may be: an added token."""

    id: int
    special: bool


class Policy(NamedTuple):
    """A checked `special=`; made by `policy_of`."""

    special: str
    """`all`, `none`, `raise` or `some`."""
    allowed: tuple[int, ...] = ()
    """For `some`: the ids of the special tokens that are parsed."""

    def document(self, *, is_pair: bool = False) -> bytes:
        """What the core is told; see docs/abi.md."""
        return _document(self, is_pair)


@lru_cache(maxsize=64)
def _document(policy: Policy, is_pair: bool) -> bytes:
    names: object = {"allow": policy.allowed} if policy.special == "some" else policy.special
    return json.dumps({"special": names, "pair": is_pair}).encode()


def segments_document(segments: Sequence[tuple[str, bool]], also: Sequence[int]) -> bytes:
    """The same for segments; `also` are ids of added tokens that count as special."""
    trusted = [trusted for _, trusted in segments]
    return json.dumps({"trusted": trusted, "also": list(also)}).encode()


ALL: Final = Policy("all")
NONE: Final = Policy("none")
_RAISE: Final = Policy("raise")
_NAMED: Final = {"all": ALL, "none": NONE, "raise": _RAISE}


def is_flag(special: object) -> bool:
    """Whether a flag of the plain calls says it all. Everything else is checked by the backend."""
    return isinstance(special, str) and special in ("all", "none")


def policy_of(special: object, added: Callable[[], Mapping[str, AddedName]]) -> Policy:
    """`added` returns the added tokens of the file; it is called only where names have to be looked
    up."""
    if isinstance(special, str):
        known = _NAMED.get(special)
        if known is not None:
            return known
    elif isinstance(special, Set):
        return _some(special, added())
    raise InvalidArgument(
        f"special={special!r} is neither 'all', 'none' nor 'raise', nor a set of names"
    )


def control_ids(control: object, added: Callable[[], Mapping[str, AddedName]]) -> tuple[int, ...]:
    """The ids that count as special beside those that are."""
    if control == "special":
        return ()
    tokens = added()
    if control == "added":
        # White space is no control token, whatever else the list of added tokens holds.
        named = [name for name in tokens if not name.isspace()]
    elif isinstance(control, Set):
        for name in control:
            if name not in tokens:
                raise InvalidArgument(
                    f"control= has {name!r}, which is no added token of this tokenizer"
                )
        named = list(control)
    else:
        raise InvalidArgument(
            f"control={control!r} is neither 'special' nor 'added', nor a set of names"
        )
    return tuple(sorted({tokens[name].id for name in named}))


def _some(names: Set[object], added: Mapping[str, AddedName]) -> Policy:
    allowed = set()
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgument(f"special= has {name!r}, which is no name of a token")
        token = added.get(name)
        if token is None:
            raise InvalidArgument(
                f"special= has {name!r}, which is no added token of this tokenizer",
                hint="special_tokens.ids has those of the file",
            )
        # One that is not special may be a control token all the same.
        allowed.add(token.id)
    return Policy("some", tuple(sorted(allowed)))
