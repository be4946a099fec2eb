"""The address of a server, and the key. A key is shown nowhere: not by `repr`, not in an error."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from ..errors import InvalidArgument
from ..loading.sources import is_url

__all__ = ["API", "KEY_VARIABLE", "Address", "Key", "check_name", "path_of", "split_tokenizer"]

API: Final = "/api/v1"
KEY_VARIABLE: Final = "PYWASMTOK_API_KEY"

_TOKENIZERS: Final = f"{API}/tokenizers/"

# What a header can carry; a library below would quote a key that it refuses.
_KEY: Final = re.compile(r"[\x21-\x7e]{1,1024}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")


class Key:
    __slots__ = ("_value", "given")

    def __init__(self, value: str | None) -> None:
        """None: what the environment says; "": none at all."""
        self.given = value is not None
        """Whether the program said it, rather than the environment."""
        found = os.environ.get(KEY_VARIABLE, "") if value is None else value
        if not isinstance(found, str) or (found and not _KEY.fullmatch(found)):
            raise InvalidArgument("a key is a str of visible ASCII characters")
        self._value = found

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._value}"} if self._value else {}

    def __repr__(self) -> str:
        return "<Key>" if self._value else "<no Key>"

    def __reduce__(self) -> tuple[type[Key], tuple[None]]:
        # The key is not pickled: the process that loads it reads its own environment.
        return (Key, (None,))


class Address(NamedTuple):
    """Of a server, perhaps below a path of a proxy: `https://host/tokens`."""

    url: str

    @classmethod
    def of(cls, url: object) -> Address:
        if not is_url(url):
            raise InvalidArgument(
                f"a server is an URL such as http://127.0.0.1:8080, not {url!r:.80}"
            )
        try:
            # A lone surrogate is a ValueError, too.
            str(url).encode()
            parts = urlsplit(str(url))
            host, _ = parts.hostname, parts.port
            if host and host.isascii():
                # As a look-up of its address does: empty and long labels are a ValueError.
                host.encode("idna")
        except ValueError as error:
            raise InvalidArgument(f"this is no URL: {error}") from None
        if "@" in parts.netloc:
            raise InvalidArgument(
                "an URL with a name or a key in it ends up in logs",
                hint=f"Give key=..., or set {KEY_VARIABLE}",
            )
        if not host or parts.query or parts.fragment:
            raise InvalidArgument("an URL of a server has a host, and neither ? nor #")
        path = parts.path.rstrip("/").removesuffix(API)
        return cls(f"{parts.scheme.lower()}://{parts.netloc}{path}")

    @property
    def api(self) -> str:
        return self.url + API

    @property
    def sockets(self) -> str:
        """The same for WebSockets."""
        return "ws" + self.api.removeprefix("http")


def split_tokenizer(url: str) -> tuple[Address, str]:
    """Server and name in `http://host:port/name`. Below a path of a proxy the name stands behind
    /api/v1/tokenizers/, as in the API itself."""
    base, found, name = url.partition(_TOKENIZERS)
    if not found:
        scheme, _, rest = url.partition("://")
        host, _, name = rest.partition("/")
        base = f"{scheme}://{host}"
    return Address.of(base), check_name(name.rstrip("/"))


def check_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"{name!r:.140} is no name of a tokenizer on a server",
            hint="http://host:port/name, with letters, digits and . _ : / -",
        )
    return name


def path_of(*parts: str) -> str:
    """A path of the API. A name keeps its slashes, and cannot lead out of its place."""
    for part in parts:
        # A lone surrogate is not printable.
        if (
            not isinstance(part, str)
            or not part.isprintable()
            or any(step in ("", ".", "..") for step in part.split("/"))
        ):
            raise InvalidArgument(f"{part!r:.140} is no name")
    return "/" + "/".join(quote(part, safe="/:") for part in parts)
