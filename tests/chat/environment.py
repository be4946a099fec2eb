"""What the tests against the reference need, and how they skip without it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

from tools.verify.chat.corpus import CHAT

# Another version is another reference.
WANTED = {"jinja2": "3.1.6", "transformers": "5.23.0"}


def _missing() -> str | None:
    for package, version in WANTED.items():
        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            return f"the reference is {package} {version}, which is not installed"
        if found != version:
            return f"the reference is {package} {version}, and here is {found}"
    return None


_reason = _missing()
needs_reference = pytest.mark.skipif(_reason is not None, reason=_reason or "")
needs_chats = pytest.mark.skipif(
    not (CHAT / "vectors.jsonl").is_file(),
    reason="no real chat templates: set PYWASMTOK_ASSETS, or put them in ../shared/assets",
)


def told(differences: list[Any], number: int = 5) -> str:
    """The shortest first, for the message of a failed test."""
    shortest = sorted(differences, key=lambda one: len(one.case.source))[:number]
    return f"{len(differences)} differences\n" + "\n".join(map(str, shortest))
