"""Compares an answer with what a case expects."""

from __future__ import annotations

import hashlib
from array import array
from typing import Any

Message = dict[str, Any]


class RefusedError(Exception):
    """The implementation says `unsupported` to what the case needs; the case cannot be played."""


class FailedError(Exception):
    """An answer that the case needs before it can be judged is wrong."""

    def __init__(self, reason: str, got: Message | None = None) -> None:
        super().__init__(reason)
        self.got = got


def accepts_errors(expect: Message) -> bool:
    return "error" in expect or any("error" in one for one in expect.get("any_of", ()))


def refuse_unsupported(answer: Message) -> None:
    """An operation that an implementation does not support is a skip that names the feature, and
    never a pass."""
    if answer["ok"]:
        return
    error = answer["error"]
    if error["code"] == "unsupported":
        raise RefusedError(f"unsupported: {error.get('feature') or error.get('message')}")


def differences(expect: Message, answer: Message) -> list[str]:
    """Sentences about the differences; none: the answer is right."""
    if "any_of" in expect:
        tried = [differences(one, answer) for one in expect["any_of"]]
        return [] if any(not found for found in tried) else tried[0]
    if "error" in expect:
        return _error(expect["error"], answer)
    if not answer["ok"]:
        return [f"answered the error {answer['error']['code']}: {answer['error'].get('message')}"]
    found = []
    for key, wanted in expect.items():
        if key == "ids_digest":
            found += _digest(wanted, answer["ids"])
        elif key == "match":
            found += _match(wanted, answer.get("match"))
        elif answer.get(key) != wanted:
            found.append(f"{key} differ" if isinstance(wanted, list) else f"{key} differs")
    return found


def digest(ids: list[int]) -> Message:
    """What stands for a list of ids that is too long to be written out."""
    # 7.0 is an integer, as JSON Schema has it.
    data = array("I", map(int, ids))
    return {
        "len": len(ids),
        "sha256_le32": hashlib.sha256(data.tobytes()).hexdigest(),
        "head": ids[:8],
        "tail": ids[-8:],
    }


def byte_to_char(text: str, offsets: list[list[int]]) -> list[list[int]]:
    """Offsets in bytes of the text's UTF-8 as offsets in characters; -1 inside a character."""
    place = {0: 0}
    at = 0
    for number, char in enumerate(text, 1):
        at += len(char.encode())
        place[at] = number
    return [[place.get(start, -1), place.get(end, -1)] for start, end in offsets]


def _error(wanted: Message, answer: Message) -> list[str]:
    if answer["ok"]:
        return [f"answered instead of refusing with {' or '.join(wanted['code'])}"]
    code = answer["error"]["code"]
    if code not in wanted["code"]:
        return [f"refused as {code}, not {' or '.join(wanted['code'])}"]
    # For this code the message counts, too: it is the template's own text.
    if wanted.get("message", answer["error"].get("message")) != answer["error"].get("message"):
        return ["message differs"]
    return []


def _digest(wanted: Message, ids: list[int]) -> list[str]:
    found = digest(ids)
    return [f"{key} of the ids differs" for key in wanted if found[key] != wanted[key]][:1]


def _match(wanted: Message | None, found: Message | None) -> list[str]:
    if wanted is None or found is None:
        return [] if wanted is found else ["match differs"]
    return [f"match.{key} differs" for key in wanted if found.get(key) != wanted[key]]
