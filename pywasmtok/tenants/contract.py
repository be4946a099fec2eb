"""The interfaces of tenants, for the server and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..errors import TokenizerError
    from ..loading.sources.lazy import LazyFile
    from ..tokenizer.tokenizer import Tokenizer
    from .limits import TenantLimits

__all__ = ["FileInfo", "Files", "TenantLike", "Usage"]


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A tokenizer file that was read in a sandbox and found good."""

    digest: str
    """SHA-256 of its bytes and of how to read them: its name among the tenant's tokenizers."""
    format: str
    bytes: int
    tokens: int
    """The size of its vocabulary, added tokens among them."""
    chat_template: bool
    backend: str = "core"
    """What serves it: `core`, or `hf` where the program said so."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was done for a tenant since it was made."""

    requests: int = 0
    refused: int = 0
    failed: int = 0
    """Calls that ended by a deadline, by the memory's bound or by a trap."""
    text_bytes: int = 0
    tokens: int = 0
    seconds: float = 0.0
    instances: int = 0
    """Instances that there are now."""
    memory: int = 0
    """Bytes of them that are not shared, as last measured."""


class Files(Protocol):
    """Where the bytes of files are kept. A tenant opens a file again after its tokenizers were
    evicted."""

    def open(self, digest: str) -> tuple[bytes | LazyFile, Mapping[str, Any]]:
        """The file, and the options (of `create_tokenizer_from_file`) that it is read with.
        KeyError: there is none."""
        ...


class TenantLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def limits(self) -> TenantLimits: ...

    def add(self, data: bytes | LazyFile, **options: Any) -> FileInfo:
        """Reads a file in a throw-away instance under the tenant's limits. What stays is the
        snapshot, not the instance."""
        ...

    def reading(
        self, size: int, start: bytes, *, bounded: bool = True
    ) -> AbstractContextManager[None]:
        """Room for reading a file of this size that begins so, or MemoryLimit, TooManyRequests,
        Overloaded. `bounded=False` counts it, and refuses nothing."""
        ...

    def remove(self, digest: str) -> None:
        """Calls and streams that use it finish with it."""
        ...

    def tokenizer(self, digest: str) -> Tokenizer:
        """With the tenant's limits on each call, in instances that no other tenant ever uses. Made
        anew if it was evicted. UnknownTokenizer: the tenant has none such."""
        ...

    def live(self, digest: str) -> Tokenizer | None:
        """The same tokenizer if it is in memory; else None."""
        ...

    def admitted(self, cost: int) -> AbstractContextManager[None]:
        """Room for a call over so many bytes, or TooManyRequests. Counts it."""
        ...

    def admit(self, cost: int) -> None:
        """The same in two halves, for a call that is made at once: `ended` follows, or
        `take_back`."""
        ...

    def ended(
        self,
        cost: int,
        *,
        tokens: int = 0,
        seconds: float = 0.0,
        error: TokenizerError | None = None,
    ) -> None: ...

    def take_back(self, cost: int) -> None: ...

    def note(self, *, tokens: int = 0, seconds: float = 0.0, refused: int = 0) -> None:
        """Adds numbers of a call that only its caller knows."""
        ...

    def usage(self) -> Usage: ...
