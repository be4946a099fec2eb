"""tokconf: the command."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import lint as linter
from .diff import compare
from .known import draft
from .playing.process import AdapterFailureError
from .results import Record, Report, line
from .run import Settings, run, why_unavailable
from .suite import Adapter, Case, Suite, SuiteError, glob
from .views import write_all

FINE, RED, MISUSED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Texts of adapters are shown on terminals that do not have every character.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = int(options.work(options))
        sys.stdout.flush()
        return code
    except (SuiteError, AdapterFailureError) as problem:
        print(f"tokconf: {problem}", file=sys.stderr)
        return MISUSED
    except BrokenPipeError:
        # What could not be said may be red. Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return RED
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tokconf", description=__doc__)
    parser.add_argument("--suite", type=Path, help="the folder of the suite; found if not named")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, work: object, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(work=work)
        return made

    running = command("run", _run, "play cases and write results and reports")
    _selection(running)
    running.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    running.add_argument("--out", type=Path, help="folder for results.ndjson and all reports")
    running.add_argument("--fail-fast", type=int, default=0, metavar="N")
    running.add_argument(
        "--required",
        action="append",
        default=[],
        metavar="ADAPTER",
        help="red unless it plays a case; what -i names without a wildcard is required",
    )
    running.add_argument(
        "--no-skips",
        action="append",
        default=[],
        metavar="ADAPTER",
        help="red if it skips a case, or plays none",
    )
    running.add_argument("--quiet", action="store_true")

    smoke = command("smoke", _smoke, "does an adapter start, load, encode and decode?")
    smoke.add_argument("-i", "--implementation", action="append", default=[])

    listing = command("list", _list, "what is there: cases, tokenizers, adapters")
    _selection(listing)
    listing.add_argument("what", choices=["cases", "tokenizers", "adapters"])

    command("lint", _lint, "check the suite itself")

    report = command("report", _report, "make the reports of a stream of results again")
    report.add_argument("results", type=Path)
    report.add_argument("--out", type=Path, required=True)

    diff = command("diff", _diff, "what has changed between two streams of results")
    diff.add_argument("old", type=Path)
    diff.add_argument("new", type=Path)

    known = command("known", _known, "draft an expectations.toml from what differs in a run")
    known.add_argument("-i", "--implementation", required=True, metavar="ADAPTER")
    known.add_argument("results", type=Path)

    setup = command("setup", _setup, "prepare adapters: run their setup commands")
    setup.add_argument("-i", "--implementation", action="append", default=[])

    copying = command("copy", _copy, "copy the suite out, without adapters' builds")
    copying.add_argument("folder", type=Path)

    from . import fuzz

    fuzz.add_commands(command)
    return parser


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-i", "--implementation", action="append", default=[], metavar="ADAPTER")
    parser.add_argument("--cases", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--level", action="append", default=[], choices=["must", "should", "may"])
    parser.add_argument("--tokenizer", action="append", default=[])


def chosen(suite: Suite, names: list[str]) -> list[Adapter]:
    """Adapters by name; miniatures only when asked for by name."""
    everything = suite.adapters()
    if not names:
        return [one for name, one in everything.items() if not name.startswith("miniature:")]
    return [everything[name] for name in meant(everything, names)]


def meant(adapters: Iterable[str], names: list[str], where: str = "") -> list[str]:
    """The adapters that names and patterns mean; one that means none is misspelt."""
    adapters = list(adapters)
    for name in names:
        if not glob(adapters, [name]):
            raise SuiteError(f"there is no adapter {name}{where}; tokconf list adapters")
    return glob(adapters, names)


def _selected(suite: Suite, options: argparse.Namespace) -> list[Case]:
    """The cases that the options mean; a pattern that means none is misspelt."""
    for pattern in options.cases:
        if not suite.select([pattern]):
            raise SuiteError(f"there is no case {pattern}; tokconf list cases")
    for name in options.tokenizer:
        if name not in suite.tokenizers:
            raise SuiteError(f"there is no tokenizer {name}; tokconf list tokenizers")
    cases = suite.select(options.cases, options.level)
    return [case for case in cases if not options.tokenizer or case.tokenizer in options.tokenizer]


def named(adapters: list[Adapter], names: list[str]) -> tuple[str, ...]:
    """The adapters that are named without a wildcard: these must be available."""
    exact = [name for name in names if not set("*?[") & set(name)]
    return tuple(glob([one.name for one in adapters], exact))


def _run(options: argparse.Namespace) -> int:
    suite = Suite.found(options.suite)
    adapters = chosen(suite, options.implementation)
    cases = _selected(suite, options)
    if not cases:
        raise SuiteError("no case is selected")
    no_skips = meant([one.name for one in adapters], options.no_skips, " in this run")
    required = {*meant(suite.adapters(), options.required), *no_skips}
    required.update(named(adapters, options.implementation))
    everything = not (options.cases or options.level or options.tokenizer)
    out = options.out
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    stream = None
    if out is not None:
        path = out / "results.ndjson"
        stream = path.open("w", encoding="utf-8", errors="backslashreplace")
    records: list[Record] = []
    said: set[tuple[str, str]] = set()

    def emit(record: Record) -> None:
        records.append(record)
        if stream is not None:
            stream.write(line(record))
        if record["kind"] == "result" and not options.quiet:
            _say(record, said)

    settings = Settings(options.jobs, options.fail_fast, tuple(no_skips), tuple(sorted(required)))
    try:
        ok = run(suite, adapters, cases, settings, emit, everything=everything)
    finally:
        if stream is not None:
            stream.close()
    _summary(records)
    if out is not None:
        write_all(Report.read(out / "results.ndjson"), suite, out)
    return FINE if ok else RED


def _say(record: Record, said: set[tuple[str, str]]) -> None:
    """Prints a line for each red result, and one line for all cases aborted for one reason."""
    outcome, adapter, reason = record["outcome"], record["adapter"], record.get("reason", "")
    if outcome == "aborted":
        if (adapter, reason) not in said:
            said.add((adapter, reason))
            print(f"{outcome:8} {adapter}  {reason}")
    elif outcome in ("fail", "xpass"):
        print(f"{outcome:8} {adapter}  {record['id']}  {reason}")


def _summary(records: list[Record]) -> None:
    footer = records[-1]
    for record in records:
        if record["kind"] == "implementation" and not record["available"]:
            print(f"{record['adapter']}: unavailable: {record['reason']}")
    for adapter, counts in footer["totals"].items():
        shown = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
        print(f"{adapter}: {shown}")
    for entry in footer["stale"]:
        print(f"{entry['adapter']}: the expectation {entry['match']} matches no case")
    for name in footer["lacking"]:
        print(f"{name}: asked for, and played no case")
    if not footer["played"]:
        print("no implementation played a case: nothing was tested")
    print(f"{'fine' if footer['ok'] else 'RED'}, {footer['seconds']} s")


def _smoke(options: argparse.Namespace) -> int:
    suite = Suite.found(options.suite)
    adapters = chosen(suite, options.implementation)
    seen: set[tuple[str, str]] = set()
    cases = []
    for case in suite.select(levels=["must"]):
        key = (case.tokenizer, case.op)
        if case.op in ("load", "encode", "decode", "render") and key not in seen:
            seen.add(key)
            cases.append(case)
    records: list[Record] = []
    settings = Settings(required=named(adapters, options.implementation))
    ok = run(suite, adapters, cases, settings, records.append)
    said: set[tuple[str, str]] = set()
    for record in records:
        if record["kind"] == "result":
            _say(record, said)
    _summary(records)
    return FINE if ok else RED


def _list(options: argparse.Namespace) -> int:
    suite = Suite.found(options.suite)
    match options.what:
        case "cases":
            for case in _selected(suite, options):
                print(f"{case.id}\t{case.level}\t{case.tokenizer}\t{case.data['why']}")
        case "tokenizers":
            for file in suite.tokenizers.values():
                print(f"{file.name}\t{file.format}\t{file.path or file.reason}")
        case _:
            for name, adapter in suite.adapters().items():
                print(f"{name}\t{adapter.language}\t{why_unavailable(adapter) or 'available'}")
    return FINE


def _lint(options: argparse.Namespace) -> int:
    problems = linter.problems(Suite.found(options.suite))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return RED if problems else FINE


def _report(options: argparse.Namespace) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    write_all(Report.read(options.results), Suite.found(options.suite), options.out)
    return FINE


def _diff(options: argparse.Namespace) -> int:
    changes = compare(Report.read(options.old), Report.read(options.new))
    for change in changes:
        print(change)
    return RED if any(change.worse for change in changes) else FINE


def _known(options: argparse.Namespace) -> int:
    report = Report.read(options.results)
    if options.implementation not in report.implementations:
        raise SuiteError(f"{options.results} has no results of {options.implementation}")
    print(draft(report, options.implementation))
    return FINE


def _setup(options: argparse.Namespace) -> int:
    """Runs the setup commands; red if one fails, or an adapter is not available afterwards."""
    failed = FINE
    for adapter in chosen(Suite.found(options.suite), options.implementation):
        for words in adapter.setup:
            print(f"{adapter.name}: {' '.join(words)}", file=sys.stderr)
            try:
                subprocess.run(
                    words, cwd=adapter.folder, env={**os.environ, **adapter.env}, check=True
                )
            except (OSError, ValueError, subprocess.CalledProcessError) as problem:
                print(f"{adapter.name}: {problem}", file=sys.stderr)
                failed = RED
                break
        reason = why_unavailable(adapter)
        if reason:
            print(f"{adapter.name}: unavailable: {reason}", file=sys.stderr)
            failed = RED
    return failed


def _copy(options: argparse.Namespace) -> int:
    suite = Suite.found(options.suite)
    ignored = shutil.ignore_patterns("node_modules", "target", "__pycache__", "build", "*.egg-info")
    shutil.copytree(suite.root, options.folder, ignore=ignored)
    print(json.dumps({"copied": str(options.folder)}))
    return FINE
