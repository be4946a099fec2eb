"""The special tokens of a tokenizer, as its file states them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["SpecialTokens"]


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Special tokens and, where the file says so, the part that they play.

    Nothing is guessed from a name: `<s>` is a beginning-of-sequence token only for a file that
    says so. A `tokenizer.json` states few roles (`unk` in its model, `pad` in its padding, `sep`
    and `cls` in some post-processors); every other special token is in `additional`.
    """

    bos: str | None = None
    eos: str | None = None
    unk: str | None = None
    sep: str | None = None
    pad: str | None = None
    cls: str | None = None
    mask: str | None = None
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
        return cls(
            **{role: token for role, (token, _) in roles.items()},
            additional=tuple(token for token in special if token not in taken),
            ids=ids,
        )

    def __iter__(self) -> Iterator[str]:
        """Every token once: roles in the order of the fields, then the additional ones."""
        roles = (self.bos, self.eos, self.unk, self.sep, self.pad, self.cls, self.mask)
        yield from dict.fromkeys(token for token in roles if token is not None)
        yield from self.additional

    def __contains__(self, token: object) -> bool:
        return token in tuple(self)
