"""A flipped bit in each kind of file of a store, and each kind of file lost: what tenants see.

Whatever is damaged, an answer is right or a typed error, and other tenants are served.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import small

from pywasmtok import TokenizerError
from pywasmtok.server.config import Config, Logs, Source, Storage
from pywasmtok.server.contract import Caller
from pywasmtok.server.opening import DEMO, open_service
from pywasmtok.server.service import Service
from server.records import key, tenant
from tools.verify.server_kill import TEXT, Files

RIGHT = "right"
FLIPS = 4


@contextmanager
def opened(folder: Path) -> Iterator[Service]:
    config = Config(storage=Storage(path=str(folder)), logs=Logs(access=False), identity=True)
    with closing(open_service(config)) as service:
        yield service


class Made:
    """A store with two tenants, and the ids that each has to get."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids: dict[str, list[int]] = {}
        files = Files(random.Random(7))
        with opened(folder / "live") as service:
            for name in ("good", "bad"):
                service.store.put_tenant(tenant(name))
                service.store.put_key(key(f"k-{name}", name))
                data, self.ids[name] = files.made()
                service.upload(service.tenant(name), data, {}, "mine")
                self.answer(service, name)
            service.store.check()
            # As a kill leaves it: with the write-ahead log.
            shutil.copytree(folder / "live", folder / "killed")

    def copy(self, *, ended: bool) -> Path:
        place = self.folder / "copy"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder / ("live" if ended else "killed"), place)
        (place / "damaged").mkdir(exist_ok=True)
        (place / "damaged" / "something").write_bytes(b"of another day")
        (place / "checked.json").write_text('{"checked": 1.0, "problems": 0}')
        return place

    def answer(self, service: Service, name: str) -> str:
        """`RIGHT`, or the kind of the error. An answer that is wrong fails the test."""
        try:
            ids = service.find(Caller(name), "mine").tokenizer.encode(TEXT).ids
        except TokenizerError as error:
            return error.kind
        assert list(ids) == self.ids[name]
        return RIGHT


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
        yield Made(tmp_path_factory.mktemp("damage"))


def flip(path: Path, place: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(mode)


def damaged(path: Path, damage: str, dice: random.Random) -> None:
    if damage == "lost":
        path.unlink()
    elif path.stat().st_size:
        flip(path, dice.randrange(path.stat().st_size), dice.randrange(8))


def files_of(folder: Path) -> set[str]:
    return {path.name for path in (folder / "files").iterdir()}


# Files of which a store can lose any without a change of what it serves.
HARMLESS = {
    "records.sqlite-shm": False,
    "reserve": True,
    "revision": True,
    "checked.json": True,
    "damaged/something": True,
    "snapshots/*": True,
}


@pytest.mark.parametrize("damage", ["flipped", "lost"])
@pytest.mark.parametrize("kind", list(HARMLESS))
def test_without_what_can_be_made_anew_all_is_served(made: Made, kind: str, damage: str) -> None:
    dice = random.Random(kind + damage)
    for _ in range(1 if damage == "lost" else FLIPS):
        folder = made.copy(ended=HARMLESS[kind])
        paths = sorted(folder.glob(kind))
        assert paths
        for path in paths:
            damaged(path, damage, dice)
        with opened(folder) as service:
            assert [made.answer(service, name) for name in ("good", "bad")] == [RIGHT, RIGHT]
            assert service.keys.is_good("k-good")
            assert service.store.check().problems == []
        assert len(files_of(folder)) == 2


def test_every_kind_of_file_is_in_these_tests(made: Made) -> None:
    others = {"records.sqlite", "records.sqlite-wal", "files/*"}
    folder = made.copy(ended=False)
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.is_file():
            assert any(name.match(kind) for kind in {*HARMLESS, *others}), name


@pytest.mark.parametrize(
    ("damage", "kind", "said"),
    [("flipped", "damaged_file", "is damaged"), ("lost", "load_error", "is missing")],
)
@pytest.mark.parametrize("running", [True, False])
def test_a_file_of_one_tenant(made: Made, damage: str, kind: str, said: str, running: bool) -> None:
    """What a server has in memory it goes on serving; a check names the file in any case."""
    folder = made.copy(ended=True)
    with opened(folder) as service:
        digest = service.find(Caller("bad"), "mine").digest
        if running:
            assert made.answer(service, "bad") == RIGHT
            damaged(folder / "files" / digest, damage, random.Random(1))
            assert service.store.check().problems == [f"{digest} {said}"]
            assert [made.answer(service, name) for name in ("good", "bad")] == [RIGHT, RIGHT]
    if not running:
        damaged(folder / "files" / digest, damage, random.Random(1))
    with opened(folder) as service:
        missing = running or damage == "lost"
        assert made.answer(service, "bad") == ("load_error" if missing else kind)
        assert made.answer(service, "good") == RIGHT
        assert service.store.check().problems == [f"{digest} is missing"]
        aside = list((folder / "damaged").glob(f"{digest}.*"))
        assert len(aside) == (damage == "flipped")
        # Stored again, it is served again.
        data, made.ids["bad"] = made_again(made)
        service.upload(service.tenant("bad"), data, {}, "mine")
        assert made.answer(service, "bad") == RIGHT


def made_again(made: Made) -> tuple[bytes, list[int]]:
    files = Files(random.Random(7))
    files.made()
    data, ids = files.made()
    assert ids == made.ids["bad"]
    return data, ids


def test_a_bit_of_a_tenants_record_on_the_disk(made: Made) -> None:
    """Nothing of the file's own structure is damaged, so only the checksum of the row tells."""
    folder = made.copy(ended=True)
    records = folder / "records.sqlite"
    place = records.read_bytes().index(b'bad{"') + len(b'bad{"')
    flip(records, place + 3)
    with opened(folder) as service:
        assert made.answer(service, "good") == RIGHT
        assert service.keys.is_good("k-good")
        assert not service.keys.is_good("k-bad")
        assert made.answer(service, "bad") == "not_found"
        service.store.put_tenant(tenant("bad"))
        assert made.answer(service, "bad") == RIGHT
    assert len(list((folder / "damaged").glob("records.*.json"))) == 1


@pytest.mark.parametrize("name", ["records.sqlite", "records.sqlite-wal"])
def test_any_bit_of_the_records(made: Made, name: str) -> None:
    """Served right, or a typed error that names a backup; and no file is ever removed."""
    dice = random.Random(name)
    seen = set()
    for _ in range(3 * FLIPS):
        folder = made.copy(ended=name == "records.sqlite")
        damaged(folder / name, "flipped", dice)
        seen |= outcomes(made, folder)
        assert len(files_of(folder)) == 2
    assert RIGHT in seen
    assert seen <= {RIGHT, "not_found", "unknown_tokenizer", "store_failed", "damaged_record"}


def outcomes(made: Made, folder: Path) -> set[str]:
    try:
        with opened(folder) as service:
            return {made.answer(service, one) for one in ("good", "bad")}
    except TokenizerError as error:
        return {error.kind if error.hint and "backup" in error.hint else "no hint"}


@pytest.mark.parametrize("name", ["records.sqlite", "records.sqlite-wal"])
def test_lost_records(made: Made, name: str) -> None:
    folder = made.copy(ended=False)
    # All is in the log; without it the file has the tables at most.
    (folder / name).unlink()
    with pytest.raises(TokenizerError, match=r"records\.sqlite") as refused, opened(folder):
        pass
    assert "backup" in str(refused.value)
    assert len(files_of(folder)) == 2


def test_a_snapshot_that_is_damaged_after_its_checksums_were_compared(made: Made) -> None:
    """A check on the schedule finds it, since a load does not compare them again."""
    folder = made.copy(ended=True)
    (first, *_) = (
        path for path in sorted(folder.glob("snapshots/*")) if path.suffix != ".verified"
    )
    with opened(folder) as service:
        assert made.answer(service, "good") == RIGHT
        flip(first, first.stat().st_size - 1)
        (problem,) = service.checks.check().problems
        assert problem.startswith("the snapshot ")
        assert not first.exists()
        assert service.checks.check().problems == []
    with opened(folder) as service:
        assert [made.answer(service, name) for name in ("good", "bad")] == [RIGHT, RIGHT]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a file that is open can be changed on POSIX")
def test_a_database_that_is_damaged_while_it_is_served(made: Made) -> None:
    folder = made.copy(ended=True)
    with opened(folder) as service:
        assert made.answer(service, "good") == RIGHT
        connection = sqlite3.connect(folder / "records.sqlite", isolation_level=None)
        connection.execute("UPDATE tokenizers SET digest = 'x' WHERE tenant = 'bad'")
        connection.close()
        changes: list[Callable[[], None]] = [
            lambda: service.store.put_tenant(tenant("later")),
            service.refresh,
        ]
        for change in changes:
            change()
        assert made.answer(service, "good") == RIGHT
        assert made.answer(service, "bad") == "unknown_tokenizer"
        assert service.tenant("later").name == "later"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a file that is open can be changed on POSIX")
def test_a_running_server_goes_on_without_its_database(made: Made) -> None:
    folder = made.copy(ended=True)
    with opened(folder) as service:
        assert made.answer(service, "good") == RIGHT
        for path in folder.glob("records.sqlite*"):
            with path.open("r+b") as file:
                file.write(b"\xff" * path.stat().st_size)
        with pytest.raises(TokenizerError) as refused:
            service.store.put_tenant(tenant("later"))
        assert refused.value.kind == "store_failed"
        assert service.keys.is_good("k-good")
        assert made.answer(service, "good") == RIGHT
    assert len(files_of(folder)) == 2


@pytest.mark.parametrize("damage", ["flipped", "lost"])
def test_a_worker_begins_without_a_file_of_the_operators(
    tmp_path: Path,
    damage: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("PYWASMTOK_SNAPSHOTS", raising=False)
    source = small.write(tmp_path)
    names: dict[str, str | Source] = {"own": str(source), "demo": DEMO}
    storage = Storage(path=str(tmp_path / "store"))
    config = Config(storage=storage, logs=Logs(access=False), tokenizers=names)
    with closing(open_service(config)) as service:
        digest = service.find(Caller("local"), "own").digest
    shutil.rmtree(tmp_path / "store" / "snapshots")
    damaged(tmp_path / "store" / "files" / digest, damage, random.Random(damage))
    with closing(open_service(config, from_store=True)) as service:
        assert "own is not loaded" in caplog.text
        assert service.find(Caller("local"), "demo").tokenizer.encode(TEXT)
        with pytest.raises(TokenizerError):
            service.find(Caller("local"), "own").tokenizer.encode(TEXT)
