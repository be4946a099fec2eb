"""The bytes of single tokens, as llama.cpp shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from ...tokenizer.tokenizer import Tokenizer

__all__ = ["piece_bytes", "pieces_of"]


_BYTE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# The pieces of tokenizers that are in use: two calls of the core each.
_known: Final[WeakKeyDictionary[Tokenizer, dict[int, bytes]]] = WeakKeyDictionary()
_MOST_KNOWN: Final = 8192
_NO_CHARACTER: Final = "\ufffd".encode()


def pieces_of(tok: Tokenizer, ids: Iterable[int]) -> dict[int, str | list[int]]:
    """Of each id a string; or its bytes as numbers, where they are no UTF-8 by themselves."""
    return {number: _shown(piece_bytes(tok, number)) for number in set(ids)}


def piece_bytes(tok: Tokenizer, token_id: int) -> bytes:
    """What it writes behind another token: the first one of a text may lose a space."""
    known = _known.setdefault(tok, {})
    piece = known.get(token_id)
    if piece is None:
        piece = _asked(tok, token_id)
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[token_id] = piece
    return piece


def _asked(tok: Tokenizer, token_id: int) -> bytes:
    alone = tok.decode_bytes([token_id], skip_special_tokens=False)
    twice = tok.decode_bytes([token_id, token_id], skip_special_tokens=False)
    piece = twice[len(alone) :]
    if _NO_CHARACTER in piece:
        # Some decoders write nothing but characters; the name says which byte it was.
        byte = _BYTE.fullmatch(tok.id_to_token(token_id) or "")
        if byte is not None:
            return bytes.fromhex(byte[1])
    return piece


def _shown(data: bytes) -> str | list[int]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return list(data)
