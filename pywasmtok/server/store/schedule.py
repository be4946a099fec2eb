"""Checks of the store while it is served: on a schedule, and when an admin asks.

All processes of a server share one schedule: the file `checked.json` says when the last check ended
and what it found, and is locked during a check. The threads have a low priority; a check on the
schedule reads a bounded number of bytes a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..._host.linux.file_systems import try_to_lock
from ..._host.linux.priority import step_back
from ..._host.snapshots.store import SnapshotStore
from ...errors import HostError, TokenizerError
from ..contract import Checked, Store
from ..errors import Draining
from . import MEMORY

if TYPE_CHECKING:
    from ..config import Storage

__all__ = ["Checks"]

_STEPS_BACK: Final = 10
# How often a process looks whether a check is due, at most.
_LOOK_SECONDS: Final = 60.0
_MOST_BYTES: Final = 4096

_log = logging.getLogger("pywasmtok")


class Checks:
    def __init__(
        self,
        store: Store,
        storage: Storage,
        clock: Callable[[], float] = time.time,
        *,
        draining: Callable[[], bool] = lambda: False,
    ) -> None:
        """`clock`: seconds since 1970. One that jumps makes a check early or, by one interval at
        most, late. `draining`: whether the server is about to stop, which does not wait for a
        check."""
        self._draining = draining
        self._store = store
        self._is_kept = storage.path != MEMORY
        self._file = Path(storage.path) / "checked.json"
        self._snapshots = SnapshotStore(storage.snapshots or Path(storage.path) / "snapshots")
        self._every = storage.check_seconds
        self._bytes_per_second = storage.check_bytes_per_second
        self._clock = clock
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        # On demand: one after the other.
        self._asked = ThreadPoolExecutor(
            1, "pywasmtok-check", partial(step_back, _STEPS_BACK, gives_way=True)
        )

    def start(self) -> None:
        if self._every and self._has_folder():
            self._thread = threading.Thread(
                target=self._follow, name="pywasmtok-checks", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._asked.shutdown()
        if self._thread is not None:
            self._thread.join()

    def check(self, pace: Callable[[int], object] = lambda length: None) -> Checked:
        """Records, files, and the snapshots made of them."""
        found = self._store.check(pace=pace)
        return replace(found, problems=[*found.problems, *self._damaged_snapshots(pace)])

    async def now(self) -> Checked:
        """On demand, as fast as the disk and a low priority allow."""
        return await asyncio.get_running_loop().run_in_executor(self._asked, self._asked_for)

    def last(self) -> dict[str, Any]:
        """For everyone: numbers and no names. `checked`: when, in seconds since 1970."""
        found: dict[str, Any] = {"checked": None, "problems": None}
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(self._file.read_bytes())
            found = {"checked": float(said["checked"]), "problems": int(said["problems"])}
        with contextlib.suppress(TokenizerError):
            found["set_aside"] = self._store.aside()
        return found

    def check_if_due(self) -> Checked | None:
        """None: it is not, or another process is checking."""
        file = os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if not try_to_lock(file) or not self._is_due(os.read(file, _MOST_BYTES)):
                return None
            found = self.check(self._slowly)
            self._note(file, found)
            return found
        finally:
            os.close(file)

    def _has_folder(self) -> bool:
        return self._is_kept and self._file.parent.is_dir()

    def _is_due(self, said: bytes) -> bool:
        try:
            age = self._clock() - float(json.loads(said)["checked"])
        except (ValueError, KeyError, TypeError):
            return True
        # Negative: the clock was set back.
        return not 0 <= age < self._every

    def _asked_for(self) -> Checked:
        found = self.check(self._unless_ended)
        if self._has_folder():
            with contextlib.suppress(OSError), open(self._file, "ab") as file:
                self._note(file.fileno(), found)
        return found

    def _note(self, file: int, found: Checked) -> None:
        if found.problems:
            _log.error(
                "store: a check found %d problems; %d records and files were set aside;"
                " `pywasmtok tokenizers verify` names what is left",
                len(found.problems),
                found.set_aside,
            )
        said = {
            "checked": self._clock(),
            "problems": len(found.problems),
            "set_aside": found.set_aside,
            "files": found.files,
            "bytes": found.bytes,
        }
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps(said).encode())

    def _follow(self) -> None:
        step_back(_STEPS_BACK, gives_way=True)
        while not self._end.wait(min(_LOOK_SECONDS, self._every)):
            try:
                self.check_if_due()
            except Draining:
                return
            except (TokenizerError, OSError) as error:
                _log.error("store: the check was not finished: %s", error)

    def _damaged_snapshots(self, pace: Callable[[int], object]) -> list[str]:
        """A process compares the checksums of a snapshot once; later damage is found here. They
        are removed, and made anew from their files."""
        if not self._has_folder():
            return []
        problems = []
        try:
            entries = self._snapshots.entries(verify=True, read=pace)
        except HostError as error:
            return [str(error)]
        for entry in entries:
            # One may have been removed meanwhile.
            if entry.problem is not None and entry.key in {
                one.key for one in self._snapshots.entries()
            }:
                self._snapshots.remove(entry.key)
                problems.append(f"the snapshot {entry.key} is damaged, and is made anew")
        return problems

    def _slowly(self, length: int) -> None:
        if self._end.wait(length / self._bytes_per_second):
            raise _ending()

    def _unless_ended(self, length: int) -> None:
        if self._end.is_set() or self._draining():
            raise _ending()


def _ending() -> Draining:
    return Draining("the server is about to stop", hint="ask again: the next one will answer")
