"""What all tests share: a folder for what is parsed once a run, and which process runs which tests.

Tests parse their files: what an earlier run has left must not answer for this one.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

with suppress(ImportError):
    from hypothesis import settings

    # The same examples in each run, on a slow machine, too. A slow run looks for new ones.
    is_slow = bool(os.environ.get("PYWASMTOK_SLOW"))
    settings.register_profile("tests", deadline=None, derandomize=not is_slow)
    settings.load_profile("tests")

os.environ["PYWASMTOK_SNAPSHOTS"] = "off"
# A name that is no path may be a repository of the hub: no test asks the real one.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"

# The processes that xdist starts inherit it.
PARSED = "PYWASMTOK_TEST_PARSED"


def clean_up(folder: str, owner: int) -> None:
    # Not what a test has forked.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


if PARSED not in os.environ:
    os.environ[PARSED] = tempfile.mkdtemp(prefix="pywasmtok-tests-")
    atexit.register(clean_up, os.environ[PARSED], os.getpid())


@pytest.fixture(scope="module", autouse=True)
def old_objects_are_no_garbage() -> None:
    """Objects from before the tests of a file, such as pytest's own, are no longer searched for
    garbage. One search takes up to a quarter of a second otherwise, and one test makes ninety."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """One process has all tests of a real tokenizer file, so that it is read once; another `--dist`
    than what `-n` implies is left alone."""
    if config.getoption("dist") != "load":
        return None
    from sharing import Grouped

    return Grouped(config, log)
