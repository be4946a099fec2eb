"""A client of `pywasmtok serve`, with the library's own types and errors.

    with Client("http://127.0.0.1:8080") as client:
        client.upload("mine", "tokenizer.json")
        tok = client.tokenizer("mine")
        ids = tok.encode("Hello world")
        tok.decode(ids)

`AsyncClient` is the same, awaited. Both send with httpx (`pip install 'pywasmtok[client]'`) and
share everything else: `calls` and `records` make requests and read answers, `retry` says whether to
ask again. docs/client.md is the guide.
"""

from .answers import Key, NewKey, ServedChat, ServedTokenizer, Tenant, Usage
from .asynchronous import AsyncClient
from .awaited import AsyncStream, AsyncTokenizer
from .blocking import Client
from .errors import BadAnswer, ConnectionFailed, RemoteError, RemoteTimeout
from .remote import RemoteTokenizer
from .retry import Retries

__all__ = [
    "AsyncClient",
    "AsyncStream",
    "AsyncTokenizer",
    "BadAnswer",
    "Client",
    "ConnectionFailed",
    "Key",
    "NewKey",
    "RemoteError",
    "RemoteTimeout",
    "RemoteTokenizer",
    "Retries",
    "ServedChat",
    "ServedTokenizer",
    "Tenant",
    "Usage",
]
