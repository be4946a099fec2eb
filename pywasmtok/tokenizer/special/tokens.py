"""The special tokens of a tokenizer, as its file states them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..recipe import Sidecars

__all__ = ["ROLES", "SpecialTokens", "is_control"]

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")

# The roles of a file whose tokens end a text: of a turn and of a message to a tool, too.
_ENDS = ("eos", "eot", "eom")

# What tiktoken calls `eot_token`; and what ends the messages of OpenAI's harmony format.
_END_OF_TIKTOKEN = "<|endoftext|>"
_IDS_OF_TIKTOKEN = (50256, 100257, 199999)
_HARMONY = {"eot": ("<|return|>", 200002), "eom": ("<|call|>", 200012)}


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
    eos_token_ids: tuple[int, ...] = ()
    """Every id that is stated to end a text: by the tokenizer's file (`eos`, and of a GGUF file
    all that end a text for llama.cpp), by tokenizer_config.json, special_tokens_map.json,
    generation_config.json and config.json, in this order, each once. An id may be none of this
    tokenizer's."""
    guessed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What `guess` added: tokens by role, and `eos_token_ids`. Empty: all of it is stated."""

    @classmethod
    def from_file(
        cls,
        special: Mapping[str, int],
        roles: Mapping[str, tuple[str, int | None]],
        ends: Sequence[int] = (),
    ) -> SpecialTokens:
        """Sorts the added tokens flagged `special` into the roles that the file gives away.
        `ends`: more ids that end a text; some have a role, too."""
        ids = dict(special)
        for token, token_id in roles.values():
            if token_id is not None:
                ids.setdefault(token, token_id)
        taken = {token for token, _ in roles.values()}
        named = {role: token for role, (token, _) in roles.items()}
        stated: dict[str, Any] = {role: named.pop(role) for role in ROLES if role in named}
        return cls(
            **stated,
            more=named,
            additional=tuple(token for token in special if token not in taken),
            ids=ids,
            eos_token_ids=_each_once([*(roles[role][1] for role in _ENDS if role in roles), *ends]),
        )

    def of_format(self, file_format: str) -> SpecialTokens:
        """With what the library of a format states: rank files have no roles, and the encodings of
        tiktoken end a text with `<|endoftext|>`."""
        number = self.ids.get(_END_OF_TIKTOKEN)
        if file_format != "tiktoken" or self.eos is not None or number not in _IDS_OF_TIKTOKEN:
            return self
        more = {role: item for role, item in _HARMONY.items() if self.ids.get(item[0]) == item[1]}
        roles = {"eos": (_END_OF_TIKTOKEN, number), **more}
        return SpecialTokens.from_file(self.ids, roles)

    def completed(self, beside: Sidecars, id_of: Callable[[str], int | None]) -> SpecialTokens:
        """With what the configurations beside the file state; the file's own comes first."""
        missing: dict[str, Any] = {
            role: token for role, token in beside.roles().items() if getattr(self, role) is None
        }
        found = {
            token: number for token in missing.values() if (number := id_of(token)) is not None
        }
        taken = set(missing.values())
        ends = (*map(id_of, beside.eos_tokens()), *beside.eos_token_ids())
        return replace(
            self,
            **missing,
            additional=tuple(token for token in self.additional if token not in taken),
            ids={**self.ids, **found},
            eos_token_ids=_each_once((*self.eos_token_ids, *ends)),
        )

    def guess(self) -> SpecialTokens:
        """With what the names of the special tokens suggest where nothing is stated: `</s>` for
        `eos`, `<|eot_id|>` and `<|im_end|>` among `eos_token_ids`. `guessed` says what was."""
        from .guesses import guess

        return guess(self)

    def __iter__(self) -> Iterator[str]:
        """Every token once: roles in the order of the fields, then the additional ones."""
        roles = (self.bos, self.eos, self.unk, self.sep, self.pad, self.cls, self.mask)
        named = (*roles, *self.more.values())
        yield from dict.fromkeys(token for token in named if token is not None)
        yield from self.additional

    def __contains__(self, token: object) -> bool:
        return token in tuple(self)


def _each_once(ids: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for number in ids if number is not None))


def is_control(option: Mapping[str, Any], name: str, *, special: bool) -> bool:
    """Whether an added token is a control token; the core has the same rule."""
    stated = (*option.get("ends", ()), *option.get("named", ()))
    written = not name.isspace() and name in option.get("literals", "")
    return special or name in stated or written
