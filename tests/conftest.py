"""Tests parse their files: what an earlier run has left must not answer for this one."""

from __future__ import annotations

import os

os.environ["PYWASMTOK_SNAPSHOTS"] = "off"
