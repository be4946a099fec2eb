"""The benchmark: how fast we and our peers encode fresh text, one core, like against like.

    python -m tools.bench                         everything (ten minutes or more)
    python -m tools.bench --quick                 a check that it works, not a measurement
    python -m tools.bench --tokenizer FILE --corpora english,code --sizes 2000,200000
    python -m tools.bench --markdown > table.md   for docs/performance.md
    python -m tools.bench --json > results.json

Rules: each text is seen once, after other text of its kind has warmed the caches; libraries take
turns in random order within one process on one pinned core; CPU time of the process, so that
helper threads count; medians (of the best of five passes where a row is "warm"); every library
gets its own copy of the string; ids are compared in the timed run; `twin` is a second instance of
our first build and shows the noise.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.metadata
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.bench_libraries import Contender, TokenizerFile, contenders
from tools.bench_texts import CORPORA, Tape

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"
DEMO = ROOT / "pywasmtok" / "data" / "demo.tokenizer.json.xz"
FAMILIES = {"llama3": "llama3", "qwen3": "qwen3", "o200k": "gpt-oss"}
SIZES = (200, 2_000, 20_000, 200_000, 2_000_000)
LIBRARIES = ("wasmtime", "tokenizers", "tiktoken", "fastokens", "gigatoken")


@dataclass(frozen=True)
class Plan:
    """How often: `rounds` medians over groups of texts, about `volume` bytes a group."""

    rounds: int
    volume: int
    warm_up: int  # bytes of other text of the kind before anything is timed

    def group(self, size: int) -> int:
        return max(1, self.volume // size)

    def repeats(self, size: int) -> int:
        return min(self.rounds, 5) if size >= 1_000_000 else self.rounds


Timing = tuple[float, list[object]]


@dataclass
class Result:
    times: list[float] = field(default_factory=list)  # microseconds a call, one for each group
    equal: bool = True


@dataclass
class Row:
    tokenizer: str
    corpus: str
    size: int
    form: str
    state: str  # "fresh" or "warm"
    library: str
    microseconds: float  # CPU time of one call, median
    megabytes_per_second: float
    ids_equal: bool = True


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)


def copies(texts: Sequence[str]) -> list[str]:
    """A str keeps its UTF-8 form once a library has asked for it; these have not been asked."""
    return [text.encode().decode() for text in texts]


def timed(contender: Contender, texts: Sequence[str], *, warm: bool = False) -> Timing:
    """CPU microseconds of one call, and all answers. Warm: of the best pass over seen texts."""
    texts = copies(texts)
    encode = contender.encode
    passes = 5 if warm else 1
    spent = []
    gc.collect()
    gc.disable()
    for _ in range(passes):
        answers = []
        start = time.process_time_ns()
        for text in texts:
            answers.append(encode(text))
        spent.append(time.process_time_ns() - start)
    gc.enable()
    return min(spent) / 1000 / len(texts), answers


def measure(
    field_: Sequence[Contender],
    groups: Sequence[Sequence[str]],
    rng: random.Random,
    *,
    warm: bool = False,
) -> dict[str, Result]:
    """The time of each group for each contender, and whether its ids were the reference's."""
    results = {contender.name: Result() for contender in field_}
    for texts in groups:
        order = list(field_)
        rng.shuffle(order)
        answers = {}
        for contender in order:
            spent, raw = timed(contender, texts, warm=warm)
            results[contender.name].times.append(spent)
            answers[contender.name] = [contender.ids(one) for one in raw]
        # Hugging Face's own library is the reference where it takes part, else the first one.
        expected = answers.get("hf", answers[field_[0].name])
        for name, ids in answers.items():
            results[name].equal &= ids == expected
    return results


def check_buffers(
    field_: Sequence[Contender],
    reference: Contender,
    sample: Sequence[str],
    results: dict[str, Result],
) -> None:
    """The reference has no buffer form, so a sample of the buffers is held against its lists."""
    expected = [reference.ids(one) for one in timed(reference, sample)[1]]
    for contender in field_:
        answers = [contender.ids(one) for one in timed(contender, sample)[1]]
        results[contender.name].equal &= answers == expected


@dataclass
class Run:
    """One tokenizer: everybody who can take part, and where the rows go."""

    file: TokenizerFile
    everyone: Sequence[Contender]
    plan: Plan
    report: Report

    def corpus(self, name: str, sizes: Sequence[int], seed: int) -> None:
        tape, rng, plan = Tape(name, seed), random.Random(seed), self.plan
        reference = next((one for one in self.everyone if one.name == "hf"), None)
        warm_up = [tape.take(plan.warm_up // 25) for _ in range(25)]
        for contender in self.everyone:
            timed(contender, warm_up)
        for form in ("buffer", "list"):
            field_ = [one for one in self.everyone if one.form == form]
            for size in sizes if field_ else ():
                texts = [
                    [tape.take(size) for _ in range(plan.group(size))]
                    for _ in range(plan.repeats(size))
                ]
                results = measure(field_, texts, rng)
                if form == "buffer" and reference is not None:
                    check_buffers(field_, reference, texts[0][:3], results)
                self.add((name, size, form, "fresh"), results)
                if size == min(sizes):
                    warm = measure(field_, [texts[0][:50]] * plan.rounds, rng, warm=True)
                    self.add((name, size, form, "warm"), warm)

    def add(self, key: tuple[str, int, str, str], results: dict[str, Result]) -> None:
        for name, result in results.items():
            median = statistics.median(result.times)
            speed = key[1] / median
            self.report.rows.append(
                Row(self.file.name, *key, name, median, speed, ids_equal=result.equal)
            )


def render(report: Report, ours: str, *, markdown: bool) -> str:
    """Tables of MB/s (small texts: us a call); (x2.00) = ours is twice as fast as this one."""
    lines = []
    if markdown:
        facts = ", ".join(f"{name} {value}" for name, value in report.machine.items())
        lines += [f"Measured with `python -m tools.bench --markdown`: {facts}.", ""]
    for tokenizer, form in dict.fromkeys((row.tokenizer, row.form) for row in report.rows):
        rows = [row for row in report.rows if (row.tokenizer, row.form) == (tokenizer, form)]
        names = list(dict.fromkeys(row.library for row in rows))
        title = f"{tokenizer}, ids as {'a flat buffer' if form == 'buffer' else 'a list'}"
        table = [["text", "size", "state", *names]]
        for key in dict.fromkeys((row.corpus, row.size, row.state) for row in rows):
            cells = {row.library: row for row in rows if (row.corpus, row.size, row.state) == key}
            table.append([key[0], size_name(key[1]), key[2], *row_cells(cells, names, ours)])
        lines += [f"### {title}" if markdown else title, "", *layout(table, markdown), ""]
    lines += summary(report, ours, markdown=markdown)
    lines += [f"Skipped: {reason}" for reason in dict.fromkeys(report.skipped)]
    return "\n".join(lines)


def summary(report: Report, ours: str, *, markdown: bool) -> list[str]:
    """Our speed over theirs on fresh text: geometric means over tokenizers and texts."""
    fresh = [row for row in report.rows if row.state == "fresh"]
    own = {
        (row.tokenizer, row.corpus, row.size, row.form): row.microseconds
        for row in fresh
        if row.library == ours
    }
    if not own:
        return []
    names = list(dict.fromkeys(row.library for row in fresh if row.library != ours))
    table = [["ours / theirs", "size", *names]]
    for form, size in dict.fromkeys((row.form, row.size) for row in fresh):
        cells = []
        for name in names:
            ratios = [
                row.microseconds / own[row.tokenizer, row.corpus, size, form]
                for row in fresh
                if (row.library, row.form, row.size) == (name, form, size)
            ]
            cells.append(f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-")
        table.append([form, size_name(size), *cells])
    title = "Geometric means over all of the above, fresh text"
    return [f"### {title}" if markdown else title, "", *layout(table, markdown), ""]


def row_cells(cells: dict[str, Row], names: Sequence[str], ours: str) -> list[str]:
    texts = []
    own = cells.get(ours)
    for name in names:
        if name not in cells:
            texts.append("-")
            continue
        row = cells[name]
        text = (
            f"{row.microseconds:.2f} us" if row.size <= 1000 else f"{row.megabytes_per_second:.1f}"
        )
        if own is not None and name != ours:
            text += f" (x{row.microseconds / own.microseconds:.2f})"
        texts.append(text + ("" if row.ids_equal else " WRONG IDS"))
    return texts


def size_name(size: int) -> str:
    for unit, name in ((1_000_000, "MB"), (1_000, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def layout(table: list[list[str]], markdown: bool) -> list[str]:
    if markdown:
        rule = "|---" * len(table[0]) + "|"
        rows = ["| " + " | ".join(row) + " |" for row in table]
        return [rows[0], rule, *rows[1:]]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def machine() -> dict[str, str]:
    facts = {"Python": platform.python_version(), "machine": platform.machine()}
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                facts["CPU"] = line.partition(": ")[2]
                break
    except OSError:
        pass
    for name in LIBRARIES:
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return facts


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    # The thread pools of the libraries read these once, when they are first used.
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if not hasattr(os, "sched_setaffinity"):
        print("no way to pin a core on this system", file=sys.stderr)
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def label(path: Path) -> str:
    """`llama3/tokenizer.json` is known by its folder, `demo.tokenizer.json.xz` by its name."""
    first = path.name.partition(".")[0]
    return path.resolve().parent.name if first == "tokenizer" else first


def tokenizer_files(given: Sequence[Path], folder: Path) -> list[TokenizerFile]:
    if given:
        return [TokenizerFile.read(label(path), path, folder) for path in given]
    found = {name: ASSETS / family / "tokenizer.json.xz" for name, family in FAMILIES.items()}
    if all(path.is_file() for path in found.values()):
        return [TokenizerFile.read(name, path, folder) for name, path in found.items()]
    return [TokenizerFile.read("demo", DEMO, folder)]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--corpora", default=",".join(CORPORA), help="%(default)s")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes: %(default)s")
    parser.add_argument(
        "--builds", default="portable", help="of ours, e.g. portable,baseline; '' = peers only"
    )
    parser.add_argument(
        "--only", default="", help="names of the libraries to run, e.g. portable,hf"
    )
    parser.add_argument("--rounds", type=int, default=11, help="measurements behind each median")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small and few: does it work?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(argv)
    for name in options.corpora.split(","):
        if name not in CORPORA:
            parser.error(f"no corpus {name!r}; there are {', '.join(CORPORA)}")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    plan = (
        Plan(rounds=2, volume=2_000, warm_up=50_000)
        if options.quick
        else Plan(options.rounds, volume=100_000, warm_up=500_000)
    )
    sizes = [int(size) for size in options.sizes.split(",")]
    sizes = [size for size in sizes if size <= 20_000] if options.quick else sizes
    builds = [build for build in options.builds.split(",") if build]
    report = Report(machine=machine())
    with one_core(), tempfile.TemporaryDirectory() as temporary:
        for file in tokenizer_files(options.tokenizer, Path(temporary)):
            everyone, reasons = contenders(file, builds)
            report.skipped += [f"{file.name}: {reason}" for reason in reasons]
            if options.only:
                wanted = options.only.split(",")
                everyone = [contender for contender in everyone if contender.name in wanted]
            run = Run(file, everyone, plan, report)
            for corpus in options.corpora.split(","):
                print(f"{file.name} {corpus}", file=sys.stderr, flush=True)
                run.corpus(corpus, sizes, options.seed)
    first = builds[0] if builds else ""
    if options.json:
        print(json.dumps(asdict(report), indent=1))
    else:
        print(render(report, first, markdown=options.markdown))
    wrong = {row.library for row in report.rows if not row.ids_equal}
    if wrong & {*builds, "twin"}:
        print("our ids differ from the reference's", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
