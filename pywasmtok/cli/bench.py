"""The command `pywasmtok bench`: progress on stderr, tables on stdout, files on request."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ..bench import compare, machine, tables
from ..bench.groups import GROUPS
from ..bench.libraries.files import TokenizerFile, label
from ..bench.names import GENERATED, LIBRARIES, TWIN
from ..bench.record import Record
from ..bench.rows import WRONG
from ..bench.running.plan import Plan, default_threads
from ..bench.running.run import hashes, prepare_texts, run_all
from ..bench.running.session import Setup
from ..errors import InvalidArgument, LoadError, SourceNotFound
from ..loading.sources.paths import write
from .common import DEMO, print_json, source_file
from .exits import Exit, Usage
from .options.tree import whole
from .terminal import waiting

__all__ = ["main", "run", "run_command"]


def main(arguments: Sequence[str]) -> int:
    """`pywasmtok bench` with these arguments; errors are raised."""
    given = ["bench", *arguments]
    return run_command(whole().parse_args(given, argparse.Namespace(given=given)))


def run_command(options: argparse.Namespace) -> int:
    """The finding is that our ids were not the reference's, or that a group failed."""
    _check_usage(options)
    if options.compare:
        old, new = (Record.read(source_file(path)) for path in options.compare)
        if options.json:
            return print_json(compare.as_dict(old, new))
        print(compare.report(old, new))
        return Exit.DONE
    _require_writable(options)
    if options.show:
        record = Record.read(source_file(options.show))
    else:
        record = run(options, options.given[1:])
    if _record_file(options):
        record.write(options.json)
    if options.markdown:
        write(os.fsencode(options.markdown), tables.markdown(record).encode())
    if options.plots:
        from ..bench.plots import draw

        for path in draw(record, Path(options.plots)):
            _progress(f"wrote {path}")
    if options.json is True:
        print_json(record.as_json())
    else:
        print(tables.terminal(record))
    return _verdict(record)


def _check_usage(options: argparse.Namespace) -> None:
    if options.resume and not _record_file(options):
        raise Usage("--resume goes on with a record: name it with --json FILE")
    kinds = [kind for kind, _ in options.text]
    if len({*kinds}) < len(kinds):
        raise Usage("two texts are of the same kind: name kinds with --text KIND=FILE")
    known = [*options.builds, *([TWIN] if options.builds else []), *LIBRARIES]
    for name in options.only:
        if name not in known:
            raise Usage(f"--only {name}: there are {', '.join(known)}")


def _record_file(options: argparse.Namespace) -> str | None:
    return None if options.json is True else options.json


def run(options: argparse.Namespace, arguments: list[str]) -> Record:
    plan = _plan(options)
    record = Record(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=[_without_folders(one) for one in arguments],
        machine=machine.describe(),
        libraries=machine.versions(),
        plan={name: _plain(value) for name, value in asdict(plan).items()},
        builds=options.builds,
    )
    temporary_folder = tempfile.TemporaryDirectory(prefix="pywasmtok-bench-")
    with temporary_folder as temporary, waiting("measuring") as progress:
        folder = Path(temporary)
        files = _read_all(options.tokenizer or [DEMO], folder)
        setup = Setup(files[0], plan, tuple(record.builds), tuple(options.only))
        texts = dict(options.text)
        setup = replace(setup, templates=_templates(options.templates), texts=texts)
        setup = prepare_texts(setup, folder, progress.say)
        record.texts = hashes(setup)
        record = _earlier(record, options) or record
        keep = partial(_keep, record, options)
        run_all(record, setup, files, options.groups, progress.say, keep=keep)
    return record


def _earlier(record: Record, options: argparse.Namespace) -> Record | None:
    """The record that `--resume` goes on with: one of the same plan, texts and libraries."""
    path = _record_file(options)
    if not options.resume or path is None or not Path(path).stat().st_size:
        return None
    earlier = Record.read(path)
    for name in ("plan", "texts", "builds", "libraries"):
        if getattr(earlier, name) != getattr(record, name):
            raise InvalidArgument(
                f"the record is of another run: not the same {name}",
                source=path,
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
    path = _record_file(options)
    if path is not None:
        record.write(path)


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
    for path in filter(None, (_record_file(options), options.markdown, options.plots)):
        try:
            if path == options.plots:
                Path(path).mkdir(parents=True, exist_ok=True)
            else:
                Path(path).open("ab").close()
        except OSError as error:
            raise LoadError(f"cannot be written: {error.strerror}", source=path) from error


def _verdict(record: Record) -> Exit:
    status = Exit.DONE
    for run_ in record.groups:
        if run_["failure"]:
            status = Exit.FOUND
    wrong = {
        row.library
        for row in record.rows
        if row.ids == WRONG and row.library in {*record.builds, "twin"}
    }
    if wrong:
        _progress(f"not the reference's answers: {', '.join(sorted(wrong))}")
        status = Exit.FOUND
    return status


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
