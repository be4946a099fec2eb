"""One loaded tokenizer, for any number of threads."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from ...errors import InvalidArgument, TokenizerError
from ..linux.trap_handlers import A_CALL, BETWEEN_LOOKS, faulthandler_enabled
from ..wasm import abi, status
from ..wasm.status import Interrupted
from .parallel import Parallel, utf8

if TYPE_CHECKING:
    from ..snapshots.image import Image
    from ..wasm.instance import FullEncoding, Instance, Kept, StopStep
    from .helpers import Job
    from .pool import Pool

# Calls with so many bytes of input or more take long enough to be worth stopping: up to some tens
# of milliseconds, at the rates of slow patterns. Handing a call over to the thread
# that can be interrupted costs about 0.1 ms, a tenth of what quick ones need for their ids.
LONG_TEXT: Final = 512 * 1024
# The same where more than ids is asked for, or for ids to be decoded.
LONG_INPUT: Final = 256 * 1024

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


class CoreTokenizer:
    """Moves texts into the core and ids out of it. Ids are bytes: little-endian u32.

    Safe to use from many threads at once; `close` may be called at any time.
    """

    def __init__(
        self,
        pool: Pool,
        build: str,
        threads: int | None = None,
        from_snapshot: bool = False,
    ) -> None:
        # Imported here, not above: they need wasmtime, which is loaded on first use only.
        from ..linux import thread_stack
        from . import interrupt

        self.build = build
        # Whether an earlier load, maybe of another process, has saved this one its parsing.
        self.from_snapshot = from_snapshot
        # What is known of the file without asking the core; empty where it never was written down.
        self.about: Mapping[str, Any] = {}
        # The memory that its instances begin with, where each has one of its own.
        self.image: Image | None = None
        self._pool = pool
        self._idle = pool.idle
        # For views, by whether they have a deadline, and by their memory; and, under `None`, for
        # calls that may be stopped.
        self._other_pools: dict[tuple[bool, int | None] | None, Pool] = {}
        self._thread = thread_stack.checked
        self._require_stack = thread_stack.require
        self._interrupt = interrupt
        self._parallel = Parallel(threads, LONG_TEXT)
        # How many more bytes may be encoded before the signal handlers are checked again.
        self._unseen, self._faulthandler = BETWEEN_LOOKS, faulthandler_enabled()

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
        # From here on this is `_short`, written out: the call would cost a tenth of the whole.
        try:
            self._thread.enough  # noqa: B018
        except AttributeError:
            self._require_stack()
        self._unseen -= len(data) + A_CALL
        if self._unseen < 0 or faulthandler_enabled() is not self._faulthandler:
            self._look_at_handlers()
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = self._pool.acquire()
        try:
            ids = instance.encode_ids(data, flags)
        except BaseException as error:
            self._pool.settle(instance, error)
            raise
        if self._pool.attention:
            self._pool.come_back(instance)
        else:
            self._idle.append(instance)
            if self._pool.attention:
                self._pool.attend()
        return ids

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
        first = utf8(text, "text")
        second = None if pair is None else utf8(pair, "pair")
        flags = encode_flags(add_special_tokens, special_is_text)
        full: FullEncoding = self._run(
            len(first) + len(second or b""), lambda one: one.encode_full(first, second, flags)
        )
        return full

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
            return text
        # `_short`, written out, for the reason that `encode_ids` has.
        try:
            self._thread.enough  # noqa: B018
        except AttributeError:
            self._require_stack()
        self._unseen -= len(ids) + A_CALL
        if self._unseen < 0 or faulthandler_enabled() is not self._faulthandler:
            self._look_at_handlers()
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = self._pool.acquire()
        try:
            text = instance.decode(ids, flags)
        except BaseException as error:
            self._pool.settle(instance, error)
            raise
        if self._pool.attention:
            self._pool.come_back(instance)
        else:
            self._idle.append(instance)
            if self._pool.attention:
                self._pool.attend()
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
        flags = abi.STEP_FINISH if finish else 0
        if len(ids) >= LONG_INPUT:
            answer: tuple[str, bytes] = self._long(lambda one: one.stream_step(ids, state, flags))
            return answer
        # `_short`, written out, for the reason that `encode_ids` has.
        try:
            self._thread.enough  # noqa: B018
        except AttributeError:
            self._require_stack()
        self._unseen -= A_CALL
        if self._unseen < 0 or faulthandler_enabled() is not self._faulthandler:
            self._look_at_handlers()
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = self._pool.acquire()
        try:
            answer = instance.stream_step(ids, state, flags)
        except BaseException as error:
            self._pool.settle(instance, error)
            raise
        if self._pool.attention:
            self._pool.come_back(instance)
        else:
            self._idle.append(instance)
            if self._pool.attention:
                self._pool.attend()
        return answer

    def stream_one(self, token_id: bytes, state: bytes) -> tuple[str, bytes]:
        """The same for one id, as u32, and a state of some tens of bytes."""
        # `_short`, written out, for the reason that `encode_ids` has.
        try:
            self._thread.enough  # noqa: B018
        except AttributeError:
            self._require_stack()
        self._unseen -= A_CALL
        if self._unseen < 0 or faulthandler_enabled() is not self._faulthandler:
            self._look_at_handlers()
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = self._pool.acquire()
        try:
            answer = instance.stream_one(token_id, state)
        except BaseException as error:
            self._pool.settle(instance, error)
            raise
        if self._pool.attention:
            self._pool.come_back(instance)
        else:
            self._idle.append(instance)
            if self._pool.attention:
                self._pool.attend()
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

    def _other_pool(self, bounds: tuple[bool, int | None] | None) -> Pool:
        """Instances with these bounds; `None`: with none, but calls of them can be ended."""
        pool = self._other_pools.get(bounds)
        if pool is None:
            usual = self._pool.open_source()
            source = usual.with_stops() if bounds is None else usual.limited(*bounds)
            # Of two threads that both make one, the first wins.
            pool = type(self._pool)(source, self._pool.limit)
            pool = self._other_pools.setdefault(bounds, pool)
        return pool

    def retire(self) -> None:
        """Keeps no idle instance any more: each later call makes a new one."""
        self._pool.retire()
        for pool in tuple(self._other_pools.values()):
            pool.retire()

    def close(self) -> None:
        """Frees what is idle now, and the rest as the calls that use it end."""
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

    def _short(self, work: Callable[[Instance], Any], size: int = 0) -> Any:
        self._require_stack_once()
        self._unseen -= size + A_CALL
        if self._unseen < 0:
            self._look_at_handlers()
        instance = self._pool.acquire()
        try:
            result = work(instance)
        except BaseException as error:
            self._pool.settle(instance, error)
            raise
        self._pool.release(instance)
        return result

    def _long(self, work: Callable[[Instance], Any]) -> Any:
        """In the main thread, signal handlers may end the call with an exception."""
        self._require_stack_once()
        in_main = self._interrupt.in_main_thread()
        while True:
            self._pool.look_at_handlers()
            pool = self._stoppable() if in_main else self._pool
            instance = pool.acquire()
            try:
                result = self._interrupt.run(instance, work)
            except Interrupted as error:
                # Meant for another call. This one has changed nothing and starts over.
                pool.settle(instance, error)
            except BaseException as error:
                pool.settle(instance, error)
                raise
            else:
                pool.release_after_long_call(instance)
                return result

    def _stoppable(self) -> Pool:
        """Instances whose calls can be ended, where those for all other calls cannot."""
        if self._pool.open_source().stoppable:
            return self._pool
        return self._other_pool(None)

    def _encode_long(self, data: bytes, flags: int, threads: int | None = None) -> bytes:
        ids = self._parallel.encode_long(self._run, data, flags, threads)
        if ids is None:
            ids = self._long(lambda one: one.encode_ids(data, flags))
        return ids

    def _help(self, job: Job, work: Callable[[Instance], Any], size: int) -> Any:
        """In a thread of the crew. Raises `Interrupted` when the job has been stopped."""
        # Only large pieces need an instance that can be stopped: usual ones end soon enough.
        stoppable = job.apart and size >= LONG_TEXT
        while True:
            self._pool.look_at_handlers()
            pool = self._stoppable() if stoppable else self._pool
            instance = pool.acquire()
            job.inside[instance] = pool
            try:
                # `Job.stop` sets `stopped` before it reads `inside`, so a stop is never missed.
                if job.stopped:
                    raise Interrupted
                result = instance.interruptible(work)
                # Perhaps the pool has lost this instance by now.
                if job.stopped:
                    raise Interrupted
            except Interrupted as error:
                pool.settle(instance, error)
                if job.stopped:
                    raise
                # Meant for another call of the same engine.
            except BaseException as error:
                pool.settle(instance, error)
                raise
            else:
                pool.release_after_long_call(instance)
                return result
            finally:
                job.inside.pop(instance, None)

    def _look_at_handlers(self) -> None:
        enabled = faulthandler_enabled()
        self._pool.look_at_handlers()
        # Set these last: threads that see them valid skip the check.
        self._unseen, self._faulthandler = BETWEEN_LOOKS, enabled

    def _require_stack_once(self) -> None:
        if not hasattr(self._thread, "enough"):
            self._require_stack()

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
