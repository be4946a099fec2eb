"""A pool over the small tokenizer, and what goes with it."""

from __future__ import annotations

import json
from typing import Any

from small import definition

from pywasmtok import Limits
from pywasmtok.tenants import TenantLimits, TenantPool

CALLS = Limits(deadline=30.0, memory=128 << 20, max_text_bytes=1 << 20, max_tokens=1 << 20)
TEMPLATE = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}"


def limits(**changes: Any) -> TenantLimits:
    return TenantLimits(**{"calls": CALLS, "load_deadline": 60.0, **changes})


def small(**changes: Any) -> bytes:
    return json.dumps(definition(**changes)).encode()


def pool(**options: Any) -> TenantPool:
    return TenantPool(False, **options)


class KeptElsewhere:
    """Files by digest, as a server keeps them."""

    def __init__(self, files: dict[str, tuple[bytes, dict[str, Any]]] | None = None) -> None:
        self.files = files or {}
        self.asked: list[str] = []

    def open(self, digest: str) -> tuple[bytes, dict[str, Any]]:
        self.asked.append(digest)
        return self.files[digest]
