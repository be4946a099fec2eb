"""What it takes to have a tokenizer: time until it is there, and memory; for the first of a
machine, of a process, and each further instance. A fresh process for each figure.

Memory is proportional (PSS): pages that are shared count in part, as they cost in part.
"""

from __future__ import annotations

import gc
import importlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..libraries.peers import PEERS, TWIN, LeftOutError, load, names_of
from ..rows import Measure, Row
from ..running.child import ChildFailedError, lines_of
from ..running.session import Bench, Setup

__all__ = ["importing", "in_child", "in_process", "memory", "proportional", "times"]

TIME = Measure("time to load", "ms", higher_is_better=False, clock="wall")
CLONE = Measure("time of a further instance", "ms", higher_is_better=False, clock="wall")
MEMORY = Measure("memory (PSS)", "MB", higher_is_better=False)

CACHE = "PYWASMTOK_CACHE_DIR"
# Imported before the clock starts: what is measured is loading a tokenizer, not Python.
PACKAGES = {"fastokens": "fastokens", "gigatoken": "gigatoken", "tiktoken": "tiktoken"}
OURS = "pywasmtok._host.wasm.core"
HF = "tokenizers"
# Text that a further instance has seen when its memory is counted.
SEEN = 20_000
MOST_SEEN = 400_000

NOTHING, CORE, ALL = "nothing is cached", "new file", "seen file"


def times(bench: Bench) -> Iterator[Row]:
    for name in names_of(bench.setup.builds, bench.setup.only):
        yield from loads(bench, name)


def loads(bench: Bench, name: str) -> Iterator[Row]:
    """Ours in each state of its cache; the others load alike every time."""
    found: dict[str, list[dict[str, Any]]] = {NOTHING: [], CORE: [], ALL: []}
    problem = None
    try:
        for _ in range(bench.plan.loads):
            if name in PEERS:
                measured = in_process(bench, "load", name)
                for state in found if bench.plan.cold else (ALL,):
                    found[state].append(measured)
            elif bench.plan.cold:
                with caches() as (empty, core):
                    found[NOTHING].append(in_process(bench, "load", name, empty))
                    found[ALL].append(in_process(bench, "load", name, empty))
                    in_process(bench, "load", name, core, source="builtin:demo")
                    found[CORE].append(in_process(bench, "load", name, core))
            else:
                in_process(bench, "load", name)
                found[ALL].append(in_process(bench, "load", name))
    except ChildFailedError as error:
        problem = str(error)
    except LeftOutError as reason:
        bench.absent.append(str(reason))
        return
    for state, lines in found.items():
        samples = [line["seconds"] * 1000 for line in lines]
        if samples or problem:
            yield bench.row({"load of": state}, TIME, name, samples, note=problem)
    clones = [1000 * second for line in found[ALL] for second in line.get("clones", ())]
    if clones:
        yield bench.row({"load of": "further instance"}, CLONE, name, clones)


@contextmanager
def caches() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        yield first, second


def memory(bench: Bench) -> Iterator[Row]:
    kept: dict[str, dict[str, list[float]]] = {}
    notes: dict[str, str] = {}
    for name in names_of(bench.setup.builds, bench.setup.only):
        kept[name] = {}
        try:
            if name not in PEERS:
                in_process(bench, "load", name)  # so that the next ones find what a cache can hold
            for _ in range(bench.plan.loads):
                for state, size in in_process(bench, "load", name)["memory"].items():
                    kept[name].setdefault(state, []).append(size / 1e6)
        except ChildFailedError as error:
            notes[name] = str(error)
        except LeftOutError as reason:
            bench.absent.append(str(reason))
    for state in dict.fromkeys(state for sizes in kept.values() for state in sizes):
        for name, sizes in kept.items():
            if state in sizes:
                yield bench.row({"of": state}, MEMORY, name, sizes[state])
    for name, note in notes.items():
        yield bench.row({"of": "a tokenizer"}, MEMORY, name, note=note)


def in_process(
    bench: Bench, task: str, name: str, cache: str | None = None, **more: Any
) -> dict[str, Any]:
    job = {"setup": bench.setup.as_json(), "library": name, **more}
    environment = {} if cache is None else {CACHE: cache}
    (line,) = lines_of(task, job, seconds=bench.plan.seconds, environment=environment)
    if "absent" in line:
        raise LeftOutError(line["absent"])
    return line


def in_child(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    setup, name = Setup.from_json(job["setup"]), job["library"]
    if "source" in job:
        # Only to leave in the cache what any first load leaves there.
        from ...loading.factory import create_tokenizer

        build = setup.builds[0] if name == TWIN else name
        create_tokenizer(job["source"], encoder="core", decoder="core", build=build)
        yield {}
        return
    seen = setup.tape(setup.plan.corpora[0]).take(min(MOST_SEEN, setup.plan.thread_volume))
    importing(name)
    before = proportional()
    start = time.perf_counter()
    try:
        library = load(name, setup.file, setup.builds)[0]
    except LeftOutError as reason:
        yield {"absent": str(reason)}
        return
    answer: dict[str, Any] = {"seconds": time.perf_counter() - start}
    kept: dict[str, int] = {}
    if before is not None:
        kept["a tokenizer"] = grown(before)
    encode = library.encode.get("buffer") or library.encode["list"]
    encode(seen)
    if before is not None:
        kept[f"a tokenizer after {len(seen.encode()) // 1000} KB of text"] = grown(before)
    if library.tokenizer is not None:
        answer["clones"] = further(library.tokenizer, setup.plan.instances, seen, kept)
    answer["memory"] = kept
    yield answer


def importing(name: str) -> None:
    """The modules of a library, before a clock starts."""
    with suppress(ImportError):  # then loading says so
        importlib.import_module(OURS if name not in PEERS else PACKAGES.get(name, HF))


def further(tokenizer: Any, count: int, text: str, kept: dict[str, int]) -> list[float]:
    """Seconds for each of some further instances; what they keep goes into `kept`."""
    pool = tokenizer.hybrid.encoder.core._pool
    part = text.encode()[:SEEN].decode(errors="ignore").encode()
    before = proportional()
    seconds, instances = [], []
    for _ in range(count):
        start = time.perf_counter()
        instances.append(pool._source.new_instance())
        seconds.append(time.perf_counter() - start)
    if before is not None:
        kept["a further instance"] = grown(before) // len(instances)
    for instance in instances:
        instance.encode_ids(part, 0)
    if before is not None:
        after = f"a further instance after {len(part) // 1000} KB of text"
        kept[after] = grown(before) // len(instances)
    return seconds


def grown(before: int) -> int:
    return max(0, (proportional() or 0) - before)


def proportional() -> int | None:
    """Bytes of memory, those that are shared in proportion; None where the system does not say."""
    gc.collect()
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), None)
