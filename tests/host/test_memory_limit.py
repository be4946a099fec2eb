"""How much memory the system lets this process have."""

from __future__ import annotations

from pathlib import Path

import pytest

from pywasmtok._host.linux import ON, memory_limit

from .test_processors import tree

MACHINE = {"proc/meminfo": "MemTotal:       24684632 kB\nMemFree:        100 kB\n"}
NO_LIMIT = "9223372036854771712\n"


@pytest.mark.skipif(not ON, reason="control groups are Linux's")
@pytest.mark.parametrize(
    ("files", "bytes_"),
    [
        ({}, None),
        (MACHINE, 24684632 * 1024),
        ({**MACHINE, "proc/self/cgroup": "0::/\n"}, 24684632 * 1024),
        (
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000000\n"},
            2_000_000_000,
        ),
        (
            {
                **MACHINE,
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/memory.max": "3000000000\n",
                "sys/fs/cgroup/a/b/memory.max": "max\n",
            },
            3_000_000_000,
        ),
        (
            {
                **MACHINE,
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/memory.max": "3000000000\n",
                "sys/fs/cgroup/a/b/memory.max": "2000000000\n",
            },
            2_000_000_000,
        ),
        # More than the machine has.
        (
            {**MACHINE, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{1 << 50}\n"},
            24684632 * 1024,
        ),
        (
            {
                **MACHINE,
                "proc/self/cgroup": "4:memory:/x/y\n0::/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT,
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000000000\n",
                "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": NO_LIMIT,
            },
            1_000_000_000,
        ),
        # In a container the path is that of outside, and the group is mounted at the top.
        (
            {
                "proc/self/cgroup": "4:memory:/docker/1\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
            },
            1_000_000_000,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "nonsense"}, None),
    ],
)
def test_the_least_of_all_limits(tmp_path: Path, files: dict[str, str], bytes_: int | None) -> None:
    assert memory_limit.limit(tree(tmp_path, files)) == bytes_


def test_other_systems_do_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "ON", False)
    assert memory_limit.limit(tree(tmp_path, MACHINE)) is None
