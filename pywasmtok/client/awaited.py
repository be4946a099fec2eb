"""A tokenizer of a server, awaited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeVar

from ..chat.face import as_conversations
from ..errors import InvalidArgument
from ..tokenizer.arguments import as_pair, check_unknown, items_of
from ..tokenizer.encoding import Encoding, EncodingBatch
from .call import numbers_of
from .calls import TokenizerCalls
from .chats import asked_chat, asked_of_encode_chat
from .retry import check_seconds
from .streaming.events import How, stop_fields, stream_step

if TYPE_CHECKING:
    from ..tokenizer.arguments import Segment, TextPair
    from ..tokenizer.fitting import Truncated
    from ..tokenizer.ids import Ids
    from ..tokenizer.special.policy import Special
    from ..tokenizer.streaming.stop import Matched, StopSequenceConfig
    from .answers import ServedChat, ServedTokenizer
    from .asynchronous import AsyncClient
    from .call import Call
    from .streaming.sockets import Streams

T = TypeVar("T")

__all__ = ["AsyncStream", "AsyncTokenizer"]


class AsyncTokenizer:
    """Made by `AsyncClient.tokenizer`: what `RemoteTokenizer` does, to be awaited."""

    def __init__(self, client: AsyncClient, name: str, deadline: float | None = None) -> None:
        self._client = client
        self._calls = TokenizerCalls(name)
        self._deadline = deadline

    @property
    def name(self) -> str:
        return self._calls.name

    @property
    def client(self) -> AsyncClient:
        return self._client

    def limited(self, *, deadline: float) -> AsyncTokenizer:
        """With another deadline on each call, its attempts and waits included."""
        least = check_seconds("deadline", deadline)
        if self._deadline is not None:
            least = min(least, self._deadline)
        return AsyncTokenizer(self._client, self.name, least)

    async def encode(
        self,
        text: str,
        pair: str | None = None,
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
    ) -> Encoding:
        """The ids alone: see `encode_with_details`."""
        return await self._send(self._calls.encode(text, pair, add_special_tokens, special, None))

    async def encode_with_details(
        self, text: str, add_special_tokens: bool = True, *, special: Special = "all"
    ) -> Encoding:
        """With tokens, offsets and masks, which a property could not wait for."""
        return await self._send(self._calls.encode_with_details(text, add_special_tokens, special))

    async def encode_batch(
        self,
        texts: Iterable[str | TextPair],
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
    ) -> EncodingBatch:
        items = items_of(texts)
        plain = [item for item in items if isinstance(item, str)]
        if len(plain) == len(items):
            return await self._send(
                self._calls.encode_batch(plain, add_special_tokens, special, None)
            )
        found = [
            await self.encode(text, pair, add_special_tokens, special=special)
            for text, pair in map(as_pair, items)
        ]
        return EncodingBatch.join(found, add_special_tokens, special == "none")

    async def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool = True,
        *,
        control: str | Set[str] = "special",
    ) -> Encoding:
        return await self._send(self._calls.encode_segments(segments, add_special_tokens, control))

    async def count(
        self, text: str, add_special_tokens: bool = True, *, special: Special = "all"
    ) -> int:
        return await self._send(self._calls.count(text, add_special_tokens, special))

    async def count_batch(
        self, texts: Iterable[str], add_special_tokens: bool = True, *, special: Special = "all"
    ) -> list[int]:
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise InvalidArgument(f"a batch is an iterable of texts, not {type(texts).__name__}")
        return await self._send(self._calls.count_batch(list(texts), add_special_tokens, special))

    async def fits(
        self, text: str, n: int, add_special_tokens: bool = True, *, special: Special = "all"
    ) -> bool:
        return await self._send(self._calls.fits(text, n, add_special_tokens, special))

    async def truncate(
        self,
        text: str,
        n: int,
        side: str = "right",
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
    ) -> Truncated:
        return await self._send(
            self._calls.truncate(text, n, side, add_special_tokens, special, None)
        )

    async def decode(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> str:
        checked = None if unknown_id is None else check_unknown(unknown_id)
        return await self._send(self._calls.decode(ids, skip_special_tokens, checked))

    async def decode_batch(
        self,
        lists: Iterable[Ids],
        skip_special_tokens: bool = True,
        *,
        unknown_id: str | None = None,
    ) -> list[str]:
        if isinstance(lists, str | bytes) or not isinstance(lists, Iterable):
            raise InvalidArgument(f"lists of ids, not {type(lists).__name__}")
        checked = None if unknown_id is None else check_unknown(unknown_id)
        return await self._send(self._calls.decode_batch(list(lists), skip_special_tokens, checked))

    async def apply_chat_template(self, conversation: Any, *args: Any, **how: Any) -> Any:
        """The text (`tokenize=False`), or its ids (`return_dict=False`)."""
        asked, tokenize = asked_chat(*args, **how)
        conversations, batched = as_conversations(conversation)
        texts = [
            await self._send(self._calls.render({"messages": list(messages), **asked}))
            for messages in conversations
        ]
        if not tokenize:
            return texts if batched else texts[0]
        found = await self.encode_batch(texts, add_special_tokens=False)
        return found.ids if batched else found.ids[0]

    async def encode_chat(self, messages: Sequence[Any], **arguments: Any) -> ServedChat:
        asked = asked_of_encode_chat(messages, arguments)
        return await self._send(self._calls.encode_chat(asked))

    async def info(self) -> ServedTokenizer:
        return await self._client.info(self.name)

    def decode_stream(
        self,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
    ) -> AsyncStream:
        """Each step is a request: see `streams` for many steps."""
        return AsyncStream(self, How.of(prompt_ids, skip_special_tokens, byte_runs, unknown_id))

    def stop_decoder(
        self,
        config: StopSequenceConfig,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        eos_token_ids: Iterable[int] | None = None,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
    ) -> AsyncStream:
        """A stream that ends at a stop: `.matched` says which."""
        stops = stop_fields(config, eos_token_ids)
        how = How.of(prompt_ids, skip_special_tokens, byte_runs, unknown_id, stops)
        return AsyncStream(self, how)

    def streams(self) -> Streams:
        """A WebSocket for many streams: `async with tok.streams() as streams: ...`

        Needs the package `websockets`, and asyncio."""
        from .streaming.sockets import Streams

        return Streams(self._client.settings, self.name, self._deadline)

    async def _send(self, call: Call[T]) -> T:
        return await self._client.send(call, self._deadline)

    def __repr__(self) -> str:
        return f"<AsyncTokenizer {self._client.url}/{self.name}>"


class AsyncStream:
    """Text of ids that come one by one; for one task at a time. All of it is its state, so it goes
    on after a lost connection, and in another process."""

    def __init__(self, tokenizer: AsyncTokenizer, how: How, state: str | None = None) -> None:
        self._tokenizer = tokenizer
        self._how = how
        self._state = state
        self.matched: Matched | None = None
        """What stopped the text, if something did."""

    async def step(self, token_id: int) -> str:
        return await self.step_batch((token_id,))

    async def step_batch(self, token_ids: Ids | tuple[int, ...]) -> str:
        """The text that is certain now and was not before."""
        return await self._advance(numbers_of(token_ids), False)

    async def flush(self) -> str:
        """The input has ended: what was held back."""
        return await self._advance([], True)

    @property
    def is_stopped(self) -> bool:
        return self.matched is not None

    @property
    def state(self) -> str | None:
        """What it takes to go on elsewhere; None before the first step."""
        return self._state

    def resumed(self, state: str) -> AsyncStream:
        """A stream like this one that goes on from a state."""
        return AsyncStream(self._tokenizer, self._how, state)

    async def _advance(self, ids: list[int], finish: bool) -> str:
        if self.matched is not None:
            return ""
        name = self._tokenizer.name
        step = await self._tokenizer._send(stream_step(name, self._how, ids, self._state, finish))
        self._state, self.matched = step.state, step.stopped
        return step.text
