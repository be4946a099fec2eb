"""What tenants and tokenizers may be called."""

from __future__ import annotations

import re
from typing import Final

from ..errors import InvalidArgument
from .contract import PUBLIC

__all__ = ["check_alias", "check_tenant", "is_digest"]

_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_ALIAS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def is_digest(name: str) -> bool:
    return _DIGEST.fullmatch(name) is not None


def check_tenant(name: str) -> str:
    if _TENANT.fullmatch(name) is None:
        raise InvalidArgument(
            f"{name[:80]!r} is no name of a tenant",
            hint="Up to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit",
        )
    if name == PUBLIC:
        raise InvalidArgument(f"{PUBLIC!r} is the operator's own name, and no tenant's")
    return name


def check_alias(name: str) -> str:
    # Proxies resolve `a/../b` and join `a//b`: the same path would be two names.
    has_gap = any(part in ("", ".", "..") for part in name.split("/"))
    if _ALIAS.fullmatch(name) is None or is_digest(name) or has_gap:
        raise InvalidArgument(
            f"{name[:80]!r} is no name of a tokenizer",
            hint="Up to 128 of letters, digits, '.', '_', ':', '/' and '-', the first a letter or "
            "a digit; no part between two '/' is empty, '.' or '..'; and no SHA-256",
        )
    return name
