"""The special tokens of a tokenizer, as its file states them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["ROLES", "SpecialTokens"]

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Special tokens and, where a file says so, the part that they play.

    Nothing is guessed from a name: `<s>` is a beginning-of-sequence token only where the file of
    the tokenizer, or a configuration beside it, says so. A `tokenizer.json` states few roles (`unk`
    in its model, `pad` in its padding, `sep` and `cls` in some post-processors), a GGUF file and a
    SentencePiece model state most; every other special token is in `additional`.
    """

    bos: str | None = None
    eos: str | None = None
    unk: str | None = None
    sep: str | None = None
    pad: str | None = None
    cls: str | None = None
    mask: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    """Parts that few files name: `eot` and `eom`, `fim_pre`, ... of a GGUF file."""
    additional: tuple[str, ...] = ()
    ids: Mapping[str, int] = field(default_factory=dict)
    """The id of every token named above that the vocabulary has."""

    @classmethod
    def from_file(
        cls, special: Mapping[str, int], roles: Mapping[str, tuple[str, int | None]]
    ) -> SpecialTokens:
        """Sorts the added tokens flagged `special` into the roles that the file gives away."""
        ids = dict(special)
        for token, token_id in roles.values():
            if token_id is not None:
                ids.setdefault(token, token_id)
        taken = {token for token, _ in roles.values()}
        named = {role: token for role, (token, _) in roles.items()}
        return cls(
            **{role: named.pop(role) for role in ROLES if role in named},
            more=named,
            additional=tuple(token for token in special if token not in taken),
            ids=ids,
        )

    def completed(
        self, roles: Mapping[str, str], id_of: Callable[[str], int | None]
    ) -> SpecialTokens:
        """With the roles that a configuration beside the file names; the file's own come first."""
        missing: dict[str, Any] = {
            role: token for role, token in roles.items() if getattr(self, role) is None
        }
        if not missing:
            return self
        found = {
            token: number for token in missing.values() if (number := id_of(token)) is not None
        }
        taken = set(missing.values())
        return replace(
            self,
            **missing,
            additional=tuple(token for token in self.additional if token not in taken),
            ids={**self.ids, **found},
        )

    def __iter__(self) -> Iterator[str]:
        """Every token once: roles in the order of the fields, then the additional ones."""
        roles = (self.bos, self.eos, self.unk, self.sep, self.pad, self.cls, self.mask)
        named = (*roles, *self.more.values())
        yield from dict.fromkeys(token for token in named if token is not None)
        yield from self.additional

    def __contains__(self, token: object) -> bool:
        return token in tuple(self)
