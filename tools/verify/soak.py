"""A server under load, with a hot reload every few seconds: what it holds over time.

    python -m tools.verify.soak --seconds 900 --svg soak.svg --json soak.json

Good tenants ask without a pause for a tokenizer of their own and for the public one; meanwhile the
name of the tokenizer is pointed from one file to another, and every answer is compared. Resident
and proportional memory, descriptors and maps are read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pywasmtok.bench.json_text import json_text
from pywasmtok.bench.plots.figures import Figure, Panel, Point, lines
from pywasmtok.client import AsyncClient

from .attack.good import load, questions
from .attack.hostile import demo
from .attack.place import Place, running
from .attack.report import Part, part_of

__all__ = ["Record", "Sample", "draw", "run", "slope"]

# What is made once, on first use, does not count as growth.
_WARM_SHARE = 0.2
_POINTS = 60


@dataclass(frozen=True)
class Sample:
    seconds: float
    rss: float
    """MB, as `pss`."""
    pss: float
    descriptors: int
    maps: int


@dataclass
class Record:
    seconds: float
    every: float
    tenants: int
    reloads: int
    load: Part
    samples: list[Sample]
    deaths: int
    internal_errors: list[str]

    def slopes(self) -> dict[str, float]:
        """Growth an hour, without what is made once."""
        begin = _WARM_SHARE * self.seconds
        steady = [one for one in self.samples if one.seconds >= begin]
        return {
            name: slope([(one.seconds / 3600, float(getattr(one, name))) for one in steady])
            for name in ("rss", "pss", "descriptors", "maps")
        }

    def as_json(self) -> str:
        return json_text({**asdict(self), "growth an hour": self.slopes()})

    def __str__(self) -> str:
        last = self.samples[-1]
        grown = ", ".join(f"{name} {value:+.1f}" for name, value in self.slopes().items())
        return (
            f"{self.seconds:.0f} s, {self.reloads} reloads, {self.load.answers} right answers "
            f"({self.load.answers / self.seconds:.0f}/s), {self.load.wrong} wrong, "
            f"{sum(self.load.refused.values())} refused, {self.load.lost} lost, "
            f"{self.deaths} deaths; p50 {self.load.p50:.1f} ms, p99 {self.load.p99:.1f} ms\n"
            f"at the end: {last.rss:.0f} MB resident, {last.pss:.0f} MB proportional, "
            f"{last.descriptors} descriptors, {last.maps} maps; growth an hour: {grown}"
        )


def slope(points: list[tuple[float, float]]) -> float:
    """By least squares; a step up and a step down are none."""
    if len(points) < 2:
        return 0.0
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    both = sum((x - middle_x) * (y - middle_y) for x, y in points)
    return both / spread if spread else 0.0


def run(seconds: float, every: float, tenants: int, sampled: float = 1.0) -> Record:
    names = [f"tenant-{number:02}" for number in range(tenants)]
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), names, []) as place:
        return asyncio.run(_run(place, names, seconds, every, sampled))


async def _run(
    place: Place, names: list[str], seconds: float, every: float, sampled: float
) -> Record:
    files = _two_files()
    reloads = 0
    async with AsyncClient(place.url, key=place.keys[names[0]]) as client:
        for other in names[1:]:
            async with AsyncClient(place.url, key=place.keys[other]) as one:
                await one.upload("hot", files[0])
        await client.upload("hot", files[0])
        # Made before the time begins.
        asked, of_hot = questions(200), questions(50, tokenizer="hot")
        started = time.perf_counter()
        end = started + seconds
        samples: list[Sample] = []
        watching = asyncio.create_task(_watch(place, started, end, sampled, samples))
        public = load(place, names, asked, until=end, pace=None)
        hot = load(place, names[:1], of_hot, until=end, pace=None)
        working = asyncio.gather(public, hot)
        while time.perf_counter() < end - every:
            await asyncio.sleep(every)
            reloads += 1
            await client.upload("hot", files[reloads % 2])
        found = await working
        await watching
    return Record(
        seconds=seconds,
        every=every,
        tenants=len(names),
        reloads=reloads,
        load=part_of([tenant for part in found for tenant in part], seconds),
        samples=samples,
        deaths=int(place.dead or not place.healthy()),
        internal_errors=place.internal_errors()[:20],
    )


def _two_files() -> tuple[bytes, bytes]:
    """Two that encode alike, so that each answer is known, and that are not the same."""
    one = demo()
    return one, json.dumps(json.loads(one), indent=1).encode()


async def _watch(
    place: Place, started: float, end: float, every: float, samples: list[Sample]
) -> None:
    while (now := time.perf_counter()) < end:
        samples.append(_sample(place.process.pid, now - started))
        await asyncio.sleep(every)


def _sample(pid: int, seconds: float) -> Sample:
    folder = Path("/proc", str(pid))
    memory = {}
    for line in (folder / "smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        memory[name] = int(rest.split()[0]) / 1024
    return Sample(
        seconds=seconds,
        rss=memory["Rss"],
        pss=memory["Pss"],
        descriptors=len(list((folder / "fd").iterdir())),
        maps=len((folder / "maps").read_text().splitlines()),
    )


def draw(record: Record) -> str:
    step = max(1, len(record.samples) // _POINTS)
    shown = record.samples[::step]

    def panel(title: str, *names: str) -> Panel:
        series = {
            name: [Point(one.seconds, float(getattr(one, name))) for one in shown] for name in names
        }
        return Panel(title, series)

    return lines(
        Figure(
            f"A server for {record.seconds / 60:.0f} minutes, a hot reload every "
            f"{record.every:g} s",
            f"{record.tenants} tenants, {record.load.answers / record.seconds:.0f} answers a "
            f"second, {record.load.wrong} wrong",
            [
                panel("memory of the process, MB", "rss", "pss"),
                panel("descriptors", "descriptors"),
                panel("maps", "maps"),
            ],
            "",
            ours="rss",
            across="seconds",
            shared=False,
            from_zero=True,
            straight=True,
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.verify.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between reloads")
    parser.add_argument("--tenants", type=int, default=8)
    parser.add_argument("--json", type=Path, help="where the record goes")
    parser.add_argument("--svg", type=Path, help="where the plot goes")
    said = parser.parse_args()
    record = run(said.seconds, said.every, said.tenants)
    print(record)
    if said.json:
        said.json.write_text(record.as_json() + "\n", encoding="utf-8")
    if said.svg:
        said.svg.write_text(draw(record), encoding="utf-8")
    bad = record.deaths or record.load.wrong or record.load.lost or record.internal_errors
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
