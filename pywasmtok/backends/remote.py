"""A tokenizer on a server, with the methods of a local one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from ..chat.face import as_conversations
from ..client.calls import TokenizerCalls
from ..client.chats import asked_chat, asked_of_encode_chat
from ..client.streaming import HABIT, RemoteStreaming
from ..errors import InvalidArgument, TokenizerClosed, Unsupported
from ..tokenizer.arguments import as_pair, check_unknown, items_of
from ..tokenizer.encoding import Encoding, EncodingBatch
from ..tokenizer.ids import as_bytes
from ..tokenizer.limits import Limits
from ..tokenizer.recipe import BackendInfo
from ..tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from ..client.answers import ServedChat, ServedTokenizer
    from ..client.blocking import Client
    from ..client.call import Call
    from ..tokenizer.arguments import Segment, TextPair
    from ..tokenizer.fitting import Truncated
    from ..tokenizer.ids import Ids
    from ..tokenizer.special.policy import AddedName, Special
    from ..tokenizer.special.tokens import SpecialTokens
    from ..tokenizer.streaming.stop import StopSequenceConfig, StopSequenceDecoder
    from . import Backend

__all__ = ["RemoteTokenizer", "deadline_of"]

T = TypeVar("T")


class RemoteTokenizer(Tokenizer):
    """Made by `Client.tokenizer`, or by `create_tokenizer("http://host:port/name")`.

    What would need the file here is `Unsupported`, by name; nothing is done otherwise than a
    tokenizer of this process would do it.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        owns_client: bool = False,
        deadline: float | None = None,
    ) -> None:
        # Nothing of the base is used: each of its members has its own here.
        self._backend = cast("Backend", self)
        self._client = client
        self._calls = TokenizerCalls(name)
        self._owns_client = owns_client
        self._deadline = deadline
        self._closed = False

    @property
    def name(self) -> str:
        return self._calls.name

    @property
    def client(self) -> Client:
        return self._client

    def encode(
        self,
        text: str,
        pair: str | None = None,
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> Encoding:
        self._one_server(threads)
        return self._send(self._calls.encode(text, pair, add_special_tokens, special, self._send))

    def encode_batch(
        self,
        texts: Iterable[str | TextPair],
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> EncodingBatch:
        """One request, except for pairs: these are one request each."""
        self._one_server(threads)
        items = items_of(texts)
        plain = [item for item in items if isinstance(item, str)]
        if len(plain) == len(items):
            return self._send(
                self._calls.encode_batch(plain, add_special_tokens, special, self._send)
            )
        found = [
            self.encode(text, pair, add_special_tokens, special=special)
            for text, pair in map(as_pair, items)
        ]
        return EncodingBatch.join(found, add_special_tokens, special == "none")

    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool = True,
        *,
        control: str | Set[str] = "special",
    ) -> Encoding:
        return self._send(self._calls.encode_segments(segments, add_special_tokens, control))

    def count(self, text: str, add_special_tokens: bool = True, *, special: Special = "all") -> int:
        return self._send(self._calls.count(text, add_special_tokens, special))

    def count_batch(
        self, texts: Iterable[str], add_special_tokens: bool = True, *, special: Special = "all"
    ) -> list[int]:
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise InvalidArgument(f"a batch is an iterable of texts, not {type(texts).__name__}")
        return self._send(self._calls.count_batch(list(texts), add_special_tokens, special))

    def fits(
        self, text: str, n: int, add_special_tokens: bool = True, *, special: Special = "all"
    ) -> bool:
        return self._send(self._calls.fits(text, n, add_special_tokens, special))

    def truncate(
        self,
        text: str,
        n: int,
        side: str = "right",
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
    ) -> Truncated:
        return self._send(
            self._calls.truncate(text, n, side, add_special_tokens, special, self._send)
        )

    def decode(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> str:
        checked = None if unknown_id is None else check_unknown(unknown_id)
        return self._send(self._calls.decode(ids, skip_special_tokens, checked))

    def decode_batch(
        self,
        lists: Iterable[Ids],
        skip_special_tokens: bool = True,
        *,
        unknown_id: str | None = None,
        threads: int | None = None,
    ) -> list[str]:
        self._one_server(threads)
        if isinstance(lists, str | bytes) or not isinstance(lists, Iterable):
            raise InvalidArgument(f"lists of ids, not {type(lists).__name__}")
        checked = None if unknown_id is None else check_unknown(unknown_id)
        return self._send(self._calls.decode_batch(list(lists), skip_special_tokens, checked))

    def stop_decoder(
        self,
        config: StopSequenceConfig,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        eos_token_ids: Iterable[int] | None = None,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
    ) -> StopSequenceDecoder:
        """`eos_token_ids=None`: those of the file on the server."""
        from ..tokenizer.streaming.stop import StopSequenceDecoder

        eos = None if eos_token_ids is None else tuple(eos_token_ids)
        streaming = RemoteStreaming(self.name, self._send, eos)
        flags = streaming.flags(skip_special_tokens, self._unknown_id(unknown_id), byte_runs)
        return StopSequenceDecoder.begin(streaming, config, eos or (), as_bytes(prompt_ids), flags)

    @property
    def streaming(self) -> RemoteStreaming:
        """Each step of a stream is a request; its state is the server's, signed."""
        self._open()
        return RemoteStreaming(self.name, self._send)

    @property
    def stream_backend(self) -> str:
        return "remote"

    def _unknown_id(self, unknown_id: str | None) -> str:
        return HABIT if unknown_id is None else check_unknown(unknown_id)

    def apply_chat_template(self, conversation: Any, *args: Any, **how: Any) -> Any:
        """The text (`tokenize=False`), or its ids (`return_dict=False`). Masks, padding and tensors
        need settings of the model that a server does not tell."""
        asked, tokenize = asked_chat(*args, **how)
        conversations, batched = as_conversations(conversation)
        texts = [
            self._send(self._calls.render({"messages": list(messages), **asked}))
            for messages in conversations
        ]
        if not tokenize:
            return texts if batched else texts[0]
        found = self.encode_batch(texts, add_special_tokens=False)
        return found.ids if batched else found.ids[0]

    def encode_chat(self, messages: Sequence[Any], **arguments: Any) -> ServedChat:
        return self._send(self._calls.encode_chat(asked_of_encode_chat(messages, arguments)))

    @property
    def served(self) -> ServedTokenizer:
        """What the server says of it now."""
        return self._send(_info(self.name))

    @property
    def format(self) -> str:
        return self.served.format

    @property
    def vocab_size(self) -> int:
        return self.served.tokens

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        if not with_added_tokens:
            raise self._unsupported("the vocabulary without added tokens", "vocab")
        return self.vocab_size

    @property
    def source(self) -> str:
        return f"{self._client.url}/{self.name}"

    @property
    def backend(self) -> BackendInfo:
        return BackendInfo("remote", "remote", None, None)

    @property
    def core_backend(self) -> None:
        """It is elsewhere."""
        return None

    @property
    def fallbacks(self) -> dict[str, int]:
        """What a server falls back to is its own."""
        return {}

    @property
    def limits(self) -> Limits | None:
        return None if self._deadline is None else Limits(deadline=self._deadline)

    def limited(self, limits: Limits | None = None, **bounds: Any) -> RemoteTokenizer:
        """With another deadline on each call, its attempts and waits included. All other bounds are
        the server's to keep."""
        if limits is None:
            limits = Limits(**bounds)
        elif bounds or not isinstance(limits, Limits):
            raise InvalidArgument("limited() takes a pywasmtok.Limits, or the arguments of one")
        deadline = deadline_of(limits)
        both = [one for one in (deadline, self._deadline) if one is not None]
        self._open()
        return RemoteTokenizer(self._client, self.name, deadline=min(both, default=None))

    def close(self) -> None:
        self._closed = True
        if self._owns_client:
            self._client.close()

    @property
    def closed(self) -> bool:
        return self._closed or self._client.closed

    def _open(self) -> None:
        if self.closed:
            raise TokenizerClosed("this tokenizer is closed", source=self.source)

    def _send(self, call: Call[T], /) -> T:
        self._open()
        return self._client.send(call, self._deadline)

    def _one_server(self, threads: int | None) -> None:
        if threads is not None:
            raise self._unsupported("threads=", "threads")

    def _unsupported(self, what: str, feature: str) -> Unsupported:
        return Unsupported(
            f"{what} cannot be had from a server",
            feature=f"remote:{feature}",
            source=self.source,
            hint="create_tokenizer() with the file has all of it",
        )

    def ids_given(self, ids: Ids) -> bytes:
        return as_bytes(ids)

    def as_one(self) -> AbstractContextManager[None]:
        return nullcontext()

    # What would need the file here.

    def view(self, limits: Limits) -> NoReturn:
        raise self._unsupported("the backends", "file")

    def token_spans(self, ids: Ids, skip_special_tokens: bool = True) -> NoReturn:
        raise self._unsupported("spans of tokens", "token_spans")

    def decode_bytes(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> NoReturn:
        raise self._unsupported("the bytes of ids", "bytes")

    @property
    def added_tokens(self) -> Mapping[str, AddedName]:
        raise self._unsupported("the list of added tokens", "vocab")

    def token_to_id(self, token: str) -> NoReturn:
        raise self._unsupported("the id of a token", "vocab")

    def id_to_token(self, token_id: int) -> NoReturn:
        raise self._unsupported("the token of an id", "vocab")

    def get_vocab(self, with_added_tokens: bool = True) -> NoReturn:
        raise self._unsupported("the vocabulary", "vocab")

    @property
    def special_tokens(self) -> SpecialTokens:
        raise self._unsupported("the list of special tokens", "vocab")

    @property
    def fingerprint(self) -> str:
        raise self._unsupported("the fingerprint; `served.digest` names the file", "fingerprint")

    @property
    def decoding_fingerprint(self) -> str:
        raise self._unsupported("the fingerprint; `served.digest` names the file", "fingerprint")

    @property
    def hybrid(self) -> NoReturn:
        raise self._unsupported("the backends", "file")

    @property
    def made_of(self) -> NoReturn:
        raise self._unsupported("the file", "file")

    @property
    def recipe(self) -> NoReturn:
        raise self._unsupported("the file", "file")

    @recipe.setter
    def recipe(self, recipe: object) -> NoReturn:
        raise self._unsupported("another file", "file")

    def chat_session(self, **arguments: Any) -> NoReturn:
        raise self._unsupported("a session of a chat", "chat_session")

    def get_chat_template(
        self, chat_template: str | None = None, tools: Sequence[Any] | None = None
    ) -> NoReturn:
        raise self._unsupported("the text of a chat template", "chat_template")

    @property
    def chat_template(self) -> NoReturn:
        raise self._unsupported("the text of a chat template", "chat_template")

    def set_chat_template(self, template: object) -> NoReturn:
        raise self._unsupported("another chat template", "chat_template")

    @property
    def chat_capabilities(self) -> NoReturn:
        raise self._unsupported("what a chat template can do", "chat_template")

    # Variables of the base, which a template that is rendered elsewhere has no use for.
    chat_encoder = None
    chat_sandbox = None

    @property
    def chat_templates(self) -> NoReturn:
        raise self._unsupported("the text of a chat template", "chat_template")

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere it has the key of the environment there, and timeouts of its own."""
        if self._client.settings.key.given or self._client.settings.transport is not None:
            raise Unsupported(
                "a key or a transport that a program gave does not travel",
                feature="remote:pickle",
                hint="PYWASMTOK_API_KEY is read wherever it arrives",
            )
        self._open()
        return (_recreate, (type(self._client), self._client.url, self.name, self._deadline))

    def __repr__(self) -> str:
        return f"<RemoteTokenizer {self.source}{' (closed)' if self.closed else ''}>"


def _info(name: str) -> Call[ServedTokenizer]:
    from ..client.records import tokenizer

    return tokenizer(name)


def _recreate(client: type[Client], url: str, name: str, deadline: float | None) -> RemoteTokenizer:
    return RemoteTokenizer(client(url), name, owns_client=True, deadline=deadline)


def deadline_of(limits: Limits) -> float | None:
    """The only bound that a client can keep."""
    others = Limits(deadline=limits.deadline)
    if limits != others:
        raise Unsupported(
            "a server keeps its own bounds; only a deadline can be said from here",
            feature="remote:limits",
        )
    return limits.deadline
