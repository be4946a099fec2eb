"""Copies of files that nobody can change, and code that is run from them."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import zlib
from io import FileIO
from pathlib import Path

import pytest

import pywasmtok._host as host
from pywasmtok._host.linux import ON, sealed
from pywasmtok._host.linux.sealed import Sealed, sealed_copy
from pywasmtok._host.wasm.artifacts import Artifact
from pywasmtok._host.wasm.cache import Cache
from pywasmtok._host.wasm.core import Core
from pywasmtok._host.wasm.wasmtime_objects import Engine, Module, WasmtimeError

from .cores import ids_of, sample_wasm

linux = pytest.mark.skipif(not ON, reason="files in memory are Linux's")


@pytest.fixture(params=["in a file", "in memory"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    way: str = request.param
    if way == "in memory":
        monkeypatch.setattr(sealed, "ON", False)
    elif not ON:
        pytest.skip("files in memory are Linux's")
    return way


def copy_of(path: Path, size: int) -> Sealed:
    with FileIO(path) as file:
        return sealed_copy(file, size)


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000])
def test_a_copy_has_the_bytes_and_their_checksum(way: str, size: int, tmp_path: Path) -> None:
    path, content = tmp_path / "file", os.urandom(size)
    path.write_bytes(content + b"behind")
    with FileIO(path) as file:
        copy = sealed_copy(file, size)
        assert file.read() == b"behind"
    path.write_bytes(b"another")
    assert (copy.path is None) == (way == "in memory")
    assert copy.checksum == zlib.crc32(content)
    if copy.path is not None:
        assert Path(copy.path).read_bytes() == content
    assert copy.data[:] == content
    copy.close()
    assert copy.path is None


def test_a_file_that_has_lost_something_meanwhile(way: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"short")
    with pytest.raises(EOFError):
        copy_of(path, 9)


@linux
def test_nobody_writes_to_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"some bytes")
    copy = copy_of(path, 10)
    assert copy.path is not None
    # The process may change what it sees of it: nobody else does.
    copy.data[:4] = b"else"
    assert Path(copy.path).read_bytes() == b"some bytes"
    with open(copy.path, "r+b", buffering=0) as file:
        with pytest.raises(PermissionError):
            file.write(b"other")
        with pytest.raises(PermissionError):
            file.truncate(3)
        with pytest.raises(PermissionError):
            mmap.mmap(file.fileno(), 10)
    copy.close()


@linux
def test_where_a_file_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*about: object) -> int:
        raise PermissionError("not here")

    path = tmp_path / "file"
    path.write_bytes(b"some bytes")
    for name in ("memfd_create", "write"):
        with monkeypatch.context() as patch:
            patch.setattr(sealed.os, name, refused)
            copy = copy_of(path, 10)
        assert copy.path is None
        assert copy.data[:] == b"some bytes"
        copy.close()


def test_code_runs_from_either(way: str, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for from_cache in (False, True):
        core = Core(Artifact("test", sample_wasm(False)), cache)
        assert core.from_cache is from_cache
        assert host.load_with(core, b"x").encode_ids("right", False) == ids_of("right")


@linux
def test_code_runs_where_files_in_memory_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the system runs no code from them."""
    asked = []

    def refused(engine: Engine, path: str) -> Module:
        asked.append(path)
        raise WasmtimeError("operation not permitted")

    cache = Cache(tmp_path)
    Core(Artifact("test", sample_wasm(False)), cache)
    monkeypatch.setattr(Module, "deserialize_file", refused)
    core = Core(Artifact("test", sample_wasm(False)), cache)
    assert core.from_cache
    assert len(asked) == 1
    assert host.load_with(core, b"x").encode_ids("right", False) == ids_of("right")


@linux
def test_nothing_stays_open(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    Core(Artifact("test", sample_wasm(False)), cache)
    gc.collect()
    before = open_copies()
    cores = [Core(Artifact("test", sample_wasm(False)), cache) for _ in range(5)]
    assert all(core.from_cache for core in cores)
    # wasmtime keeps what it has mapped, for as long as it is mapped.
    assert open_copies() == before + 5
    cores.clear()
    gc.collect()
    assert open_copies() == before


def open_copies() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):
        # The one that lists them is gone by now.
        with contextlib.suppress(OSError):
            count += sealed.NAME in os.readlink(f"/proc/self/fd/{name}")
    return count
