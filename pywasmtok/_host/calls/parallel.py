"""Large inputs, cut into tasks: done by one thread or by several, joined in order.

One thread works task by task, too. Buffers of a size that stays in the near caches are faster, and
signal handlers run between two of them.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..._utf8_texts import Utf8Texts
from ...errors import TokenizerError
from ..linux import processors
from ..wasm import status
from .long_text import Cutter, LongText

if TYPE_CHECKING:
    from ..wasm.instance import Instance
    from .full_encoding import FullEncoding
    from .helpers import Job

# So much goes into one call, in characters of text or bytes of ids. At 32 KB calls cost too much,
# from 256 KB on text and ids leave the near caches.
PART: Final = 64 * 1024

# Below this, a helper costs more than it saves: it takes some 50 us to come.
SHARED: Final = 48 * 1024

# Each thread should get some tasks, so that all are done at about the same time.
_TASKS_A_THREAD: Final = 4
_SMALLEST_PART: Final = 8 * 1024

# So many tasks of usual size are too much for one.
_TOO_LONG: Final = 2

# Many small items are copied once more on the host: a write into guest memory each costs more.
_SMALL_ITEM: Final = 1024

_ITEM: Final = re.compile(r"(texts|lists)\[(\d+)\]")


class Run(Protocol):
    """Does something with an instance of the pool."""

    def __call__(
        self, size: int, work: Callable[[Instance], Any], is_long: int, helped: Job | None
    ) -> Any: ...


class Parallel:
    def __init__(self, threads: int | None, is_long: int) -> None:
        """`threads`: at most so many; None: as many as there are processors. From `is_long` bytes
        on a call is long."""
        self.threads = threads
        # Imported here, not above: they need wasmtime. And not later: a signal handler that makes
        # calls may come while another call imports.
        from .helpers import Job, helpers
        from .interrupt import in_main_thread

        self._job, self._helpers, self._in_main_thread = Job, helpers, in_main_thread
        # Tests make them small.
        self.part, self.shared, self.smallest = PART, SHARED, _SMALLEST_PART
        self.is_long = is_long
        self._cutter = Cutter()

    def encode_long(self, run: Run, data: bytes, flags: int, threads: int | None) -> bytes | None:
        """The ids of one long text; None if it has to be done in one."""
        simple = self._simple(run)
        threads = self._threads(threads)
        text = self._cutter.parts_of(simple, data, flags, self._size(len(data), threads))
        if text is None:
            return None
        ids_of = text.ids_of
        return b"".join(
            self._done(
                text.parts, lambda part, helped: ids_of(part, simple, helped), threads, len(data)
            )
        )

    def encode_full(self, run: Run, data: bytes, flags: int) -> Iterator[FullEncoding] | None:
        """The details of one long text, part after part, by one thread: most of the time goes into
        Python's objects. None if it has to be done in one."""
        simple = self._simple(run)
        text = self._cutter.parts_of(simple, data, flags, self.part)
        if text is None or text.parts == 1:
            return None
        # Parts run where Ctrl-C ends them: no other thread waits for the signal.
        return text.full(simple, lambda size, work, helped: run(size, work, 0, helped))

    def encode_batch(
        self, run: Run, texts: Sequence[str], flags: int, threads: int | None
    ) -> tuple[bytes, bytes]:
        """All ids, and u32 bounds: text n owns ids[bounds[n]..bounds[n + 1]]."""

        def several(cut: slice, helped: Job | None) -> tuple[bytes, bytes]:
            data, sizes = _utf8_of(texts, cut)
            lengths, size = array("I", sizes).tobytes(), sum(sizes)
            parts = data if size > len(data) * _SMALL_ITEM else [b"".join(data)]
            answer: tuple[bytes, bytes] = run(
                size, lambda one: one.encode_batch_ids(lengths, parts, flags), self.is_long, helped
            )
            return answer

        sizes: Sequence[int]
        if isinstance(texts, Utf8Texts):
            sizes = texts.sizes()
        else:
            # A value that is no text counts as empty here; encoding refuses it.
            sizes = [len(text) if isinstance(text, str) else 0 for text in texts]
        total = sum(sizes)
        if total < self.shared:
            return several(slice(0, len(texts)), None)
        threads = self._threads(threads)
        goal = self._size(total, threads)
        cuts = _cuts(sizes, goal)
        simple = self._simple(run)
        # Each task is a cut of the batch, or a part of a text that is too long for one.
        tasks: list[tuple[slice, LongText | None, int]] = []
        for cut in cuts:
            text = None
            if cut.stop == cut.start + 1 and sizes[cut.start] > _TOO_LONG * goal:
                with _places_from(cut.start):
                    data, _ = _utf8_of(texts, cut)
                text = self._cutter.parts_of(simple, b"".join(data), flags, goal)
            parts = 1 if text is None else text.parts
            tasks += [(cut, text, part) for part in range(parts)]

        def task(number: int, helped: Job | None) -> tuple[bytes, bytes | None]:
            cut, text, part = tasks[number]
            with _places_from(cut.start):
                if text is None:
                    return several(cut, helped)
                ids = text.ids_of(part, simple, helped)
                return ids, None if part else array("I", (0, len(ids) // 4)).tobytes()

        weights = [sum(sizes[cut]) if text is None else goal for cut, text, _ in tasks]
        order = _largest_first(weights, goal)
        return _joined(self._done(len(tasks), task, threads, total, order))

    def decode_batch(
        self, run: Run, lists: Sequence[bytes], flags: int, threads: int | None
    ) -> list[str]:
        sizes = list(map(len, lists))
        total = sum(sizes)
        threads = self._threads(threads) if total >= self.shared else 1
        cuts = _cuts(sizes, self._size(total, threads))

        def task(number: int, helped: Job | None) -> list[str]:
            cut = cuts[number]
            data = lists[cut]
            lengths = array("I", [len(ids) // 4 for ids in data]).tobytes()
            flat = b"".join(data)
            with _places_from(cut.start):
                texts: list[str] = run(
                    len(flat),
                    lambda one: one.decode_batch(lengths, flat, flags),
                    self.is_long,
                    helped,
                )
            return texts

        weights = [sum(sizes[cut]) for cut in cuts]
        order = _largest_first(weights, self.part)
        return list(chain.from_iterable(self._done(len(cuts), task, threads, total, order)))

    def _done(
        self,
        tasks: int,
        task: Callable[[int, Job | None], Any],
        threads: int,
        size: int,
        order: Iterable[int] = (),
    ) -> list[Any]:
        """What `task` gives for each number, in order, by as many threads."""
        apart = size >= self.is_long and self._in_main_thread()
        if tasks == 1 or not (threads > 1 or apart):
            return [task(number, None) for number in range(tasks)]
        return self._helpers.run(self._job(tasks, task, threads, order), apart)

    def _threads(self, asked: int | None) -> int:
        usable = processors.usable()
        return min(asked or self.threads or usable, usable)

    def _size(self, total: int, threads: int) -> int:
        """Of a task, where `total` is shared by so many threads."""
        return min(self.part, max(self.smallest, total // (_TASKS_A_THREAD * threads)))

    def _simple(self, run: Run) -> Callable[[int, Callable[[Instance], Any], Job | None], Any]:
        return lambda size, work, helped: run(size, work, self.is_long, helped)


def _largest_first(weights: Sequence[int], usual: int) -> list[int]:
    """Tasks that are much larger than usual come first: begun last, one would delay the end."""
    return sorted(range(len(weights)), key=lambda number: -(weights[number] // (2 * usual)))


def _cuts(sizes: Sequence[int], goal: int) -> list[slice]:
    """Runs of items of about this size together; a larger item stays alone."""
    ends = list(accumulate(sizes))
    cuts, start, done = [], 0, 0
    while start < len(ends):
        end = bisect_left(ends, done + goal, start) + 1
        if end - start > 1 and end <= len(ends) and ends[end - 1] - done > 2 * goal:
            end -= 1
        end = min(end, len(ends))
        cuts.append(slice(start, end))
        start, done = end, ends[end - 1]
    return cuts


def _utf8_of(
    texts: Sequence[str], cut: slice
) -> tuple[Sequence[bytes | memoryview], Sequence[int]]:
    """The UTF-8 of these texts in parts, and how many bytes each text has."""
    if isinstance(texts, Utf8Texts):
        return texts.parts(cut), texts.sizes(cut)
    texts = texts[cut]
    try:
        data = [text.encode() for text in texts]
        return data, list(map(len, data))
    except (UnicodeEncodeError, AttributeError):
        for place, text in enumerate(texts):
            utf8(text, f"texts[{place}]")
        raise


def utf8(text: str, place: str | None) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise status.lone_surrogate(text, error, place) from None
    except AttributeError:
        raise status.not_text(text, place) from None


def _joined(parts: Sequence[tuple[bytes, bytes | None]]) -> tuple[bytes, bytes]:
    """Bounds of everything: each part counts from nothing, which is where the one before ends. A
    part without bounds goes on with the item that the one before ended with."""
    bounds = array("I", (0,))
    for ids, its_bounds in parts:
        before = bounds[-1]
        if its_bounds is None:
            bounds[-1] = before + len(ids) // 4
            continue
        later = memoryview(its_bounds).cast("I")[1:]
        bounds.extend(array("I", map(before.__add__, later)) if before else array("I", later))
    return b"".join([ids for ids, _ in parts]), bounds.tobytes()


@contextmanager
def _places_from(start: int) -> Iterator[None]:
    """Errors name the place of an item among all, not in a cut."""
    try:
        yield
    except TokenizerError as error:
        found = _ITEM.match(error.path or "")
        if found is not None and error.path is not None:
            error.path = f"{found[1]}[{int(found[2]) + start}]{error.path[found.end() :]}"
        raise
