"""Compiled code on disk. K9: running damaged code crashed one process in seven."""

from __future__ import annotations

import logging
import os
import stat
import sys
from importlib import metadata
from pathlib import Path

import pytest

from pywasmtok._host.snapshots.new_file import new_file
from pywasmtok._host.wasm import cache as caches
from pywasmtok._host.wasm import config
from pywasmtok._host.wasm.artifacts import Artifact
from pywasmtok._host.wasm.cache import ENVIRONMENT, Cache
from pywasmtok._host.wasm.core import Core, version

from .cores import ids_of, sample_wasm
from .processes import finish, run, start

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and owners of POSIX")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv(ENVIRONMENT, str(path))
    return path


@pytest.fixture
def store(directory: Path) -> Cache:
    return Cache.for_user()


def opened(store: Cache) -> Core:
    core = Core(Artifact("test", sample_wasm(False)), store)
    import pywasmtok._host as host

    assert host.load_with(core, b"x").encode_ids("right", False) == ids_of("right")
    return core


def only_file(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


def test_the_second_process_compiles_nothing(store: Cache, directory: Path) -> None:
    assert not opened(store).from_cache
    before = only_file(directory).stat()
    assert opened(store).from_cache
    assert only_file(directory).stat().st_mtime_ns == before.st_mtime_ns


@posix
def test_only_the_user_may_read_and_write(store: Cache, directory: Path) -> None:
    opened(store)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(only_file(directory).stat().st_mode) == 0o600


def test_k9_a_flipped_bit_anywhere_is_noticed(
    store: Cache, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(store)
    path = only_file(directory)
    good = path.read_bytes()
    for place in (0, 20, 1000, len(good) // 2, len(good) - 31, len(good) - 25, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 0x10
        path.write_bytes(bad)
        assert store.load(path.stem) is None
        assert "damaged" in caplog.records[-1].message
    assert not opened(store).from_cache
    # wasmtime does not promise to compile to the same bytes, but what is there is whole again.
    assert opened(store).from_cache


@pytest.mark.parametrize("size", [0, 1, 29, 30, 31, -30, -1])
def test_k9_a_truncated_file_is_built_anew(store: Cache, directory: Path, size: int) -> None:
    opened(store)
    path = only_file(directory)
    path.write_bytes(path.read_bytes()[:size])
    assert not opened(store).from_cache
    assert opened(store).from_cache


def test_code_of_another_engine_is_built_anew(store: Cache, directory: Path) -> None:
    """Whole by its checksum, but refused by wasmtime."""
    opened(store)
    key = only_file(directory).stem
    store.store(key, b"\x7fELF of something else")
    whole = store.load(key)
    assert whole is not None
    assert bytes(whole.data) == b"\x7fELF of something else"
    whole.close()
    assert not opened(store).from_cache
    assert opened(store).from_cache


def test_the_key_holds_all_that_the_code_depends_on(
    store: Cache, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(store)
    monkeypatch.setattr(config, "fingerprint", lambda *about: "other settings")
    assert not opened(store).from_cache
    monkeypatch.undo()
    monkeypatch.setenv(ENVIRONMENT, str(directory))
    monkeypatch.setattr("pywasmtok._host.wasm.core.version", lambda: "99.0")
    assert not opened(store).from_cache
    monkeypatch.setattr("pywasmtok._host.wasm.core.processor", lambda: "another processor")
    assert not opened(store).from_cache
    assert len(list(directory.iterdir())) == 4


def test_the_version_of_wasmtime_is_that_of_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    assert version() == metadata.version("wasmtime")
    # Where no installer has left a folder beside it, or there are several.
    for names in ([], ["wasmtime-1.dist-info", "wasmtime-2.dist-info"]):
        with monkeypatch.context() as patch:
            patch.setattr("pywasmtok._host.wasm.core.os.listdir", lambda path, names=names: names)
            patch.setattr(metadata, "version", lambda package: f"of {package}")
            assert version() == "of wasmtime"


@posix
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_directory_that_others_may_write_is_not_used(
    directory: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    directory.mkdir()
    directory.chmod(mode)
    refused = Cache.for_user()
    assert refused.directory is None
    assert "may be written by others" in str(refused.reason)
    assert "not cached" in caplog.records[-1].message
    assert not opened(refused).from_cache
    warnings = len(caplog.records)
    assert Cache.for_user().reason == refused.reason
    assert len(caplog.records) == warnings
    assert list(directory.iterdir()) == []


@posix
def test_a_directory_of_somebody_else_is_not_used(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir(mode=0o700)
    monkeypatch.setattr(caches.os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to user" in str(Cache.for_user().reason)


@posix
def test_a_file_that_others_may_write_is_not_used(
    store: Cache, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(store)
    only_file(directory).chmod(0o666)
    assert store.load(only_file(directory).stem) is None
    assert "may be written by others" in caplog.records[-1].message


@posix
def test_a_link_in_place_of_a_file_is_not_followed(
    store: Cache, directory: Path, tmp_path: Path
) -> None:
    opened(store)
    path = only_file(directory)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert store.load(path.stem) is None
    path.unlink()
    path.mkdir()
    assert store.load(path.stem) is None


def test_a_directory_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "file" / "cache"))
    none = Cache.for_user()
    assert none.directory is None
    assert not opened(none).from_cache


def test_what_killed_writers_left_is_removed(store: Cache, directory: Path) -> None:
    left, new = (directory / f".new-{n:016x}" for n in range(2))
    for path in (left, new):
        path.touch()
    file, locked = new_file(directory)
    os.utime(left, (1, 1))
    os.utime(locked, (1, 1))
    store.store("0" * 64, b"code")
    assert sorted(directory.iterdir()) == sorted([new, Path(locked), store.files()[0]])
    os.close(file)
    store.clear()
    assert list(directory.iterdir()) == [new]


@posix
def test_only_what_is_gone_is_counted(
    store: Cache, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / f"{'0' * 64}.cwasm").symlink_to(directory / "nowhere")

    def refuse(*given: object, **named: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        assert store.clear() == 0
    assert (len(store.files()), store.clear(), store.files()) == (1, 1, [])


def test_other_files_of_the_folder_stay(store: Cache, directory: Path) -> None:
    opened(store)
    (directory / "mine.cwasm").touch()
    assert (len(store.files()), store.clear()) == (1, 1)
    assert only_file(directory).name == "mine.cwasm"


@pytest.mark.parametrize("off", ["off", "Off", " OFF "])
def test_off(off: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(ENVIRONMENT, off)
    none = Cache.for_user()
    assert none.directory is None
    assert none.load("key") is None
    none.store("key", b"content")
    assert caplog.records == []


@pytest.mark.skipif(sys.platform == "win32", reason="the XDG directories")
def test_where_the_user_directory_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Cache.for_user().directory == tmp_path / "xdg" / "pywasmtok"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert Cache.for_user().directory == tmp_path / "home" / ".cache" / "pywasmtok"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Cache.for_user().directory == tmp_path / "home" / ".cache" / "pywasmtok"


def test_a_full_disk_leaves_nothing_behind(
    store: Cache, directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caches.os, "replace", full)
    with caplog.at_level(logging.WARNING):
        assert not opened(store).from_cache
    assert list(directory.iterdir()) == []
    assert "No space left" in caplog.records[-1].message


USE = """
    import cores
    from pywasmtok._host.wasm.artifacts import Artifact
    from pywasmtok._host.wasm.cache import Cache
    from pywasmtok._host.wasm.core import Core
    import pywasmtok._host as host

    for _ in range(5):
        core = Core(Artifact("test", cores.sample_wasm(False)), Cache.for_user())
        assert host.load_with(core, b"x").encode_ids("y", False) == cores.ids_of("y")
    print(core.from_cache)
"""


def test_many_processes_at_once(directory: Path) -> None:
    processes = [start(USE, **{ENVIRONMENT: str(directory)}) for _ in range(6)]
    assert [finish(process) for process in processes] == ["True"] * 6
    assert only_file(directory).suffix == ".cwasm"


def test_processes_beside_one_that_destroys_the_cache(directory: Path) -> None:
    """Whoever reads sees a whole file, a damaged one, or none: never a crash."""
    destroyer = start(f"""
    import os, pathlib, time
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        for path in pathlib.Path({str(directory)!r}).glob("*.cwasm"):
            try:
                size = path.stat().st_size
                with open(path, "r+b") as file:
                    file.seek(size // 3)
                    file.write(os.urandom(64))
                    file.truncate(size - 7)
            except OSError:
                pass
        time.sleep(0.002)
    """)
    quiet = USE.replace("import cores", "import logging, cores; logging.disable()", 1)
    quiet = quiet.replace("range(5)", "range(12)")
    processes = [start(quiet, **{ENVIRONMENT: str(directory)}) for _ in range(2)]
    for process in processes:
        finish(process)
    finish(destroyer)
    assert run(USE.replace("import cores", "import logging, cores; logging.disable()", 1),
               **{ENVIRONMENT: str(directory)}) == "True"  # fmt: skip
