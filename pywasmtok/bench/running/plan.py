"""How much is measured: the ordinary plan, and the quick one, which only shows that it works."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..names import CORPORA, GENERATED

__all__ = ["Plan", "default_threads"]


@dataclass(frozen=True)
class Plan:
    rounds: int = 11
    """Measurements behind each median."""
    volume: int = 50_000
    """Bytes of text, or so, behind each measurement."""
    warm_up: int = 500_000
    """Bytes of other text of the kind before anything is timed."""
    corpora: tuple[str, ...] = tuple(GENERATED + kind for kind in CORPORA)
    sizes: tuple[int, ...] = (200, 2_000, 20_000, 200_000)
    first: tuple[int, ...] = (20_000, 200_000, 2_000_000)
    """Lengths of the first text of a process."""
    text_bytes: int = 0
    """Of each kind of text: what the groups need, and at least what is made ready."""
    threads: tuple[int, ...] = (1, 2)
    seed: int = 1

    messages: int = 1_000
    """Short texts of a batch."""
    decoded: tuple[int, ...] = (100, 2_000, 50_000)
    streamed: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    invalid: tuple[int, ...] = (100, 400, 1_600, 6_400)
    streams: tuple[int, ...] = (1, 16, 64)
    stops: tuple[int, ...] = (0, 1, 4, 16)
    calls: int = 2_000
    """Single calls behind percentiles."""
    thread_volume: int = 2_000_000
    """Bytes of text for each thread."""
    inputs: tuple[int, ...] = (512, 2_048, 8_192, 32_768)
    """Lengths of prompts in tokens, for the sweep."""
    concurrency: tuple[int, ...] = (1, 4, 16, 64)
    sweep_tokens: int = 200_000
    """Tokens behind each turn of a cell of the sweep; more where every caller's one prompt is."""
    hostile_from: int = 64 * 1024
    hostile_to: int = 16 * 1024 * 1024
    peers_hostile_to: int = 4 * 1024 * 1024
    hostile_rounds: int = 3
    seconds: float = 60.0
    """The time that a child process gets for one hostile input."""
    patience: float = 2.0
    """A peer that needed so many seconds for a hostile text gets no longer one."""
    loads: int = 3
    cold: bool = True
    """Whether loading is also measured with an empty cache, which takes long."""
    instances: int = 20

    def group(self, size: int) -> int:
        """How many texts of a size make up one measurement."""
        return max(1, self.volume // size)

    def repeats(self, size: int) -> int:
        return min(self.rounds, 5) if size >= 1_000_000 else self.rounds

    def quick(self) -> Plan:
        return replace(
            self,
            rounds=2,
            volume=2_000,
            warm_up=20_000,
            sizes=tuple(size for size in self.sizes if size <= 20_000) or (2_000,),
            first=(2_000,),
            messages=20,
            decoded=(50, 500),
            streamed=(50, 200),
            invalid=(50, 100),
            streams=(1, 4),
            stops=(0, 2),
            calls=40,
            thread_volume=40_000,
            inputs=(64, 256),
            concurrency=(1, 2),
            sweep_tokens=2_000,
            hostile_from=4 * 1024,
            hostile_to=16 * 1024,
            peers_hostile_to=8 * 1024,
            hostile_rounds=1,
            loads=1,
            cold=False,
            instances=3,
        )


def default_threads() -> tuple[int, ...]:
    """1, 2, 4 ... up to twice as many as there are cores for this process."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    counts: Sequence[int] = [1 << power for power in range(7)]
    return tuple(count for count in counts if count <= max(2, 2 * cores))
