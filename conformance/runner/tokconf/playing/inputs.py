"""The texts of cases: written out, repeated, joined, or from a file of the suite."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

LARGEST = 64 * 1024 * 1024


class BadInputError(Exception):
    """A recipe that makes no text."""


def unfold(recipe: dict[str, Any], texts: Path) -> dict[str, str]:
    """What an adapter gets: `{"text": ...}`, or `{"b64": ...}` for bytes that are no UTF-8."""
    if "b64" in recipe:
        return {"b64": recipe["b64"]}
    return {"text": text_of(recipe, texts)}


def text_of(recipe: dict[str, Any], texts: Path) -> str:
    (kind,) = recipe
    value = recipe[kind]
    match kind:
        case "text":
            text: str = value
        case "repeat":
            if len(value["text"]) * value["n"] > LARGEST:
                raise BadInputError(f"a text of more than {LARGEST} characters")
            text = value["text"] * value["n"]
        case "concat":
            text = "".join(text_of(part, texts) for part in value)
        case "file":
            text = _from_file(value, texts)
        case _:
            raise BadInputError(f"{kind} is no text")
    return text


def raw(recipe: dict[str, str]) -> bytes:
    return base64.b64decode(recipe["b64"]) if "b64" in recipe else recipe["text"].encode()


def _from_file(value: dict[str, Any], texts: Path) -> str:
    data = (texts / value["name"]).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != value["sha256"]:
        raise BadInputError(f"{value['name']} has changed: its SHA-256 is {found}")
    text = data.decode()
    start, end = value.get("slice", (0, len(text)))
    return str(text[start:end])
