"""What a tenant costs: `python -m tools.verify.tenants_scale FILE --tenants 1000 --out FOLDER`.

Each tenant adds nothing: it asks for a tokenizer that one of them has read, gets a pool of
instances of its own, and encodes. Measured are the time until it is ready, its first and its second
request, what its instances have written to, and what the whole process takes. Then all are evicted
and made again.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pywasmtok import Limits, SnapshotStore
from pywasmtok._host.linux.private_memory import most_maps
from pywasmtok.bench import machine
from pywasmtok.bench.json_text import json_text
from pywasmtok.tenants import Tenant, TenantLimits, TenantPool

LIMITS = TenantLimits(
    calls=Limits(deadline=10.0, memory=512 << 20, max_text_bytes=4 << 20, max_tokens=4 << 20),
    load_deadline=60.0,
)
WORDS = (
    "The tenants of this house share one staircase, and {} of them a key. "
    "Die Mieter {} teilen sich den Keller; 住户{}共用一个楼梯间。 def share(house{}): return 3.14\n"
)
MIB = 1 << 20


def text_of(size: int, seed: int) -> str:
    """A text of about so many bytes; each tenant has another one."""
    parts: list[str] = []
    length = n = 0
    while length < size:
        line = WORDS.format(*(f"{seed * 7919 + n + place:x}" for place in range(4)))
        parts.append(line)
        length += len(line.encode())
        n += 1
    return "".join(parts)


class Files:
    """One file for all tenants, like a server's own tokenizers."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def open(self, _digest: str) -> tuple[bytes, dict[str, Any]]:
        return self._data, {}


def of_process() -> dict[str, int]:
    """Bytes, as Linux adds them up, and memory maps."""
    found: dict[str, int] = {}
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        name, _, rest = line.partition(":")
        if name in ("Rss", "Pss", "Pss_Anon", "Pss_File", "Private_Dirty"):
            found[name.lower()] = int(rest.split()[0]) * 1024
    with open("/proc/self/maps", "rb") as maps:
        found["maps"] = sum(1 for _ in maps)
    return found


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


class Run:
    def __init__(self, data: bytes, tenants: int, folder: str) -> None:
        self.pool = TenantPool(SnapshotStore(folder), max_memory=1 << 50, idle_seconds=1e9)
        self.data = data
        self.tenants = tenants
        self.digest = ""
        self.all: list[Tenant] = []
        self.report: dict[str, Any] = {"tenants": tenants, "file_bytes": len(data)}

    def everything(self) -> dict[str, Any]:
        self.read_once()
        self.start()
        self.long_requests()
        self.again()
        self.pool.close()
        return self.report

    def read_once(self) -> None:
        """The first tenant pays for all: the file is parsed, and its snapshot written."""
        self.report["process_before"] = of_process()
        first = self.pool.add("first", LIMITS)
        began = time.perf_counter()
        info = first.add(self.data)
        self.report["parse_seconds"] = time.perf_counter() - began
        self.digest = info.digest
        self.report["tokens"] = info.tokens
        with first.turn(1):
            first.tokenizer(self.digest).encode("a")
        self.report["process_with_one"] = of_process()

    def start(self) -> None:
        files = Files(self.data)
        rows: dict[str, list[float]] = {"start": [], "first_request": [], "second_request": []}
        points = []
        for number in range(self.tenants):
            for name, seconds in self._one(number, files).items():
                rows[name].append(seconds)
            if number + 1 in (10, 100, self.tenants):
                points.append(self._point(number + 1))
        self.report["microseconds"] = {name: spread(found) for name, found in rows.items()}
        self.report["after_two_requests"] = points

    def _one(self, number: int, files: Files) -> dict[str, float]:
        text, other = text_of(1000, number), text_of(1000, number + 1)
        began = time.perf_counter()
        tenant = self.pool.add(f"t{number}", LIMITS, files)
        tok = tenant.tokenizer(self.digest)
        ready = time.perf_counter()
        self.all.append(tenant)
        return {
            "start": ready - began,
            "first_request": timed(lambda: tok.encode(text)),
            "second_request": timed(lambda: tok.encode(other)),
        }

    def long_requests(self) -> None:
        for number, tenant in enumerate(self.all):
            tenant.tokenizer(self.digest).encode(text_of(20_000, number + 5))
        self.report["after_20_kb"] = self._point(len(self.all))

    def again(self) -> None:
        seconds = timed(lambda: [tenant.evict() for tenant in self.all])
        self.report["evict_microseconds_each"] = 1e6 * seconds / len(self.all)
        gc.collect()
        self.report["process_after_eviction"] = of_process()
        made = [timed(partial(one.tokenizer, self.digest)) for one in self.all]
        self.report["microseconds"]["made_again"] = spread(made)

    def _point(self, tenants: int) -> dict[str, Any]:
        """What Linux says of the process, and what is known of each tenant."""
        gc.collect()
        began = time.perf_counter()
        own = [one.instances.measure() for one in self.all]
        seconds = time.perf_counter() - began
        process = of_process()
        base = self.report["process_with_one"]
        return {
            "tenants": tenants,
            "process": process,
            "pss_a_tenant": (process["pss"] - base["pss"]) // tenants,
            "maps_a_tenant": round((process["maps"] - base["maps"]) / tenants, 1),
            "own_bytes_a_tenant": int(median(own)),
            "measuring_microseconds_each": 1e6 * seconds / tenants,
        }


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Microseconds."""
    ordered = sorted(seconds)
    at = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    found = {name: ordered[int(share * (len(ordered) - 1))] for name, share in at.items()}
    return {name: round(1e6 * value, 1) for name, value in {**found, "most": ordered[-1]}.items()}


def markdown(report: dict[str, Any]) -> str:
    about = report["machine"]
    last = report["after_two_requests"][-1]
    lines = [
        f"# {report['tenants']:,} tenants, a vocabulary of {report['tokens']:,} tokens",
        "",
        "| | |",
        "|---|---|",
        f"| date | {report['date']} |",
        f"| command | `{report['command']}` |",
        f"| CPU | {about['cpu']}, {about['cores_for_this_process']} cores |",
        f"| system | {about['os']}; {about['python']} |",
        f"| load before and after | {about['load_average']} {report['load_after']} |",
        "",
        f"The file has {report['file_bytes']:,} bytes. It was parsed once, in"
        f" {report['parse_seconds']:.2f} s; all tenants work over that snapshot.",
        "",
        "| microseconds | p50 | p90 | p99 | most |",
        "|---|---|---|---|---|",
    ]
    names = {
        "start": "a tenant is made, and its tokenizer ready",
        "first_request": "its first request, 1 KB",
        "second_request": "its second, another 1 KB",
        "made_again": "its tokenizer made again after eviction",
    }
    for name, words in names.items():
        row = report["microseconds"][name]
        cells = " | ".join(f"{row[column]:,.0f}" for column in ("p50", "p90", "p99", "most"))
        lines.append(f"| {words} | {cells} |")
    lines += [
        "",
        "| tenants | PSS of the process, MiB | PSS a tenant, MiB | written by its instance, MiB |"
        " memory maps | a tenant |",
        "|---|---|---|---|---|---|",
        _row("before any", report["process_before"]),
        _row("one, which has read the file", report["process_with_one"]),
    ]
    for point in report["after_two_requests"]:
        lines.append(_row(f"{point['tenants']:,}, two requests each", point["process"], point))
    lines.append(
        _row("all, after 20 KB more each", report["after_20_kb"]["process"], report["after_20_kb"])
    )
    lines.append(_row("all evicted", report["process_after_eviction"]))
    room = report["most_maps"] / max(last["maps_a_tenant"], 1)
    lines += [
        "",
        f"Looking how much an instance has written takes {last['measuring_microseconds_each']:.0f}"
        f" us; evicting a tenant {report['evict_microseconds_each']:.0f} us. The system allows"
        f" {report['most_maps']:,} memory maps a process: room for {room:,.0f} tenants with an"
        " instance each at a time.",
        "",
    ]
    return "\n".join(lines)


def _row(words: str, process: dict[str, int], point: dict[str, Any] | None = None) -> str:
    cells = [words, f"{process['pss'] / MIB:,.1f}"]
    if point is None:
        return f"| {' | '.join(cells)} | | | {process['maps']:,} | |"
    cells += [f"{point['pss_a_tenant'] / MIB:.2f}", f"{point['own_bytes_a_tenant'] / MIB:.2f}"]
    return f"| {' | '.join(cells)} | {process['maps']:,} | {point['maps_a_tenant']} |"


def measured(data: bytes, tenants: int) -> dict[str, Any]:
    about = machine.describe()
    with tempfile.TemporaryDirectory() as folder:
        report = Run(data, tenants, folder).everything()
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": "",
        "machine": about,
        "versions": machine.versions(),
        **report,
        "most_maps": most_maps(),
        "load_after": machine.describe()["load_average"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", help="a tokenizer's file")
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--out", help="a folder for the record; without it, it is printed")
    given = parser.parse_args()
    path = Path(given.file)
    report = measured(path.read_bytes(), given.tenants)
    name = f"{path.parent.name}/{path.name}" if path.parent.name else path.name
    report["command"] = f"python -m tools.verify.tenants_scale {name} --tenants {given.tenants}"
    text = markdown(report)
    if given.out is None:
        print(text)
        return 0
    stem = f"{report['date'][:10]}-tenants"
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.json").write_text(json_text(report) + "\n", encoding="utf-8")
    (folder / f"{stem}.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
