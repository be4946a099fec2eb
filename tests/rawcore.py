"""The core without the Python face: a file and options in, ids and texts out."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from pywasmtok import _host

# How many random inputs a test makes; 20,000 for the full run.
COUNT = int(os.environ.get("PYWASMTOK_RANDOM", "2000"))

CoreTokenizer = _host.CoreTokenizer


def load(data: bytes, **options: Any) -> _host.CoreTokenizer:
    return _host.load_tokenizer(data, options=json.dumps(options).encode() if options else b"")


def load_parts(parts: dict[str, bytes], **options: Any) -> _host.CoreTokenizer:
    lengths = [[name, len(data)] for name, data in parts.items()]
    return load(b"".join(parts.values()), parts=lengths, **options)


def encode(
    core: _host.CoreTokenizer,
    texts: Sequence[str],
    *,
    special_is_text: bool = False,
    add_special: bool = False,
) -> list[list[int]]:
    """The ids of each text."""
    data, bounds = core.encode_batch_ids(texts, add_special, special_is_text)
    ids = memoryview(data).cast("I").tolist()
    ends = memoryview(bounds).cast("I").tolist()
    return [ids[start:end] for start, end in pairwise(ends)]


def decode(
    core: _host.CoreTokenizer, lists: Sequence[Sequence[int]], *, skip_special: bool = False
) -> list[str]:
    return core.decode_batch([array("I", ids).tobytes() for ids in lists], skip_special)


def differences(one: Sequence[Any], other: Sequence[Any], of: Sequence[Any]) -> Iterator[Any]:
    """What `one` and `other` do not agree on, with what it was made of."""
    for mine, theirs, source in zip(one, other, of, strict=True):
        if mine != theirs:
            yield ascii(source), mine, theirs
