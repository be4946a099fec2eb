"""One loaded tokenizer, for any number of threads."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import InvalidArgument, TokenizerError
from ..wasm import abi, status
from .deadline import within
from .full_encoding import joined
from .long_text import LONG_INPUT, LONG_TEXT
from .parallel import Parallel, utf8

if TYPE_CHECKING:
    from ..snapshots.image import Image
    from ..wasm.instance import Instance, Kept, StopStep
    from .full_encoding import FullEncoding
    from .helpers import Job
    from .pool import Pool

# Of a batch under a policy, so much text goes into one call: memory is bounded by this.
BATCH_BYTES: Final = 16 * 1024 * 1024

MAX_WORD: Final = 2**32 - 1

_ADD: Final = abi.ENCODE_ADD_SPECIAL_TOKENS
_NAMES_ARE_TEXT: Final = abi.ENCODE_SPECIAL_IS_TEXT

UNKNOWN_IDS: Final = {
    "skip": 0,
    "error": abi.DECODE_UNKNOWN_IS_ERROR,
    "replace": abi.DECODE_UNKNOWN_IS_REPLACED,
}


class Bounds(NamedTuple):
    """Of the calls of a tokenizer; its instances keep a bound on memory themselves."""

    deadline: float | None
    """Seconds that a call may take."""


class CoreTokenizer:
    """Moves texts into the core and ids out of it. Ids are bytes: little-endian u32.

    Safe to use from many threads at once; `close` may be called at any time.
    """

    # So many have less than `LONG_TEXT` bytes for certain: UTF-8 has up to four for each.
    short_characters: Final = (LONG_TEXT - 1) // 4

    def __init__(
        self,
        pool: Pool,
        build: str,
        threads: int | None = None,
        from_snapshot: bool = False,
        *,
        bounds: Bounds | None = None,
        view_of: CoreTokenizer | None = None,
    ) -> None:
        """`view_of`: the tokenizer to which the pool belongs, and with which it is closed."""
        # Imported here, not above: they need wasmtime, which is loaded on first use only.
        from ..wasm.instance import Instance
        from .checkout import BoundedCheckout, Checkout

        self.build = build
        # Whether an earlier load, maybe of another process, has saved this one its parsing.
        self.from_snapshot = from_snapshot
        # What is known of the file without asking the core; empty where it never was written down.
        self.about: Mapping[str, Any] = {}
        # The memory that its instances begin with, where each has one of its own.
        self.image: Image | None = None
        self._pool = pool
        self._view_of = view_of
        self._deadline = None if bounds is None else bounds.deadline
        self._parallel = Parallel(threads, LONG_TEXT)
        checkout = Checkout(pool) if bounds is None else BoundedCheckout(pool, bounds.deadline)
        # None of it refers to this object: memory is given back when the last reference goes.
        self._other_pools, self._other_pool = checkout.other_pools, checkout.other_pool
        self._short, self._long, self._help = checkout.short, checkout.long, checkout.help
        self._stoppable = checkout.stoppable
        self.short_ids: Callable[[bytes, int], bytes] = checkout.quick(Instance.encode_ids)
        """The ids of UTF-8 of less than `LONG_TEXT` bytes, with flags of the ABI."""
        self._decode = checkout.quick(Instance.decode)
        self._step = checkout.quick(lambda one, ids, state: one.stream_step(ids, state, 0))
        self._last_step = checkout.quick(
            lambda one, ids, state: one.stream_step(ids, state, abi.STEP_FINISH)
        )
        self.stream_one: Callable[[bytes, bytes], tuple[str, bytes]]
        """`stream_step` for one id, as u32, and a state of some tens of bytes."""
        self.stream_one = checkout.quick(Instance.stream_one)

    def limited(self, deadline: float | None, memory: int | None) -> CoreTokenizer:
        """The same tokenizer with bounds on each call: tables are shared, instances are not. Its
        pool belongs to this one."""
        owner = self._view_of or self
        pool = owner._other_pool((deadline is not None, memory))
        threads, bounds = self._parallel.threads, Bounds(deadline)
        return CoreTokenizer(
            pool, self.build, threads, self.from_snapshot, bounds=bounds, view_of=owner
        )

    def encode_ids(
        self, text: str, add_special_tokens: bool = True, special_is_text: bool = False
    ) -> bytes:
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise status.lone_surrogate(text, error) from None
        except AttributeError:
            raise status.not_text(text) from None
        flags = _ADD if add_special_tokens else 0
        if special_is_text:
            flags |= _NAMES_ARE_TEXT
        if len(data) >= LONG_TEXT:
            return self._encode_long(data, flags)
        return self.short_ids(data, flags)

    def encode_ids_with(
        self, threads: int, text: str, add_special_tokens: bool, special_is_text: bool
    ) -> bytes:
        """`encode_ids` with so many threads at most."""
        if len(text) < LONG_TEXT:
            return self.encode_ids(text, add_special_tokens, special_is_text)
        flags = encode_flags(add_special_tokens, special_is_text)
        return self._encode_long(utf8(text, None), flags, threads)

    def encode_pair_ids(
        self, text: str, pair: str, add_special_tokens: bool, special_is_text: bool = False
    ) -> bytes:
        first, second = utf8(text, "text"), utf8(pair, "pair")
        flags = encode_flags(add_special_tokens, special_is_text)
        ids: bytes = self._run(
            len(first) + len(second),
            lambda one: one.encode_pair_ids(first, second, flags),
            LONG_TEXT,
        )
        return ids

    def encode_full(
        self,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special_is_text: bool = False,
    ) -> FullEncoding:
        with within(self._deadline):
            parts = self.encode_full_parts(text, pair, add_special_tokens, special_is_text)
            first = next(parts)
            rest = list(parts)
        return joined([first, *rest]) if rest else first

    def encode_full_parts(
        self,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special_is_text: bool = False,
    ) -> Iterator[FullEncoding]:
        """The same for the parts of a long text; each is a call of its own."""
        first = utf8(text, "text")
        second = None if pair is None else utf8(pair, "pair")
        flags = encode_flags(add_special_tokens, special_is_text)
        size = len(first) + len(second or b"")
        if size >= LONG_INPUT and second is None:
            parts = self._parallel.encode_full(self._run, first, flags)
            if parts is not None:
                yield from parts
                return
        yield self._run(size, lambda one: one.encode_full(first, second, flags))

    def encode_batch_ids(
        self,
        texts: Sequence[str],
        add_special_tokens: bool,
        special_is_text: bool = False,
        threads: int | None = None,
    ) -> tuple[bytes, bytes]:
        """All ids, and u32 bounds: text n owns ids[bounds[n]..bounds[n + 1]]."""
        flags = encode_flags(add_special_tokens, special_is_text)
        return self._parallel.encode_batch(self._run, texts, flags, threads)

    def encode_with(
        self,
        texts: Sequence[str],
        policy: bytes,
        add_special_tokens: bool,
        *,
        is_batch: bool = False,
    ) -> tuple[bytes, bytes]:
        """All ids, and bounds, under a policy as docs/abi.md has it; texts that are no batch are a
        pair or segments of one text."""
        flags = encode_flags(add_special_tokens, False)
        data = [utf8(text, f"texts[{n}]") for n, text in enumerate(texts)]
        if not is_batch:
            return self._encode_with(data, policy, flags, 1)
        ids: list[bytes] = []
        bounds = array("I", (0,))
        done = 0
        for part in _runs(data):
            try:
                some_ids, some_bounds = self._encode_with(part, policy, flags, len(part))
            except TokenizerError as error:
                status.renumber(error, done)
                raise
            before = bounds[-1]
            bounds.extend(before + n for n in memoryview(some_bounds).cast("I")[1:])
            ids.append(some_ids)
            done += len(part)
        return b"".join(ids), bounds.tobytes()

    def encode_with_full(
        self, texts: Sequence[str], policy: bytes, add_special_tokens: bool
    ) -> FullEncoding:
        data = [utf8(text, f"texts[{n}]") for n, text in enumerate(texts)]
        lengths, flat = _lengths(data), b"".join(data)
        flags = encode_flags(add_special_tokens, False)
        full: FullEncoding = self._run(
            len(flat), lambda one: one.encode_with_full(lengths, flat, policy, flags)
        )
        return full

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        special_is_text: bool,
        limit: int = MAX_WORD,
        *,
        more_text: bool = False,
    ) -> int:
        """How many ids the text has; the first number above `limit` will do.

        `more_text`: it is the beginning of a longer one, of which only what is certain counts.
        """
        data = utf8(text, "text")
        flags = encode_flags(add_special_tokens, special_is_text)
        if more_text:
            flags |= abi.ENCODE_MORE_TEXT
        found: int = self._run(len(data), lambda one: one.count(data, flags, limit), LONG_TEXT)
        return found

    def truncate(
        self,
        text: str,
        limit: int,
        add_special_tokens: bool,
        special_is_text: bool,
        *,
        keep_end: bool,
        more_text: bool,
    ) -> tuple[str, Kept]:
        """What is kept of the text, and the core's report."""
        data = utf8(text, "text")
        flags = encode_flags(add_special_tokens, special_is_text)
        if keep_end:
            flags |= abi.ENCODE_KEEP_END
        if more_text:
            flags |= abi.ENCODE_MORE_TEXT
        kept: Kept = self._run(len(data), lambda one: one.truncate(data, flags, limit), LONG_TEXT)
        if kept.end - kept.start == len(data):
            return text, kept
        try:
            return data[kept.start : kept.end].decode(), kept
        except UnicodeDecodeError:
            raise status.misbehaved("cut a character in two") from None

    def last_cut(self, text: str, at_most: int) -> tuple[int, str]:
        """Where the last cut is that is not behind character `at_most`; both count characters.

        0: there is none; and why there never is, if so.
        """
        data = utf8(text, "text")
        limit = at_most if len(data) == len(text) else len(text[:at_most].encode())
        found, reason = self._run(len(data), lambda one: one.last_cut(data, limit))
        place = found if len(data) == len(text) else len(data[:found].decode("utf-8", "replace"))
        return place, reason

    def continue_batch(self, texts: Sequence[str], special_is_text: bool) -> list[bytes]:
        """The ids of texts that begin at cuts, without post-processing."""
        flags = encode_flags(False, special_is_text) | abi.ENCODE_CONTINUES
        ids, bounds = self._parallel.encode_batch(self._run, texts, flags, None)
        places = memoryview(bounds).cast("I").tolist()
        return [ids[4 * start : 4 * end] for start, end in pairwise(places)]

    def decode(self, ids: bytes, skip_special_tokens: bool, unknown: str = "skip") -> str:
        require_whole(ids)
        flags = UNKNOWN_IDS[unknown]
        if skip_special_tokens:
            flags |= abi.DECODE_SKIP_SPECIAL_TOKENS
        if len(ids) >= LONG_INPUT:
            text: str = self._long(lambda one: one.decode(ids, flags))
        else:
            text = self._decode(ids, flags)
        return text

    def decode_batch(
        self,
        lists: Sequence[bytes],
        skip_special_tokens: bool,
        unknown: str = "skip",
        threads: int | None = None,
    ) -> list[str]:
        for ids in lists:
            require_whole(ids)
        flags = UNKNOWN_IDS[unknown]
        if skip_special_tokens:
            flags |= abi.DECODE_SKIP_SPECIAL_TOKENS
        return self._parallel.decode_batch(self._run, lists, flags, threads)

    def decode_bytes(self, ids: bytes, flags: int) -> bytes:
        require_whole(ids)
        found: bytes = self._run(len(ids), lambda one: one.decode_bytes(ids, flags))
        return found

    def stream_new(self, context: bytes, flags: int) -> bytes:
        """The state of a stream behind these ids. It goes on with any instance."""
        state: bytes = self._run(len(context), lambda one: one.stream_new(context, flags))
        return state

    def stream_step(self, ids: bytes, state: bytes, finish: bool) -> tuple[str, bytes]:
        """Text, and the state from which the next step goes on."""
        if len(ids) >= LONG_INPUT:
            flags = abi.STEP_FINISH if finish else 0
            answer: tuple[str, bytes] = self._long(lambda one: one.stream_step(ids, state, flags))
        else:
            answer = (self._last_step if finish else self._step)(ids, state)
        return answer

    def stop_new(self, context: bytes, config: bytes, flags: int) -> tuple[bytes, bytes]:
        size = len(context) + len(config)
        answer: tuple[bytes, bytes] = self._run(
            size, lambda one: one.stop_new(context, config, flags)
        )
        return answer

    def stop_step(self, ids: bytes, config: bytes, state: bytes, finish: bool) -> StopStep:
        flags = abi.STEP_FINISH if finish else 0
        answer: StopStep = self._run(len(ids), lambda one: one.stop_step(ids, config, state, flags))
        return answer

    def token_to_id(self, token: str) -> int | None:
        data = utf8(token, "token")
        identity: int | None = self._run(len(data), lambda one: one.token_to_id(data))
        return identity

    def id_to_token(self, id: int) -> str | None:
        if not 0 <= id < 1 << 32:
            return None
        token: str | None = self._run(0, lambda one: one.id_to_token(id))
        return token

    def vocab(self, with_added_tokens: bool) -> dict[str, int]:
        flags = abi.VOCAB_WITH_ADDED_TOKENS if with_added_tokens else 0
        table: dict[str, int] = self._run(0, lambda one: one.vocab(flags))
        return table

    def info(self) -> dict[str, Any]:
        return parsed(self._run(0, lambda one: one.info()))

    def retire(self) -> None:
        """Keeps no idle instance any more: each later call makes a new one."""
        self._pool.retire()
        for pool in tuple(self._other_pools.values()):
            pool.retire()

    def close(self) -> None:
        """Frees what is idle now, and the rest as the calls that use it end. A view leaves its pool
        to the tokenizer that it is a view of."""
        if self._view_of is None:
            self._pool.close()
        for pool in tuple(self._other_pools.values()):
            pool.close()

    @property
    def closed(self) -> bool:
        return self._pool.closed

    def _encode_with(
        self, texts: Sequence[bytes], policy: bytes, flags: int, answers: int
    ) -> tuple[bytes, bytes]:
        lengths, flat = _lengths(texts), b"".join(texts)
        answer: tuple[bytes, bytes] = self._run(
            len(flat), lambda one: one.encode_with(lengths, flat, policy, flags, answers)
        )
        return answer

    def _run(
        self,
        size: int,
        work: Callable[[Instance], Any],
        is_long: int = LONG_INPUT,
        helped: Job | None = None,
    ) -> Any:
        if helped is not None:
            return self._help(helped, work, size)
        return self._long(work) if size >= is_long else self._short(work, size)

    def _encode_long(self, data: bytes, flags: int, threads: int | None = None) -> bytes:
        ids = self._parallel.encode_long(self._run, data, flags, threads)
        if ids is None:
            ids = self._long(lambda one: one.encode_ids(data, flags))
        return ids

    def __reduce__(self) -> Any:
        raise TypeError("a loaded tokenizer cannot be pickled: load its file where it is needed")


def parsed(document: bytes) -> dict[str, Any]:
    """JSON that the core wrote: an object."""
    value = _json(document)
    if not isinstance(value, dict):
        raise status.misbehaved("gave JSON that is no object")
    return value


def encode_flags(add_special_tokens: bool, special_is_text: bool) -> int:
    return (_ADD if add_special_tokens else 0) | (_NAMES_ARE_TEXT if special_is_text else 0)


def parsed_names(document: bytes) -> list[str]:
    """JSON that the core wrote: a list of names."""
    value = _json(document)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise status.misbehaved("gave JSON that is no list of names")
    return value


def _json(document: bytes) -> Any:
    try:
        return json.loads(document)
    except ValueError as error:
        raise status.misbehaved(f"gave malformed JSON: {error}") from None


def require_whole(ids: bytes) -> None:
    if len(ids) % 4:
        raise InvalidArgument(f"{len(ids)} bytes are no whole number of ids of 4 bytes each")


def _lengths(items: Sequence[bytes]) -> bytes:
    return array("I", map(len, items)).tobytes()


def _runs(items: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Items that go into one call together; one that is larger than that stays alone."""
    start = size = 0
    for place, item in enumerate(items):
        if size and size + len(item) > BATCH_BYTES:
            yield items[start:place]
            start, size = place, 0
        size += len(item)
    if start < len(items):
        yield items[start:]
