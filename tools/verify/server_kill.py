"""Kills a server at random points while files are uploaded, swapped and cached, and looks what is
left: nothing that was acknowledged may be lost, nothing wrong may be served.

    python -m tools.verify.server_kill                 200 kills
    python -m tools.verify.server_kill --kills 5       quick

Each round starts `pywasmtok serve` on one and the same folder, uploads under changing names through
its HTTP interface as fast as it answers, and kills it with SIGKILL at a random moment: now and then
also while it is still starting. Then it starts the server anew, measures how long that takes until
`/ready` says yes, and compares the ids of every acknowledged name with those of
the same file. At the end all checksums of files, records and snapshots are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["TEXT", "Files", "Report", "Served", "main", "run"]

TEXT: Final = "one two three four five six seven"
_NAMES: Final = 5
_SECONDS: Final = 120.0
"""The longest wait for anything."""


@dataclass
class Report:
    kills: int = 0
    while_starting: int = 0
    acknowledged: int = 0
    compared: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    ready_seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    """What the server computed until then: on a busy machine the other figure says little."""

    @property
    def good(self) -> bool:
        return not (self.lost or self.wrong or self.damaged)


class State:
    """The uploads that the server has acknowledged so far."""

    def __init__(self) -> None:
        self.allowed: dict[str, list[list[int]]] = {}
        """By name: the ids that were acknowledged last, and those whose upload has no answer."""
        self.acknowledged: set[str] = set()

    def answered(self, name: str, ids: list[int]) -> None:
        self.allowed[name] = [ids]
        self.acknowledged.add(name)


class Files:
    """Tokenizers of whole words, large enough for a snapshot. The ids of a text show which file it
    was."""

    def __init__(self, randomness: random.Random) -> None:
        self._random = randomness
        self._filler = [f"filler{number}" for number in range(4000)]

    def made(self) -> tuple[bytes, list[int]]:
        words = TEXT.split()
        vocabulary = [*self._filler, *words]
        self._random.shuffle(vocabulary)
        numbers = {word: number for number, word in enumerate(["[UNK]", *vocabulary])}
        document = {
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {"type": "WordLevel", "vocab": numbers, "unk_token": "[UNK]"},
        }
        return json.dumps(document).encode(), [numbers[word] for word in words]


class Served:
    """One life of the server."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.began = time.perf_counter()
        command = [sys.executable, "-m", "pywasmtok", "serve", "--port", "0", "--json"]
        command += ["--store", str(folder), "--no-access-log"]
        with log.open("a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.address = ""

    def wait_until_ready(self, report: Report) -> None:
        import httpx

        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server did not start: {self.process.wait(_SECONDS)}")
        self.address = json.loads(line)["address"]
        while True:
            try:
                if httpx.get(f"{self.address}/ready", timeout=_SECONDS).status_code == 200:
                    report.ready_seconds.append(time.perf_counter() - self.began)
                    report.processor_seconds.append(_processor_seconds(self.process.pid))
                    return
            except httpx.TransportError:
                pass
            if time.perf_counter() - self.began > _SECONDS:
                raise RuntimeError("the server is not ready")
            time.sleep(0.002)

    def kill(self) -> None:
        """Does nothing if the server has ended."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_SECONDS)


class Uploads:
    """Puts files under changing names until the server is gone."""

    def __init__(self, files: Files, state: State, report: Report) -> None:
        self._files = files
        self._state = state
        self._report = report

    def go_on(self, address: str, randomness: random.Random) -> None:
        import httpx

        with httpx.Client(base_url=address, timeout=_SECONDS) as client:
            while True:
                name = f"name{randomness.randrange(_NAMES)}"
                data, ids = self._files.made()
                # Until the upload is acknowledged, both answers are right; afterwards only the new
                # one.
                self._state.allowed.setdefault(name, []).append(ids)
                try:
                    answer = client.put(f"/api/v1/tokenizers/{name}", content=data)
                except httpx.TransportError:
                    return
                if answer.status_code not in (200, 201):
                    raise RuntimeError(f"upload: {answer.status_code} {answer.text}")
                self._state.answered(name, ids)
                self._report.acknowledged += 1


def run(kills: int, seed: int, folder: Path, most_seconds: float = 0.6) -> Report:
    randomness = random.Random(seed)
    report = Report()
    files = Files(randomness)
    state = State()
    store, log = folder / "store", folder / "log"
    first = Served(store, log)
    first.wait_until_ready(Report())
    first.kill()
    for _ in range(kills):
        if randomness.random() < 0.1:
            starting = Served(store, log)
            time.sleep(randomness.random() * 0.5)
            starting.kill()
            report.while_starting += 1
        server = Served(store, log)
        server.wait_until_ready(report)
        _compare(server.address, state, report)
        killer = threading.Timer(randomness.random() * most_seconds, server.kill)
        killer.start()
        Uploads(files, state, report).go_on(server.address, randomness)
        killer.join()
        report.kills += 1
    last = Served(store, log)
    last.wait_until_ready(report)
    _compare(last.address, state, report)
    last.end()
    last.kill()
    report.damaged += _problems(store)
    return report


def _compare(address: str, state: State, report: Report) -> None:
    import httpx

    for name, allowed in list(state.allowed.items()):
        body = {"text": TEXT}
        answer = httpx.post(
            f"{address}/api/v1/tokenizers/{name}/encode", json=body, timeout=_SECONDS
        )
        if answer.status_code == 404:
            if name in state.acknowledged:
                report.lost.append(name)
            continue
        if answer.status_code != 200:
            report.wrong.append(f"{name}: {answer.status_code} {answer.text[:200]}")
            continue
        ids = answer.json()["ids"]
        report.compared += 1
        if ids not in allowed:
            report.wrong.append(f"{name}: {ids} is none of {allowed}")
        else:
            # From now on only this answer is right.
            state.answered(name, ids)


def _processor_seconds(process: int) -> float:
    """0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _problems(store: Path) -> list[str]:
    from pywasmtok import SnapshotStore
    from pywasmtok.server.store.folder import FolderStore

    kept = FolderStore(store)
    try:
        problems = kept.check().problems
    finally:
        kept.close()
    problems += [f"damaged/{path.name}" for path in (store / "damaged").glob("*")]
    for entry in SnapshotStore(store / "snapshots").entries(verify=True):
        if entry.problem is not None:
            problems.append(f"snapshot {entry.key}: {entry.problem}")
    return problems


def _printed(report: Report, seconds: float) -> dict[str, Any]:
    ready, computed = sorted(report.ready_seconds), sorted(report.processor_seconds)
    return {
        "kills": report.kills,
        "killed while starting": report.while_starting,
        "uploads acknowledged": report.acknowledged,
        "names compared after restarts": report.compared,
        "lost": report.lost,
        "wrong": report.wrong,
        "damaged": report.damaged,
        "ready, median seconds": round(ready[len(ready) // 2], 3),
        "ready, longest seconds": round(ready[-1], 3),
        "processor seconds until ready, median": round(computed[len(computed) // 2], 3),
        "minutes": round(seconds / 60, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write the result there, too")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with _folder() as folder:
        try:
            report = run(options.kills, options.seed, folder)
        except RuntimeError:
            print((folder / "log").read_text(encoding="utf-8")[-4000:], file=sys.stderr)
            raise
    found = _printed(report, time.monotonic() - began)
    for name, value in found.items():
        print(f"{name}: {value}")
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if report.good else 1


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pywasmtok-kill-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.environ.setdefault("PYWASMTOK_SNAPSHOTS", "on")
    sys.exit(main())
