"""The client that is awaited."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..errors import TokenizerClosed
from . import records
from .address import Address, Key
from .call import Answer, Call
from .http import Settings, answer_of, error_from, httpx, is_lost
from .retry import Attempts, Retries

if TYPE_CHECKING:
    from ..loading.sources.source import SourceLike
    from .answers import NewKey, ServedTokenizer, Tenant, Usage
    from .awaited import AsyncTokenizer

__all__ = ["AsyncClient"]

T = TypeVar("T")


class AsyncClient:
    """Like `Client`, awaited: `async with AsyncClient(url) as client: await client.usage()`

    For one event loop; asyncio and trio are understood, WebSockets need asyncio.
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
        transport: httpx.AsyncBaseTransport | None = None,
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
        self._http: httpx.AsyncClient | None = httpx.AsyncClient(**self.settings.for_client())

    @property
    def url(self) -> str:
        return self.settings.address.url

    def tokenizer(self, name: str) -> AsyncTokenizer:
        """A tokenizer of the server, by name or digest. Nothing is asked until it is used."""
        from .awaited import AsyncTokenizer

        return AsyncTokenizer(self, name)

    async def tokenizers(self) -> list[ServedTokenizer]:
        return await self.send(records.tokenizers())

    async def info(self, name: str) -> ServedTokenizer:
        return await self.send(records.tokenizer(name))

    async def upload(
        self,
        name: str,
        file: SourceLike | memoryview | bytearray,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        encoding: str | None = None,
        gguf_compat: str = "llama.cpp",
    ) -> ServedTokenizer:
        return await self.send(
            records.upload(
                name,
                file,
                pattern=pattern,
                special_tokens=special_tokens,
                encoding=encoding,
                gguf_compat=gguf_compat,
            )
        )

    async def delete(self, name: str) -> None:
        await self.send(records.delete(name))

    async def alias(self, name: str, tokenizer: str) -> ServedTokenizer:
        return await self.send(records.alias(name, tokenizer))

    async def remove_alias(self, name: str) -> None:
        await self.send(records.remove_alias(name))

    async def usage(self) -> Usage:
        return await self.send(records.usage())

    async def tenants(self) -> list[Tenant]:
        return await self.send(records.tenants())

    async def tenant(self, name: str) -> Tenant:
        return await self.send(records.tenant(name))

    async def put_tenant(
        self, name: str, limits: Mapping[str, Any] | None = None, *, disabled: bool | None = None
    ) -> Tenant:
        return await self.send(records.add_tenant(name, limits, disabled))

    async def remove_tenant(self, name: str) -> None:
        await self.send(records.remove_tenant(name))

    async def make_key(self, tenant: str, *, keep_old_seconds: float | None = None) -> NewKey:
        return await self.send(records.make_key(tenant, keep_old_seconds))

    async def remove_key(self, tenant: str, id: str) -> None:
        await self.send(records.remove_key(tenant, id))

    async def send(self, call: Call[T], deadline: float | None = None) -> T:
        """A call with all its attempts. Cancelling it closes its connection, and the server then
        cancels its work."""
        import anyio

        settings = self.settings
        seconds = settings.deadline if deadline is None else deadline
        attempts = Attempts(call, settings.retries, seconds)
        while True:
            try:
                answer = await self._once(call, attempts)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                attempts.remaining()
                if not is_lost(error):
                    raise error_from(error) from error
                wait: float | None = attempts.lost(error_from(error))
            else:
                wait = attempts.answered(answer)
            if wait is None:
                return call.read(answer)
            await anyio.sleep(wait)

    async def _once(self, call: Call[Any], attempts: Attempts) -> Answer:
        import anyio

        client = self._http
        if client is None:
            raise TokenizerClosed("this client is closed", source=self.url)
        remaining = attempts.remaining()
        request = client.build_request(**self.settings.request(call, remaining))
        # The timeout of a read begins anew with each byte.
        with anyio.move_on_after(remaining):
            response = await client.send(request)
            return answer_of(response, response.content)
        attempts.time_is_up()

    async def aclose(self) -> None:
        """Closing twice is fine."""
        client, self._http = self._http, None
        if client is not None:
            await client.aclose()

    @property
    def closed(self) -> bool:
        return self._http is None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncClient of {self.url}{' (closed)' if self.closed else ''}>"
