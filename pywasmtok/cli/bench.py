"""The command `pywasmtok bench`: progress on stderr, tables on stdout, files on request."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ..bench import compare, machine, tables
from ..bench.groups import GROUPS
from ..bench.inputs.texts import CORPORA, GENERATED
from ..bench.libraries.files import TokenizerFile, label
from ..bench.record import Record
from ..bench.rows import WRONG
from ..bench.running.plan import Plan, default_threads
from ..bench.running.run import hashes, prepare_texts, run_all
from ..bench.running.session import Setup
from ..errors import InvalidArgument, LoadError, SourceNotFound

__all__ = ["main", "run"]

DEMO = "builtin:demo"


def main(arguments: Sequence[str]) -> int:
    """0: done; 1: our ids were not the reference's, or a group failed; 2: wrong usage."""
    options = _options(arguments)
    if options.compare:
        old, new = map(Record.read, options.compare)
        print(compare.report(old, new))
        return 0
    _require_writable(options)
    record = Record.read(options.show) if options.show else run(options, list(arguments))
    if options.json:
        record.write(options.json)
    if options.markdown:
        Path(options.markdown).write_text(tables.markdown(record), encoding="utf-8")
    if options.plots:
        from ..bench.plots import draw

        for path in draw(record, Path(options.plots)):
            _progress(f"wrote {path}")
    print(tables.terminal(record))
    return _verdict(record)


def run(options: argparse.Namespace, arguments: list[str]) -> Record:
    plan = _plan(options)
    record = Record(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=[_without_folders(one) for one in arguments],
        machine=machine.describe(),
        libraries=machine.versions(),
        plan={name: _plain(value) for name, value in asdict(plan).items()},
        builds=_list(options.builds),
    )
    with tempfile.TemporaryDirectory(prefix="pywasmtok-bench-") as temporary:
        folder = Path(temporary)
        files = _read_all(options.tokenizer or [DEMO], folder)
        setup = Setup(files[0], plan, tuple(record.builds), tuple(_list(options.only)))
        texts = dict(options.text)
        setup = replace(setup, templates=_templates(options.templates), texts=texts)
        setup = prepare_texts(setup, folder, _progress)
        record.texts = hashes(setup)
        record = _earlier(record, options) or record
        run_all(
            record, setup, files, options.groups, _progress, keep=partial(_keep, record, options)
        )
    return record


def _earlier(record: Record, options: argparse.Namespace) -> Record | None:
    """The record that `--resume` goes on with: one of the same plan, texts and libraries."""
    if not options.resume or not options.json or not Path(options.json).stat().st_size:
        return None
    earlier = Record.read(options.json)
    for name in ("plan", "texts", "builds", "libraries"):
        if getattr(earlier, name) != getattr(record, name):
            raise InvalidArgument(
                f"the record is of another run: not the same {name}",
                source=options.json,
                hint="Give the options and texts of that run, or write another file",
            )
    earlier.without_failed()
    return earlier


def _without_folders(argument: str) -> str:
    """Without the user's folders: a record may be published, and has hashes of files and texts."""
    kind, equals, path = argument.rpartition("=")
    return kind + equals + Path(path).name if Path(path).is_absolute() else argument


def _keep(record: Record, options: argparse.Namespace) -> None:
    after = machine.describe()["load_average"]
    record.machine = {**record.machine, "load_average_after": after}
    if options.json:
        record.write(options.json)


def _read_all(sources: Sequence[str], folder: Path) -> list[TokenizerFile]:
    """With a name for each: rows are told apart by it."""
    files: list[TokenizerFile] = []
    for number, source in enumerate(sources):
        name = label(source)
        if name in [file.name for file in files]:
            name = f"{name}-{number + 1}"
        files.append(TokenizerFile.read(source, folder / str(number), name))
    return files


def _templates(sources: Sequence[str]) -> tuple[Path, ...]:
    found: list[Path] = []
    for source in map(Path, sources):
        inside = sorted(source.glob("*.jinja")) if source.is_dir() else [source]
        if not inside or not inside[0].is_file():
            raise SourceNotFound("no chat template", source=str(source))
        found += inside
    return tuple(found)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _plan(options: argparse.Namespace) -> Plan:
    plan = Plan(threads=tuple(options.threads or default_threads()), seed=options.seed)
    if options.rounds:
        plan = replace(plan, rounds=options.rounds)
    if options.sizes:
        plan = replace(plan, sizes=tuple(options.sizes))
    if options.quick:
        plan = replace(plan.quick(), corpora=(GENERATED + "mixed",))
        if not options.threads:
            plan = replace(plan, threads=(1, 2))
    made = (GENERATED + kind for kind in options.corpora or ())
    corpora = (*(kind for kind, _ in options.text), *made)
    needed = max(GROUPS[group].needs(plan) for group in options.groups)
    return replace(plan, corpora=corpora or plan.corpora, text_bytes=needed)


def _require_writable(options: argparse.Namespace) -> None:
    """Before the run: afterwards it would be too late."""
    for path in filter(None, (options.json, options.markdown, options.plots)):
        try:
            if path == options.plots:
                Path(path).mkdir(parents=True, exist_ok=True)
            else:
                Path(path).open("ab").close()
        except OSError as error:
            raise LoadError(f"cannot be written: {error.strerror}", source=path) from error


def _verdict(record: Record) -> int:
    status = 0
    for run_ in record.groups:
        if run_["failure"]:
            status = 1
    wrong = {
        row.library
        for row in record.rows
        if row.ids == WRONG and row.library in {*record.builds, "twin"}
    }
    if wrong:
        _progress(f"not the reference's answers: {', '.join(sorted(wrong))}")
        status = 1
    return status


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    groups = "\n".join(f"  {name:<21} {group.about}" for name, group in GROUPS.items())
    parser = argparse.ArgumentParser(
        prog="pywasmtok bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures this package beside other libraries, where they are installed.",
        epilog=f"groups:\n{groups}",
    )
    add = parser.add_argument
    add(
        "--tokenizer",
        "-t",
        action="append",
        metavar="SOURCE",
        help=f"path, folder or name; may be repeated; default: {DEMO}",
    )
    add(
        "--templates",
        action="append",
        default=[],
        metavar="PATH",
        help="a chat template, or a folder of *.jinja; may be repeated; default: an own one",
    )
    add("--groups", type=_names(GROUPS), default=list(GROUPS), metavar="A,B", help="default: all")
    add(
        "--corpora",
        type=_names(CORPORA),
        metavar="A,B",
        help=f"generated text: {', '.join(CORPORA)}",
    )
    add(
        "--text",
        type=_text,
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="text that people wrote, a kind each: FILE or KIND=FILE, also a folder; "
        "in place of generated text",
    )
    add("--sizes", type=_numbers, metavar="N,M", help="lengths of texts in bytes")
    add("--threads", type=_numbers, metavar="N,M", help="numbers of threads")
    add("--builds", default="portable", metavar="A,B", help="of ours; '' for peers only")
    add("--only", default="", metavar="A,B", help="libraries to run, such as portable,twin,hf")
    add("--rounds", type=int, default=0, help="measurements behind each median")
    add("--seed", type=int, default=1, help="of the texts")
    add("--quick", action="store_true", help="small and few: does it work? No measurement")
    add("--json", metavar="FILE", help="writes the record")
    add("--resume", action="store_true", help="goes on with the record of --json, group by group")
    add("--markdown", metavar="FILE", help="writes the tables")
    add("--plots", metavar="DIR", help="writes plots as SVG")
    add("--show", metavar="FILE", help="runs nothing: shows the record of an earlier run")
    add("--compare", nargs=2, metavar=("OLD", "NEW"), help="what changed between two records")
    options = parser.parse_args(arguments)
    if options.resume and not options.json:
        parser.error("--resume goes on with a record: name it with --json FILE")
    kinds = [kind for kind, _ in options.text]
    if len({*kinds}) < len(kinds):
        parser.error("two texts are of the same kind: name kinds with --text KIND=FILE")
    return options


def _names(known: Collection[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = _list(text)
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
        return names

    return parse


def _text(text: str) -> tuple[str, Path]:
    kind, _, path = text.rpartition("=")
    kind = kind or Path(path).name.partition(".")[0]
    if not Path(path).exists() or kind.startswith(GENERATED):
        raise argparse.ArgumentTypeError(f"no FILE or KIND=FILE, nor a folder: {text!r}")
    return kind, Path(path)


def _numbers(text: str) -> list[int]:
    numbers = [int(number) for number in _list(text)]
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"no numbers from 1 on: {text!r}")
    return numbers


def _list(text: str) -> list[str]:
    return [name for name in text.split(",") if name]
