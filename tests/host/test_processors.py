"""How many processors this process may use."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from pywasmtok._host.linux import ON, processors

from .processes import run


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"}, 3),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "300000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
            },
            3,
        ),
        (
            {
                "proc/self/cgroup": "5:cpuset:/x\n4:cpu,cpuacct:/x\n0::/\n",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
            },
            2,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0"}, None),
    ],
)
def test_the_quota_of_a_container(tmp_path: Path, files: dict[str, str], share: int | None) -> None:
    assert processors.share_of_container(tree(tmp_path, files)) == share


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processors.VARIABLE, " 7 ")
    assert processors.usable() == 7


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "100000"])
def test_what_is_no_number_is_named(
    value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(processors.VARIABLE, raising=False)
    without = processors.usable()
    processors._stated.cache_clear()
    monkeypatch.setenv(processors.VARIABLE, value)
    assert processors.usable() == processors.usable() == without
    assert [record.message for record in caplog.records] == [
        f"PYWASMTOK_THREADS={value!r} is no number from 1 to 1024: it is not used"
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pins a process to a processor")
def test_a_pinned_process_uses_one() -> None:
    one = min(os.sched_getaffinity(0))
    assert (
        run(f"""
    import os
    from pywasmtok._host.linux import processors
    os.sched_setaffinity(0, [{one}])
    print(processors.usable())
    """)
        == "1"
    )


@pytest.mark.skipif(not ON, reason="clocks of threads are Linux's")
def test_how_long_a_thread_has_run() -> None:
    end, ready = threading.Event(), threading.Event()
    numbers: list[int] = []

    def work() -> None:
        numbers.append(threading.get_native_id())
        spent = time.thread_time()
        while time.thread_time() < spent + 0.02:
            pass
        ready.set()
        end.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(10)
    spent = processors.seconds_of(numbers[0])
    assert 0.02 <= spent < 5
    # It waits, and needs no processor for that.
    time.sleep(0.1)
    assert processors.seconds_of(numbers[0]) < spent + 0.05
    end.set()
    thread.join()
    # The system may take a moment longer to forget it.
    late = time.monotonic() + 10
    while processors.seconds_of(numbers[0]):
        assert time.monotonic() < late
    assert processors.seconds_of(threading.get_native_id()) > 0
    assert processors.seconds_of(None) == 0
