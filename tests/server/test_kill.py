"""The commands that kill a server and take from it what it needs, shortened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits of a running process are Linux's"
)


@pytest.fixture(autouse=True)
def _with_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def test_nothing_acknowledged_is_lost_and_nothing_wrong_is_served(tmp_path: Path) -> None:
    from tools.verify.server_kill import run

    report = run(kills=1, seed=3, folder=tmp_path, most_seconds=1.0)
    assert (report.lost, report.wrong, report.damaged) == ([], [], [])
    assert (report.kills, len(report.ready_seconds)) == (1, 2)


def test_a_full_disk_is_a_typed_error(tmp_path: Path) -> None:
    from tools.verify.server_scarce import scarce_disk

    seen = scarce_disk(tmp_path, mounts=False)
    assert seen["507 storage_full"] > 0
    assert seen["200 good"] > 0


@pytest.mark.parametrize("name", ["scarce_descriptors", "scarce_memory"])
def test_without_descriptors_or_address_space_the_server_lives(tmp_path: Path, name: str) -> None:
    from tools.verify import server_scarce

    seen = getattr(server_scarce, name)(tmp_path, rounds=3)
    assert seen["200 good"] > 0
    assert sum(seen.values()) > seen["200 good"]
