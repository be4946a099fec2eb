"""`pytest conformance --impl NAME`: a test a case, by the process of one adapter.

The folder's conftest.py hands these hooks on. Without `--impl` the runner's own tests are collected
and nothing else.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cli import chosen
from .results import Record
from .run import OneByOne, why_unavailable
from .suite import Adapter, Case, Suite

SUITE = pytest.StashKey[Suite]()
ADAPTER = pytest.StashKey[Adapter]()
PLAYER = pytest.StashKey[OneByOne]()
CASES = pytest.StashKey[dict[Path, list[Case]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--impl", metavar="ADAPTER", help="play the cases of the suite against it")


def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--impl", None)
    if not name:
        return
    suite = Suite.found()
    adapters = chosen(suite, [name])
    if len(adapters) != 1:
        names = ", ".join(adapter.name for adapter in adapters)
        raise pytest.UsageError(f"--impl: one of {names}")
    reason = why_unavailable(adapters[0])
    if reason:
        raise pytest.UsageError(f"{adapters[0].name} is unavailable: {reason}")
    by_file: dict[Path, list[Case]] = defaultdict(list)
    for case in suite.cases:
        by_file[case.path].append(case)
    config.stash[SUITE], config.stash[ADAPTER], config.stash[CASES] = suite, adapters[0], by_file
    config.stash[PLAYER] = OneByOne(suite, adapters[0])


def pytest_unconfigure(config: pytest.Config) -> None:
    if PLAYER in config.stash:
        config.stash[PLAYER].close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With an implementation it is about that one, not about the runner."""
    if SUITE in config.stash and collection_path == config.stash[SUITE].root / "tests":
        return True
    return None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.resolve() in parent.config.stash.get(CASES, {}):
        return File.from_parent(parent, path=file_path)
    return None


class File(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        for case in self.config.stash[CASES][self.path.resolve()]:
            yield Item.from_parent(self, name=case.id.rsplit("/", 1)[1], case=case)


class DifferentError(Exception):
    def __init__(self, record: Record) -> None:
        super().__init__(record["outcome"])
        self.record = record


class Item(pytest.Item):
    def __init__(self, *, case: Case, **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.case = case

    def runtest(self) -> None:
        record = self.config.stash[PLAYER].play(self.case)
        match record["outcome"]:
            case "pass":
                return
            case "skip":
                pytest.skip(record.get("reason", ""))
            case "xfail":
                pytest.xfail(record.get("known", ""))
            case _ if record["level"] == "may":
                pytest.xfail(record.get("reason", ""))
            case _:
                raise DifferentError(record)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        if not isinstance(excinfo.value, DifferentError):
            return str(super().repr_failure(excinfo))
        record = excinfo.value.record
        keys = ("id", "why", "outcome", "reason", "known", "sent", "expected", "got")
        lines = [
            f"{key}: {json.dumps(record[key], ensure_ascii=False)}" for key in keys if key in record
        ]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.case.id
