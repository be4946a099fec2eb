"""One form of a tokenizer.json for all that mean the same, as far as that can be proven.

Formats differ in what they write down although it never does anything: merges that can never be
used, a step that changes nothing. Both sides of a comparison are brought into this form first.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

__all__ = ["cuts", "endings", "plain", "steps", "unlike"]

# What `ByteLevel` with `use_regex` cuts by.
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_A, _B = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def steps(component: dict[str, Any] | None, inside: str) -> list[dict[str, Any]]:
    """A component as the list of its steps; a sequence holds them under the key `inside`."""
    if component is None:
        return []
    found: list[dict[str, Any]] = component.get(inside, [component])
    return found


def plain(document: dict[str, Any], *, merges: bool = True) -> dict[str, Any]:
    """The form; without `merges`, all but what takes long: merges and `ignore_merges` stay."""
    added = _added(document)
    model = document["model"]
    return {
        **document,
        "added_tokens": added,
        "pre_tokenizer": _sequence(cuts(document), "pretokenizers"),
        "post_processor": _sequence(endings(document), "processors"),
        "model": _bpe(model, document, added, merges) if model["type"] == "BPE" else model,
    }


def _sequence(found: list[dict[str, Any]], inside: str) -> dict[str, Any] | None:
    return {"type": "Sequence", inside: found} if found else None


def cuts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """`ByteLevel` with its own pattern is a split by it, then the spelling of bytes."""
    found = []
    for step in steps(document["pre_tokenizer"], "pretokenizers"):
        if step["type"] == "ByteLevel" and step["use_regex"] and not step["add_prefix_space"]:
            split = {"type": "Split", "pattern": {"Regex": _GPT2}, "behavior": "Isolated"}
            found += [{**split, "invert": False}, {**step, "use_regex": False}]
        else:
            found.append(step)
    return found


def endings(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Without steps that leave a text, and a pair, as they are."""

    def idle(step: dict[str, Any]) -> bool:
        if step["type"] == "ByteLevel":
            return step["trim_offsets"] is False
        return step["type"] == "TemplateProcessing" and _template(step) == ([_A], [_A, _B])

    found = [s for s in steps(document["post_processor"], "processors") if not idle(s)]
    return [_used(step) if step["type"] == "TemplateProcessing" else step for step in found]


def _template(step: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    return step["single"], step["pair"]


def _used(step: dict[str, Any]) -> dict[str, Any]:
    """A template without tokens that it names and never adds."""
    single, pair = _template(step)
    names = {piece["SpecialToken"]["id"] for piece in single + pair if "SpecialToken" in piece}
    return {**step, "special_tokens": {n: step["special_tokens"][n] for n in sorted(names)}}


def _added(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Nothing is normalized: it makes no difference whether a token is looked for before or after
    that, unless tokens of both kinds can overlap."""
    tokens: list[dict[str, Any]] = document["added_tokens"]
    if document["normalizer"] is not None or any(t["lstrip"] or t["rstrip"] for t in tokens):
        return tokens
    late = [token["content"] for token in tokens if token["normalized"]]
    early = [token["content"] for token in tokens if not token["normalized"]]
    if any(_overlap(one, other) for one in late for other in early):
        return tokens
    return [{**token, "normalized": False} for token in tokens]


def _overlap(one: str, other: str) -> bool:
    """Whether there is a text in which they share a character."""
    if one in other or other in one:
        return True
    ends = range(1, min(len(one), len(other)))
    return any(one[-n:] == other[:n] or other[-n:] == one[:n] for n in ends)


def _bpe(
    model: dict[str, Any], document: dict[str, Any], added: list[Any], merges: bool
) -> dict[str, Any]:
    model = {**model}
    vocab = model["vocab"] = dict(model["vocab"])
    affixes = ("continuing_subword_prefix", "end_of_word_suffix")
    model |= {affix: model[affix] or None for affix in affixes}
    if model["byte_fallback"] and sum(map(bool, map(_BYTE.fullmatch, vocab))) == 256:
        # Every character has its bytes, so that nothing is unknown.
        model |= {"unk_token": None, "fuse_unk": False}
    pairs = [(left, right) for left, right in model["merges"]]
    fallback = model["byte_fallback"] and any(_BYTE.fullmatch(text) for p in pairs for text in p)
    if any(model[affix] for affix in affixes) or fallback or len(set(pairs)) < len(pairs):
        return model

    # No piece of text is ever the whole content of an added token, for that was cut out before.
    cut = document["normalizer"] is None and not any(token["single_word"] for token in added)
    made = {left + right for left, right in pairs}
    alone = {token["content"] for token in added} - made
    alone = {text for text in alone if len(text) > 1 and not _BYTE.fullmatch(text)}
    missing = {token["content"]: token["id"] for token in added if token["content"] not in vocab}
    # Where one has to stay outside, the others' numbers would become its own.
    if (cut or not model["ignore_merges"]) and alone.issuperset(missing):
        vocab |= missing
    if not merges:
        return model

    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    lasts = {text: _last(text, ranks) for text in made}
    model["merges"] = [list(pair) for pair in pairs if lasts[pair[0] + pair[1]] == pair]
    if cut and all(len(text) == 1 or lasts.get(text) or text in alone for text in vocab):
        # A piece that is a token is merged to it anyway.
        model["ignore_merges"] = True
    return model


def _last(text: str, ranks: dict[tuple[str, str], int]) -> tuple[str, ...] | None:
    """The last merge of a text on its own, if it comes down to one token. It is the only one that
    ever makes this token: when two parts of any text are merged, nothing has crossed their ends
    before, so that what is inside was merged as it is on its own."""
    none = len(ranks)
    parts = list(text)
    found = [ranks.get(pair, none) for pair in pairwise(parts)]
    while len(parts) > 2:
        rank = min(found)
        if rank == none:
            return None
        at = found.index(rank)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del found[at]
        for left in (at - 1, at):
            if 0 <= left < len(found):
                found[left] = ranks.get((parts[left], parts[left + 1]), none)
    pair = tuple(parts)
    return pair if pair in ranks else None


def unlike(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Names of the parts in which two forms differ, those of the model last."""
    names = "normalizer pre_tokenizer post_processor added_tokens decoder truncation padding"
    one, other = (
        {**form, "added_tokens": sorted(form["added_tokens"], key=lambda token: token["id"])}
        for form in (one, other)
    )
    found = [name for name in names.split() if one[name] != other[name]]
    first, second = one["model"], other["model"]
    keys = dict.fromkeys((*first, *second))
    return found + [f"model:{key}" for key in keys if first.get(key) != second.get(key)]
