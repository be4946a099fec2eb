"""Takes from a running server what it needs, and gives it back: disk, descriptors, address space.

    python -m tools.verify.server_scarce

While something is missing, every answer has to be right or a typed refusal, and the process has to
live; as soon as it is back, everything has to work again. The disk is a small tmpfs where this may
mount one, and else a bound on the size of files (EFBIG in place of ENOSPC).
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from tools.verify.server_kill import TEXT, Files, Report, Served

__all__ = ["main", "scarce_descriptors", "scarce_disk", "scarce_memory"]

_SECONDS: Final = 120.0
_DISK: Final = 6 << 20
_UPLOADS: Final = 200
_ROUNDS: Final = 10


class Wrong(Exception):  # noqa: N818
    """The server has done something that must not happen."""


class Client:
    """A client that checks what must hold of every answer."""

    def __init__(self, server: Served) -> None:
        self._server = server
        self._files = Files(random.Random(1))
        self.seen: Counter[str] = Counter()
        """How often each status and kind was answered."""

    def upload(self, name: str) -> list[int] | None:
        data, ids = self._files.made()
        answer = self._ask("PUT", f"/api/v1/tokenizers/{name}", content=data)
        return ids if answer is not None and answer.status_code in (200, 201) else None

    def remove(self, name: str) -> None:
        self._ask("DELETE", f"/api/v1/tokenizers/{name}")

    def compare(self, name: str, ids: list[int]) -> bool:
        """Whether it was answered; what is answered has to be right."""
        answer = self._ask("POST", f"/api/v1/tokenizers/{name}/encode", json={"text": TEXT})
        if answer is None or answer.status_code != 200:
            return False
        if answer.json()["ids"] != ids:
            raise Wrong(f"{name}: {answer.json()['ids']}, not {ids}")
        return True

    def _ask(self, method: str, path: str, **content: Any) -> httpx.Response | None:
        try:
            answer = httpx.request(method, self._server.address + path, timeout=_SECONDS, **content)
        except httpx.TransportError as error:
            if self._server.process.poll() is not None:
                raise Wrong(f"the server is gone: {self._server.process.returncode}") from error
            self.seen["no connection"] += 1
            return None
        kind = "good"
        if answer.status_code >= 400:
            kind = answer.json()["error"]["kind"]
        if answer.status_code == 500 and kind != "store_failed":
            raise Wrong(f"{method} {path}: {answer.text[:300]}")
        self.seen[f"{answer.status_code} {kind}"] += 1
        return answer


def scarce_disk(folder: Path, *, mounts: bool = True) -> Counter[str]:
    with _small_disk(folder, mounts) as (store, bounded):
        with _served(store, folder) as server:
            client = Client(server)
            first = client.upload("first")
            if first is None:
                raise Wrong(f"nothing could be stored: {client.seen}")
            with bounded(server.process.pid):
                stored = 0
                while client.upload(f"more{stored}") is not None and stored < _UPLOADS:
                    stored += 1
                _require(client.seen["507 storage_full"] > 0, f"never full: {client.seen}")
                _require(client.compare("first", first), "what was stored is not served")
            for number in range(stored):
                client.remove(f"more{number}")
            _require(client.upload("again") is not None, f"not well again: {client.seen}")
        with _served(store, folder) as server:
            _require(Client(server).compare("first", first), "lost after a restart")
    return client.seen


def scarce_descriptors(folder: Path, rounds: int = _ROUNDS) -> Counter[str]:
    with _served(folder / "store", folder) as server:
        client = Client(server)
        ids = {name: client.upload(name) for name in ("a", "b")}
        used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        with _limit(server.process.pid, resource.RLIMIT_NOFILE, used + 3):
            held = [httpx.Client(base_url=server.address, timeout=0.25) for _ in range(10)]
            for connection in held:
                try:
                    connection.get("/health")
                except httpx.TransportError:
                    client.seen["no connection"] += 1
            for connection in held[1:]:
                connection.close()
            for number in range(rounds):
                client.upload(f"c{number % 3}")
                client.compare("a", ids["a"] or [])
            held[0].close()
        _well_again(client, ids)
    return client.seen


def scarce_memory(folder: Path, rounds: int = _ROUNDS) -> Counter[str]:
    with _served(folder / "store", folder) as server:
        client = Client(server)
        ids = {name: client.upload(name) for name in ("a", "b")}
        status = Path(f"/proc/{server.process.pid}/statm").read_text().split()
        used = int(status[0]) * os.sysconf("SC_PAGE_SIZE")
        with _limit(server.process.pid, resource.RLIMIT_AS, used + (64 << 20)):
            for number in range(rounds):
                client.upload(f"c{number}")
                client.compare("a", ids["a"] or [])
        _well_again(client, ids)
    return client.seen


def _well_again(client: Client, ids: dict[str, list[int] | None]) -> None:
    for name, known in ids.items():
        _require(known is not None, f"{name} could not be stored")
        _require(client.compare(name, known or []), f"{name} is not served: {client.seen}")
    _require(client.upload("again") is not None, f"nothing can be stored: {client.seen}")


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise Wrong(otherwise)


@contextmanager
def _served(store: Path, folder: Path) -> Iterator[Served]:
    server = Served(store, folder / "log")
    try:
        server.wait_until_ready(Report())
        yield server
        _require(server.process.poll() is None, "the server died")
        _require(server.end() == 0, "the server did not end well")
    finally:
        server.kill()


@contextmanager
def _limit(process: int, kind: int, value: int) -> Iterator[None]:
    before = resource.prlimit(process, kind)
    resource.prlimit(process, kind, (value, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, kind, before)


Bounded = Callable[[int], Any]


@contextmanager
def _small_disk(folder: Path, mounts: bool) -> Iterator[tuple[Path, Bounded]]:
    disk = folder / "disk"
    disk.mkdir()
    size = f"size={_DISK}"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)]
    may_mount = mounts and os.geteuid() == 0
    if may_mount and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        try:
            yield disk / "store", _unbounded
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
    else:
        yield disk / "store", _no_large_files


@contextmanager
def _unbounded(process: int) -> Iterator[None]:
    yield


@contextmanager
def _no_large_files(process: int) -> Iterator[None]:
    with _limit(process, resource.RLIMIT_FSIZE, 1 << 14):
        yield


def main() -> int:
    good = True
    for scarce in (scarce_disk, scarce_descriptors, scarce_memory):
        with tempfile.TemporaryDirectory(prefix="pywasmtok-scarce-") as folder:
            try:
                seen = scarce(Path(folder))
            except Wrong as error:
                good = False
                print(f"{scarce.__name__}: WRONG: {error}")
                print((Path(folder) / "log").read_text(encoding="utf-8")[-4000:], file=sys.stderr)
            else:
                print(f"{scarce.__name__}: {json.dumps(dict(sorted(seen.items())))}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
