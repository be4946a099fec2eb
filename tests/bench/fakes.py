"""Libraries and records that are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pywasmtok.bench.libraries.files import TokenizerFile
from pywasmtok.bench.libraries.peers import Call, Library
from pywasmtok.bench.record import Record
from pywasmtok.bench.rows import Measure, Row
from pywasmtok.bench.running.plan import Plan
from pywasmtok.bench.running.session import Bench, Setup

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="wall")
TIME = Measure("time of a call", "us", higher_is_better=False, clock="cpu")


class Ids(list[int]):
    """What a library calls a buffer."""

    def tolist(self) -> list[int]:
        return list(self)


def library(name: str, lie: int = 0) -> Library:
    """Characters are tokens; every id is `lie` too high."""

    def encode(text: str) -> list[int]:
        return [ord(char) + lie for char in text]

    def decode(ids: Sequence[int]) -> str:
        return "".join(chr(number + lie) for number in ids)

    def stream() -> tuple[Call, Call]:
        return lambda token_id: chr(token_id + lie), lambda _: None

    forms: dict[str, Callable[[str], list[int]]] = {"list": encode}
    forms["buffer"] = lambda text: Ids(encode(text))
    batch: dict[str, Call] = {"list": lambda texts: [encode(text) for text in texts]}
    return Library(name, forms, batch, decode, stream)


def bench(group: str, libraries: Sequence[Library]) -> Bench:
    file = TokenizerFile("made-up", "nowhere", Path("nowhere"), "0" * 64, 0)
    plan = Plan(corpora=("generated zhja",), threads=(1, 2)).quick()
    return Bench(Setup(file, plan), group, libraries)


def row(library: str, value: float, **more: Any) -> Row:
    given: dict[str, Any] = {
        "group": "encode",
        "tokenizer": "t",
        "case": {"text": "c", "bytes": 2000},
        "measure": SPEED,
        "library": library,
        "samples": [value],
    }
    return Row(**{**given, **more})


def group_run(group: str, failure: str | None) -> dict[str, Any]:
    return {
        "group": group,
        "tokenizer": "t",
        "seconds": 1.0,
        "cpu_seconds": 1.0,
        "failure": failure,
    }


def record(rows: Sequence[Row], **more: Any) -> Record:
    machine: dict[str, Any] = {
        "cpu": "made up",
        "architecture": "x",
        "cores": 2,
        "cores_for_this_process": 2,
        "caches": {"L1 Data": "32K"},
        "memory_bytes": 1 << 30,
        "os": "none",
        "python": "CPython 3",
        "load_average": [0.0, 0.0, 0.0],
        "load_average_after": [1.0, 0.5, 0.1],
    }
    plan = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(Plan()).items()
    }
    given: dict[str, Any] = {
        "date": "2026-01-02T03:04:05Z",
        "command": ["--quick"],
        "machine": machine,
        "libraries": {"pywasmtok": "1", "tokenizers": "1", "fastokens": "1"},
        "plan": plan,
        "builds": ["portable"],
        "tokenizers": [{"name": "t", "sha256": "0" * 64, "bytes": 1}],
        "groups": [group_run("encode", None)],
        "absent": [],
    }
    return Record(**{**given, **more}, rows=list(rows))
