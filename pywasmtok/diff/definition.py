"""The rules of a tokenizer, taken from its tokenizer.json, and what two of them do not share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Definition"]

_FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")


class Definition:
    def __init__(self, document: Mapping[str, Any]) -> None:
        model = dict(document["model"])
        entries = model.pop("vocab")
        self.scores: dict[str, float] = {}
        if isinstance(entries, list):
            self.scores = {token: score for token, score in reversed(entries)}
            entries = {token: number for number, (token, _) in enumerate(entries)}
        self.vocab: dict[str, int] = entries
        merges = model.pop("merges", None) or []
        pairs = (merge.split(" ", 1) if isinstance(merge, str) else merge for merge in merges)
        self.merges: list[tuple[str, str]] = [(left, right) for left, right in pairs]
        # Writers say an absent value in several ways.
        self.settings = {name: value for name, value in model.items() if value not in (None, "")}
        self.added: dict[str, dict[str, bool]] = {}
        self.added_ids: dict[str, int] = {}
        for token in document.get("added_tokens") or []:
            self.added[token["content"]] = {flag: bool(token.get(flag)) for flag in _FLAGS}
            self.added_ids[token["content"]] = token["id"]
        self.normalizer = document.get("normalizer")
        self.pre_tokenizer = document.get("pre_tokenizer")
        self.post_processor = document.get("post_processor")
        self.decoder = document.get("decoder")

    def changed_added(self, other: Definition) -> list[str]:
        """Added tokens of either that the other has not, or has with other flags."""
        names = dict.fromkeys((*self.added, *other.added))
        return [name for name in names if self.added.get(name) != other.added.get(name)]

    def changed_entries(self, other: Definition) -> list[str]:
        """Tokens of this vocabulary that the other has not, or has with another id or score."""
        return [
            token
            for token, number in self.vocab.items()
            if other.vocab.get(token) != number or self.scores.get(token) != other.scores.get(token)
        ]

    def changed_merges(self, other: Definition) -> list[tuple[str, str]]:
        """Merges of this that the other has not, and common ones that have another order."""
        theirs, ours = set(other.merges), set(self.merges)
        changed = [merge for merge in self.merges if merge not in theirs]
        common = [merge for merge in self.merges if merge in theirs]
        order = [merge for merge in other.merges if merge in ours]
        return changed + [a for a, b in zip(common, order, strict=False) if a != b]

    def summary(self, other: Definition) -> dict[str, int | bool]:
        """How many rules differ, by kind."""
        return {
            "added tokens": len(self.changed_added(other)),
            "vocabulary entries": len({*self.changed_entries(other), *other.changed_entries(self)}),
            "merges": len({*self.changed_merges(other), *other.changed_merges(self)}),
            "model settings": self.settings != other.settings,
            "normalizer": self.normalizer != other.normalizer,
            "split": self.pre_tokenizer != other.pre_tokenizer,
            "post-processor": self.post_processor != other.post_processor,
            "decoder": self.decoder != other.decoder,
        }
