"""What the names of special tokens suggest. Used by `SpecialTokens.guess` only: the name of one
model's end of turn is an ordinary word of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .tokens import SpecialTokens

__all__ = ["END_NAMES", "ROLE_NAMES", "guess"]

# The first name that the tokenizer has plays the role.
ROLE_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "bos": (
        *("<s>", "<bos>", "<BOS>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>"),
        "<｜begin▁of▁sentence｜>",  # noqa: RUF001
    ),
    "eos": (
        *("</s>", "<eos>", "<EOS>", "[EOS]", "<|end_of_text|>", "<|endoftext|>"),
        "<｜end▁of▁sentence｜>",  # noqa: RUF001
    ),
    "unk": ("<unk>", "<UNK>", "[UNK]", "<|unk|>"),
    "sep": ("[SEP]", "<sep>", "<SEP>"),
    "pad": ("<pad>", "<PAD>", "[PAD]", "<|pad|>"),
    "cls": ("[CLS]", "<cls>", "<CLS>"),
    "mask": ("[MASK]", "<mask>", "<MASK>"),
}

# All that the tokenizer has end a text or a turn.
END_NAMES: Final = (
    *ROLE_NAMES["eos"],
    *("<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|eot|>", "<|eom|>", "<EOT>", "[EOT]"),
    *("<end_of_turn>", "<turn|>", "<end_of_utterance>", "<|return|>", "<|call|>"),
)


def guess(stated: SpecialTokens) -> SpecialTokens:
    from dataclasses import replace

    found: dict[str, str] = {}
    for role, names in ROLE_NAMES.items():
        token = next((name for name in names if name in stated.ids), None)
        if getattr(stated, role) is None and token is not None:
            found[role] = token
    # Where these end a turn, the other ends each message of it.
    inner = "<|end|>" if {"<|return|>", "<|call|>"} <= stated.ids.keys() else None
    ends = [
        name
        for name in END_NAMES
        if name in stated.ids and stated.ids[name] not in stated.eos_token_ids and name != inner
    ]
    guessed: dict[str, tuple[str, ...]] = {role: (token,) for role, token in found.items()}
    if ends:
        guessed["eos_token_ids"] = tuple(ends)
    taken = set(found.values())
    ids = (*stated.eos_token_ids, *(stated.ids[name] for name in ends))
    return replace(
        stated,
        **found,  # type: ignore[arg-type]
        additional=tuple(token for token in stated.additional if token not in taken),
        eos_token_ids=tuple(dict.fromkeys(ids)),
        guessed={**stated.guessed, **guessed},
    )
