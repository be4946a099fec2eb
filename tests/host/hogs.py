"""How late deadlines are while four threads hog the GIL: `python -m tests.host.hogs 10000`.

A caller knows that its call has ended when it has the GIL again, which may take much longer than
the call. So the guest's end is measured before: a function in C calls the guest, and notes the time
while its thread has no GIL. It needs a C compiler; without one there are only the caller's times.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from .processes import start

DEADLINE = 0.03

STAMPS = """
#include <stddef.h>
#include <time.h>
void *(*call)(void *, void *, void *, size_t, void *);
double began, ended;
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}
void *stamped(void *context, void *function, void *cells, size_t count, void *trap) {
    began = now();
    void *error = call(context, function, cells, count, trap);
    ended = now();
    return error;
}
"""

CODE = """
import ctypes, json, threading, time
import cores
import pywasmtok._host as host
from pywasmtok import errors
from pywasmtok._host.linux import timer
from pywasmtok._host.wasm import wasmtime_functions, wasmtime_machine
if {by_hand}:
    timer.EngineTimer.start = lambda self, period: False
if {library!r}:
    stamping = ctypes.CDLL({library!r})
    unstamped = wasmtime_functions.address_of("wasmtime_func_call_unchecked")
    ctypes.c_void_p.in_dll(stamping, "call").value = unstamped
    wasmtime_machine._call_unchecked = ctypes.CFUNCTYPE(ctypes.c_void_p)(("stamped", stamping))
    stamps = [ctypes.c_double.in_dll(stamping, name) for name in ("began", "ended")]
else:
    stamps = []

def hog():
    n = 0
    while True:
        n += 1

tok = host.load_with(cores.sample_core(False), b"a file").limited({deadline}, None)
for _ in range(4):
    threading.Thread(target=hog, daemon=True).start()
rows = []
for _ in range({trials}):
    begin = time.monotonic()
    try:
        tok.encode_ids(cores.SPIN)
    except errors.DeadlineExceeded:
        rows.append([begin, time.monotonic(), *(one.value for one in stamps)])
print(json.dumps(rows))
"""


class Late(NamedTuple):
    """Seconds after the deadline, in order."""

    guest: list[float]
    """Empty without a C compiler."""
    caller: list[float]

    def text(self) -> str:
        rows = []
        for name, values in (("guest", self.guest), ("caller", self.caller)):
            shares = (0, 0.5, 0.9, 0.99, 0.999, 1) if values else ()
            at = [values[int(share * (len(values) - 1))] for share in shares]
            rows.append(f"{name}: " + " ".join(f"{1000 * value:.1f}" for value in at))
        return (
            f"{len(self.caller)} trials, ms late (least, 50 %, 90 %, 99 %, 99.9 %, most); "
            + "; ".join(rows)
        )


def measured(trials: int, *, by_hand: bool = False) -> Late:
    with tempfile.TemporaryDirectory() as folder:
        library = _library(Path(folder))
        code = CODE.format(library=library, deadline=DEADLINE, trials=trials, by_hand=by_hand)
        process = start(code)
        try:
            out, error = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 0, error
    rows = json.loads(out)
    assert len(rows) == trials
    return Late(
        sorted(row[3] - row[2] - DEADLINE for row in rows if library),
        sorted(row[1] - row[0] - DEADLINE for row in rows),
    )


def _library(folder: Path) -> str:
    """Of `STAMPS`; empty: there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return ""
    source, made = folder / "stamps.c", folder / "stamps.so"
    source.write_text(STAMPS, encoding="ascii")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", made, source], check=True)
    return str(made)


if __name__ == "__main__":
    for hand in (False, True)[: 1 + ("both" in sys.argv)]:
        print(
            "a thread of Python" if hand else "timers",
            measured(int(sys.argv[1]), by_hand=hand).text(),
        )
