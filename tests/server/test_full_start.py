"""A server that starts again while its disk is full serves what it has."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pywasmtok.server.store.folder import FolderStore
from server.serving import served
from tools.verify.server_kill import TEXT, Files

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="mounts a file system of Linux"
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(folder: Path) -> None:
    with suppress(OSError), open(folder / "filler", "ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_does_not_stop_a_restart(disk: Path, killed: bool, workers: str) -> None:
    data, ids = Files(random.Random(1)).made()
    arguments = ("--store", str(disk / "s"), "--no-access-log", "--workers", workers)
    with served(*arguments) as server:
        assert server.put("/api/v1/tokenizers/mine", data).status_code in (200, 201)
        if not killed:
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(120) == 0
    if not killed:
        # SQLite then has no file of working memory, which it needs to read, too.
        connection = sqlite3.connect(disk / "s" / "records.sqlite")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        assert not (disk / "s" / "records.sqlite-shm").exists()
    _fill(disk)
    with served(*arguments, TMPDIR=str(disk)) as server:
        answer = server.post("/api/v1/tokenizers/mine/encode", {"text": TEXT})
        assert (answer.status_code, answer.json()["ids"]) == (200, ids)
        (disk / "filler").unlink()
        assert server.put("/api/v1/tokenizers/more", data).status_code in (200, 201)


def test_what_was_to_be_removed_waits_for_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pywasmtok.tenants.errors import StorageFull

    FolderStore(tmp_path).close()

    def full(self: FolderStore) -> int:
        raise StorageFull("the disk of the store is full")

    monkeypatch.setattr(FolderStore, "sweep", full)
    store = FolderStore(tmp_path)
    assert store.tenants() == []
    store.close()
    assert "the disk is full" in caplog.text
