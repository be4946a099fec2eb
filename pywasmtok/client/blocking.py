"""The client that blocks."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..errors import TokenizerClosed
from . import records
from .address import Address, Key, split_tokenizer
from .call import Answer, Call
from .http import Settings, answer_of, error_from, httpx, is_lost
from .remote import RemoteTokenizer, deadline_of
from .retry import Attempts, Retries

if TYPE_CHECKING:
    from ..loading.sources.source import SourceLike
    from ..tokenizer.limits import Limits
    from ..tokenizer.tokenizer import Tokenizer
    from .answers import NewKey, ServedTokenizer, Tenant, Usage

__all__ = ["Client", "connect"]

T = TypeVar("T")


class Client:
    """A server of tokenizers: `with Client("http://127.0.0.1:8080") as client: ...`

    key        an API key. None: that of PYWASMTOK_API_KEY; "": none
    timeout    seconds, or an httpx.Timeout, of each step of an attempt: connecting, each read
    deadline   seconds of a call with all its attempts and waits; docs/client.md has the exception
    retries    what is asked again, and how often
    limits     of the pool of connections, an httpx.Limits
    verify     True, or an ssl.SSLContext that says whom to trust
    transport  an httpx transport, in place of the network

    Safe to share among threads and to fork with. docs/client.md is the guide.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float | httpx.Timeout = 10.0,
        deadline: float = 60.0,
        retries: Retries | None = None,
        limits: httpx.Limits | None = None,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.settings = Settings(
            Address.of(url),
            Key(key),
            timeout,
            deadline,
            retries or Retries(),
            limits,
            verify,
            transport,
        )
        self._http: tuple[int, httpx.Client] | None = self._connected()
        """With the process that made it. One attribute: threads read both or neither."""

    @property
    def url(self) -> str:
        return self.settings.address.url

    def tokenizer(self, name: str) -> Tokenizer:
        """A tokenizer of the server, by name or digest. Nothing is asked until it is used."""
        return RemoteTokenizer(self, name)

    def tokenizers(self) -> list[ServedTokenizer]:
        """Those of the tenant, and the public ones."""
        return self.send(records.tokenizers())

    def info(self, name: str) -> ServedTokenizer:
        return self.send(records.tokenizer(name))

    def upload(
        self,
        name: str,
        file: SourceLike | memoryview | bytearray,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        encoding: str | None = None,
        gguf_compat: str = "llama.cpp",
    ) -> ServedTokenizer:
        """Sends a file, bytes or the path of one; from then on the name means it. Options are those
        of `create_tokenizer_from_file`."""
        return self.send(
            records.upload(
                name,
                file,
                pattern=pattern,
                special_tokens=special_tokens,
                encoding=encoding,
                gguf_compat=gguf_compat,
            )
        )

    def delete(self, name: str) -> None:
        """The name; and its file, if that has no other name."""
        self.send(records.delete(name))

    def alias(self, name: str, tokenizer: str) -> ServedTokenizer:
        """Makes a name mean what another name, or a digest, means now."""
        return self.send(records.alias(name, tokenizer))

    def remove_alias(self, name: str) -> None:
        self.send(records.remove_alias(name))

    def usage(self) -> Usage:
        return self.send(records.usage())

    def tenants(self) -> list[Tenant]:
        """This and what follows needs the key of an admin."""
        return self.send(records.tenants())

    def tenant(self, name: str) -> Tenant:
        return self.send(records.tenant(name))

    def put_tenant(
        self, name: str, limits: Mapping[str, Any] | None = None, *, disabled: bool | None = None
    ) -> Tenant:
        """Makes a tenant, or changes one: what is not said stays as it is."""
        return self.send(records.add_tenant(name, limits, disabled))

    def remove_tenant(self, name: str) -> None:
        self.send(records.remove_tenant(name))

    def make_key(self, tenant: str, *, keep_old_seconds: float | None = None) -> NewKey:
        """Never repeated: if the answer is lost, the key is unknown, and should be removed."""
        return self.send(records.make_key(tenant, keep_old_seconds))

    def remove_key(self, tenant: str, id: str) -> None:
        self.send(records.remove_key(tenant, id))

    def send(self, call: Call[T], deadline: float | None = None) -> T:
        """A call with all its attempts."""
        settings = self.settings
        seconds = settings.deadline if deadline is None else deadline
        attempts = Attempts(call, settings.retries, seconds)
        while True:
            try:
                answer = self._once(call, attempts)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                attempts.remaining()
                if not is_lost(error):
                    raise error_from(error) from error
                wait: float | None = attempts.lost(error_from(error))
            else:
                wait = attempts.answered(answer)
            if wait is None:
                return call.read(answer)
            time.sleep(wait)

    def _once(self, call: Call[Any], attempts: Attempts) -> Answer:
        client = self._connections()
        request = client.build_request(**self.settings.request(call, attempts.remaining()))
        response = client.send(request, stream=True)
        try:
            parts = []
            # An answer that drips has an end, too.
            for part in response.iter_bytes():
                attempts.remaining()
                parts.append(part)
        finally:
            response.close()
        return answer_of(response, b"".join(parts))

    def _connections(self) -> httpx.Client:
        found = self._http
        if found is None:
            raise TokenizerClosed("this client is closed", source=self.url)
        if os.getpid() != found[0]:
            # Those of the parent: two processes would read each other's answers.
            found = self._http = self._connected()
        return found[1]

    def _connected(self) -> tuple[int, httpx.Client]:
        return os.getpid(), httpx.Client(**self.settings.for_client())

    def close(self) -> None:
        """Closing twice is fine."""
        found, self._http = self._http, None
        if found is not None and os.getpid() == found[0]:
            found[1].close()

    @property
    def closed(self) -> bool:
        return self._http is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.url}{' (closed)' if self.closed else ''}>"


def connect(url: str, key: str | None, limits: Limits | None) -> Tokenizer:
    """What `create_tokenizer` answers for an URL. The server is asked whether it has the
    tokenizer, as a file would be looked for."""
    deadline = None if limits is None else deadline_of(limits)
    address, name = split_tokenizer(url)
    tok = RemoteTokenizer(Client(address.url, key=key), name, owns_client=True, deadline=deadline)
    try:
        tok.served  # noqa: B018
    except BaseException:
        tok.close()
        raise
    return tok
