"""One request and how its answer is read: the same for clients that block and those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from ..errors import InvalidArgument, InvalidText
from ..tokenizer.ids import as_bytes
from .errors import BadAnswer

if TYPE_CHECKING:
    from ..tokenizer.ids import Ids

__all__ = [
    "BINARY",
    "JSON",
    "Answer",
    "Call",
    "document",
    "field_of",
    "get",
    "numbers_of",
    "post",
    "put",
]

T = TypeVar("T")

JSON: Final = "application/json"
BINARY: Final = "application/octet-stream"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content: bytes

    @property
    def type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> dict[str, Any]:
        if self.type != JSON:
            raise BadAnswer(f"expected {JSON}, not {self.type or 'an answer without a type'}")
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise BadAnswer(f"the answer is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise BadAnswer("the answer is no JSON object")
        return found


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    """Below /api/v1."""
    read: Callable[[Answer], T]
    content: bytes = b""
    content_type: str | None = None
    accept: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    """Whether doing it twice is the same as doing it once."""


def get(path: str, read: Callable[[Answer], T]) -> Call[T]:
    return Call("GET", path, read)


def post(
    path: str, body: Mapping[str, Any], read: Callable[[Answer], T], *, accept: str = JSON
) -> Call[T]:
    """Of what is not changed by it: all but the making of a key."""
    return Call("POST", path, read, document(body), JSON, accept)


def put(path: str, body: Mapping[str, Any], read: Callable[[Answer], T]) -> Call[T]:
    return Call("PUT", path, read, document(body), JSON)


def document(body: Mapping[str, Any]) -> bytes:
    """What is None is left out: the server has the same defaults."""
    said = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise InvalidText(
            f"the request holds a lone surrogate, {error.object[error.start]!a}"
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"this cannot be sent as JSON: {error}") from None


def numbers_of(ids: Ids) -> list[int]:
    """Ids for JSON. The typed error for a wrong one is raised here, before anything is sent."""
    return memoryview(as_bytes(ids)).cast("I").tolist()


def field_of(found: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """A field of an answer, which comes from elsewhere."""
    value = found.get(name)
    # JSON has one kind of numbers: 3.0 may come as 3.
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return kind(value)  # type: ignore[call-arg]
        except OverflowError:
            raise BadAnswer(f"the answer has a {name!r} that is too large") from None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadAnswer(f"the answer has no {name!r} that is {kind.__name__}")
    return value
