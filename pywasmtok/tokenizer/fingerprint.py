"""What a tokenizer is, as hashes: equal for two files that mean the same. See docs/hashes.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BackendUnavailable, LoadError, Unsupported

if TYPE_CHECKING:
    from .recipe import Recipe

__all__ = ["Fingerprints", "fingerprints_of", "of_file"]

_BOM = b"\xef\xbb\xbf"


class Fingerprints(NamedTuple):
    encoding: str
    """Of everything that ids, offsets and masks depend on."""
    decoding: str
    """Of everything that texts depend on."""


def fingerprints_of(recipe: Recipe) -> Fingerprints:
    if recipe.options.encoder == "mock":
        return Fingerprints(_hashed("mock1", None), _hashed("mockd1", None))
    return of_file(bytes(recipe.data), recipe.load, recipe.source)


def of_file(data: bytes, options: bytes, source: str) -> Fingerprints:
    """Always made by the core, whichever backend serves the tokenizer: so a file has the same
    fingerprint everywhere. Only of a file that the core cannot read, the content is hashed."""
    from .. import _host

    try:
        return Fingerprints(*_host.fingerprint(data, options))
    except ModuleNotFoundError as error:
        raise BackendUnavailable(
            f"the package {error.name} is not installed",
            source=source,
            hint="Run: pip install wasmtime",
        ) from error
    except (Unsupported, LoadError) as error:
        try:
            return of_unserved(data)
        except ValueError:
            error.source = source
            raise error from None


def of_unserved(data: bytes) -> Fingerprints:
    """Of a tokenizer.json that the core does not read: its content, whatever that means. The order
    of keys, white space and the two ways to write a merge make no difference; a key at its default
    does."""
    whole = json.loads(data.removeprefix(_BOM))
    if not isinstance(whole, dict):
        raise ValueError("no object")
    whole.pop("version", None)
    decoder = whole.pop("decoder", None)
    model = whole.get("model")
    if isinstance(model, dict) and isinstance(model.get("merges"), list):
        whole["model"] = {**model, "merges": [_pair(merge) for merge in model["merges"]]}
    decoding = {
        "decoder": decoder,
        "added_tokens": whole.get("added_tokens"),
        "vocab": model.get("vocab") if isinstance(model, Mapping) else None,
    }
    return Fingerprints(_hashed("hf1", whole), _hashed("hfd1", decoding))


def _pair(merge: object) -> object:
    parts = merge.split(" ") if isinstance(merge, str) else []
    return parts if len(parts) == 2 else merge


def _hashed(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    data = f"{name}\0{text}".encode("utf-8", "surrogatepass")
    return f"{name}:{sha256(data).hexdigest()}"
