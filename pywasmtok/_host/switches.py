"""Variables of the environment that switch something off."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Final

OFF: Final = "off"

_log = logging.getLogger("pywasmtok")


def is_off(variable: str) -> bool:
    """Whether the variable says `off`; a value that is neither that nor `on` is named once."""
    return _is_off(variable, os.environ.get(variable, "").strip().lower())


@cache
def _is_off(variable: str, value: str) -> bool:
    if value not in ("", "on", OFF):
        _log.warning("%s=%r is neither 'on' nor 'off': it is not used", variable, value)
    return value == OFF
