"""What a group of measurements has to hand: the libraries, the texts, the plan."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..inputs.texts import Tape
from ..libraries.files import TokenizerFile
from ..libraries.peers import Library
from ..measure import Contender, Result, encoders, timed
from ..rows import UNCHECKED, Case, Measure, Row
from .plan import Plan

__all__ = ["Bench", "Setup"]


@dataclass(frozen=True)
class Setup:
    """All that a child process has to be told."""

    file: TokenizerFile
    plan: Plan
    builds: tuple[str, ...] = ("portable",)
    only: tuple[str, ...] = ()
    texts: Mapping[str, Path] = field(default_factory=dict)
    """By corpus: text that is ready; in the beginning, the user's."""
    templates: tuple[Path, ...] = ()
    """Chat templates of the user's."""

    def tape(self, corpus: str) -> Tape:
        return Tape(corpus, self.plan.seed, self.texts.get(corpus))

    def as_json(self) -> dict[str, Any]:
        return {
            "file": {**asdict(self.file), "path": str(self.file.path)},
            "plan": asdict(self.plan),
            "builds": self.builds,
            "only": self.only,
            "texts": {name: str(path) for name, path in self.texts.items()},
            "templates": [str(path) for path in self.templates],
        }

    @staticmethod
    def from_json(setup: Mapping[str, Any]) -> Setup:
        file = setup["file"]
        plan: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in setup["plan"].items()
        }
        return Setup(
            TokenizerFile(**{**file, "path": Path(file["path"])}),
            Plan(**plan),
            tuple(setup["builds"]),
            tuple(setup["only"]),
            {name: Path(path) for name, path in setup["texts"].items()},
            tuple(map(Path, setup["templates"])),
        )


@dataclass
class Bench:
    """One group in one process. Groups take what they need and give rows."""

    setup: Setup
    group: str
    libraries: Sequence[Library]
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    absent: list[str] = field(default_factory=list)
    """Reasons of libraries that cannot take part."""

    def __post_init__(self) -> None:
        self._tapes: dict[str, Tape] = {}

    @property
    def plan(self) -> Plan:
        return self.setup.plan

    @property
    def first_corpus(self) -> str:
        """For what is measured on one kind of text only."""
        return self.plan.corpora[0]

    @property
    def ours(self) -> Sequence[Library]:
        return [library for library in self.libraries if library.tokenizer is not None]

    def tape(self, corpus: str) -> Tape:
        tape = self._tapes.get(corpus)
        if tape is None:
            tape = self._tapes[corpus] = self.setup.tape(corpus)
        return tape

    def texts(self, corpus: str, size: int, count: int) -> list[str]:
        tape = self.tape(corpus)
        return [tape.take(size) for _ in range(count)]

    def warm_up(self, corpus: str) -> None:
        """Every library encodes text of this kind first, as on a server that runs for a while."""
        texts = self.texts(corpus, max(1, self.plan.warm_up // 25), 25)
        for form in ("buffer", "list"):
            for contender in encoders(self.libraries, form):
                timed(contender, texts)

    def shares(self, corpus: str, threads: int) -> list[list[str]]:
        """Text for each of some threads to warm up on: the less, the more of them there are."""
        size = max(self.plan.thread_volume // 1000, self.plan.thread_volume // 40 // threads)
        return [self.texts(corpus, max(1, size), 10) for _ in range(threads)]

    def reference(self) -> Contender | None:
        """Hugging Face's lists of ids, where it takes part."""
        lists = encoders(self.libraries, "list")
        return next((one for one in lists if one.name == "hf"), None)

    def ids_of(self, corpus: str, count: int) -> list[int]:
        """Ids of text of this kind, as the first library gives them."""
        (encode, *_) = encoders(self.libraries, "list")
        ids: list[int] = []
        while len(ids) < count:
            ids += encode.plain(encode.call(self.tape(corpus).take(100_000)))
        return ids[:count]

    def row(
        self,
        case: Case,
        measure: Measure,
        library: str,
        samples: Iterable[float] = (),
        ids: str = UNCHECKED,
        *,
        note: str | None = None,
    ) -> Row:
        return Row(
            self.group, self.setup.file.name, case, measure, library, list(samples), ids, note
        )

    def rates(
        self, case: Case, measure: Measure, size: float, results: Mapping[str, Result]
    ) -> Iterator[Row]:
        """Rows of speed: so many bytes (or ids, or texts) a call."""
        for name, result in results.items():
            speeds = [size / time for time in of_clock(result, measure)]
            yield self.row(case, measure, name, speeds, result.ids)

    def times(
        self, case: Case, measure: Measure, results: Mapping[str, Result], per: float = 1
    ) -> Iterator[Row]:
        """Rows of microseconds, for each of `per` things in a call."""
        for name, result in results.items():
            spent = [time / per for time in of_clock(result, measure)]
            yield self.row(case, measure, name, spent, result.ids)


def of_clock(result: Result, measure: Measure) -> Sequence[float]:
    return result.wall if measure.clock == "wall" else result.times
