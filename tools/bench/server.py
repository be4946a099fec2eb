"""Our server beside two minimal ones: requests a second and latencies, in one run.

    python -m tools.bench.server --tokenizer tokenizer.json --json R.json --markdown R.md

Each size of text and each number of connections is measured in rounds, and in each round one server
after the other, in another order, so that what else the machine does falls on all. The minimal
servers are Starlette apps that call fastokens, or HuggingFace tokenizers, on the event loop; a
server is not compared before its ids are those of the others. A second table has short requests
beside one connection that keeps sending 2 MB.

`--servers ours,before --before DIR` has the server of another checkout beside this one's. From
start to start the speed of a server differs by some percent, so `--starts N` starts all of them N
times. A rate is the median over all rounds of all starts.

On Linux there is also what a request takes of a processor, in all threads of its server together:
what else runs on the machine moves that least.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pywasmtok.bench import machine
from pywasmtok.bench.inputs.texts import write
from pywasmtok.bench.json_text import json_text

from .serving.load import Measured, exchange, measure, request
from .serving.servers import WHICH

SIZES = (200, 2_000, 20_000, 100_000)
CONNECTIONS = (1, 8, 64)
LARGE = 2_000_000
VARIANTS = 32
SEED = 9


class Server(NamedTuple):
    port: int
    process: int

    def processor_seconds(self) -> float:
        """That it has had so far; 0 where that is not known."""
        try:
            stat = Path(f"/proc/{self.process}/stat").read_text(encoding="ascii")
        except OSError:
            return 0.0
        # Behind the name of the program, which may hold anything: its state, and eleven more.
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(which: str, tokenizer: Path, before: Path | None) -> Iterator[Server]:
    root = Path()
    if which == "before":
        if before is None:
            raise SystemExit("the server `before` needs its checkout: --before DIR")
        root, which = before, "ours"
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.bench.serving.servers", which, str(tokenizer.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root.absolute())},
    )
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()), process.pid)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def texts(size: int, corpus: str, variants: int = VARIANTS) -> list[str]:
    """Different ones, so that no server answers from what it remembers of the last one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write(corpus, SEED, size * variants + (1 << 16), path)
        everything = path.read_text(encoding="utf-8")
    return [everything[number * size : (number + 1) * size] for number in range(variants)]


def requests_of(size: int, corpus: str) -> list[bytes]:
    return [
        request("/tokenize", json.dumps({"prompt": text}).encode()) for text in texts(size, corpus)
    ]


async def require_equal(servers: dict[str, Server], requests: Sequence[bytes]) -> None:
    for one in requests[:4]:
        tokens = {}
        for which, server in servers.items():
            tokens[which] = json.loads(await exchange(server.port, one))["tokens"]
        if len({tuple(ids) for ids in tokens.values()}) != 1:
            raise SystemExit(f"the servers do not give the same ids: {', '.join(tokens)}")


def summary(rounds: Sequence[Measured], processor_seconds: float) -> dict[str, Any]:
    together = Measured()
    for one in rounds:
        together.add(one)
    answered = max(1, len(together.latencies))
    return {
        "requests_per_second": statistics.median(one.rate for one in rounds),
        "p50_ms": together.quantile(0.5) * 1000,
        "p99_ms": together.quantile(0.99) * 1000,
        "processor_us": processor_seconds / answered * 1e6,
        "requests": len(together.latencies),
        "failed": together.failed,
    }


@dataclass
class Case:
    """What was measured of it so far, in all starts."""

    bytes: int
    connections: int
    rounds: dict[str, list[Measured]] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    busy: float = 0.0
    took: float = 0.0

    def summary(self) -> dict[str, Any]:
        return {
            "bytes": self.bytes,
            "connections": self.connections,
            # Near 1 the load itself would be what is measured.
            "load_busy": self.busy / self.took,
            "servers": {which: summary(of, self.spent[which]) for which, of in self.rounds.items()},
        }


async def measured(
    case: Case,
    servers: dict[str, Server],
    requests: Sequence[bytes],
    options: argparse.Namespace,
    beside: Sequence[bytes] = (),
) -> None:
    orders = itertools.cycle(itertools.permutations(servers))
    busy, began = time.process_time(), time.perf_counter()
    for order in itertools.islice(orders, options.rounds):
        for which in order:
            server = servers[which]
            before = server.processor_seconds()
            found = await measure(
                server.port, requests, case.connections, options.seconds, beside=beside
            )
            case.spent[which] += server.processor_seconds() - before
            case.rounds.setdefault(which, []).append(found)
    case.busy += time.process_time() - busy
    case.took += time.perf_counter() - began
    print(line(case.summary()), file=sys.stderr)


async def run(
    options: argparse.Namespace, servers: dict[str, Server], cases: list[Case], beside: list[Case]
) -> None:
    for size in options.sizes:
        requests = requests_of(size, options.corpus)
        await require_equal(servers, requests)
        for server in servers.values():
            await measure(server.port, requests, 4, options.seconds / 2)
        for case in cases:
            if case.bytes == size:
                await measured(case, servers, requests, options)
    large_text = texts(options.large, options.corpus, 1)[0]
    large = [request("/tokenize", json.dumps({"prompt": large_text}).encode())]
    for case in beside:
        requests = requests_of(case.bytes, options.corpus)
        for server in servers.values():
            await exchange(server.port, large[0])
        await measured(case, servers, requests, options, beside=large)


def line(found: dict[str, Any]) -> str:
    parts = [f"{found['bytes']} B x {found['connections']}"]
    for which, one in found["servers"].items():
        rate, p50, p99 = (one[name] for name in ("requests_per_second", "p50_ms", "p99_ms"))
        failed = f" FAILED {one['failed']}" if one["failed"] else ""
        cost = f"{one['processor_us']:.0f} us"
        parts.append(f"{which} {rate:.0f}/s p50 {p50:.2f} p99 {p99:.2f} ms {cost}{failed}")
    return "; ".join([*parts, f"load busy {found['load_busy']:.2f}"])


def markdown(record: dict[str, Any]) -> str:
    made = record["machine"]
    servers = list(record["cases"][0]["servers"])
    others = [which for which in servers if which != "ours"]
    names = {
        "ours": "pywasmtok serve",
        "before": "before",
        "fastokens": "minimal, fastokens",
        "hf": "minimal, HF",
    }
    lines = [
        "# The server beside minimal ones",
        "",
        f"`python -m tools.bench.server`, tokenizer `{record['tokenizer']}`, corpus"
        f" `{record['corpus']}`, {record['starts']} starts, in each {record['rounds']} rounds of"
        f" {record['seconds']:g} s.",
        f"{made['cpu']}, {made['cores_for_this_process']} cores, {made['python']}; load before:"
        f" {', '.join(f'{value:.1f}' for value in made['load_average'] or ())}. The load comes from"
        " one process on the same machine.",
        "",
    ]
    for title, cases in (
        ("Requests", record["cases"]),
        (
            f"8 connections beside one that keeps sending {record['large']:,} bytes",
            record["beside"],
        ),
    ):
        if not cases:
            continue
        lines += [f"## {title}", ""]
        head = ["bytes", "connections"]
        for which in servers:
            head += [f"{names[which]}: requests/s", "p50 ms", "p99 ms", "processor us"]
        head += [f"rate to {names[which]}" for which in others] + ["load busy"]
        lines += [f"| {' | '.join(head)} |", f"|{'---:|' * len(head)}"]
        for one in cases:
            row = [f"{one['bytes']:,}", str(one["connections"])]
            for which in servers:
                found = one["servers"][which]
                row += [
                    f"{found['requests_per_second']:,.0f}",
                    f"{found['p50_ms']:.2f}",
                    f"{found['p99_ms']:.2f}",
                    f"{found['processor_us']:.0f}",
                ]
            own = one["servers"]["ours"]["requests_per_second"]
            rates = [one["servers"][which]["requests_per_second"] for which in others]
            # A server that has answered nothing in half of the rounds has no rate.
            row += [f"{own / rate:.2f}" if rate else "-" for rate in rates]
            row.append(f"{one['load_busy']:.2f}")
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    failed = sum(s["failed"] for c in record["cases"] for s in c["servers"].values())
    lines.append(f"Answers that were no answers: {failed}.")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json(.xz)")
    parser.add_argument(
        "--servers", default=",".join(WHICH), help="of " + ", ".join((*WHICH, "before"))
    )
    parser.add_argument("--before", type=Path, metavar="DIR", help="a checkout of another commit")
    parser.add_argument("--corpus", default="english")
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6, help="in each start")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a server in a round")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--connections", type=int, nargs="*", default=CONNECTIONS)
    parser.add_argument("--large", type=int, default=LARGE, help="bytes that come beside; or 0")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args(arguments)
    cases = [Case(size, number) for size in options.sizes for number in options.connections]
    beside = [Case(size, 8) for size in options.sizes[:2] if options.large]
    record: dict[str, Any] = {
        "what": "server",
        "tokenizer": options.tokenizer.name,
        "corpus": options.corpus,
        "starts": options.starts,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "machine": machine.describe(),
        "versions": machine.versions(),
        "large": options.large,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = options.tokenizer
        if path.suffix == ".xz":
            path = Path(folder) / "tokenizer.json"
            path.write_bytes(lzma.decompress(options.tokenizer.read_bytes()))
        for _ in range(options.starts):
            with ExitStack() as stack:
                servers = {
                    which: stack.enter_context(serving(which, path, options.before))
                    for which in options.servers.split(",")
                }
                asyncio.run(run(options, servers, cases, beside))
    record["cases"] = [case.summary() for case in cases]
    record["beside"] = [case.summary() for case in beside]
    if options.json:
        options.json.write_text(json_text(record) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(markdown(record), encoding="utf-8")
    if not options.json and not options.markdown:
        print(markdown(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
