"""Snapshots on disk: what is found is what was loaded, and whatever is wrong is a miss."""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import random
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pywasmtok._host as host
from pywasmtok import errors
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.linux import ON, file_systems
from pywasmtok._host.snapshots import image, new_file, snapshot_file, snapshot_folder
from pywasmtok._host.snapshots import store as snapshots
from pywasmtok._host.snapshots.store import SMALLEST_FILE, SnapshotStore
from pywasmtok._host.switches import OFF
from pywasmtok._host.wasm.cache import ENVIRONMENT, Cache

from . import small_tokenizer
from .processes import finish, run, start
from .small_tokenizer import expected, numbers

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and owners of POSIX")
linux = pytest.mark.skipif(not ON, reason="maps files")

# White space makes it large enough to be worth a snapshot.
FILE = small_tokenizer.FILE + b" " * SMALLEST_FILE
OTHER = FILE.replace(b'"<s>"', b'"<S>"')
TEXT = "hello <s> world hello"

# Other processes need not compile the core again; what they store goes elsewhere.
COMPILED = {ENVIRONMENT: str(Cache.for_user().directory or OFF), "PYWASMTOK_SNAPSHOTS": "off"}


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "snapshots")


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What was said; read it before the test ends."""
    with caplog.at_level(logging.WARNING):
        said: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger("pywasmtok").addHandler(handler)
        yield said
        logging.getLogger("pywasmtok").removeHandler(handler)


def load(store: SnapshotStore, file: bytes = FILE, **options: Any) -> CoreTokenizer:
    given = json.dumps(options).encode() if options else b""
    return host.load_tokenizer(file, snapshots=store, options=given)


def right(tok: CoreTokenizer) -> bool:
    ids = tok.encode_ids(TEXT)
    return numbers(ids) == expected(TEXT) and tok.decode(ids, False) == TEXT


def only(store: SnapshotStore) -> Path:
    (path,) = store.directory.glob("*.snapshot")
    return path


def change(path: Path, place: int, content: bytes) -> None:
    os.chmod(path, 0o600)
    with open(path, "r+b") as stream:
        stream.seek(place)
        stream.write(content)


def test_the_second_load_parses_nothing(store: SnapshotStore, warnings: list[str]) -> None:
    first, second = load(store), load(store)
    assert (first.from_snapshot, second.from_snapshot) == (False, True)
    assert right(first)
    assert right(second)
    assert first.vocab(True) == second.vocab(True)
    assert first.info() == second.info()
    assert warnings == []


@linux
def test_a_descriptor_that_other_code_has_closed(store: SnapshotStore, tmp_path: Path) -> None:
    source = load(store)._pool.open_source()
    kept = image.Image.of(source.new_instance())
    assert kept._file is not None
    number = kept._file.number
    with open(tmp_path / "other", "wb") as other:
        os.dup2(other.fileno(), number)
        with pytest.raises(errors.HostError, match="other code has closed"):
            kept.clone(source._core)
        del kept
        gc.collect()
        assert os.path.samestat(os.fstat(number), os.fstat(other.fileno()))
        os.close(number)


@linux
def test_both_map_the_file_itself(store: SnapshotStore) -> None:
    for _ in range(2):
        tok = load(store)
        assert right(tok)
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        assert str(only(store)) in maps
        del tok


def test_another_process_finds_it(store: SnapshotStore) -> None:
    load(store)
    code = f"""
    from tests.host import test_snapshots as tests
    from pywasmtok._host.snapshots.store import SnapshotStore
    tok = tests.load(SnapshotStore({str(store.directory)!r}))
    assert tests.right(tok)
    print(tok.from_snapshot)
    """
    assert run(code, **COMPILED) == "True"


def test_what_differs_is_never_found(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    load(store)
    assert not load(store, OTHER).from_snapshot
    assert not load(store, limits={"token": 1000}).from_snapshot
    assert not load(store, limits={"token": 1001}).from_snapshot
    assert load(store, limits={"token": 1000}).from_snapshot
    assert not host.load_tokenizer(FILE, snapshots=store, build="baseline").from_snapshot
    assert host.load_tokenizer(FILE, snapshots=store, build="baseline").from_snapshot
    monkeypatch.setattr(snapshots, "_GENERATION", 0)
    assert not load(store).from_snapshot


def test_a_file_under_the_name_of_another_is_a_miss(
    store: SnapshotStore, warnings: list[str]
) -> None:
    load(store)
    first = only(store)
    load(store, OTHER)
    (second,) = set(store.directory.glob("*.snapshot")) - {first}
    os.replace(first, second)
    tok = load(store, OTHER)
    assert not tok.from_snapshot
    assert tok.token_to_id("<S>") is not None
    assert "something else" in warnings[0]


def test_the_threads_build_has_none(store: SnapshotStore) -> None:
    host.load_tokenizer(FILE, snapshots=store, build="threads")
    assert not store.directory.exists()


def test_small_files_have_none(store: SnapshotStore) -> None:
    assert right(load(store, small_tokenizer.FILE))
    assert not store.directory.exists()


def test_a_refused_file_leaves_nothing(store: SnapshotStore) -> None:
    for _ in range(2):
        with pytest.raises(errors.TokenizerError):
            load(store, b"{" + FILE)
    assert not store.directory.exists()


def test_a_text_that_cannot_be_encoded_is_no_reason_against_a_file(store: SnapshotStore) -> None:
    """The warm-up meets an error that every caller meets, too."""
    whole = json.loads(FILE)
    del whole["model"]["vocab"]["a"]
    whole["model"]["unk_token"] = None
    file = json.dumps(whole).encode() + b" " * SMALLEST_FILE
    for found in (False, True):
        tok = load(store, file)
        assert tok.from_snapshot == found
        assert numbers(tok.encode_ids("hello")) == expected("hello")


# Damage.


def test_a_flipped_bit_anywhere_is_noticed(store: SnapshotStore, warnings: list[str]) -> None:
    load(store)
    path = only(store)
    content = path.read_bytes()
    dice = random.Random(5)
    used = [n for n in range(0, len(content), 512) if content[n : n + 512].strip(b"\0")]
    places = [0, 20, 22, 40, *dice.sample(used, 20), snapshot_file.HEADER, len(content) - 1]
    for place in places:
        if snapshot_file.HEADER > place > 2000:
            continue
        del warnings[:]
        # Also without a record, as after the machine was started anew.
        change(path, place, bytes([content[place] ^ 1 << dice.randrange(8)]))
        tok = load(store)
        assert not tok.from_snapshot, place
        assert right(tok)
        assert len(warnings) == 1, warnings
        # The damaged one was replaced.
        assert load(store).from_snapshot
        path = only(store)


@pytest.mark.parametrize("length", [0, 1, 25, 4096, snapshot_file.HEADER, -65536, -4096, -1, +1])
def test_a_file_of_another_length(store: SnapshotStore, length: int, warnings: list[str]) -> None:
    load(store)
    path = only(store)
    os.chmod(path, 0o600)
    os.truncate(path, length if length >= 0 and length != 1 else path.stat().st_size + length)
    tok = load(store)
    assert not tok.from_snapshot
    assert right(tok)
    assert len(warnings) == 1
    assert load(store).from_snapshot


def test_runs_outside_of_the_memory_are_never_mapped(store: SnapshotStore) -> None:
    """The description has a checksum, but whoever can write it can write that, too."""
    load(store)
    path = only(store)
    file = os.open(path, os.O_RDONLY)
    header = snapshot_file.read_header(file, path.stat().st_size)
    layout = header.layout
    first = layout.runs[0]
    for wrong in (
        first._replace(start=-65536),
        first._replace(start=first.start + 4096),
        first._replace(length=first.length + 1),
        first._replace(start=layout.size),
        first._replace(place=0),
        first._replace(length=-65536),
    ):
        runs = [wrong, *layout.runs[1:]]
        change(
            path, 0, snapshot_file._described(header._replace(layout=layout._replace(runs=runs)))
        )
        with pytest.raises(snapshot_file.Damaged):
            snapshot_file.read_header(file, path.stat().st_size)
        size = layout._replace(size=1 << 40)
        change(path, 0, snapshot_file._described(header._replace(layout=size)))
        with pytest.raises(snapshot_file.Damaged):
            snapshot_file.read_header(file, path.stat().st_size)
    os.close(file)
    assert not load(store).from_snapshot


def test_handles_outside_of_the_memory_are_a_miss(
    store: SnapshotStore, warnings: list[str]
) -> None:
    load(store)
    path = only(store)
    file = os.open(path, os.O_RDONLY)
    header = snapshot_file.read_header(file, path.stat().st_size)
    os.close(file)
    handles = header.layout.handles
    wrong = type(handles)(header.layout.size - 4, handles.tokenizer, handles.input, handles.room)
    layout = header.layout._replace(handles=wrong)
    change(path, 0, snapshot_file._described(header._replace(layout=layout)))
    tok = load(store)
    assert not tok.from_snapshot
    assert right(tok)
    assert len(warnings) == 1


@linux
def test_checksums_are_compared_once_a_file(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    verify = snapshot_file.verify

    def counted(*given: Any) -> None:
        compared.append(1)
        verify(*given)

    monkeypatch.setattr(snapshot_file, "verify", counted)
    load(store)
    load(store)
    assert compared == []
    # Started anew.
    monkeypatch.setattr(snapshot_folder, "_boot", lambda: "another")
    for _ in range(3):
        assert load(store).from_snapshot
    assert len(compared) == 1
    os.utime(only(store))
    for _ in range(3):
        assert load(store).from_snapshot
    assert len(compared) == 2


# Strangers.


@posix
def test_what_others_may_write_is_refused(store: SnapshotStore, warnings: list[str]) -> None:
    load(store)
    os.chmod(only(store), 0o622)
    assert not load(store).from_snapshot
    assert "may be written by others" in warnings[0]
    assert load(store).from_snapshot
    del warnings[:]
    os.chmod(store.directory, 0o777)
    assert not load(store).from_snapshot
    assert len(warnings) == 2
    assert "may be written by others" in warnings[0]


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_what_belongs_to_others_is_refused(store: SnapshotStore, warnings: list[str]) -> None:
    load(store)
    os.chown(only(store), 12345, 12345)
    assert not load(store).from_snapshot
    assert "belongs to user 12345" in warnings[0]


@posix
def test_links_and_pipes_are_refused(store: SnapshotStore, warnings: list[str]) -> None:
    load(store)
    path = only(store)
    elsewhere = path.with_name("elsewhere")
    os.replace(path, elsewhere)
    path.symlink_to(elsewhere)
    assert not load(store).from_snapshot
    assert len(warnings) == 1
    assert load(store).from_snapshot
    path.unlink()
    os.mkfifo(path)
    assert not load(store).from_snapshot
    assert "no regular file" in warnings[-1]


# Places where nothing can be stored, or not mapped.


def test_where_no_file_may_be_mapped_it_is_read(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    monkeypatch.setattr(file_systems, "may_be_mapped", lambda file: False)
    for found in (False, True):
        tok = load(store)
        assert tok.from_snapshot == found
        assert right(tok)
    # And where there are no anonymous files either.
    monkeypatch.setattr(image, "_anonymous_file", lambda layout, parts: None)
    tok = load(store)
    assert tok.from_snapshot
    assert right(tok)
    assert warnings == []
    change(only(store), -3 + only(store).stat().st_size, b"\1\2\3")
    assert not load(store).from_snapshot
    assert len(warnings) == 1


def test_a_full_disk(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    written = []
    pwrite = os.pwrite

    def full(file: int, content: Any, place: int) -> int:
        # Anonymous files are memory.
        if os.readlink(f"/proc/self/fd/{file}").startswith("/memfd:"):
            return pwrite(file, content, place)
        written.append(place)
        if len(written) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(file, content, place)

    monkeypatch.setattr(os, "pwrite", full)
    tok = load(store)
    assert right(tok)
    assert len(warnings) == 1
    assert "No space left" in warnings[0]
    assert list(store.directory.iterdir()) == []


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_only_be_read(store: SnapshotStore, warnings: list[str]) -> None:
    load(store)
    os.chmod(store.directory, 0o500)
    assert load(store).from_snapshot
    assert warnings == []
    assert right(load(store, FILE + b" "))
    assert len(warnings) == 1
    os.chmod(store.directory, 0o700)


def test_a_directory_in_which_nothing_can_be_made(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    """As a user who may do anything meets it: on a medium that is read-only."""
    load(store)

    def refuse(*given: Any, **named: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    for name in ("replace", "utime", "unlink"):
        monkeypatch.setattr(snapshot_folder.os, name, refuse)
    assert load(store).from_snapshot
    assert warnings == []
    assert right(load(store, FILE + b" "))
    assert len(warnings) == 1


def test_a_directory_that_cannot_be_made(tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert right(load(SnapshotStore(tmp_path / "file" / "snapshots")))
    assert 1 <= len(warnings) <= 2


def test_no_mapping_is_left_for_a_clone(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    load(store)
    clone = image.Image.clone
    failed: list[int] = []

    def fail_once(self: Any, core: Any, memory_cap: int | None = None) -> Any:
        if not failed:
            failed.append(1)
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return clone(self, core, memory_cap)

    monkeypatch.setattr(image.Image, "clone", fail_once)
    tok = load(store)
    assert not tok.from_snapshot
    assert right(tok)
    assert len(warnings) == 1


# Size.


def test_what_was_used_last_is_kept(store: SnapshotStore) -> None:
    files = [FILE + b" " * n for n in range(4)]
    load(store, files[0])
    one = store.entries()[0].bytes
    small = SnapshotStore(
        store.directory, max_bytes=max(3 * one + one // 2, only(store).stat().st_size)
    )
    for age, file in ((300, files[0]), (200, files[1]), (100, files[2])):
        load(small, file)
        newest = max(store.directory.glob("*.verified"), key=lambda path: path.stat().st_mtime)
        then = time.time() - age
        os.utime(newest, (then, then))
    # Using it makes it the newest.
    assert load(small, files[0]).from_snapshot
    load(small, files[3])
    assert len(small.entries()) == 3
    assert load(small, files[0]).from_snapshot
    assert load(small, files[3]).from_snapshot
    assert load(small, files[2]).from_snapshot
    assert not load(small, files[1]).from_snapshot


def test_what_does_not_fit_is_not_stored(store: SnapshotStore, warnings: list[str]) -> None:
    tiny = SnapshotStore(store.directory, max_bytes=1000)
    assert right(load(tiny))
    assert not store.directory.exists()
    assert warnings == []


def test_removing_does_not_disturb_who_uses_it(store: SnapshotStore) -> None:
    tok = load(store)
    assert store.clear() == 1
    assert store.entries() == []
    assert list(store.directory.iterdir()) == []
    taken = [tok._pool.acquire() for _ in range(3)]
    for instance in taken:
        tok._pool.release(instance)
    assert right(tok)


def test_what_another_process_removes_meanwhile_is_no_entry(store: SnapshotStore) -> None:
    for n in range(2):
        load(store, FILE + b" " * n)
    gone = store.entries()[1].key
    # The first one is read when the second one goes.
    entries = store.entries(verify=True, read=lambda _: store.remove(gone))
    assert [(one.key == gone, one.problem) for one in entries] == [(False, None)]


def test_entries(store: SnapshotStore) -> None:
    load(store)
    (entry,) = store.entries(verify=True)
    assert entry.problem is None
    assert entry.about["format"] == "tokenizer.json"
    assert entry.about["file_bytes"] == len(FILE)
    assert 0 < entry.bytes < only(store).stat().st_size + 65536
    assert abs(entry.last_use - time.time()) < 60
    change(only(store), only(store).stat().st_size - 1, b"\7")
    assert store.entries()[0].problem is None
    (entry,) = store.entries(verify=True)
    assert "not those that were written" in (entry.problem or "")


@pytest.mark.parametrize("bound", [-1, 1.5, True, "1"])
def test_a_bound_that_is_none(tmp_path: Path, bound: Any) -> None:
    with pytest.raises(errors.InvalidArgument):
        SnapshotStore(tmp_path, bound)


# Switches.


def test_where_the_users_store_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
    monkeypatch.delenv("PYWASMTOK_CACHE_MAX_BYTES", raising=False)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    store = SnapshotStore.for_user()
    assert store is not None
    assert store.directory == tmp_path / "cache" / "snapshots"
    assert store.max_bytes == 2 * 1024**3
    monkeypatch.setenv("PYWASMTOK_CACHE_MAX_BYTES", "12345")
    store = SnapshotStore.for_user()
    assert store is not None
    assert store.max_bytes == 12345
    monkeypatch.setenv("PYWASMTOK_SNAPSHOTS", "off")
    assert SnapshotStore.for_user() is None
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS")
    monkeypatch.setenv(ENVIRONMENT, "off")
    assert SnapshotStore.for_user() is None


def test_a_bound_of_the_environment_that_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, warnings: list[str]
) -> None:
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    monkeypatch.setenv("PYWASMTOK_CACHE_MAX_BYTES", "2 GiB")
    store = SnapshotStore.for_user()
    assert store is not None
    assert store.max_bytes == 2 * 1024**3
    assert "PYWASMTOK_CACHE_MAX_BYTES" in warnings[0]


@pytest.mark.parametrize("switch", [{"PYWASMTOK_SNAPSHOTS": "off"}, {ENVIRONMENT: "off"}, {}])
def test_switches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, switch: dict[str, str]) -> None:
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    for name, value in switch.items():
        monkeypatch.setenv(name, value)
    for wanted in (None, False):
        tok = host.load_tokenizer(FILE, snapshots=wanted)
        assert not tok.from_snapshot
        assert right(tok)
    assert host.load_tokenizer(FILE).from_snapshot == (not switch)
    assert (tmp_path / "snapshots").exists() == (not switch)


# Processes.

BUILD = """
    from pathlib import Path
    from tests.host import test_snapshots as tests
    from pywasmtok._host.snapshots.store import SnapshotStore
    store = SnapshotStore({directory!r})
    for n in range({rounds}):
        tok = tests.load(store)
        assert tests.right(tok)
        {between}
    print(tok.from_snapshot)
"""


def build(store: SnapshotStore, rounds: int = 3, between: str = "pass") -> Any:
    code = BUILD.format(directory=str(store.directory), rounds=rounds, between=between)
    return start(code, **COMPILED)


def test_many_processes_at_once(store: SnapshotStore) -> None:
    processes = [build(store) for _ in range(5)]
    assert [finish(process) for process in processes] == ["True"] * 5
    assert store.entries(verify=True)[0].problem is None
    assert len(list(store.directory.iterdir())) == 2


def test_many_processes_while_one_clears(store: SnapshotStore) -> None:
    processes = [build(store, rounds=8) for _ in range(2)]
    processes.append(build(store, rounds=8, between="store.clear()"))
    for process in processes:
        finish(process)
    load(store)
    assert load(store).from_snapshot


def test_kill_at_any_time(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is whole, or is swept away by the next who stores something."""
    dice = random.Random(11)
    for _ in range(12):
        process = build(store, rounds=1000, between="store.clear()")
        time.sleep(0.35 + dice.random() * 0.3)
        process.kill()
        process.communicate()
        tok = load(store)
        assert right(tok)
        assert all(entry.problem is None for entry in store.entries(verify=True))
    monkeypatch.setattr(new_file, "_ABANDONED_SECONDS", -1)
    store.clear()
    load(store)
    assert len(list(store.directory.iterdir())) == 2


@posix
def test_a_file_that_is_being_written_is_not_swept_away(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_file, "_ABANDONED_SECONDS", -1)
    folder = snapshot_folder.Folder(store.directory)
    folder.make()
    file, name = folder.new_file()
    folder.sweep()
    assert os.path.exists(name)
    os.close(file)
    folder.sweep()
    assert not os.path.exists(name)


def test_other_files_of_the_folder_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_file, "_ABANDONED_SECONDS", -1)
    store = SnapshotStore(tmp_path, max_bytes=1 << 40)
    names = ["my.digest", "my.snapshot", f"{'A' * 64}.snapshot", ".new-plan", ".new-" + "0" * 17]
    for name in names:
        (tmp_path / name).write_bytes(b"mine")
        os.utime(tmp_path / name, (1, 1))
    load(store)
    assert len(store.entries()) == 1
    # The smallest bound that a snapshot passes.
    store.max_bytes = store.entries()[0].bytes
    load(store, OTHER)
    assert store.clear() == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize("path", ["", b"", "a\0b", "\ud800", None, 3])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(errors.InvalidArgument):
        SnapshotStore(path)


def test_a_folder_that_cannot_be_used_is_a_typed_error(store: SnapshotStore) -> None:
    store.directory.write_bytes(b"in the way")
    for work in (store.entries, store.clear, lambda: store.remove("0" * 64)):
        with pytest.raises(errors.HostError, match="Not a directory"):
            work()
    assert "Not a directory" in store.describe()["problem"]


def test_what_could_not_be_removed_is_not_counted(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(store)

    def refuse(*given: Any, **named: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        assert store.clear() == 0
        with pytest.raises(errors.HostError, match="Read-only"):
            store.remove(store.entries()[0].key)
    assert store.clear() == 1


@pytest.mark.parametrize("key", ["../mine", "x\0", "A" * 64, None])
def test_only_snapshots_are_removed(store: SnapshotStore, key: Any) -> None:
    store.directory.mkdir()
    mine = store.directory.parent / "mine.snapshot"
    mine.touch()
    with pytest.raises(errors.InvalidArgument, match="no key"):
        store.remove(key)
    assert mine.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_fork_before_and_after(store: SnapshotStore) -> None:
    code = f"""
    import os
    from tests.host import test_snapshots as tests
    from pywasmtok._host.snapshots.store import SnapshotStore
    store = SnapshotStore({str(store.directory)!r})

    def in_child(work):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if work() else 1
            finally:
                os._exit(code)
        return os.waitpid(child, 0)[1]

    def clones(tok):
        taken = [tok._pool.acquire() for _ in range(3)]
        for one in taken:
            tok._pool.release(one)
        return tests.right(tok)

    first = in_child(lambda: tests.right(tests.load(store)))
    tok = tests.load(store)
    second = in_child(lambda: clones(tok))
    third = in_child(lambda: tests.load(store).from_snapshot and clones(tests.load(store)))
    store.clear()
    fourth = in_child(lambda: clones(tok))
    print(first, second, third, fourth, tok.from_snapshot, clones(tok))
    """
    assert run(code, **COMPILED) == "0 0 0 0 True True"


@posix
def test_files_are_private_and_read_only(store: SnapshotStore) -> None:
    load(store)
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(only(store).stat().st_mode) == 0o400
