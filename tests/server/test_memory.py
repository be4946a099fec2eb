"""The memory of a server: its bound, what files need, and what a scrape says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pywasmtok._host.linux import ON
from pywasmtok.server.config import Bounds, Config, Listen
from pywasmtok.server.opening import memory_of

GROUP = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000000\n"}


def group_of(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="ascii")
    return root


@pytest.mark.skipif(not ON, reason="control groups are Linux's")
def test_the_budget_is_a_share_of_what_the_system_gives(tmp_path: Path) -> None:
    root = group_of(tmp_path, GROUP)
    assert memory_of(Config(), root) == 1_000_000_000
    assert memory_of(Config(listen=Listen(workers=3, long_workers=1)), root) == 250_000_000


def test_what_the_operator_says_wins(tmp_path: Path) -> None:
    config = Config(listen=Listen(workers=2), bounds=Bounds(memory=123_000_000))
    assert memory_of(config, group_of(tmp_path, GROUP)) == 123_000_000


def test_without_a_word_of_the_system_there_is_a_fixed_budget(tmp_path: Path) -> None:
    assert memory_of(Config(), tmp_path) == 4 << 30
