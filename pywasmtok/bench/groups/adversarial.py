"""Texts made to be slow, 64 KB to 16 MB: a process with a time limit for each library and kind.

Time may grow with the length and no faster: beside the speed there is time(2n) / time(n). For that,
texts of both lengths take turns: a machine that is slower a second later would say something else.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from operator import truediv
from statistics import median
from typing import Any

from .. import machine
from ..inputs.hostile import HOSTILE, hostile_text, turned
from ..libraries.peers import PEERS, TWIN, LeftOutError, Library, load, names_of
from ..measure import CPU, calmly, copies
from ..rows import EQUAL, UNCHECKED, WRONG, Case, Measure, Row
from ..running.child import ChildFailedError, lines_of
from ..running.session import Bench, Setup

__all__ = ["in_child", "run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="cpu")
GROWTH = Measure("time(2n) / time(n)", "x", higher_is_better=False, clock="cpu")
WORST = Measure("largest time(2n) / time(n)", "x", higher_is_better=False, clock="cpu")


def run(bench: Bench) -> Iterator[Row]:
    for kind in HOSTILE:
        yield from of_kind(bench, kind)


def of_kind(bench: Bench, kind: str) -> Iterator[Row]:
    setup = bench.setup
    digests: dict[tuple[str, int], str] = {}
    times: dict[str, dict[int, list[float]]] = {}
    growths: dict[str, dict[int, float]] = {}
    notes: dict[str, tuple[int, str]] = {}
    # The twin is measured in the process of its sister.
    for name in names_of(setup.builds, setup.only):
        if name == TWIN:
            continue
        sizes = lengths(bench, peer=name in PEERS)
        job = {"setup": setup.as_json(), "library": name, "kind": kind, "sizes": sizes}
        seen: dict[int, list[float]] = {}
        try:
            for line in lines_of("hostile", job, seconds=bench.plan.seconds):
                if "absent" in line:
                    bench.absent.append(line["absent"])
                    break
                times.setdefault(line["library"], {})[line["bytes"]] = line["seconds"]
                if line["halves"]:
                    growth = map(truediv, line["seconds"], line["halves"])
                    growths.setdefault(line["library"], {})[line["bytes"]] = median(growth)
                digests[line["library"], line["bytes"]] = line["digest"]
                seen[line["bytes"]] = line["seconds"]
            rest = [size for size in sizes if size not in seen]
            if seen and rest:
                slow = median(seen[max(seen)])
                notes[name] = (rest[0], f"left out after {slow:.1f} s")
        except ChildFailedError as problem:
            rest = [size for size in sizes if size not in seen]
            if rest:
                times.setdefault(name, {})
                notes[name] = (rest[0], str(problem))
    yield from rows(bench, kind, times, growths, digests, notes=notes)


def rows(
    bench: Bench,
    kind: str,
    times: Mapping[str, Mapping[int, Sequence[float]]],
    growths: Mapping[str, Mapping[int, float]],
    digests: Mapping[tuple[str, int], str],
    *,
    notes: Mapping[str, tuple[int, str]],
) -> Iterator[Row]:
    reference = "hf" if "hf" in times else next(iter(times), "")
    for name, of_size in times.items():
        grown = growths.get(name, {})
        for size, seconds in of_size.items():
            expected = digests.get((reference, size))
            verdict = EQUAL if digests[name, size] == expected else WRONG
            if expected is None or len(times) == 1:
                verdict = UNCHECKED
            case: Case = {"input": kind, "bytes": size}
            speeds = [size / 1e6 / one for one in seconds]
            yield bench.row(case, SPEED, name, speeds, verdict)
            if size in grown:
                yield bench.row(case, GROWTH, name, [grown[size]], verdict)
        if grown:
            yield bench.row({"input": kind}, WORST, name, [max(grown.values())])
        if name in notes:
            size, note = notes[name]
            yield bench.row({"input": kind, "bytes": size}, SPEED, name, note=note)


def lengths(bench: Bench, *, peer: bool) -> list[int]:
    plan = bench.plan
    sizes, size = [], plan.hostile_from
    while size <= (plan.peers_hostile_to if peer else plan.hostile_to):
        sizes.append(size)
        size *= 2
    return sizes


def in_child(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    setup = Setup.from_json(job["setup"])
    name, plan = job["library"], setup.plan
    with machine.one_core():
        try:
            found = load(name, setup.file, setup.builds)[:1]
            if name in setup.builds[:1]:
                found += load(TWIN, setup.file, setup.builds)
        except LeftOutError as reason:
            yield {"absent": str(reason)}
            return
        if name in setup.builds:
            # Long calls run in code of another kind, which is compiled once a machine.
            for library in found:
                once(library, hostile_text(next(iter(HOSTILE)), 1 << 20, plan.seed))
        for place, size in enumerate(job["sizes"]):
            text = hostile_text(job["kind"], size, plan.seed)
            half = hostile_text(job["kind"], size // 2, plan.seed) if place else ""
            # Short ones are over before the clock has moved.
            rounds = plan.hostile_rounds if size >= 1 << 20 else 2 * plan.hostile_rounds - 1
            slow = False
            spent: dict[str, list[float]] = {library.name: [] for library in found}
            halves: dict[str, list[float]] = {library.name: [] for library in found}
            digests: dict[str, str] = {}
            for turn in range(rounds):
                unseen = turned(text, turn)
                for library in found:
                    if half:
                        # By itself, the last time, it was turned less.
                        other = turned(half, 2 * plan.hostile_rounds + turn)
                        halves[library.name].append(once(library, other)[0])
                    seconds, digest = once(library, unseen)
                    digests.setdefault(library.name, digest)
                    spent[library.name].append(seconds)
                    slow |= seconds > plan.patience
                if slow:
                    break
            for library in found:
                yield {
                    "library": library.name,
                    "bytes": size,
                    "seconds": spent[library.name],
                    "halves": halves[library.name],
                    "digest": digests[library.name],
                }
            if slow and name in PEERS:
                return


def once(library: Library, text: str) -> tuple[float, str]:
    """Seconds of the processor, and a digest of the ids."""
    encode = library.encode.get("buffer") or library.encode["list"]
    (own,) = copies([text])
    with calmly():
        start = CPU()
        answer = encode(own)
        seconds = (CPU() - start) / 1e9
    ids = answer if hasattr(answer, "tobytes") else array("I", answer)
    return max(seconds, 1e-9), hashlib.sha256(ids.tobytes()).hexdigest()
