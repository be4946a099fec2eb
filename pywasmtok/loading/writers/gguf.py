"""GGUF files of a vocabulary alone, as `gguf_compat="hf"` reads them.

The name in `tokenizer.ggml.pre` settles how text is cut. Which names there are is the core's
knowledge: it reads a file of nothing but bytes for each, and the one that comes out alike is taken.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from ..conversion import convert
from .base import Facts, Written, refused
from .plain import cuts, steps
from .ranks import byte_of_letters

__all__ = ["write"]

# One name of those that cut alike.
_PRES = "gpt-2 llama-bpe qwen2 qwen35 olmo starcoder command-r falcon bloom deepseek-v3 tekken"
_PRES += " gpt-4o kimi-k2"
_KEYS = {"unk": "unknown", "sep": "seperator", "pad": "padding"}
_READ_WITH = {"gguf_compat": "hf"}
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6


def write(whole: dict[str, Any], facts: Facts) -> Iterator[Written]:
    model = whole["model"]
    if model["type"] != "BPE":
        raise refused(
            "gguf", "model", f"what a GGUF file of {model['type']} means differs on some texts"
        )
    ids = model["vocab"] | {token["content"]: token["id"] for token in whole["added_tokens"]}
    tokens = sorted(ids, key=ids.__getitem__)
    if [ids[text] for text in tokens] != list(range(len(tokens))):
        raise refused(
            "gguf", "vocab", "a GGUF file has a token for each id, and this leaves some out"
        )
    if model["byte_fallback"]:
        name, pre, rest = "llama", "default", _scored(whole, tokens)
    else:
        name, pre = "gpt2", _pre(whole)
        rest = {"merges": [f"{left} {right}" for left, right in model["merges"]]}
    pairs: dict[str, Any] = {"model": name, "pre": pre, "tokens": tokens}
    pairs |= {"token_type": _types(whole, tokens), **rest}
    roles = dict(facts.roles)
    for role, token in zip(("bos", "eos"), _around(whole), strict=True):
        pairs[f"add_{role}_token"] = token is not None
        roles |= {} if token is None else {role: token}
    for role, token in roles.items():
        if token in ids:
            pairs[f"{_KEYS.get(role, role)}_token_id"] = ids[token]
    yield Written(
        _container(
            {"general.architecture": name}
            | {f"tokenizer.ggml.{key}": value for key, value in pairs.items()}
            | _chat_templates(facts.chat_templates)
        ),
        _READ_WITH,
    )


def _pre(whole: dict[str, Any]) -> str:
    """The name that stands for this normalizer and these cuts."""
    letters = list(byte_of_letters())
    cut_alike = False
    for pre in _PRES.split():
        pairs: dict[str, Any] = {"model": "gpt2", "pre": pre, "tokens": letters, "merges": []}
        data = _container({f"tokenizer.ggml.{key}": value for key, value in pairs.items()})
        read = json.loads(convert(data, json.dumps(_READ_WITH).encode(), None).document)
        if cuts(read) == cuts(whole):
            if read["normalizer"] == whole["normalizer"]:
                return pre
            cut_alike = True
    part = "normalizer" if cut_alike else "pre_tokenizer"
    raise refused("gguf", part, f"no name in tokenizer.ggml.pre stands for its {part}")


def _scored(whole: dict[str, Any], tokens: list[str]) -> dict[str, Any]:
    """The score of a token is the place of its first merge; what none makes comes behind."""
    order = dict.fromkeys(left + right for left, right in whole["model"]["merges"])
    order |= dict.fromkeys(text for text in tokens if text not in order)
    place = {text: number for number, text in enumerate(order)}
    prefix = any(step["type"] == "Prepend" for step in steps(whole["normalizer"], "normalizers"))
    return {"scores": [-float(place[text]) for text in tokens], "add_space_prefix": prefix}


def _types(whole: dict[str, Any], tokens: list[str]) -> list[int]:
    model = whole["model"]
    special = {token["content"]: token["special"] for token in whole["added_tokens"]}
    unknown = model["unk_token"] if model["byte_fallback"] else None

    def kind(text: str) -> int:
        if text in special:
            if not special[text]:
                return _USER_DEFINED
            return _UNKNOWN if text == unknown else _CONTROL
        return _BYTE if model["byte_fallback"] and len(text) == 6 and text[:3] == "<0x" else _NORMAL

    return [kind(text) for text in tokens]


def _around(whole: dict[str, Any]) -> tuple[str | None, str | None]:
    """The tokens that a template adds in front of a text and behind it."""
    first = last = None
    for step in steps(whole["post_processor"], "processors"):
        if step["type"] == "TemplateProcessing" and step["single"]:
            names = [piece.get("SpecialToken", {}).get("id") for piece in step["single"]]
            tokens = {name: entry["tokens"][0] for name, entry in step["special_tokens"].items()}
            first = tokens.get(names[0])
            last = tokens.get(names[-1]) if len(names) > 1 else None
    return first, last


def _chat_templates(templates: Mapping[str, str]) -> dict[str, Any]:
    named = [name for name in templates if name != "default"]
    pairs: dict[str, Any] = {f"tokenizer.chat_template.{name}": templates[name] for name in named}
    if "default" in templates:
        pairs["tokenizer.chat_template"] = templates["default"]
    return pairs | ({"tokenizer.chat_templates": named} if named else {})


def _container(pairs: Mapping[str, Any]) -> bytes:
    """Version 3, little-endian, without tensors."""
    body = b"".join(_string(key) + _value(value) for key, value in pairs.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", _BOOL, value)
        case int():
            return struct.pack("<II", _U32, value)
        case str():
            return struct.pack("<I", _STRING) + _string(value)
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", _ARRAY, _F32, len(value), *value)
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _I32, len(value), *value)
    return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
