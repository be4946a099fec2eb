"""What only a store on a disk can do wrong: damage, full disks, kills, other processes."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pywasmtok import LoadError, TokenizerError
from pywasmtok.server.contract import PUBLIC, Checked
from pywasmtok.server.errors import DamagedRecord, StoreFailed
from pywasmtok.server.store.database import Database
from pywasmtok.server.store.files import Damaged
from pywasmtok.server.store.folder import FolderStore
from pywasmtok.server.store.reserve import Reserve
from pywasmtok.server.store.rows import COLUMNS, seal_all
from pywasmtok.tenants.contract import Usage
from pywasmtok.tenants.errors import Overloaded, StorageFull
from server.records import digest, key, tenant, tokenizer

SMALL = b"small file"
LARGE = bytes(range(256)) * 8192


def put(store: FolderStore, data: bytes, name: str = "model", owner: str = PUBLIC) -> None:
    store.put_tokenizer(tokenizer(owner, data), data, name)


def stored(store: FolderStore, data: bytes) -> Path:
    return store.folder / "files" / digest(data)


def spoil(path: Path, place: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)


def test_all_is_there_for_the_next_process(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put_tenant(tenant("a"))
    store.put_key(key("k", "a"))
    put(store, SMALL)
    put(store, LARGE, "large", "a")
    store.add_usage("a", Usage(requests=2))
    secret = store.secret("s")
    store.close()
    again = FolderStore(tmp_path)
    assert (again.tenants(), again.keys()) == ([tenant("a")], [key("k", "a")])
    assert again.tokenizers() == [tokenizer("a", LARGE), tokenizer(PUBLIC, SMALL)]
    assert [bytes(again.open_file(digest(data))) for data in (SMALL, LARGE)] == [SMALL, LARGE]
    assert (again.usage("a"), again.secret("s")) == (Usage(requests=2), secret)
    again.close()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    put(store, SMALL)
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0
    assert stored(store, SMALL).stat().st_mode & 0o777 == 0o400
    store.close()


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
def test_a_damaged_file_is_put_aside_and_never_served(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = FolderStore(tmp_path)
    put(store, data)
    spoil(stored(store, data))
    with pytest.raises(Damaged) as refused:
        bytes(store.open_file(digest(data)))
    assert str(tmp_path) not in str(refused.value)
    assert digest(data) in caplog.text
    assert not stored(store, data).exists()
    assert [path.name.partition(".")[0] for path in (tmp_path / "damaged").iterdir()] == [
        digest(data)
    ]
    with pytest.raises(LoadError, match="missing"):
        store.open_file(digest(data))
    put(store, data)
    assert bytes(store.open_file(digest(data))) == data
    store.close()


def test_storing_it_again_mends_a_file(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    put(store, SMALL)
    spoil(stored(store, SMALL))
    put(store, SMALL, "again")
    assert bytes(store.open_file(digest(SMALL))) == SMALL
    store.close()


def test_what_was_stored_anew_meanwhile_is_not_put_aside(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    put(store, LARGE)
    opened = store.open_file(digest(LARGE))
    spoil(stored(store, LARGE))
    held = os.open(stored(store, LARGE), os.O_RDONLY)
    put(store, LARGE)
    os.close(held)
    assert bytes(opened) == LARGE
    assert not (tmp_path / "damaged").exists()
    store.close()


def test_verify_reads_all_and_says_what_is_wrong(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    for number in range(3):
        put(store, b"%d" % number, f"m{number}")
    assert store.check() == Checked([], 0, 3, 3)
    spoil(stored(store, b"0"), 0)
    stored(store, b"1").unlink()
    found = store.check()
    lines = [f"{digest(b'0')} is damaged", f"{digest(b'1')} is missing"]
    assert (sorted(found.problems), found.set_aside, found.files) == (sorted(lines), 1, 2)
    lines = [f"{digest(b'0')} is missing", f"{digest(b'1')} is missing"]
    assert (sorted(store.check().problems), store.aside()) == (sorted(lines), 1)
    assert bytes(store.open_file(digest(b"2"))) == b"2"
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("step", ["commit", "unlink"])
def test_what_a_kill_leaves(tmp_path: Path, step: str) -> None:
    """Killed behind the file and before its record, or behind the record and before the file: what
    was to go goes, and what was to come stays until it is stored again or removed on request."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from pywasmtok.server.store.files import Files\n"
        "from pywasmtok.server.store.folder import FolderStore\n"
        "from server.records import digest, tokenizer\n"
        "store = FolderStore(Path(sys.argv[1]))\n"
        "real = Files.publish\n"
        "def killed(*given): os._exit(0)\n"
        "def published(*given): real(*given); os._exit(0)\n"
        "if sys.argv[2] == 'commit': Files.publish = published\n"
        "else: Files.remove = killed\n"
        "store.put_tokenizer(tokenizer('public', b'x'), b'x', 'x')\n"
        "store.remove_tokenizer('public', digest(b'x'))"
    )
    run(code, tmp_path, step)
    assert (tmp_path / "files" / digest(b"x")).exists()
    abandoned, begun = tmp_path / "files" / ".new-old", tmp_path / "files" / ".new-now"
    for path in (abandoned, begun):
        path.write_bytes(b"half")
    os.utime(abandoned, (1, 1))
    store = FolderStore(tmp_path, to_verify=True)
    assert store.check().problems == []
    store.close()
    assert (tmp_path / "files" / digest(b"x")).exists()
    store = FolderStore(tmp_path)
    left = [".new-now"] if step == "unlink" else [".new-now", digest(b"x")]
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == left
    assert store.check().problems == []
    assert store.remove_nameless() == len(left) - 1
    assert [path.name for path in (tmp_path / "files").iterdir()] == [".new-now"]
    put(store, b"x")
    store.close()
    FolderStore(tmp_path).close()
    assert (tmp_path / "files" / digest(b"x")).exists()


def test_what_was_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path)
    for _ in range(2):
        with pytest.raises(StorageFull):
            store.put_tokenizer(tokenizer(PUBLIC, SMALL), SMALL, "x", most=0)
    with monkeypatch.context() as broken:
        broken.setattr("pywasmtok.server.store.folder._insert", refusing(MemoryError()))
        with pytest.raises(Overloaded):
            put(store, SMALL)
    assert store._database.rows("SELECT * FROM pending") == []
    assert list((tmp_path / "files").iterdir()) == []
    store.close()


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    FolderStore(tmp_path).close()
    with sqlite3.connect(tmp_path / "records.sqlite") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StoreFailed, match="999"):
        FolderStore(tmp_path)


def test_damaged_records_are_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite").write_bytes(b"no database, but long enough to be one" * 100)
    with pytest.raises(StoreFailed) as refused:
        FolderStore(tmp_path)
    assert str(tmp_path) not in str(refused.value)


def test_many_may_open_it_for_the_first_time_at_once(tmp_path: Path) -> None:
    problems: list[BaseException] = []
    start = threading.Barrier(6)

    def open_it(number: int) -> None:
        try:
            start.wait()
            store = FolderStore(tmp_path)
            put(store, b"%d" % number, f"m{number}")
            store.close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=open_it, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = FolderStore(tmp_path)
    assert (problems, len(store.tokenizers())) == ([], 6)
    store.close()


def test_another_process_may_make_the_tables_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_it() -> None:
        FolderStore(tmp_path).close()

    other = threading.Thread(target=open_it)

    class Interrupted(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if "FROM sqlite_master" in statement and other.ident is None:
                monkeypatch.undo()
                other.start()
                # It ends at once, or waits for this transaction.
                other.join(0.5)
            return super().execute(statement, *values)

    connect = partial(sqlite3.connect, factory=Interrupted)
    monkeypatch.setattr(sqlite3, "connect", connect)
    open_it()
    other.join()
    open_it()


def test_connections_of_ended_threads_are_given_back(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    for _ in range(20):
        thread = threading.Thread(target=store.generation)
        thread.start()
        thread.join()
    assert len(store._database._open) <= 3
    store.close()
    with pytest.raises(StoreFailed, match="closed"):
        store.generation()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_connections_of_its_own(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from pywasmtok.server.store.folder import FolderStore\n"
        "from server.records import tenant\n"
        "store = FolderStore(Path(sys.argv[1])); store.put_tenant(tenant('parent'))\n"
        "child = os.fork()\n"
        "if child == 0:\n    store.put_tenant(tenant('child')); store.close(); os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "store.put_tenant(tenant('again'))\n"
        "print([one.name for one in store.tenants()])"
    )
    assert run(code, tmp_path) == "['again', 'child', 'parent']"


def run(code: str, folder: Path, *arguments: str) -> str:
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, str(Path(tests).parent)])}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# What the disk refuses. The process lives, nothing is half done, and it works again afterwards.


def refusing(error: Exception) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise error

    return refuse


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EMFILE, Overloaded),
        (errno.EROFS, StoreFailed),
        (errno.EIO, StoreFailed),
    ],
)
def test_a_disk_that_refuses_is_a_typed_error_and_nothing_is_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, kind: type
) -> None:
    store = FolderStore(tmp_path)
    put(store, SMALL)
    before = (store.generation(), store.tokenizers(), store.aliases())
    with monkeypatch.context() as broken:
        broken.setattr(os, call, refusing(OSError(number, os.strerror(number), "secret path")))
        with pytest.raises(kind) as refused:
            put(store, LARGE, "large")
    assert "secret" not in str(refused.value)
    assert (store.generation(), store.tokenizers(), store.aliases()) == before
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == [digest(SMALL)]
    put(store, LARGE, "large")
    assert bytes(store.open_file(digest(LARGE))) == LARGE
    store.close()


def test_a_full_database_is_a_typed_error(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    (pages,) = store._database.connection().execute("PRAGMA page_count").fetchone()
    store._database.connection().execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for number in range(1000):
            store.put_tenant(tenant(f"t{number}"))

    with pytest.raises(StorageFull):
        fill()
    kept = len(store.tenants())
    store._database.connection().execute("PRAGMA max_page_count = 1000000")
    store.put_tenant(tenant("after"))
    assert len(store.tenants()) == kept + 1
    store.close()


def test_on_a_full_disk_things_can_still_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the reserve is there, the disk has no room."""
    store = FolderStore(tmp_path)
    store.put_tenant(tenant("a"))
    store.put_key(key("k", "a"))
    put(store, SMALL, "x", "a")
    put(store, SMALL, "y")
    real = Database.change

    def full(self: Database, *owner: Any, **options: Any) -> Any:
        if (tmp_path / "reserve").exists():
            raise StorageFull("the disk is full")
        return real(self, *owner, **options)

    monkeypatch.setattr(Database, "change", full)
    with pytest.raises(StorageFull):
        store.put_tenant(tenant("b"))
    # What is kept for it again afterwards would fill this disk once more.
    monkeypatch.setattr(Reserve, "_keep", lambda self: None)
    removers: list[Callable[[], None]] = [
        lambda: store.remove_alias(PUBLIC, "y"),
        lambda: store.remove_tokenizer(PUBLIC, digest(SMALL)),
        lambda: store.remove_key("k"),
        lambda: store.remove_tenant("a"),
    ]
    for remove in removers:
        (tmp_path / "reserve").write_bytes(b"room")
        remove()
    assert (store.tenants(), store.keys(), store.tokenizers()) == ([], [], [])
    assert list((tmp_path / "files").iterdir()) == []
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit on this system")
def test_no_descriptors_are_left(tmp_path: Path) -> None:
    """A thread without a connection cannot get one; those that have one go on."""
    code = (
        "import os, resource, sys, threading\nfrom pathlib import Path\n"
        "from pywasmtok import TokenizerError\n"
        "from pywasmtok.server.store.folder import FolderStore\n"
        "from server.records import tenant, tokenizer\n"
        "store = FolderStore(Path(sys.argv[1])); kinds = []\n"
        "store.put_tokenizer(tokenizer('public', b'x'), b'x', 'x')\n"
        "def ask():\n"
        "    try: store.generation()\n"
        "    except TokenizerError as error: kinds.append(error.kind)\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "free = os.open(os.devnull, 0); os.close(free)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))\n"
        "thread = threading.Thread(target=ask); thread.start(); thread.join()\n"
        "store.generation()\n"
        "try: store.put_tokenizer(tokenizer('public', b'y'), b'y', 'y')\n"
        "except TokenizerError as error: kinds.append(error.kind)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))\n"
        "store.put_tokenizer(tokenizer('public', b'y'), b'y', 'y')\n"
        "print(kinds, len(store.tokenizers()))"
    )
    assert run(code, tmp_path) == "['overloaded', 'overloaded'] 2"


def test_a_store_that_may_only_be_read_says_so(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    put(store, SMALL)
    store._database.connection().execute("PRAGMA query_only = ON")
    with pytest.raises(StoreFailed, match="read-only"):
        store.put_tenant(tenant("a"))
    assert bytes(store.open_file(digest(SMALL))) == SMALL
    store.close()


def test_writers_who_wait_too_long_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pywasmtok.server.store.database._BUSY_SECONDS", 0.05)
    store = FolderStore(tmp_path)
    other = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Overloaded):
        store.put_tenant(tenant("a"))
    assert store.tenants() == []
    other.execute("ROLLBACK")
    store.put_tenant(tenant("a"))
    other.close()
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal on this system")
def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from pywasmtok.server.store.folder import FolderStore\n"
        "from server.records import tokenizer\n"
        "store = FolderStore(Path(sys.argv[1]))\n"
        "for number in range(10**6):\n"
        "    data = b'%d' % number * 1000\n"
        "    store.put_tokenizer(tokenizer('public', data), data, 'model')\n"
        "    print(number, flush=True)\n"
    )
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, str(Path(tests).parent)])}
    last = -1
    for turn in range(1, 4):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=environment
        )
        assert child.stdout is not None
        for _ in range(7 * turn):
            last = json.loads(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        last = max([last, *map(int, child.stdout.read().split())])
        child.wait()
        store = FolderStore(tmp_path)
        kept = {one.info.digest for one in store.tokenizers()}
        assert {digest(b"%d" % number * 1000) for number in range(last + 1)} <= kept
        (name,) = store.aliases()
        assert name.digest in {digest(b"%d" % number * 1000) for number in (last, last + 1)}
        assert (store.check().problems, store.sweep()) == ([], 0)
        store.close()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_others_on_the_machine_read_nothing_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        store = FolderStore(folder)
        store.put_tenant(tenant("acme"))
        store.put_tokenizer(tokenizer("acme", b"data"), b"data", "it")
        store.secret("streams")
        readable = {
            path.name
            for path in folder.rglob("*")
            if path.stat().st_mode & 0o077 and path.parent == folder
        }
        store.close()
    finally:
        os.umask(before)
    # Random bytes, to keep room.
    assert readable <= {"reserve"}


# Records that are lost or damaged.


def lost(folder: Path, damage: str) -> None:
    records = folder / "records.sqlite"
    for path in folder.glob("records.sqlite*"):
        path.unlink()
    if damage == "empty":
        records.touch()
    elif damage == "no tables":
        edit(folder, "VACUUM")
    elif damage == "another program's":
        edit(folder, "CREATE TABLE tenants (name TEXT)")
    elif damage == "another version's":
        edit(folder, "CREATE TABLE tenants (name TEXT)", "PRAGMA user_version = 2")
    elif damage == "no rows":
        FolderStore(folder / "other").close()
        (folder / "other" / "records.sqlite").rename(records)


def edit(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / "records.sqlite", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("missing", "missing or empty"),
        ("empty", "missing or empty"),
        ("no tables", "does not have the tables"),
        ("another program's", "does not have the tables"),
        ("another version's", "does not have the tables"),
        ("no rows", "names none of the 1 files"),
    ],
)
def test_files_without_their_records_are_kept_and_the_store_does_not_open(
    tmp_path: Path, damage: str, said: str
) -> None:
    store = FolderStore(tmp_path)
    put(store, SMALL)
    store.close()
    lost(tmp_path, damage)
    records = tmp_path / "records.sqlite"
    before = records.read_bytes() if records.exists() else None
    for _ in range(2):
        with pytest.raises(StoreFailed, match=said) as refused:
            FolderStore(tmp_path)
        assert "Restore records.sqlite from a backup" in str(refused.value)
    assert (tmp_path / "files" / digest(SMALL)).read_bytes() == SMALL
    if damage != "no rows":
        assert (records.read_bytes() if records.exists() else None) == before


def test_a_file_without_a_record_beside_others_is_kept_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a lost write-ahead log, or a backup that is older than the files."""
    store = FolderStore(tmp_path)
    put(store, SMALL)
    store.close()
    orphan = tmp_path / "files" / digest(b"orphan")
    orphan.write_bytes(b"orphan")
    store = FolderStore(tmp_path)
    assert "1 files have no record" in caplog.text
    assert store.check().problems == [f"{digest(b'orphan')} has no record"]
    assert orphan.exists()
    assert store.remove_nameless() == 1
    assert (store.check().problems, orphan.exists()) == ([], False)
    store.close()


EDITS = {
    "tenants": "UPDATE tenants SET disabled = 1",
    "keys": "UPDATE keys SET tenant = NULL WHERE id = 'k'",
    "tokenizers": 'UPDATE tokenizers SET options = \'{"chat_template": "x"}\'',
    "aliases": "UPDATE aliases SET alias = 'other'",
    "usage": "UPDATE usage SET tokens = 'many'",
    "secrets": "UPDATE secrets SET value = x'00'",
    "revoked": "UPDATE revoked SET hash = CAST(x'ff61' AS TEXT)",
}


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A store with a row in every table."""
    store = FolderStore(tmp_path)
    store.put_tenant(tenant("a"))
    for id, owner in (("k", "a"), ("admin", None), ("old", None)):
        store.put_key(key(id, owner))
    store.remove_key("old")
    put(store, SMALL)
    store.add_usage("a", Usage(requests=2))
    store.add_usage("a", Usage(requests=3, seconds=0.5))
    store.secret("s")
    store.close()
    return tmp_path


def everything(store: FolderStore) -> dict[str, Any]:
    return {
        "tenants": store.tenants(),
        "keys": store.keys(),
        "tokenizers": store.tokenizers(),
        "aliases": store.aliases(),
        "usage": store.usage("a"),
    }


# What is gone with a damaged record of each table.
GONE = {
    "tenants": {"tenants", "keys"},
    "keys": {"keys"},
    "tokenizers": {"tokenizers", "aliases"},
    "aliases": {"aliases"},
    "usage": {"usage"},
    "secrets": set(),
}


@pytest.mark.parametrize("opens", ["check", "start", "read"])
@pytest.mark.parametrize("table", list(GONE))
def test_a_damaged_record_is_set_aside_and_the_rest_is_served(
    full: Path, table: str, opens: str, caplog: pytest.LogCaptureFixture
) -> None:
    running = FolderStore(full)
    before = everything(running)
    secret = running.secret("s")
    if opens != "read":
        running.close()
    edit(full, "PRAGMA foreign_keys = OFF", EDITS[table])
    if opens == "check":
        running = FolderStore(full, to_verify=True)
        found = running.check()
        (problem,) = found.problems
        assert problem.startswith(f"the record {table} ")
        assert found.set_aside == (2 if table in ("tenants", "tokenizers") else 1)
    elif opens == "start":
        running = FolderStore(full)
    after = everything(running)
    assert {name for name in before if before[name] != after[name]} == GONE[table]
    assert (running.secret("s") == secret) == (table != "secrets")
    assert running.check().problems == []
    running.close()
    (aside,) = (full / "damaged").iterdir()
    rows = json.loads(aside.read_text())
    assert {row["table"] for row in rows} == (GONE[table] or {"secrets"})
    assert aside.stat().st_mode & 0o077 == 0
    assert str(aside) in caplog.text
    assert "'a'" not in caplog.text
    # The file of a tokenizer stays, also that of the only one.
    FolderStore(full).close()
    assert (full / "files" / digest(SMALL)).exists()


def test_a_damaged_record_of_a_revoked_key_stays_and_stops_the_start(full: Path) -> None:
    """Without it, a file that holds the key would make it good again."""
    edit(full, EDITS["revoked"])
    with pytest.raises(DamagedRecord, match="the record revoked "):
        FolderStore(full)
    store = FolderStore(full, to_verify=True)
    for _ in range(2):
        found = store.check()
        assert (len(found.problems), found.set_aside) == (1, 0)
    assert store.aside() == 0
    store.close()


def test_where_nothing_can_be_set_aside_nothing_is_lost(
    full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(full)
    edit(full, EDITS["aliases"])
    spoil(stored(store, SMALL))
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", refusing(OSError(errno.ENOSPC, "full")))
        broken.setattr(os, "replace", refusing(OSError(errno.ENOSPC, "full")))
        found = store.check()
        assert (len(found.problems), found.set_aside) == (2, 0)
        with pytest.raises(DamagedRecord):
            store.aliases()
    assert (list((full / "damaged").iterdir()), len(store.check().problems)) == ([], 2)
    assert (store.aliases(), store.aside()) == ([], 2)
    store.close()


def test_a_part_of_the_disk_that_cannot_be_read_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path)
    put(store, SMALL)
    with monkeypatch.context() as broken:
        broken.setattr(os, "pread", refusing(OSError(errno.EIO, "I/O error")))
        assert store.check().problems == [f"{digest(SMALL)} is damaged"]
    assert [path.read_bytes() for path in (tmp_path / "damaged").iterdir()] == [SMALL]
    store.close()


def test_every_table_with_records_has_checksums(full: Path) -> None:
    connection = sqlite3.connect(full / "records.sqlite")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert set(EDITS) == set(COLUMNS) == tables & set(COLUMNS)
    for table, columns in COLUMNS.items():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        assert there == {*columns, "sum"}
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
    connection.close()


def test_what_is_stored_anew_is_good_again(full: Path) -> None:
    store = FolderStore(full)
    edit(full, EDITS["tokenizers"], EDITS["usage"])
    with pytest.raises(KeyError):
        store.open_file(digest(SMALL))
    assert store.usage("a") == Usage()
    put(store, SMALL)
    store.add_usage("a", Usage(requests=1))
    assert bytes(store.open_file(digest(SMALL))) == SMALL
    assert (store.usage("a"), store.check().problems) == (Usage(requests=1), [])
    store.close()


def test_a_store_of_before_checksums_opens_and_has_them_from_then_on(full: Path) -> None:
    columns = [f"ALTER TABLE {table} DROP COLUMN sum" for table in COLUMNS]
    edit(
        full,
        *columns,
        "ALTER TABLE tokenizers DROP COLUMN backend",
        "DROP TABLE pending",
        "PRAGMA user_version = 2",
    )
    store = FolderStore(full)
    assert (store.usage("a"), store.check().problems) == (Usage(requests=5, seconds=0.5), [])
    assert store.was_revoked(key("old", None).hash)
    edit(full, EDITS["keys"])
    assert "keys 'k'" in store.check().problems[0]
    store.close()


def test_options_that_were_edited_before_there_were_checksums_are_found(full: Path) -> None:
    edit(full, EDITS["tokenizers"])
    connection = sqlite3.connect(full / "records.sqlite", isolation_level=None)
    seal_all(connection)
    connection.close()
    store = FolderStore(full, to_verify=True)
    (problem,) = store.check().problems
    assert "has other options than its digest" in problem
    store.close()


@pytest.mark.parametrize("seed", range(3))
def test_no_damage_of_the_database_removes_a_file_or_is_an_untyped_error(
    full: Path, seed: int
) -> None:
    randomness = random.Random(seed)
    records = full / "records.sqlite"
    whole = records.read_bytes()
    hints: list[str | None] = []
    for turn in range(40):
        for path in full.glob("records.sqlite*"):
            path.unlink()
        data = bytearray(whole)
        if turn % 8 == 0:
            del data[randomness.randrange(len(data)) :]
        for _ in range(randomness.choice((1, 1, 8))):
            if data:
                data[randomness.randrange(len(data))] ^= 1 << randomness.randrange(8)
        records.write_bytes(data)
        for to_verify in (True, False):
            try:
                store = FolderStore(full, to_verify=to_verify)
                try:
                    store.check()
                    store.tokenizers()
                finally:
                    store.close()
            except TokenizerError as error:
                hints.append(error.hint)
        assert (full / "files" / digest(SMALL)).exists()
    assert hints
    assert None not in hints


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_no_damage_of_the_write_ahead_log_removes_a_file(tmp_path: Path) -> None:
    """What it loses are the latest records, in any number."""
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from pywasmtok.server.store.folder import FolderStore\n"
        "from server.records import tokenizer\n"
        "store = FolderStore(Path(sys.argv[1]))\n"
        "for number in range(20):\n"
        "    data = b'%d' % number\n"
        "    store.put_tokenizer(tokenizer('public', data), data, 'model')\n"
        "os._exit(0)"
    )
    run(code, tmp_path)
    randomness = random.Random(5)
    kept = {path: path.read_bytes() for path in tmp_path.glob("records.sqlite*")}
    log = tmp_path / "records.sqlite-wal"
    found = set()
    for turn in range(60):
        for path in tmp_path.glob("records.sqlite*"):
            path.unlink()
        data = bytearray(kept[log])
        if turn % 2:
            del data[randomness.randrange(len(data)) :]
        else:
            data[randomness.randrange(len(data))] ^= 1 << randomness.randrange(8)
        (tmp_path / "records.sqlite").write_bytes(kept[tmp_path / "records.sqlite"])
        log.write_bytes(data)
        try:
            store = FolderStore(tmp_path)
            found.add(len(store.tokenizers()))
            store.close()
        except StoreFailed:
            found.add(0)
        assert len(list((tmp_path / "files").iterdir())) == 20
    assert len(found) > 5


def test_other_processes_see_the_number_of_a_change(tmp_path: Path) -> None:
    one, other = FolderStore(tmp_path), FolderStore(tmp_path)
    before = other.revision()
    one.put_tenant(tenant("acme"))
    assert one.revision() == other.revision() != before
    # Usage is no change.
    before = other.revision()
    one.add_usage("acme", Usage(requests=1))
    assert other.revision() == before
    one.close()
    other.close()


def test_without_room_for_the_file_the_database_has_the_number(tmp_path: Path) -> None:
    (tmp_path / "revision").mkdir()
    one, other = FolderStore(tmp_path), FolderStore(tmp_path)
    before = other.revision()
    one.put_tenant(tenant("acme"))
    assert one.revision() == other.revision() != before
    one.close()
    other.close()


def test_whose_records_changed_is_known_for_the_last_changes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    first = store.generation()
    for name in ("a", "b", "a"):
        store.put_tenant(tenant(name))
    store.put_key(key("admin", None))
    assert store.owners(first, first + 3) == {"a", "b"}
    assert store.owners(first + 3, first + 4) == {""}
    # Not of what is not there, nor of all that there ever was.
    assert store.owners(first + 3, first + 5) is None
    assert store.owners(-1, first) is None
    for _ in range(600):
        store.remove_key("none")
    assert store.owners(first + 604, first + 604) is None
    assert store.owners(first + 1, first + 600) is None
    assert store.owners(first + 603, first + 604) is None
    store.close()
