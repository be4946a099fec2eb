"""Runs groups for tokenizers, each in a process of its own, and gathers their rows."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..groups import GROUPS
from ..inputs import texts
from ..libraries.files import TokenizerFile
from ..record import Record
from ..rows import Row
from .child import ChildFailedError, lines_of
from .session import Bench, Setup

__all__ = ["hashes", "prepare_texts", "run_all"]

Progress = Callable[[str], None]

INTERRUPTED = "was interrupted"
OFTEN = 15.0  # seconds between two signs of life


def prepare_texts(setup: Setup, folder: Path, progress: Progress) -> Setup:
    """Makes the texts once, and not again in each process."""
    ready = {}
    for corpus in setup.plan.corpora:
        progress(f"text: {corpus}")
        ready[corpus] = folder / f"{corpus}.txt"
        given = setup.texts.get(corpus)
        if given is None:
            texts.write(corpus, setup.plan.seed, max(1, setup.plan.text_bytes), ready[corpus])
        else:
            texts.gather(given, setup.plan.text_bytes, ready[corpus])
    return replace(setup, texts=ready)


def hashes(setup: Setup) -> list[dict[str, Any]]:
    """What a record says of the texts."""
    found = []
    for kind, path in setup.texts.items():
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        found.append({"name": kind, "sha256": digest, "bytes": len(data)})
    return found


def run_all(
    record: Record,
    setup: Setup,
    files: Sequence[TokenizerFile],
    groups: Sequence[str],
    progress: Progress,
    *,
    keep: Callable[[], None] = lambda: None,
) -> None:
    """`keep` is called after each group. What the record has already is not run again."""
    for file in files:
        known = {"name": file.name, "sha256": file.sha256, "bytes": file.size}
        if known not in record.tokenizers:
            record.tokenizers.append(known)
        for place, group in enumerate(groups, 1):
            if record.has(group, file.name):
                continue
            progress(f"{file.name}: {group} ({place} of {len(groups)})")
            failure = run_one(record, replace(setup, file=file), group, progress)
            if failure is not None:
                progress(f"{file.name}: {group} {failure}")
            keep()
            if failure == INTERRUPTED:
                return


def run_one(record: Record, setup: Setup, group: str, progress: Progress) -> str | None:
    """One group with one tokenizer; why it ended early, if it did. What was measured stays."""
    start = said = time.monotonic()
    worked = _work_of_children()
    failure, absent = None, list[str]()
    rows: dict[tuple[object, ...], Row] = {}
    try:
        for row in rows_of(setup, group, absent):
            rows[row.key] = row
            if time.monotonic() - said > OFTEN:
                said = time.monotonic()
                progress(f"  {len(rows)} figures after {said - start:.0f} s")
    except ChildFailedError as problem:
        failure = str(problem)
    except KeyboardInterrupt:
        failure = INTERRUPTED
    record.rows += rows.values()
    name = setup.file.name
    record.groups.append(
        {
            "group": group,
            "tokenizer": name,
            "seconds": round(time.monotonic() - start, 1),
            "cpu_seconds": round(_work_of_children() - worked, 1),
            "failure": failure,
        }
    )
    known = [f"{name}: {reason}" for reason in absent]
    record.absent += [one for one in dict.fromkeys(known) if one not in record.absent]
    return failure


def _work_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def rows_of(setup: Setup, group: str, absent: list[str]) -> Iterator[Row]:
    """A peer that fails is left out and the group run again: later rows replace earlier ones."""
    if GROUPS[group].own_children:
        yield from GROUPS[group].run(Bench(setup, group, [], absent=absent))
        return
    without: list[str] = []
    while True:
        failed = len(without)
        job = {"setup": setup.as_json(), "group": group, "without": without}
        for line in lines_of("group", job):
            if "row" in line:
                yield Row.from_json(line["row"])
            elif "ended" in line:
                raise ChildFailedError(line["ended"])
            elif "failed" in line:
                without.append(line["failed"])
                absent.append(f"{line['why']} (in {group})")
            else:
                absent.append(line["absent"])
        if len(without) == failed:
            return
