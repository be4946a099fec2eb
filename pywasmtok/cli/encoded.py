"""What `encode` prints: on a terminal the text in the colours of its tokens, elsewhere plain lines.

Lines and JSON are written part after part, so that a long text is never in memory as objects.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import TokenizerError
from .common import json_text
from .terminal import Progress, clipped, colours, columns, padded, painted, visible, width_of

if TYPE_CHECKING:
    from ..tokenizer.encoding import AnyDetails, Encoding
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["show"]

# So many ids are shown on a terminal, and written at once elsewhere.
_SHOWN: Final = 1000
_AT_ONCE: Final = 65536

# Black on cyan and on yellow in turn; special tokens are white on magenta.
_TURNS: Final = ((30, 46), (30, 43))
_SPECIAL: Final = (1, 97, 45)

_Column = tuple[str, Iterable[str]]


def show(
    options: argparse.Namespace,
    tokenizer: Tokenizer,
    text: str,
    encoding: Encoding,
    about: Mapping[str, Any] | None = None,
) -> None:
    """`about`: what a JSON answer begins with."""
    # Errors of the details come before the first line.
    parts = encoding.detail_parts()
    first = next(parts)
    with_colours = colours(options.color, sys.stdout)
    if options.json:
        _write_json(dict(about or {}), tokenizer, encoding, chain((first,), parts), options)
    elif with_colours or sys.stdout.isatty():
        whole = None if options.pair is not None else text
        if len(encoding):
            _view(_cells(options, tokenizer, whole, encoding, first), with_colours)
        left = len(encoding) - min(_SHOWN, len(first.tokens))
        if left:
            print(f"... and {left:,} more ids; a pipe or a file gets all of them\n")
        print(f"{len(encoding):,} ids, {len(text):,} characters")
        print(_backend_line(tokenizer, encoding))
    else:
        _write_lines(tokenizer, text, encoding, chain((first,), parts), options)


def _write_lines(
    tokenizer: Tokenizer,
    text: str,
    encoding: Encoding,
    parts: Iterator[AnyDetails],
    options: argparse.Namespace,
) -> None:
    # A pair has two texts: its pieces are tokens.
    whole = None if options.pair is not None else text

    def pieces(part: AnyDetails) -> str:
        found = _pieces(whole, part)
        quoted = {one: json_text(one) for one in {*found}}
        return " ".join(map(quoted.__getitem__, found))

    lines: list[_Column] = [("ids:    ", _ids(encoding, " ")), ("pieces: ", map(pieces, parts))]
    if options.offsets:
        lines.append(("offsets:", map(_offsets, encoding.detail_parts())))
    with Progress("writing", len(lines) * len(encoding)) as progress:
        done = 0
        for name, column in lines:
            sys.stdout.write(name)
            for one in column:
                sys.stdout.write(f" {one}" if one else "")
                done += one.count(" ") + 1
                progress.at(done)
            sys.stdout.write("\n" if len(encoding) else " \n")
    print(_backend_line(tokenizer, encoding))


def _offsets(part: AnyDetails) -> str:
    return " ".join(f"{start}-{end}" for start, end in part.offsets)


def _ids(encoding: Encoding, between: str) -> Iterator[str]:
    ids = encoding.buffer
    for start in range(0, len(ids), _AT_ONCE):
        yield between.join(map(str, ids[start : start + _AT_ONCE]))


def _pieces(text: str | None, part: AnyDetails) -> list[str]:
    """What part of the text each id stands for, or the token's name where that is none. Ids that
    share a character have all of it."""
    if text is None:
        return part.tokens
    found = zip(part.offsets, part.tokens, strict=True)
    return [text[start:end] or token for (start, end), token in found]


def _backend_line(tokenizer: Tokenizer, encoding: Encoding) -> str:
    backend = tokenizer.backend
    build = f" ({backend.build})" if encoding.served_by == "core" else ""
    why = f", because of {backend.reason}" if backend.reason else ""
    return f"backend:  {encoding.served_by}{build}{why}"


def _write_json(
    answer: dict[str, Any],
    tokenizer: Tokenizer,
    encoding: Encoding,
    parts: Iterator[AnyDetails],
    options: argparse.Namespace,
) -> None:
    """What `json.dumps` makes of the whole answer."""

    def listed(parts: Iterable[AnyDetails], name: str) -> Iterator[str]:
        return (json_text(getattr(part, name))[1:-1] for part in parts)

    answer["ids"] = _ids(encoding, ", ")
    answer["tokens"] = listed(parts, "tokens")
    answer["backend"] = {**tokenizer.backend._asdict(), "served_by": encoding.served_by}
    answer["hash"] = f"{encoding.hash:016x}"
    for name in ("offsets", "byte_offsets") if options.offsets else ():
        answer[name] = listed(encoding.detail_parts(), name)
    between = "{"
    with Progress("writing") as progress:
        # Both would be on one screen.
        progress.shows &= not sys.stdout.isatty()
        for name, value in answer.items():
            sys.stdout.write(f"{between}{json_text(name)}: ")
            between = ", "
            if not isinstance(value, Iterator):
                sys.stdout.write(json_text(value))
                continue
            sys.stdout.write("[")
            for number, one in enumerate(filter(None, value)):
                sys.stdout.write(f", {one}" if number else one)
                progress.draw()
            sys.stdout.write("]")
    print("}")


class _Cell(NamedTuple):
    piece: str
    below: list[str]
    codes: tuple[int, ...]


def _view(cells: list[_Cell], with_colours: bool) -> None:
    """The text by tokens, and below it each piece over its id."""
    if with_colours:
        print("".join(map(_in_text, cells)), end="\n\n")
    for line in _table(cells, with_colours):
        print(line)


def _cells(
    options: argparse.Namespace,
    tokenizer: Tokenizer,
    text: str | None,
    encoding: Encoding,
    part: AnyDetails,
) -> list[_Cell]:
    special = set(tokenizer.special_tokens.ids.values() if options.special != "none" else ())
    cells = []
    for place, piece in enumerate(_pieces(text, part)[:_SHOWN]):
        token_id, (start, end) = encoding.buffer[place], part.offsets[place]
        marked = token_id in special or part.special_tokens_mask[place]
        below = [str(token_id), *([f"{start}-{end}"] if options.offsets else [])]
        shown = piece if marked or text is None else _bytes_of(tokenizer, token_id, part, place)
        cells.append(_Cell(shown or piece, below, _SPECIAL if marked else _TURNS[place % 2]))
    return cells


def _bytes_of(tokenizer: Tokenizer, token_id: int, part: AnyDetails, place: int) -> str | None:
    """Of a token that is a part of a character: bytes that `visible` shows as numbers. None: it
    has its characters for itself."""
    start, end = part.offsets[place]
    beside = part.offsets[max(place - 1, 0) : place] + part.offsets[place + 1 : place + 2]
    if not any(low < end and start < high for low, high in beside):
        return None
    try:
        data = tokenizer.decode_bytes([token_id], False)
    except TokenizerError:
        # In this decoder tokens have no bytes of their own.
        return None
    return data.decode("utf-8", "surrogateescape")


def _in_text(cell: _Cell) -> str:
    """A token as a part of the coloured text, in which lines end where the text has them end."""
    lines = [visible(line, spaces=False) for line in cell.piece.split("\n")]
    shown = [*(f"{line}{visible(chr(10))}" for line in lines[:-1]), lines[-1]]
    return "\n".join(painted(line, *cell.codes) if line else "" for line in shown)


def _table(cells: list[_Cell], with_colours: bool) -> Iterator[str]:
    """Rows of cells that fit the terminal: pieces, below them their ids, and an empty line."""
    rows: list[list[tuple[_Cell, str, int]]] = [[]]
    room = columns()
    for cell in cells:
        shown = clipped(visible(cell.piece), columns() - 1)
        width = max(map(width_of, (shown, *cell.below)))
        if room < width and rows[-1]:
            rows.append([])
            room = columns()
        rows[-1].append((cell, shown, width))
        room -= width + 1
    for row in rows:
        if with_colours:
            pieces = [painted(padded(shown, width), *cell.codes) for cell, shown, width in row]
        else:
            pieces = [padded(shown, width) for _, shown, width in row]
        yield " ".join(pieces).rstrip()
        for number in range(len(row[0][0].below) if row else 0):
            yield " ".join(padded(cell.below[number], width) for cell, _, width in row).rstrip()
        yield ""
