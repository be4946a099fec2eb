"""What one worker has acknowledged holds for the next answer of every worker."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tools.verify.attack.place import workers_of

from .calls import words_of
from .live import Connection
from .serving import Server, served, until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the workers share a listening socket"
)

ROOT = Path(__file__).parents[2]
TENANT = "/api/v1/tenants/acme"
MODEL = "/api/v1/tokenizers/model"
ROUNDS = 12
REFUSED = {401, 429}
"""429: an address may show so many wrong keys."""

# In each process: kills it once, where the test says, between the commit and the answer.
KILLER = """
import os, signal
from pathlib import Path
from {module} import {owner}

def killed(self, *arguments):
    if not {before}:
        original(self, *arguments)
    if Path({marker!r}).exists():
        Path({marker!r}).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if {before}:
        original(self, *arguments)

original, {owner}.{name} = {owner}.{name}, killed
"""


def words(number: int) -> bytes:
    """A tokenizer that gives `a` this id."""
    return words_of(*(f"x{one}" for one in range(1, number)), "a")


def sent(method: str, path: str, key: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n"
    kind = "content-type: application/json\r\n" if body[:1] == b"{" else ""
    return f"{head}{kind}content-length: {len(body)}\r\n\r\n".encode() + body


class Many:
    """Connections to all workers of a server, and one that changes things."""

    def __init__(self, server: Server, count: int, admin: str, stack: ExitStack) -> None:
        self._stack = stack
        self._server = server
        self.port = int(server.address.rpartition(":")[2])
        self.pid = server.process.pid
        self.admin = admin
        # A worker that starts later would not have its part of the connections.
        until(lambda: self.answering() == count)
        self.again()

    def _opened(self) -> Connection:
        connection = self._stack.enter_context(Connection(self.port))
        # The answer shows that a worker has accepted it.
        assert connection.send(b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert connection.answer()[0] == 200
        return connection

    def answering(self) -> int:
        return int(self._workers()["answering"])

    def until_replaced(self, number: int) -> None:
        """So many workers have ended so far."""
        until(lambda: sum(self._workers()["restarts"].values()) == number)
        until(lambda: self.answering() == self._workers()["configured"])
        self.again()

    def _workers(self) -> Any:
        return self._server.get("/health").json()["workers"]

    def again(self) -> None:
        """New connections: those of a worker end with it."""
        before = {pid: _sockets(pid) for pid in workers_of(self.pid)}
        self._one = self._opened()
        self._all = [self._opened() for _ in range(12)]

        def all_have_one() -> bool:
            if all(_sockets(pid) > count for pid, count in before.items()):
                return True
            # A worker without time accepts nothing, and another one takes all.
            self._all.append(self._opened())
            return False

        until(all_have_one)

    def change(self, method: str, path: str, body: Any = b"", key: str | None = None) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        assert self._one.send(sent(method, path, key or self.admin, data))
        status, answer = self._one.answer()
        assert 200 <= status < 300, answer
        return json.loads(answer) if answer else None

    def change_unanswered(self, method: str, path: str, body: bytes, key: str) -> None:
        assert self._one.send(sent(method, path, key, body))
        assert self._one.answer()[0] == 0

    def ask(self, key: str, text: str = "a") -> list[tuple[int, Any]]:
        """On all connections at once."""
        request = sent("POST", f"{MODEL}/encode", key, json.dumps({"text": text}).encode())
        for one in self._all:
            assert one.send(request)
        return [(status, json.loads(body)) for status, body in (one.answer() for one in self._all)]

    def statuses(self, key: str, text: str = "a") -> set[int]:
        return {status for status, _ in self.ask(key, text)}

    def ids(self, key: str) -> set[int]:
        answers = self.ask(key)
        assert {status for status, _ in answers} == {200}, answers
        return {found["ids"][0] for _, found in answers}

    def new_key(self) -> str:
        return str(self.change("POST", f"{TENANT}/keys", {})["key"])


def _sockets(pid: int) -> int:
    found = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found += os.readlink(descriptor).startswith("socket:")
    return found


@contextmanager
def many(folder: Path, workers: int, **environment: Any) -> Iterator[Many]:
    keys = folder / "admin.key"
    arguments = ["--workers", str(workers), "--store", str(folder / "store")]
    with (
        served(*arguments, "--admin-key-file", str(keys), **environment) as server,
        ExitStack() as stack,
    ):
        found = Many(server, workers, keys.read_text(encoding="ascii").strip(), stack)
        found.change("PUT", TENANT, {})
        yield found


@pytest.fixture(scope="module", params=[2, 3])
def workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with many(tmp_path_factory.mktemp("across"), request.param) as made:
        yield made


def test_an_upload_and_its_replacements(workers: Many) -> None:
    key = workers.new_key()
    for number in range(1, ROUNDS):
        workers.change("PUT", MODEL, words(number), key)
        assert workers.ids(key) == {number}
    workers.change("DELETE", MODEL, key=key)
    assert workers.statuses(key) == {404}


def test_a_key(workers: Many) -> None:
    own = workers.new_key()
    workers.change("PUT", MODEL, words(1), own)
    for _ in range(ROUNDS):
        made = workers.change("POST", f"{TENANT}/keys", {})
        assert workers.statuses(made["key"]) == {200}
        workers.change("DELETE", f"{TENANT}/keys/{made['id']}")
        assert workers.statuses(made["key"]) <= REFUSED


def test_limits_and_a_tenant_that_is_disabled(workers: Many) -> None:
    key = workers.new_key()
    workers.change("PUT", MODEL, words(1), key)
    for _ in range(ROUNDS):
        workers.change("PUT", TENANT, {"limits": {"calls": {"max_text_bytes": 8}}})
        assert workers.statuses(key, "a" * 9) == {413}
        workers.change("PUT", TENANT, {"limits": {"calls": {"max_text_bytes": 9}}})
        assert workers.statuses(key, "a" * 9) == {200}
        workers.change("PUT", TENANT, {"disabled": True})
        assert workers.statuses(key) <= REFUSED
        workers.change("PUT", TENANT, {"disabled": False})
        assert workers.statuses(key) == {200}


def test_a_tenant_that_is_removed_and_made_anew(workers: Many) -> None:
    for number in range(1, ROUNDS):
        key = workers.new_key()
        workers.change("PUT", MODEL, words(number), key)
        assert workers.ids(key) == {number}
        workers.change("DELETE", TENANT)
        assert workers.statuses(key) <= REFUSED
        workers.change("PUT", TENANT, {})
        assert workers.statuses(key) <= REFUSED


def test_a_worker_that_hangs_delays_no_change_and_goes_on_with_the_new_records(
    workers: Many,
) -> None:
    key = workers.new_key()
    for number, pid in enumerate(workers_of(workers.pid), 1):
        os.kill(pid, signal.SIGSTOP)
        try:
            # A new connection is accepted by a worker that runs.
            with Connection(workers.port) as one:
                one.send(sent("PUT", MODEL, key, words(number)))
                assert one.answer()[0] in {200, 201}
        finally:
            os.kill(pid, signal.SIGCONT)
        assert workers.ids(key) == {number}


@pytest.mark.parametrize(
    ("module", "owner", "name", "before"),
    [
        ("pywasmtok.server.store.rules", "Changes", "_changed", False),
        ("pywasmtok.server.store.revision", "Revision", "change", True),
    ],
)
def test_a_change_whose_worker_is_killed_before_it_answers(
    tmp_path: Path, module: str, owner: str, name: str, before: bool
) -> None:
    """`before`: also before it has told the others, who see the change all the same."""
    marker = tmp_path / "marker"
    script = KILLER.format(module=module, owner=owner, name=name, before=before, marker=str(marker))
    (tmp_path / "sitecustomize.py").write_text(script, encoding="utf-8")
    with many(tmp_path, 2, PYTHONPATH=f"{tmp_path}:{ROOT}") as workers:
        key = workers.new_key()
        workers.change("PUT", MODEL, words(1), key)
        assert workers.ids(key) == {1}
        marker.touch()
        # The file is new, and its name is put down in the same commit.
        workers.change_unanswered("PUT", MODEL, words(2), key)
        assert not marker.exists()
        workers.again()
        if before:
            until(lambda: workers.ids(key) == {2})
        assert workers.ids(key) == {2}


def test_a_change_of_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pywasmtok.cli.main import main

    with many(tmp_path, 2) as workers:
        key = workers.new_key()
        workers.change("PUT", MODEL, words(1), key)
        store = ["--store", str(tmp_path / "store")]
        call: Callable[..., int] = main
        for change, statuses in (("--disable", REFUSED), ("--enable", {200})):
            assert call(["tenants", "limit", "acme", change, *store]) == 0
            assert workers.statuses(key) <= statuses
    capsys.readouterr()
