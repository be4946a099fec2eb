"""The hooks of `pytest conformance --impl NAME`, whether or not the runner is installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "runner"))

from tokconf.pytest_plugin import (
    pytest_addoption,
    pytest_collect_file,
    pytest_configure,
    pytest_ignore_collect,
    pytest_unconfigure,
)

__all__ = [
    "pytest_addoption",
    "pytest_collect_file",
    "pytest_configure",
    "pytest_ignore_collect",
    "pytest_unconfigure",
]
