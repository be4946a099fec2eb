"""Every option with every operation that takes it, one case each."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from ..references import HuggingFace
from . import Group
from .options import DETAILS, details
from .special import by_policy
from .stops import ByteText, Oracle
from .streams import Bytes

SINCE = "1.3"
UNKNOWN = 123456
RULE = {"oracle": "derived: the rule of the option"}
DECODING: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("default", "D-2", {}),
    ("skipped", "D-2", {"skip_special": True}),
    ("shown", "D-2", {"skip_special": False}),
    ("unknown-habit", "D-4", {}),
    *((f"unknown-{rule}", "D-4", {"unknown": rule}) for rule in ("skip", "replace", "error")),
)


def groups() -> Iterator[Group]:
    yield from _encoding()
    yield from _decoding()


def _encoding() -> Iterator[Group]:
    """Special tokens stand in every text; where they are refused, in the last one only."""
    name = "bpe-roberta"
    reference = HuggingFace.of(name)
    first, other, chosen = (token["content"] for token in reference.document["added_tokens"])
    nothing, some = by_policy(reference, chosen)
    origin = {"oracle": f"{reference.oracle}; of a set, with the other tokens under other names"}
    about = "Options of every operation that encodes"
    single = Group("encode", "options", f"{about} one text or two.", ["E-6"], origin, name)
    many = Group("batch", "options", f"{about} many texts, or counts.", ["B-1"], origin, name)
    last = f"on{chosen} the{first} mat{other}"
    rows: tuple[tuple[str, str, dict[str, Any], HuggingFace | None], ...] = (
        ("default", "E-6", {}, reference),
        ("plain", "E-6", {"add_special": False}, reference),
        ("none", "P-2", {"add_special": False, "special": "none"}, nothing),
        ("set", "P-3", {"add_special": False, "special": [chosen]}, some),
        ("raise", "P-4", {"add_special": False, "special": "raise"}, None),
    )
    for slug, clause, options, asked in rows:
        texts = ("the cat" if asked is None else f"the {first} cat{chosen}", last)
        first_text, last_text = ({"text": text} for text in texts)
        special = bool(options.get("add_special", True))
        both, *alone = (
            details(asked, *said, special=special) if asked else None
            for said in (texts, texts[:1], texts[1:])
        )
        one, pair = {"input": last_text}, {"input": first_text, "pair": last_text}
        ids = lambda found: found and {"ids": found["ids"]}  # noqa: E731
        lists = asked and {"ids": [found["ids"] for found in alone if found]}
        count = alone[1] and {"count": len(alone[1]["ids"])}
        for group, kind, op, clauses, fields, expect in (
            (many, "batch", "encode_batch", ["B-1"], {"inputs": [first_text, last_text]}, lists),
            (many, "count", "count", ["B-2"], one, count),
            (single, "details", "encode", ["E-11"], {**one, "want": DETAILS}, alone[1]),
            (single, "pair", "encode", ["E-7"], pair, ids(both)),
            (single, "pair-details", "encode", ["E-7", "E-11"], {**pair, "want": DETAILS}, both),
        ):
            group.add(
                *(f"{kind}-{slug}", f"{kind} with the options {options}", op),
                since=SINCE,
                spec=[*clauses, clause],
                **({"requires": [f"special:{slug}"]} if "special" in options else {}),
                **fields,
                options=options,
                expect=expect or {"error": {"code": ["invalid_text"]}},
            )
    yield from (single, many)


def _decoding() -> Iterator[Group]:
    """A special token between others, and behind it an id that does not exist."""
    name = "bpe-gpt2"
    ids = Bytes(name)
    (end,) = [token["id"] for token in ids.reference.document["added_tokens"]]
    about = "Options of every operation that decodes"
    at_once = Group("decode", "options", f"{about} at once.", ["D-2"], RULE, name)
    streams = Group("stream", "options", f"{about} step by step.", ["S-1"], RULE, name)
    stops = Group("stop", "options", f"{about} up to a stop.", ["T-2"], RULE, name)
    for slug, clause, options in DECODING:
        strange = [UNKNOWN] if slug.startswith("unknown") else []
        rule = options.get("unknown", "skip")
        policy = [f"unknown:{rule}"] if options.get("unknown") else []
        pushed = [*ids("a"), end, *strange, *ids("b")]
        names = {n: data for data, n in ids.ids.items()}
        names[UNKNOWN] = "\ufffd".encode() if rule == "replace" else b""
        skip = options.get("skip_special", True)
        shown = [b"" if skip and n == end else names[n] for n in pushed]
        refused = {"error": {"code": ["invalid_token"]}} if rule == "error" else {}
        steps = [
            {
                "push": [n],
                "expect": refused if n == UNKNOWN and refused else {"text": said.decode()},
            }
            for n, said in zip(pushed, shown, strict=True)
        ]
        config = {"stop_sequences": ["b"]}
        played = [n for n in pushed if n != UNKNOWN or not refused]
        stopped = Oracle(config, ByteText(names), {end}).play(played, skip=skip)
        if refused:
            stopped.insert(2, steps[2])
        data = b"".join(shown)
        rows: tuple[tuple[Group, str, list[str], dict[str, Any]], ...] = (
            (at_once, "decode", [], {"ids": pushed, "expect": {"text": data.decode()}}),
            (
                *(at_once, "decode_bytes", ["D-5"]),
                {"ids": pushed, "expect": {"b64": base64.b64encode(data).decode()}},
            ),
            (
                *(at_once, "decode_batch", ["D-6"]),
                {"lists": [ids("a"), pushed], "expect": {"texts": ["a", data.decode()]}},
            ),
            (streams, "stream", ["S-1"], {"steps": steps}),
            (stops, "stop", ["T-2"], {"config": config, "steps": stopped}),
        )
        for group, op, clauses, fields in rows:
            if refused and "expect" in fields:
                fields["expect"] = refused
            group.add(
                *(f"{op}-{slug}", f"{op} with the options {options}", op),
                since=SINCE,
                spec=[clause, *clauses],
                **({"requires": ["any_id", *policy]} if strange else {}),
                options=options,
                **fields,
            )
    yield from (at_once, streams, stops)
