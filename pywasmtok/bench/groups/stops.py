"""A stream that ends at a stop sequence, by the number of sequences; none of them is met.

Beside it what is usual elsewhere: a stream without them, and a search of the text so far after
each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..libraries.peers import Library
from ..measure import Contender, measure
from ..rows import Case, Measure, Row
from ..running.session import Bench
from .streaming import against_whole

__all__ = ["run"]

STEP = Measure("time of an id", "us", higher_is_better=False, clock="cpu")
IDS = 2_000
# Shapes of real stop strings; numbers make as many different ones as a row needs.
PATTERNS = ("\n\nUser{}:", "<|stop{}|>", "###{} End", "</answer{}>")


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    ids = bench.ids_of(bench.first_corpus, min(IDS, plan.thread_volume // 100))
    for count in plan.stops:
        stops = tuple(PATTERNS[n % len(PATTERNS)].format(n) for n in range(count))
        field = contenders(bench.libraries, stops)
        if not field:
            return
        results = measure(field, [[ids] * 3] * min(plan.rounds, 5), bench.rng)
        against_whole(field, results, bench.libraries, ids)
        case: Case = {"text": bench.first_corpus, "stop sequences": count}
        yield from bench.times(case, STEP, results, per=len(ids))


def contenders(libraries: Sequence[Library], stops: tuple[str, ...]) -> list[Contender]:
    return [
        Contender(
            library.name,
            searched(library, stops) if library.tokenizer is None else detected(library, stops),
        )
        for library in libraries
        if library.stream is not None
    ]


def detected(library: Library, stops: tuple[str, ...]) -> Callable[[Sequence[int]], str]:
    from ...tokenizer.streaming.stop import StopSequenceConfig

    config = StopSequenceConfig(stop_sequences=stops, ignore_eos=True)

    def run(ids: Sequence[int]) -> str:
        decoder = library.tokenizer.stop_decoder(config)
        one = decoder.process_token
        return "".join([one(token_id).text for token_id in ids]) + str(decoder.flush().text)

    return run


def searched(library: Library, stops: tuple[str, ...]) -> Callable[[Sequence[int]], str]:
    """As servers do it around a stream that knows no stops: the end of the text, after each id."""
    assert library.stream is not None
    new = library.stream
    window = 2 * max((len(stop) for stop in stops), default=0)

    def run(ids: Sequence[int]) -> str:
        step, end = new()
        text = ""
        for token_id in ids:
            part = step(token_id)
            if part:
                text += part
                tail = text[-window - len(part) :]
                if any(stop in tail for stop in stops):
                    break
        return text + (end(None) or "")

    return run
