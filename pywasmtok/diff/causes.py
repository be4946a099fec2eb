"""The step of the pipeline at which two tokenizers part on a text.

Each step is tried alone: a tokenizer.json with this step of the file, and a model that shows what
the step makes. 256 byte tokens show normalised text; one unknown token a piece shows the split.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..errors import TokenizerError
from ..loading.factory import from_recipe
from ..tokenizer.recipe import Options, Recipe
from .definition import Definition

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer
    from .sides import Outcome

__all__ = ["Causes"]

_ALONE = Options("core", "core", None, False, snapshots=False)
_UNKNOWN = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
_BYTES = {
    "type": "BPE",
    "vocab": {"<unk>": 256} | {f"<0x{byte:02X}>": byte for byte in range(256)},
    "merges": [],
    "unk_token": "<unk>",
    "byte_fallback": True,
}


class Causes:
    """Of each pair of texts' outcomes, the first step that differs."""

    def __init__(self, a: Definition | None, b: Definition | None) -> None:
        self._definitions = None if a is None or b is None else (a, b)
        self._steps: list[tuple[str, list[Tokenizer]]] = []
        if a is None or b is None:
            return
        if a.normalizer != b.normalizer:
            self._add("normalisation", [_alone(_BYTES, normalizer=d.normalizer) for d in (a, b)])
        if a.changed_added(b):
            numbers = {name: place + 1 for place, name in enumerate({**a.added, **b.added})}
            self._add("added token", [_added_alone(d, numbers) for d in (a, b)])
        if a.pre_tokenizer != b.pre_tokenizer or a.normalizer != b.normalizer:
            self._add(
                "split",
                [
                    _alone(_UNKNOWN, normalizer=d.normalizer, pre_tokenizer=d.pre_tokenizer)
                    for d in (a, b)
                ],
            )

    def close(self) -> None:
        for _, pair in self._steps:
            for tokenizer in pair:
                tokenizer.close()

    def of(self, text: str, a: Outcome, b: Outcome) -> str:
        """The cause of different pieces."""
        if a.error or b.error:
            return "an error on one side"
        if self._definitions is None:
            return "unknown: a definition is missing"
        ours, theirs = self._definitions
        for token in sorted({*a.pieces} ^ {*b.pieces}):
            if token not in text or not (token in ours.added or token in theirs.added):
                continue
            if token in ours.added and token in theirs.added:
                # Such as a SentencePiece model, which reads names of control tokens as text.
                return "added token"
            return f"added token, only in {'A' if token in ours.added else 'B'}"
        for cause, pair in self._steps:
            if _made(pair[0], text) != _made(pair[1], text):
                return cause
        return self._of_model(a, b)

    def _of_model(self, a: Outcome, b: Outcome) -> str:
        assert self._definitions is not None
        ours, theirs = self._definitions
        if any(p not in theirs.vocab for p in a.pieces if p in ours.vocab):
            return "vocabulary entry, only in A"
        if any(p not in ours.vocab for p in b.pieces if p in theirs.vocab):
            return "vocabulary entry, only in B"
        both = {*a.pieces, *b.pieces}
        if any(ours.scores.get(piece) != theirs.scores.get(piece) for piece in both):
            return "vocabulary entry, another score"
        if ours.merges != theirs.merges:
            return "merge"
        if ours.settings != theirs.settings:
            return "model settings"
        return "unknown: the definitions of these steps are equal"

    def _add(self, cause: str, pair: list[Tokenizer | None]) -> None:
        there = [tokenizer for tokenizer in pair if tokenizer is not None]
        if len(there) == len(pair):
            self._steps.append((cause, there))


def _alone(model: dict[str, Any], **steps: Any) -> Tokenizer | None:
    """None where the core cannot serve this step."""
    names = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
    document: dict[str, Any] = {**dict.fromkeys(names), "added_tokens": [], **steps}
    data = json.dumps({"version": "1.0", **document, "model": model}).encode()
    try:
        return from_recipe(Recipe(data, "a step alone", _ALONE, b""))
    except TokenizerError:
        return None


def _added_alone(definition: Definition, numbers: dict[str, int]) -> Tokenizer | None:
    tokens = [
        {"id": numbers[name], "content": name, **flags} for name, flags in definition.added.items()
    ]
    return _alone(_UNKNOWN, normalizer=definition.normalizer, added_tokens=tokens)


def _made(tokenizer: Tokenizer, text: str) -> object:
    try:
        encoding = tokenizer.encode(text, None, False)
        return encoding.ids, encoding.byte_offsets
    except TokenizerError as error:
        return error.kind
