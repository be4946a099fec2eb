"""The backend of a tokenizer on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..backends.base import Complete
from ..chat.face import as_conversations
from ..errors import TokenizerClosed, Unsupported
from ..tokenizer.arguments import as_pair
from ..tokenizer.encoding import EncodingBatch
from ..tokenizer.limits import Limits
from ..tokenizer.recipe import BackendInfo, Options, Recipe
from ..tokenizer.tokenizer import Tokenizer
from . import records
from .calls import TokenizerCalls
from .chats import asked_chat, asked_of_encode_chat
from .streaming.stream import HABIT, RemoteStreaming

if TYPE_CHECKING:
    from ..tokenizer.arguments import Segment, TextPair
    from ..tokenizer.encoding import Encoding
    from ..tokenizer.fitting import Truncated
    from ..tokenizer.ids import Ids
    from ..tokenizer.special.policy import AddedName, Special
    from ..tokenizer.special.tokens import SpecialTokens
    from .answers import ServedChat, ServedTokenizer
    from .blocking import Client
    from .call import Call

__all__ = ["RemoteTokenizer", "deadline_of"]

T = TypeVar("T")


def RemoteTokenizer(  # noqa: N802  # it was a class, and is called like one
    client: Client, name: str, *, owns_client: bool = False, deadline: float | None = None
) -> Tokenizer:
    """A tokenizer on a server, with the methods of a local one; made by `Client.tokenizer`, or by
    `create_tokenizer("http://host:port/name")`.

    What would need the file here is `Unsupported`, by name; nothing is done otherwise than a
    tokenizer of this process would do it.
    """
    backend = RemoteBackend(client, name, owns_client, deadline)
    limits = None if deadline is None else Limits(deadline=deadline)
    options = Options("remote", "remote", None, False)
    recipe = Recipe(b"", f"{client.url}/{name}", options, limits=limits)
    return Tokenizer(backend, recipe, build=None, file_format="remote")


class RemoteBackend(Complete):
    """Each call is a request."""

    name = "remote"

    def __init__(
        self, client: Client, name: str, owns_client: bool, deadline: float | None
    ) -> None:
        self.client = client
        self.served_name = name
        self._calls = TokenizerCalls(name)
        self._owns_client = owns_client
        self._deadline = deadline

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        return self.encode_guarded(text, pair, add_special_tokens, _flag(special_is_text))

    def encode_with(self, *_: Any) -> NoReturn:
        raise self._unsupported("threads=", "threads")

    def encode_batch(
        self,
        texts: Sequence[str | TextPair],
        add_special_tokens: bool,
        special_is_text: bool = False,
        threads: int | None = None,
    ) -> EncodingBatch:
        self._one_server(threads)
        return self.encode_batch_guarded(texts, add_special_tokens, _flag(special_is_text))

    def encode_guarded(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Encoding:
        return self._send(self._calls.encode(text, pair, add_special_tokens, special, self._send))

    def encode_batch_guarded(
        self, texts: Sequence[str | TextPair], add_special_tokens: bool, special: Special
    ) -> EncodingBatch:
        """One request, except for pairs: these are one request each."""
        plain = [item for item in texts if isinstance(item, str)]
        if len(plain) == len(texts):
            return self._send(
                self._calls.encode_batch(plain, add_special_tokens, special, self._send)
            )
        found = [self.encode_guarded(*as_pair(item), add_special_tokens, special) for item in texts]
        return EncodingBatch.join(found, add_special_tokens, special == "none")

    def encode_segments(
        self, segments: Sequence[Segment], add_special_tokens: bool, control: str | Set[str]
    ) -> Encoding:
        return self._send(self._calls.encode_segments(segments, add_special_tokens, control))

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        special_is_text: bool = False,
        limit: int | None = None,
    ) -> int:
        wanted = add_special_tokens, _flag(special_is_text)
        if limit is None:
            return self._send(self._calls.count(text, *wanted))
        return limit + (not self._send(self._calls.fits(text, limit, *wanted)))

    def count_guarded(self, text: str, add_special_tokens: bool, special: Special) -> int:
        return self.count_batch([text], add_special_tokens, special)[0]

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool, special: Special
    ) -> list[int]:
        return self._send(self._calls.count_batch(texts, add_special_tokens, special))

    def truncate(
        self,
        text: str,
        limit: int,
        add_special_tokens: bool,
        special_is_text: bool = False,
        *,
        keep_end: bool = False,
    ) -> Truncated:
        special = _flag(special_is_text)
        return self.truncate_guarded(text, limit, add_special_tokens, special, keep_end=keep_end)

    def truncate_guarded(
        self,
        text: str,
        limit: int,
        add_special_tokens: bool,
        special: Special,
        *,
        keep_end: bool = False,
    ) -> Truncated:
        side = "left" if keep_end else "right"
        return self._send(
            self._calls.truncate(text, limit, side, add_special_tokens, special, self._send)
        )

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = HABIT) -> str:
        return self._send(self._calls.decode(ids, skip_special_tokens, _asked(unknown)))

    def decode_batch(
        self,
        lists: Sequence[Ids],
        skip_special_tokens: bool,
        unknown: str = HABIT,
        threads: int | None = None,
    ) -> list[str]:
        self._one_server(threads)
        return self._send(self._calls.decode_batch(lists, skip_special_tokens, _asked(unknown)))

    def streaming(self, build: str | None, source: str) -> RemoteStreaming:
        """Each step of a stream is a request; its state is the server's, signed."""
        return RemoteStreaming(self.served_name, self._send)

    def apply_chat_template(self, conversation: Any, **how: Any) -> Any:
        """The text (`tokenize=False`), or its ids (`return_dict=False`). Masks, padding and tensors
        need settings of the model that a server does not tell."""
        asked, tokenize = asked_chat(**how)
        conversations, batched = as_conversations(conversation)
        texts = [
            self._send(self._calls.render({"messages": list(messages), **asked}))
            for messages in conversations
        ]
        if not tokenize:
            return texts if batched else texts[0]
        found = self.encode_batch(texts, False)
        return found.ids if batched else found.ids[0]

    def encode_chat(self, messages: Sequence[Any], **arguments: Any) -> ServedChat:
        return self._send(self._calls.encode_chat(asked_of_encode_chat(messages, arguments)))

    @property
    def chats(self) -> RemoteBackend:
        return self

    @property
    def served(self) -> ServedTokenizer:
        """What the server says of it now."""
        return self._send(records.tokenizer(self.served_name))

    def format_of(self, stated: str) -> str:
        return self.served.format

    def vocab_size(self, with_added_tokens: bool) -> int:
        if not with_added_tokens:
            raise self._unsupported("the vocabulary without added tokens", "vocab")
        return self.served.tokens

    def info(self, build: str | None) -> BackendInfo:
        return BackendInfo("remote", "remote", None, None)

    def for_limits(self, limits: Limits) -> RemoteBackend:
        """With another deadline on each call, its attempts and waits included. All other bounds are
        the server's to keep."""
        return RemoteBackend(self.client, self.served_name, False, deadline_of(limits))

    def close(self) -> None:
        if self._owns_client:
            self.client.close()

    @property
    def closed(self) -> bool:
        return self.client.closed

    def _send(self, call: Call[T], /) -> T:
        if self.closed:
            raise TokenizerClosed("this tokenizer is closed", source=self._source)
        return self.client.send(call, self._deadline)

    @property
    def _source(self) -> str:
        return f"{self.client.url}/{self.served_name}"

    def _one_server(self, threads: int | None) -> None:
        if threads is not None:
            raise self._unsupported("threads=", "threads")

    # What would need the file here.

    def require_file(self, what: str, feature: str) -> None:
        raise self._unsupported(what, feature)

    def _unsupported(self, what: str, feature: str) -> Unsupported:
        return Unsupported(
            f"{what} cannot be had from a server",
            feature=f"remote:{feature}",
            source=self._source,
            hint="create_tokenizer() with the file has all of it",
        )

    def added_names(self) -> Mapping[str, AddedName]:
        raise self._unsupported("the list of added tokens", "vocab")

    def token_to_id(self, token: str) -> NoReturn:
        raise self._unsupported("the id of a token", "vocab")

    def id_to_token(self, token_id: int) -> NoReturn:
        raise self._unsupported("the token of an id", "vocab")

    def vocab(self, with_added_tokens: bool) -> NoReturn:
        raise self._unsupported("the vocabulary", "vocab")

    def special_tokens(self) -> SpecialTokens:
        raise self._unsupported("the list of special tokens", "vocab")

    def reduced(self) -> tuple[Any, ...]:
        """Elsewhere it has the key of the environment there, and timeouts of its own."""
        if self.client.settings.key.given or self.client.settings.transport is not None:
            raise Unsupported(
                "a key or a transport that a program gave does not travel",
                feature="remote:pickle",
                hint="PYWASMTOK_API_KEY is read wherever it arrives",
            )
        return (_recreate, (type(self.client), self.client.url, self.served_name, self._deadline))

    def described(self, source: str, closed: bool) -> str:
        return f"<RemoteTokenizer {source}{' (closed)' if closed else ''}>"


def _flag(special_is_text: bool) -> str:
    return "none" if special_is_text else "all"


def _asked(unknown: str) -> str | None:
    return None if unknown == HABIT else unknown


def _recreate(client: type[Client], url: str, name: str, deadline: float | None) -> Tokenizer:
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
