"""Implementations of encoding and decoding, behind one contract (`base.Backend`)."""

from __future__ import annotations

from .base import Backend
from .hybrid import Hybrid

__all__ = ["Backend", "Hybrid"]
