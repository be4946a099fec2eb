"""What the tests against the reference need, and how they skip without it."""

from __future__ import annotations

from typing import Any

import pytest
from versions import another

from tools.verify.chat.corpus import CHAT

# Another version is another reference.
WANTED = {"jinja2": "3.1.6", "transformers": "5.23.0"}


_reason = next(filter(None, (another(*wanted) for wanted in WANTED.items())), None)
needs_reference = pytest.mark.skipif(_reason is not None, reason=_reason or "")
needs_chats = pytest.mark.skipif(
    not (CHAT / "vectors.jsonl").is_file(),
    reason="no real chat templates: set PYWASMTOK_ASSETS, or put them in ../shared/assets",
)


def told(differences: list[Any], number: int = 5) -> str:
    """The shortest first, for the message of a failed test."""
    shortest = sorted(differences, key=lambda one: len(one.case.source))[:number]
    return f"{len(differences)} differences\n" + "\n".join(map(str, shortest))
