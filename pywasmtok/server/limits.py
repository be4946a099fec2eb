"""The limits of a tenant as JSON: in the store, in the configuration and on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

import msgspec

from ..errors import InvalidArgument
from ..tenants.limits import TenantLimits
from ..tokenizer.limits import Limits

__all__ = ["changed", "limits_from", "limits_of"]

L = TypeVar("L", TenantLimits, Limits)


def limits_of(limits: TenantLimits) -> dict[str, Any]:
    return asdict(limits)


def limits_from(stored: Mapping[str, Any]) -> TenantLimits:
    """Fields that an older version did not store have their defaults."""
    return changed(TenantLimits(), stored, strict=False)


def changed(limits: TenantLimits, said: Mapping[str, Any], *, strict: bool = True) -> TenantLimits:
    """The limits with changed fields. `strict`: unknown names are errors."""
    mine = _known(said, TenantLimits, "limits", strict)
    if isinstance(mine.get("calls"), Mapping):
        mine["calls"] = _with(limits.calls, _calls(mine["calls"], strict), "limits.calls")
    return _with(limits, mine, "limits")


def _calls(said: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    known = _known(said, Limits, "limits.calls", strict)
    # Two names of one bound: the last one counts.
    if "file_bytes" in known:
        known.setdefault("max_file_bytes", known["file_bytes"])
    return known


def _known(said: Mapping[str, Any], kind: Any, where: str, strict: bool) -> dict[str, Any]:
    names = [field.name for field in fields(kind)]
    unknown = sorted(set(said).difference(names))
    if unknown and strict:
        raise InvalidArgument(
            f"{unknown[0]!r} is no limit", path=where, hint=f"There are {', '.join(names)}"
        )
    return {name: value for name, value in said.items() if name in names}


def _with(limits: L, said: dict[str, Any], where: str) -> L:
    try:
        # Types first: what a dataclass is made with is not looked at.
        return msgspec.convert({**asdict(limits), **_plain(said)}, type(limits))
    except (InvalidArgument, msgspec.ValidationError, TypeError) as error:
        raise InvalidArgument(str(error), path=where) from None


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: asdict(value) if isinstance(value, Limits) else value for name, value in said.items()
    }
