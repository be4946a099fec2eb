"""Implementations of encoding and decoding, behind one contract (`base.Backend`)."""

from __future__ import annotations

from .base import Backend, Complete
from .hybrid import Hybrid

__all__ = ["Backend", "Complete", "Hybrid"]
