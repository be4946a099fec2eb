"""Rank files: base64 of each token's bytes, and its rank. Pattern and special tokens stand
elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from .base import Facts, Written, refused
from .plain import cuts, endings

__all__ = ["byte_of_letters", "write"]


def byte_of_letters() -> dict[str, int]:
    """The byte that each letter of byte-level vocabularies stands for."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def write(whole: dict[str, Any], facts: Facts) -> Iterator[Written]:
    """The file, with the ways to read it: as the file that it is known to be, as the encoding that
    the source was loaded as, by its pattern and special tokens."""
    if whole["model"]["type"] != "BPE":
        raise refused("tiktoken", "model", "a rank file holds byte-pair encoding only")
    for part in ("normalizer", "truncation", "padding"):
        if whole[part] is not None:
            raise refused("tiktoken", part, f"a rank file cannot say its {part}")
    if endings(whole):
        raise refused("tiktoken", "post_processor", "a rank file adds no tokens to a text")
    pattern = _pattern(whole)
    added = {token["content"]: token["id"] for token in whole["added_tokens"]}
    made = {left + right for left, right in whole["model"]["merges"]}
    letters = byte_of_letters()
    lines = []
    for text, rank in sorted(whole["model"]["vocab"].items(), key=lambda item: item[1]):
        if text in added and text not in made and len(text) > 1:
            continue
        try:
            token = bytes(letters[letter] for letter in text)
        except KeyError:
            raise refused(
                "tiktoken", "vocab", f"the token {text!r} is not spelled in the letters of bytes"
            ) from None
        lines.append(b"%s %d\n" % (b64encode(token), rank))
    data = b"".join(lines)
    yield Written(data, {})
    if facts.encoding is not None:
        yield Written(data, {"encoding": facts.encoding})
    yield Written(data, {"pattern": pattern, "special_tokens": added})


def _pattern(whole: dict[str, Any]) -> str:
    found = cuts(whole)
    match found:
        case [
            {"type": "Split", "pattern": {"Regex": str(pattern)}},
            {"type": "ByteLevel", "use_regex": False, "add_prefix_space": False},
        ]:
            return pattern
    names = ", ".join(step["type"] for step in found) or "nothing"
    raise refused(
        "tiktoken",
        "pre_tokenizer",
        f"a rank file goes with one pattern and the spelling of bytes, and this is cut by {names}",
    )
