"""Answers of the API that are no ids: what a server says of tokenizers, tenants and usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ..tokenizer.encoding import Encoding
from .call import Answer, field_of
from .errors import BadAnswer

__all__ = [
    "Key",
    "NewKey",
    "ServedChat",
    "ServedTokenizer",
    "Tenant",
    "Usage",
    "nothing",
    "objects",
]


@dataclass(frozen=True, slots=True)
class ServedTokenizer:
    """A tokenizer of a server."""

    name: str
    digest: str
    """SHA-256 of the file and of how it is read: another name of it."""
    format: str
    bytes: int
    tokens: int
    chat_template: bool
    aliases: tuple[str, ...]
    public: bool
    """Whether it is the operator's, and so available to every tenant."""
    created: float

    @classmethod
    def read(cls, answer: Answer) -> Self:
        return cls.of(answer.json())

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        return cls(
            name=field_of(found, "name", str),
            digest=field_of(found, "digest", str),
            format=field_of(found, "format", str),
            bytes=field_of(found, "bytes", int),
            tokens=field_of(found, "tokens", int),
            chat_template=field_of(found, "chat_template", bool),
            aliases=_texts(found, "aliases"),
            public=field_of(found, "public", bool),
            created=field_of(found, "created", float),
        )


@dataclass(frozen=True, slots=True)
class ServedChat:
    """Ids of a conversation in which nothing that a message says became a control token."""

    encoding: Encoding
    text: str
    assistant_mask: list[int]
    """1 for tokens of the template's generation blocks."""
    template_mask: list[int]
    """1 for tokens of which the template wrote every character."""
    defused: int
    """How many more control tokens the ids would have if user text could produce them."""

    @property
    def ids(self) -> list[int]:
        return self.encoding.ids

    def __len__(self) -> int:
        return len(self.encoding)


@dataclass(frozen=True, slots=True)
class Usage:
    """What was done for a tenant, and what it may."""

    tenant: str
    requests: int
    refused: int
    failed: int
    text_bytes: int
    tokens: int
    seconds: float
    stored_bytes: int
    tokenizers: int
    limits: Mapping[str, Any]

    @classmethod
    def read(cls, answer: Answer) -> Self:
        found = answer.json()
        counts = ("requests", "refused", "failed", "text_bytes", "tokens")
        more = ("stored_bytes", "tokenizers")
        return cls(
            tenant=field_of(found, "tenant", str),
            seconds=field_of(found, "seconds", float),
            limits=field_of(found, "limits", dict),
            **{name: field_of(found, name, int) for name in (*counts, *more)},
        )


@dataclass(frozen=True, slots=True)
class Key:
    """What is shown of a key once it was made."""

    id: str
    created: float
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Tenant:
    name: str
    limits: Mapping[str, Any]
    created: float
    disabled: bool
    keys: tuple[Key, ...] = ()

    @classmethod
    def read(cls, answer: Answer) -> Self:
        return cls.of(answer.json())

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        return cls(
            name=field_of(found, "name", str),
            limits=field_of(found, "limits", dict),
            created=field_of(found, "created", float),
            disabled=field_of(found, "disabled", bool),
            keys=tuple(_key(one) for one in objects(found, "keys")),
        )


@dataclass(frozen=True, slots=True)
class NewKey:
    """The only time that a key is told."""

    id: str
    key: str = field(repr=False)

    @classmethod
    def read(cls, answer: Answer) -> Self:
        found = answer.json()
        return cls(id=field_of(found, "id", str), key=field_of(found, "key", str))


def _key(found: Mapping[str, Any]) -> Key:
    expires = None if found.get("expires") is None else field_of(found, "expires", float)
    return Key(field_of(found, "id", str), field_of(found, "created", float), expires)


def objects(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    values = field_of(found, name, list)
    if not all(isinstance(one, dict) for one in values):
        raise BadAnswer(f"the answer has no {name!r} of objects")
    return values


def _texts(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = field_of(found, name, list)
    if not all(isinstance(one, str) for one in values):
        raise BadAnswer(f"the answer has no {name!r} of texts")
    return tuple(values)


def nothing(_: Answer) -> None:
    """Of what was done, and has nothing to tell."""
