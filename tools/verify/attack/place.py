"""A server process, with tenants and their keys."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.contract import TenantRecord
from pywasmtok.server.store import open_store
from pywasmtok.tenants import TenantLimits

__all__ = ["HOST", "Place", "running", "unverified", "workers_of"]

HOST = "127.0.0.1"

_START_SECONDS = 120
_STOP_SECONDS = 60


@dataclass
class Place:
    port: int
    keys: dict[str, str]
    """Of each tenant."""
    process: subprocess.Popen[bytes]
    log: Path
    workers: list[int] = field(default_factory=list)
    """Processes that it has for its work, where that is not done by itself."""
    tls: ssl.SSLContext | None = None
    """For its clients."""

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://{HOST}:{self.port}"

    @property
    def dead(self) -> bool:
        """It has ended, or replaced a worker that had."""
        return self.process.poll() is not None or workers_of(self.process.pid) != self.workers

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"{self.url}/health", timeout=30, context=self.tls
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def loop_seconds(self) -> float | None:
        """Of a processor, that the event loop of short requests has taken, which is in the first
        thread. None: this system does not say."""
        number = self.workers[0] if self.workers else self.process.pid
        try:
            said = Path(f"/proc/{number}/task/{number}/schedstat").read_text(encoding="ascii")
        except OSError:
            return None
        return int(said.split()[0]) / 1e9

    def resident_bytes(self) -> int | None:
        """Of all its processes; what they share counts in each. None: this system does not say."""
        pages = 0
        for number in (self.process.pid, *workers_of(self.process.pid)):
            try:
                pages += int(Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1])
            except (OSError, IndexError):
                return None
        return pages * os.sysconf("SC_PAGE_SIZE")

    def internal_errors(self) -> list[str]:
        """Lines of the log that no request should be able to cause."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        signs = ("Traceback", " a handler of ", "panicked", "Segmentation fault", "MemoryError")
        return [line for line in text.splitlines() if any(sign in line for sign in signs)]


@contextmanager
def running(
    folder: Path,
    good: Sequence[str],
    hostile: Sequence[str],
    more: str = "",
    *,
    long_workers: int = 0,
    workers: int = 1,
    tls: bool = False,
) -> Iterator[Place]:
    """`more`: further lines of the configuration, which has all defaults but identity."""
    keys = _tenants(folder / "store", good, hostile)
    port = _free_port()
    config = folder / "server.toml"
    config.write_text(
        f"""identity = true
[listen]
host = "{HOST}"
port = {port}
workers = {workers}
long-workers = {long_workers}
{_certificate(folder) if tls else ""}
[storage]
path = '{folder / "store"}'
[logs]
access = false
[tokenizers]
demo = "builtin:demo"
{more}
""",
        encoding="utf-8",
    )
    log = folder / "server.log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "pywasmtok", "serve", "--config", str(config)]
        process = subprocess.Popen(command, stdout=out, stderr=out, env=dict(os.environ))
        place = Place(port, keys, process, log, tls=unverified() if tls else None)
        try:
            _wait(place)
            place.workers = workers_of(process.pid)
            yield place
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def unverified() -> ssl.SSLContext:
    """For a certificate that was made a moment ago."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _certificate(folder: Path) -> str:
    """Lines of the configuration."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-out", str(made), "-keyout", str(key)]
    subprocess.run([*command, *names], capture_output=True, check=True)
    return f"certificate = '{made}'\nprivate-key = '{key}'"


def workers_of(server: int) -> list[int]:
    """Those of the highest priority first; empty where the system does not say."""
    found = []
    for line in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = line.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            command = line.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == server and b"spawn_main" in command:
            found.append((int(fields[16]), int(line.parent.name)))
    return [number for _, number in sorted(found)]


def _tenants(path: Path, good: Sequence[str], hostile: Sequence[str]) -> dict[str, str]:
    """Hostile ones may bring templates, or theirs would be refused unread."""
    store = open_store(path)
    keys = {}
    try:
        for name in (*good, *hostile):
            limits = TenantLimits()
            if name in hostile:
                limits = replace(limits, templates=True)
            store.put_tenant(TenantRecord(name, limits, time.time()))
            keys[name], record = make_key(name)
            store.put_key(record)
    finally:
        store.close()
    return keys


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


def _wait(place: Place) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        # Its workers are not known yet.
        if place.process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(
                f"{place.url}/ready", timeout=5, context=place.tls
            ) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {place.log.read_text()[-2000:]}")
