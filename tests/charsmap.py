"""Makes a `precompiled_charsmap`: rules of a normalizer in the binary form of SentencePiece."""

from __future__ import annotations

import base64
import struct

# A cell holds a value (this bit and a place among the replacements), or a byte and a way onward.
_VALUE = 1 << 31
_HAS_VALUE = 1 << 8


def blob(rules: dict[str, str]) -> bytes:
    """The double array is as sparse as it can be: every state has 256 cells of its own."""
    states: dict[bytes, int] = {b"": 1}
    keys = {key.encode(): text.encode() for key, text in rules.items()}
    for key in keys:
        for end in range(1, len(key) + 1):
            states.setdefault(key[:end], len(states) + 1)
    cells = [0] * (256 * (len(states) + 1))
    cells[0] = 256 << 10
    replacements = b""
    for prefix, number in states.items():
        base = 256 * number
        if prefix:
            place = 256 * states[prefix[:-1]] ^ prefix[-1]
            cells[place] = (place ^ base) << 10 | prefix[-1]
            if prefix in keys:
                cells[place] |= _HAS_VALUE
                cells[base] = _VALUE | len(replacements)
                replacements += keys[prefix] + b"\0"
    return struct.pack(f"<I{len(cells)}I", 4 * len(cells), *cells) + replacements


def normalizer(rules: dict[str, str]) -> dict[str, str]:
    return {
        "type": "Precompiled",
        "precompiled_charsmap": base64.b64encode(blob(rules)).decode(),
    }
