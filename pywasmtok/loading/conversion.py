"""The tokenizer.json that the core makes of a file of another format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from .._locks import ForkSafeLock
from ..errors import BackendUnavailable, TokenizerError, Unsupported

if TYPE_CHECKING:
    from .sources.lazy import LazyFile

__all__ = ["Conversion", "Converted", "about", "convert"]


class Converted(NamedTuple):
    document: bytes
    differences: tuple[str, ...]
    """Names of what gives other results there than here, such as `added_tokens:in_text`."""

    def touching(self, side: str) -> list[str]:
        return touching(self.differences, side)


def touching(differences: tuple[str, ...], side: str) -> list[str]:
    """Those that matter to decoding (`decode`), or to encoding (`encode`)."""
    return [name for name in differences if name.startswith("decode") == (side == "decode")]


@contextmanager
def about(source: str | None) -> Iterator[None]:
    """Errors of the work inside name the source."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BackendUnavailable(
            f"the package {error.name} is not installed",
            source=source,
            hint="Run: pip install wasmtime",
        ) from error
    except TokenizerError as error:
        error.source = source
        raise


def convert(data: bytes, options: bytes, source: str | None) -> Converted:
    from .. import _host

    with about(source):
        document, differences = _host.convert(data, options)
    return Converted(document, tuple(differences))


class Conversion:
    """The conversion of one file, made once, by the first thread that needs it."""

    def __init__(self, data: bytes | LazyFile, options: bytes, source: str) -> None:
        self._data = data
        self._options = options
        self._source = source
        self._lock = ForkSafeLock()
        self._outcome: tuple[str, ...] | TokenizerError | None = None
        self._document: bytes | None = None

    def why_not(self, side: str) -> str | None:
        """Why HuggingFace cannot do this side of the work as the core does; None: it can."""
        with self._lock:
            outcome = self._settle()
        if isinstance(outcome, TokenizerError):
            return outcome.feature or outcome.kind
        return ", ".join(touching(outcome, side)) or None

    def document(self) -> bytes:
        """The document, for a single reader: it is large, and not kept after the first read."""
        with self._lock:
            outcome = self._settle()
            document, self._document = self._document, None
            if isinstance(outcome, TokenizerError):
                raise outcome
            if document is None:
                document = self._convert().document
            return document

    def encoder_document(self) -> bytes:
        """The same for a reader that is to encode."""
        with self._lock:
            outcome = self._settle()
        if isinstance(outcome, TokenizerError):
            raise outcome
        why_not = ", ".join(touching(outcome, "encode"))
        if why_not:
            raise Unsupported(
                f"HuggingFace cannot encode what this file asks for: {why_not}",
                feature="convert:encode",
                source=self._source,
            )
        return self.document()

    def _convert(self) -> Converted:
        return convert(bytes(self._data), self._options, self._source)

    def _settle(self) -> tuple[str, ...] | TokenizerError:
        if self._outcome is None:
            try:
                converted = self._convert()
            except TokenizerError as error:
                self._outcome = error
            else:
                self._outcome, self._document = converted.differences, converted.document
        return self._outcome
