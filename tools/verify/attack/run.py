"""The parts of a run, one after the other."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from .good import Good, load, questions
from .hostile import KINDS
from .loops import run_loop
from .place import HOST, Place, running
from .report import Each, Part, Record, part_of

__all__ = ["run", "run_each"]

_WARM_SECONDS = 1.0
_WARM_OF_EACH = 0.05
_QUESTIONS = 400
# What of it is measured beside hostile tenants; half as long without them.
_ROUND_SECONDS = 15.0
_BEGIN_SECONDS = 0.5
_SETTLE_SECONDS = 1.0


def run(  # noqa: PLR0917
    seconds: float,
    tenants: int,
    pace: float,
    rate: float,
    kinds: Sequence[str] = tuple(KINDS),
    long_workers: int = 0,
    gives_way: bool = True,
    **server: Any,
) -> Record:
    """`gives_way`: the hostile process runs only where no other thread wants to run; a short run on
    a busy machine would see nothing of it. `server`: what else `running` takes."""
    good = [f"good-{number:03}" for number in range(tenants)]
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), good, kinds, long_workers=long_workers, **server) as place,
    ):
        return run_loop(_run(place, good, kinds, seconds, pace, rate, gives_way))


def run_each(  # noqa: PLR0917
    seconds: float,
    tenants: int,
    pace: float,
    rate: float,
    kinds: Sequence[str] = tuple(KINDS),
    long_workers: int = 0,
    **server: Any,
) -> Each:
    """One kind after the other, each for so long: shows which kinds delay the good tenants."""
    good = [f"good-{number:03}" for number in range(tenants)]
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), good, kinds, long_workers=long_workers, **server) as place,
    ):
        return run_loop(_run_each(place, good, kinds, seconds, pace, rate))


async def _run_each(  # noqa: PLR0917
    place: Place,
    good: Sequence[str],
    kinds: Sequence[str],
    seconds: float,
    pace: float,
    rate: float,
) -> Each:
    asked = questions(_QUESTIONS)

    async def part(length: float, speed: float | None) -> list[Good]:
        return await load(place, good, asked, until=time.perf_counter() + length, pace=speed)

    async def measured() -> Part:
        before = place.loop_seconds()
        found = part_of(await part(seconds, pace), seconds, _resident(place))
        after = place.loop_seconds()
        if before is not None and after is not None:
            found.loop = 1000 * (after - before) / seconds
        return found

    await part(max(_WARM_SECONDS, len(good) * _WARM_OF_EACH), None)
    alone = await measured()
    beside, found = {}, {}
    for kind in kinds:
        async with _hostile(place, [kind], rate) as hostile:
            await hostile.go()
            beside[kind] = await measured()
            await hostile.pause()
        found.update(hostile.found)
    alone_after = await measured()
    deaths = int(place.dead or not place.healthy())
    errors = place.internal_errors()[:20]
    return Each(len(good), pace, rate, alone, beside, alone_after, found, deaths, errors)


async def _run(  # noqa: PLR0917
    place: Place,
    good: Sequence[str],
    kinds: Sequence[str],
    seconds: float,
    pace: float,
    rate: float,
    gives_way: bool,
) -> Record:
    asked = questions(_QUESTIONS)

    async def part(length: float, speed: float | None) -> list[Good]:
        return await load(place, good, asked, until=time.perf_counter() + length, pace=speed)

    # Instances of tenants are made, and the pace of their calls is learned, on the first few.
    await part(max(_WARM_SECONDS, len(good) * _WARM_OF_EACH), None)
    # The machine is not the same for minutes: what is compared is measured in turns.
    rounds = max(2, round(seconds / _ROUND_SECONDS))
    length = seconds / rounds
    alone = [Good(name) for name in good]
    beside = [Good(name) for name in good]
    shares = [Good(name) for name in good]
    crowded = [Good(name) for name in good]
    before = machine_load()
    resident = [_resident(place)]
    async with _hostile(place, kinds, rate, gives_way) as hostile:
        for _ in range(rounds):
            _join(alone, await part(length / 2, pace))
            await hostile.go()
            _join(beside, await part(length, pace))
            _join(shares, await part(length / 4, None))
            resident.append(_resident(place))
            await hostile.pause()
            await hostile.say("compute")
            _join(crowded, await part(length / 4, pace))
            await hostile.pause()
    resident.append(_resident(place))
    deaths = int(place.dead or not place.healthy())
    return Record(
        tenants=len(good),
        pace=pace,
        rate=rate,
        rounds=rounds,
        workers=max(1, len(place.workers)),
        alone=part_of(alone, seconds / 2, resident[0]),
        beside=part_of(beside, seconds, resident[-2]),
        shares=part_of(shares, seconds / 4),
        crowded=part_of(crowded, seconds / 4),
        hostile=hostile.found,
        resident=[one for one in resident if one is not None],
        deaths=deaths,
        internal_errors=place.internal_errors()[:20],
        load_before=before,
        load_after=machine_load(),
    )


def _resident(place: Place) -> float | None:
    found = place.resident_bytes()
    return None if found is None else found / 1e6


def machine_load() -> float | None:
    """How many threads of the whole machine wanted to run, over the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _join(all_of: Sequence[Good], more: Sequence[Good]) -> None:
    for one, other in zip(all_of, more, strict=True):
        one.add(other)


class _Hostile:
    """Their process, which works only between `go` and `pause`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.found: dict[str, Any] = {}

    async def go(self) -> None:
        await self.say("go")
        await asyncio.sleep(_BEGIN_SECONDS)

    async def pause(self) -> None:
        """What they began has been left, and the server has noticed."""
        await self.say("pause")
        await asyncio.sleep(_SETTLE_SECONDS)

    async def say(self, what: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(what.encode() + b"\n")
        await self._process.stdin.drain()
        answer = await self._process.stdout.readline()
        if answer.strip() != what.encode():
            raise RuntimeError(f"the process of the hostile tenants said {answer[:200]!r}")

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        out, _ = await self._process.communicate()
        self.found.update(json.loads(out))


@asynccontextmanager
async def _hostile(
    place: Place, kinds: Sequence[str], rate: float, gives_way: bool = True
) -> AsyncIterator[_Hostile]:
    """What came of it is there afterwards."""
    command = [sys.executable, "-m", f"{__package__}.worker"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    keys = {kind: place.keys[kind] for kind in kinds}
    said = {"host": HOST, "port": place.port, "keys": keys, "rate": rate}
    said |= {"tls": bool(place.tls), "gives_way": gives_way}
    process.stdin.write(json.dumps(said).encode() + b"\n")
    hostile = _Hostile(process)
    try:
        yield hostile
    finally:
        await hostile.end()
