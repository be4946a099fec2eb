"""New files beside others."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from pywasmtok._host.snapshots.new_file import new_file


def test_a_new_file_is_this_user_s_alone(tmp_path: Path) -> None:
    file, name = new_file(tmp_path)
    os.write(file, b"content")
    os.close(file)
    assert Path(name).parent == tmp_path
    assert Path(name).name.startswith(".new-")
    assert Path(name).read_bytes() == b"content"
    if sys.platform != "win32":
        assert stat.S_IMODE(os.stat(name).st_mode) == 0o600


def test_no_file_is_taken_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [b"\1" * 8, b"\1" * 8, b"\2" * 8]
    monkeypatch.setattr(os, "urandom", lambda count: numbers.pop(0))
    made = [new_file(tmp_path) for _ in range(2)]
    for file, _ in made:
        os.close(file)
    assert [Path(name).name for _, name in made] == [".new-" + "01" * 8, ".new-" + "02" * 8]


def test_other_failures_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        new_file(tmp_path / "missing")
