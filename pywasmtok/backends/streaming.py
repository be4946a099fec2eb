"""Which backend decodes one id at a time.

The core does, wherever possible: its stream equals decoding all at once, for every list and every
cut. Where another library serves the tokenizer, the core loads the vocabulary and the decoder only.
Where it does not know the decoder or cannot run, all text is held back until the end: late, but
right. Decoding windows of ids again and comparing texts, as other libraries do, gives wrong texts.
"""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from .._host.wasm import abi
from ..errors import (
    ArtifactError,
    BackendUnavailable,
    HostUnsupported,
    InvalidArgument,
    Unsupported,
)
from ..tokenizer.encoding import view
from ..tokenizer.ids import as_bytes
from .core import CoreBackend
from .hf import HFBackend

if TYPE_CHECKING:
    from .._host import CoreTokenizer
    from .._host.wasm.instance import StopStep
    from ..tokenizer.streaming.stop import Output
    from .base import Backend
    from .hybrid import Hybrid

__all__ = ["Node", "Streaming", "choose"]

_ID: Final = struct.Struct("<I")

# Transitions of streams that are remembered. Each takes about 200 bytes.
MOST: Final = 16_384
# States are about 20 bytes; one that holds back a run of bytes will not be met again.
_SHORT: Final = 48

_UNKNOWN: Final = {
    "skip": 0,
    "error": abi.DECODE_UNKNOWN_IS_ERROR,
    "replace": abi.DECODE_UNKNOWN_IS_REPLACED,
}
_BYTE_RUNS: Final = {"exact": 0, "eager": abi.DECODE_EAGER_BYTE_RUNS}


class Node(dict[int, tuple[str, "Node"]]):
    """A state of streams, and where the ids lead from it that were met; for others it asks.

    The core answers a step from the state and the id alone, so an answer can be remembered: most
    steps of most streams lead from the state in which nothing is pending to itself. It is a
    dictionary that knows what to do about a missing id, because the first stream of a process
    misses most: an exception for each would cost as much as the call into the core.
    """

    __slots__ = ("_streaming", "state")

    def __init__(self, streaming: Streaming, state: bytes) -> None:
        self._streaming = streaming
        self.state = state

    def __missing__(self, token_id: int) -> tuple[str, Node]:
        streaming, before = self._streaming, self.state
        try:
            data = _ID.pack(token_id)
        except struct.error:
            data = as_bytes((token_id,))  # which says what is wrong with it
        if len(before) > _SHORT:
            # Not to be met again.
            text, state = streaming.stream_step(data, before, False)
            return text, streaming.node(state)
        text, state = streaming.stream_one(data, before)
        answer = (text, self if state == before else streaming.node(state))
        if len(text) <= _SHORT:
            if streaming.known >= MOST:
                streaming.forget()
            streaming.known += 1
            self[token_id] = answer
        return answer


class StopNode:
    """The same for stop decoders, whose states end with three counts: what a step gives depends on
    the bytes before them alone, once there were `min_tokens` ids. Only steps that stop nothing are
    remembered, with the bytes and characters that they settled."""

    __slots__ = ("core", "next")

    def __init__(self, core: bytes) -> None:
        self.core = core
        self.next: dict[int, tuple[Output, StopNode, int, int]] = {}


class Streaming(ABC):
    """Streams and stop decoders of one tokenizer. All of a stream is its state, which its owner
    keeps: nothing here belongs to one of them, and any thread may call."""

    knows_eos = False
    """Whether the ends of sequence of the file are known where steps are made."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: dict[bytes, Node] = {}
        self._stop_nodes: dict[bytes, StopNode] = {}
        # States of streams without a context, by flags, of which there are a dozen.
        self._first: dict[int, bytes] = {}
        self.known = 0

    @abstractmethod
    def stream_new(self, context: bytes, flags: int) -> bytes: ...

    @abstractmethod
    def stream_step(self, ids: bytes, state: bytes, finish: bool) -> tuple[str, bytes]: ...

    def stream_one(self, token_id: bytes, state: bytes) -> tuple[str, bytes]:
        """A step of one id from a short state."""
        return self.stream_step(token_id, state, False)

    @abstractmethod
    def stop_new(self, context: bytes, config: bytes, flags: int) -> tuple[bytes, bytes]: ...

    @abstractmethod
    def stop_step(self, ids: bytes, config: bytes, state: bytes, finish: bool) -> StopStep: ...

    @abstractmethod
    def decode_bytes(self, ids: bytes, flags: int) -> bytes: ...

    @abstractmethod
    def close(self) -> None: ...

    def flags(
        self, skip_special_tokens: bool, unknown_id: str = "skip", byte_runs: str = "exact"
    ) -> int:
        """How to decode, as the core is told it."""
        if unknown_id not in _UNKNOWN:
            raise InvalidArgument(f"unknown_id={unknown_id!r} is none of {', '.join(_UNKNOWN)}")
        if byte_runs not in _BYTE_RUNS:
            raise InvalidArgument(f"byte_runs={byte_runs!r} is none of {', '.join(_BYTE_RUNS)}")
        skip = abi.DECODE_SKIP_SPECIAL_TOKENS if skip_special_tokens else 0
        return skip | _UNKNOWN[unknown_id] | _BYTE_RUNS[byte_runs]

    def first(self, context: bytes, flags: int) -> bytes:
        """The state in which a stream begins."""
        if context:
            return self.stream_new(context, flags)
        state = self._first.get(flags)
        if state is None:
            state = self._first[flags] = self.stream_new(b"", flags)
        return state

    def node(self, state: bytes) -> Node:
        if len(state) > _SHORT:
            return Node(self, state)
        node = self._nodes.get(state)
        if node is None:
            if len(self._nodes) >= MOST:
                self.forget()
            node = self._nodes[state] = Node(self, state)
        return node

    def stop_node(self, core: bytes) -> StopNode:
        if len(core) > _SHORT:
            return StopNode(core)
        node = self._stop_nodes.get(core)
        if node is None:
            if len(self._stop_nodes) >= MOST:
                self.forget()
            node = self._stop_nodes[core] = StopNode(core)
        return node

    def remember_stop(
        self, node: StopNode, token_id: int, answer: tuple[Output, StopNode, int, int]
    ) -> None:
        """The configuration is in the state, as a hash."""
        if len(node.core) <= _SHORT and len(answer[0].text) <= _SHORT:
            self._make_room()
            node.next[token_id] = answer

    def forget(self) -> None:
        """Drops all that is remembered. Streams that are under way keep the node that they are
        at."""
        # Copies: other threads may add to them.
        for node in list(self._nodes.values()):
            node.clear()
        for stop_node in list(self._stop_nodes.values()):
            stop_node.next.clear()
        self._nodes, self._stop_nodes, self.known = {}, {}, 0

    def _make_room(self) -> None:
        if self.known >= MOST:
            self.forget()
        self.known += 1


class CoreStreaming(Streaming):
    def __init__(self, core: CoreTokenizer, *, own: bool) -> None:
        held_by = core.info().get("stream_held_by")
        name = "core (decoder only)" if own else "core"
        super().__init__(f"held until flush: decoder:{held_by}" if held_by else name)
        self._own = own
        self._core = core
        # As it is: the cost of a step that is not remembered is that of layers.
        self.stream_one = core.stream_one  # type: ignore[assignment, method-assign]

    def stream_new(self, context: bytes, flags: int) -> bytes:
        return self._core.stream_new(context, flags)

    def stream_step(self, ids: bytes, state: bytes, finish: bool) -> tuple[str, bytes]:
        return self._core.stream_step(ids, state, finish)

    def stop_new(self, context: bytes, config: bytes, flags: int) -> tuple[bytes, bytes]:
        return self._core.stop_new(context, config, flags)

    def stop_step(self, ids: bytes, config: bytes, state: bytes, finish: bool) -> StopStep:
        return self._core.stop_step(ids, config, state, finish)

    def decode_bytes(self, ids: bytes, flags: int) -> bytes:
        return self._core.decode_bytes(ids, flags)

    def close(self) -> None:
        if self._own:
            self._core.close()


class HeldStreaming(Streaming):
    """Keeps the ids, and decodes all of them when the stream is flushed."""

    # Mark and version, flags, ids of context, characters that have gone out.
    _HEAD: Final = struct.Struct("<4sBIQ")
    _MARK: Final = b"pwl\1"

    def __init__(self, backend: Backend, reason: str) -> None:
        super().__init__(f"held until flush: {reason}")
        self._backend = backend
        self._reason = reason

    def stream_new(self, context: bytes, flags: int) -> bytes:
        if flags & ~abi.DECODE_SKIP_SPECIAL_TOKENS:
            raise Unsupported(
                "only the core has a choice for unknown ids and byte runs", feature=self._reason
            )
        return self._HEAD.pack(self._MARK, flags, len(context) // 4, 0) + context

    def stream_step(self, ids: bytes, state: bytes, finish: bool) -> tuple[str, bytes]:
        head = state[: self._HEAD.size]
        if len(head) < self._HEAD.size or head[:4] != self._MARK:
            raise InvalidArgument("this is no state of a stream over this tokenizer")
        _, flags, context, given = self._HEAD.unpack(head)
        all_ids = state[self._HEAD.size :] + ids
        text = ""
        if finish:
            skip = bool(flags & abi.DECODE_SKIP_SPECIAL_TOKENS)
            text = self._backend.decode(view(all_ids), skip)
            before = self._backend.decode(view(all_ids)[:context], skip)
            text = text[len(_common(before, text)) + given :]
            given += len(text)
        return text, self._HEAD.pack(self._MARK, flags, context, given) + all_ids

    def stop_new(self, context: bytes, config: bytes, flags: int) -> tuple[bytes, bytes]:
        raise Unsupported(
            "no stop can be seen in a text that is held back until the end", feature=self._reason
        )

    def stop_step(self, ids: bytes, config: bytes, state: bytes, finish: bool) -> StopStep:
        raise InvalidArgument("this is no state of a stop decoder over this tokenizer")

    def decode_bytes(self, ids: bytes, flags: int) -> bytes:
        if flags & ~abi.DECODE_SKIP_SPECIAL_TOKENS:
            raise Unsupported("only the core has a choice for unknown ids", feature=self._reason)
        return self._backend.decode(view(ids), bool(flags)).encode()

    def close(self) -> None:
        """Nothing of its own."""


def _common(one: str, other: str) -> str:
    """What both begin with: a context that ends inside a character shares less than all of it."""
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return one[:length]


def choose(hybrid: Hybrid, build: str | None, source: str) -> Streaming:
    for backend in (hybrid.decoder, hybrid.encoder):
        if isinstance(backend, CoreBackend):
            return CoreStreaming(backend.core, own=False)
    decoder = hybrid.decoder
    try:
        data = json.dumps(_decoder_alone(decoder), ensure_ascii=False).encode()
        core = CoreBackend.load(data, build=build, source=source, snapshots=False)
        return CoreStreaming(core.core, own=True)
    except (Unsupported, ArtifactError, HostUnsupported, BackendUnavailable) as error:
        return HeldStreaming(decoder, error.feature or error.kind)


def _decoder_alone(backend: Backend) -> dict[str, Any]:
    """A tokenizer file with nothing in it but what decoding needs."""
    tokens = {}
    for token_id in backend.vocab(True).values():
        token = backend.id_to_token(token_id)
        if token is not None:
            tokens[token_id] = token
    vocab = {token: token_id for token_id, token in tokens.items()}
    if len(vocab) < len(tokens):
        raise Unsupported("two ids have the same token", feature="vocab:duplicate")
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    special = [token for token in _special(backend) if token in vocab]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": vocab[token], "content": token, "special": True, **flags} for token in special
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": backend.decoder_json() if isinstance(backend, HFBackend) else None,
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }


def _special(backend: Backend) -> list[str]:
    if isinstance(backend, HFBackend):
        return backend.special_contents()
    return list(backend.special_tokens())
