"""Taking turns: the core of every measurement.

Libraries take turns in random order within one process; what they answer is compared, in the timed
run, with the reference; medians over several such turns. Every library gets its own copy of each
string, because a Python string keeps its UTF-8 form after the first use.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .inputs.chats import Chat
from .libraries.peers import Call, Library
from .rows import EQUAL, UNCHECKED, WRONG

__all__ = [
    "CPU",
    "REFERENCE",
    "WALL",
    "Contender",
    "LibraryFailedError",
    "Result",
    "blamed_on",
    "calmly",
    "check_buffers",
    "copies",
    "encoders",
    "measure",
    "timed",
]

Clock = Callable[[], int]
CPU: Clock = time.process_time_ns
WALL: Clock = time.perf_counter_ns

REFERENCE = "hf"


class LibraryFailedError(Exception):
    """A call of a library raised while it was measured."""

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(f"{name}: {type(error).__name__}: {error}")
        self.name = name


@contextmanager
def blamed_on(name: str) -> Iterator[None]:
    """Also panics of native libraries, which are no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, LibraryFailedError):
        raise
    except BaseException as error:
        raise LibraryFailedError(name, error) from error


def same(answer: Any) -> Any:
    return answer


@dataclass(frozen=True)
class Contender:
    """One call of one library. `plain` makes answers of different libraries comparable."""

    name: str
    call: Call
    plain: Call = same


@dataclass
class Result:
    times: list[float] = field(default_factory=list)
    """Microseconds a call, one for each turn: processor time."""
    wall: list[float] = field(default_factory=list)
    equal: bool = True
    checked: bool = True

    @property
    def ids(self) -> str:
        return (EQUAL if self.equal else WRONG) if self.checked else UNCHECKED


def encoders(libraries: Sequence[Library], form: str) -> list[Contender]:
    """Those that give ids in this form."""
    plain = flat if form == "buffer" else same
    return [
        Contender(library.name, library.encode[form], plain)
        for library in libraries
        if form in library.encode
    ]


def batchers(libraries: Sequence[Library], form: str) -> list[Contender]:
    plain = flat if form == "buffer" else joined
    return [
        Contender(library.name, library.batch[form], plain)
        for library in libraries
        if form in library.batch
    ]


def flat(answer: Any) -> list[int]:
    return answer.tolist()  # type: ignore[no-any-return]


def joined(lists: Any) -> list[int]:
    return [number for ids in lists for number in ids]


def copies(inputs: Sequence[Any]) -> list[Any]:
    """Copies of strings, without a cached UTF-8 form; ids stay as they are."""
    return [copy(one) for one in inputs]


def copy(one: Any) -> Any:
    if isinstance(one, str):
        return one.encode().decode()
    if isinstance(one, Chat):
        return one.copy()
    if isinstance(one, list) and one and isinstance(one[0], str):
        return copies(one)
    return one


@contextmanager
def calmly() -> Iterator[None]:
    """Without the collector, which would run whenever it likes."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def timed(
    contender: Contender, inputs: Sequence[Any], *, warm: bool = False
) -> tuple[float, float, list[Any]]:
    """Microseconds of one call in wall time and in processor time, and all answers. Warm: of the
    best pass over seen inputs."""
    inputs = copies(inputs)
    call = contender.call
    spent, waited = [], []
    with blamed_on(contender.name), calmly():
        for _ in range(5 if warm else 1):
            answers = []
            before, start = CPU(), WALL()
            for one in inputs:
                answers.append(call(one))
            waited.append(WALL() - start)
            spent.append(CPU() - before)
    calls = 1000 * len(inputs)
    return min(waited) / calls, min(spent) / calls, answers


def measure(
    field_: Sequence[Contender],
    turns: Sequence[Sequence[Any]],
    rng: random.Random,
    *,
    warm: bool = False,
) -> dict[str, Result]:
    """The time of each turn for each contender, and whether its answers were the reference's."""
    results = {contender.name: Result() for contender in field_}
    for inputs in turns:
        order = list(field_)
        rng.shuffle(order)
        answers = {}
        for contender in order:
            wall, spent, raw = timed(contender, inputs, warm=warm)
            results[contender.name].times.append(spent)
            results[contender.name].wall.append(wall)
            answers[contender.name] = [contender.plain(one) for one in raw]
        judge(results, answers)
    return results


def judge(results: Mapping[str, Result], answers: Mapping[str, Any]) -> None:
    """Hugging Face's own library is the reference where it takes part, else the first one; alone,
    nothing was compared."""
    if not answers:
        return
    expected = answers.get(REFERENCE, answers[next(iter(results))])
    for name, answer in answers.items():
        results[name].equal &= answer == expected
        results[name].checked &= len(answers) > 1


def check_buffers(
    field_: Sequence[Contender],
    reference: Contender,
    sample: Sequence[str],
    results: Mapping[str, Result],
) -> None:
    """The reference has no buffer form, so a sample of the buffers is held against its lists."""
    expected = [reference.plain(one) for one in timed(reference, sample)[-1]]
    for contender in field_:
        answers = [contender.plain(one) for one in timed(contender, sample)[-1]]
        results[contender.name].equal &= answers == expected
        results[contender.name].checked = True
