"""The memory of a server: its bound, what files need, and what a scrape says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pywasmtok._host.linux import ON
from pywasmtok.server.config import Bounds, Config, Listen, Logs
from pywasmtok.server.contract import PUBLIC
from pywasmtok.server.opening import memory_of, open_service
from pywasmtok.tenants.loads import needed

from .serving import served

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


def gauges_of(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#") and "{" not in line]
    return {name: float(number) for name, _, number in (line.partition(" ") for line in lines)}


def test_a_gauge_tells_what_is_reserved() -> None:
    service = open_service(Config(logs=Logs(access=False)))

    def reserved() -> float:
        text = service.metrics.render()[0].decode()
        return gauges_of(text)["pywasmtok_server_reserved_bytes"]

    try:
        assert reserved() == 0
        with service.pool.get(PUBLIC).reading(1 << 20, b"{"):
            assert reserved() == needed(1 << 20, b"{")
        assert reserved() == 0
    finally:
        service.close()


@pytest.mark.skipif(not ON, reason="Linux says what memory is in no file")
def test_a_gauge_tells_what_the_system_cannot_drop() -> None:
    with served() as server:
        assert server.post("/tokenize", {"prompt": "a"}).status_code == 200
        gauges = gauges_of(server.get("/metrics").text)
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    kernel = 1024 * int(status.partition("RssAnon:")[2].split()[0])
    told = gauges["pywasmtok_server_anonymous_bytes"]
    assert kernel / 1.5 < told < kernel * 1.5
    # The instances are a part of it.
    assert gauges["pywasmtok_server_instances"] > 0
    assert gauges["pywasmtok_server_memory_bytes"] < told
