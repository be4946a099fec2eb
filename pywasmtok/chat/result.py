"""What `apply_chat_template` answers: ids, masks, and what else was asked for, by name.

Truncation and padding are those of transformers, done on ids that are already there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..tokenizer.fitting import check_limit
from .templates.settings import Settings

if TYPE_CHECKING:
    from ..tokenizer.encoding import Encoding

__all__ = ["ChatEncoding", "Row", "Shape"]

_PADDING = {True: "longest", False: "do_not_pad"}
_STRATEGIES = ("longest", "max_length", "do_not_pad")
_TRUNCATION = ("longest_first", "only_first", "do_not_truncate")
_TENSORS = ("np", "buffer")
_EXTRAS = {
    "return_special_tokens_mask": "special_tokens_mask",
    "return_offsets_mapping": "offset_mapping",
    "return_length": "length",
}


class ChatEncoding(dict[str, Any]):
    """`input_ids`, `attention_mask`, ... of a conversation, or of each of several; every name is an
    attribute, too. `.texts` are the texts that were encoded."""

    texts: list[str]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} among {', '.join(self)}") from None


class Row:
    """The ids of one conversation, with what is known of each."""

    __slots__ = ("encoding", "ids", "keep", "left", "right")

    def __init__(self, ids: list[int], encoding: Encoding | None) -> None:
        self.ids = ids
        self.encoding = encoding
        self.keep = slice(None)
        self.left = self.right = 0

    def cut(self, length: int, side: str) -> None:
        if len(self.ids) > length:
            self.keep = slice(length) if side == "right" else slice(len(self.ids) - length, None)
            self.ids = self.ids[self.keep]

    def fill(self, length: int, side: str, pad_id: int) -> None:
        missing = max(length - len(self.ids), 0)
        self.left, self.right = (missing, 0) if side == "left" else (0, missing)
        self.ids = self.with_padding(self.ids, pad_id)

    def with_padding(self, values: Sequence[Any], of_padding: Any) -> list[Any]:
        return [of_padding] * self.left + list(values) + [of_padding] * self.right

    def buffer(self) -> memoryview:
        """The ids as u32; those of the encoding itself where nothing was changed."""
        if self.encoding is not None and len(self.encoding) == len(self.ids):
            return self.encoding.buffer
        from array import array

        return memoryview(array("I", self.ids)).toreadonly()

    @property
    def own(self) -> int:
        """How many ids are no padding."""
        return len(self.ids) - self.left - self.right

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Of each id, padding included."""
        assert self.encoding is not None
        return self.with_padding(self.encoding.offsets[self.keep], (0, 0))


@dataclass(frozen=True, slots=True)
class Shape:
    """How rows are cut, filled and returned."""

    settings: Settings
    padding: str
    truncation: bool
    length: int | None
    multiple: int | None
    padding_side: str
    pad_id: int | None
    tensors: str | None
    type_ids: bool
    attention_mask: bool
    extras: tuple[str, ...]

    @classmethod
    def of(
        cls,
        settings: Settings,
        *,
        padding: bool | str,
        truncation: bool | str,
        max_length: int | None,
        return_tensors: str | None,
        more: Mapping[str, Any],
        pad_id: int | None,
    ) -> Shape:
        if not isinstance(more, Mapping):
            raise InvalidArgument(f"tokenizer_kwargs is a dict, not {type(more).__name__}")
        options = dict(more)
        how = _PADDING[padding] if isinstance(padding, bool) else _text(padding)
        if how not in _STRATEGIES:
            raise InvalidArgument(
                f"padding={padding!r} is none of True, False, {', '.join(_STRATEGIES)}"
            )
        cut = _truncates(truncation)
        length = None if max_length is None else check_limit(max_length)
        if length is None and (cut or how == "max_length"):
            length = settings.max_length
            if length is None:
                cut = False
                how = "do_not_pad" if how == "max_length" else how
        if how != "do_not_pad" and pad_id is None:
            raise InvalidArgument(
                "padding was asked for, but this tokenizer has no padding token",
                hint="A tokenizer_config.json beside it can name one as pad_token",
            )
        multiple = options.pop("pad_to_multiple_of", None)
        multiple = None if multiple is None else check_limit(multiple)
        if multiple and cut and how != "do_not_pad" and length is not None and length % multiple:
            raise InvalidArgument(f"max_length={length} is no multiple of {multiple}")
        side = options.pop("padding_side", None) or settings.padding_side
        if side not in ("left", "right"):
            raise InvalidArgument(f"padding_side={side!r} is neither 'left' nor 'right'")
        if return_tensors is not None and return_tensors not in _TENSORS:
            raise InvalidArgument(
                f"return_tensors={return_tensors!r} is none of {', '.join(_TENSORS)}",
                hint="torch.from_numpy takes the arrays of 'np'",
            )
        type_ids = options.pop("return_token_type_ids", None)
        mask = options.pop("return_attention_mask", None)
        options.pop("verbose", None)
        extras = tuple(name for flag, name in _EXTRAS.items() if options.pop(flag, False))
        if options:
            raise InvalidArgument(f"tokenizer_kwargs has unknown names: {', '.join(options)}")
        return cls(
            settings=settings,
            padding=how,
            truncation=cut,
            length=length,
            multiple=multiple or None,
            padding_side=side,
            pad_id=pad_id,
            tensors=return_tensors,
            type_ids=settings.type_ids if type_ids is None else bool(type_ids),
            attention_mask=settings.attention_mask if mask is None else bool(mask),
            extras=extras,
        )

    def fit(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        if self.truncation and self.length is not None:
            for row in rows:
                row.cut(self.length, self.settings.truncation_side)
        if self.padding == "do_not_pad" or self.pad_id is None:
            return
        length = self.length or 0
        if self.padding == "longest":
            length = max((len(row.ids) for row in rows), default=0)
        if self.multiple:
            length += -length % self.multiple
        for row in rows:
            row.fill(length, self.padding_side, self.pad_id)

    def fields(self, rows: Sequence[Row]) -> dict[str, list[Any]]:
        """Every field, one list a row."""
        fields: dict[str, list[Any]] = {"input_ids": [row.ids for row in rows]}
        if self.type_ids:
            pad = self.settings.pad_type_id
            fields["token_type_ids"] = [row.with_padding([0] * row.own, pad) for row in rows]
        if self.attention_mask:
            fields["attention_mask"] = [row.with_padding([1] * row.own, 0) for row in rows]
        if "special_tokens_mask" in self.extras:
            # The template wrote its special tokens as text: none is the post-processor's.
            fields["special_tokens_mask"] = [row.with_padding([0] * row.own, 1) for row in rows]
        if "offset_mapping" in self.extras:
            fields["offset_mapping"] = [row.offsets for row in rows]
        if "length" in self.extras:
            fields["length"] = [len(row.ids) for row in rows]
        return fields

    def finish(
        self, fields: dict[str, list[Any]], rows: Sequence[Row], *, batched: bool
    ) -> dict[str, Any]:
        """Lists, arrays or buffers; one row alone unless there is a batch, or tensors."""
        if self.tensors == "np":
            return {name: _array(values) for name, values in fields.items()}
        done: dict[str, Any] = dict(fields)
        if self.tensors == "buffer":
            done["input_ids"] = [row.buffer() for row in rows]
        if not batched:
            done = {name: values[0] if _is_row(values) else values for name, values in done.items()}
        return done


def _text(strategy: object) -> str:
    """Those of transformers are members of an enumeration, and texts as well."""
    return str.__str__(strategy) if isinstance(strategy, str) else str(strategy)


def _truncates(truncation: bool | str | None) -> bool:
    if truncation is None or isinstance(truncation, bool):
        return bool(truncation)
    if truncation not in _TRUNCATION:
        raise InvalidArgument(
            f"truncation={truncation!r} is none of True, False, {', '.join(_TRUNCATION)}"
        )
    return truncation != "do_not_truncate"


def _is_row(values: list[Any]) -> bool:
    """`length` is a number for each row: transformers leaves it in its list."""
    return isinstance(values[0], list | memoryview)


def _array(rows: list[Any]) -> Any:
    """Rows of different lengths are an array of arrays, as they are in transformers."""
    import numpy as np

    if isinstance(rows[0], list):
        if len({len(row) for row in rows}) > 1:
            return np.asarray([np.asarray(row) for row in rows], dtype=object)
        if not rows[0]:
            return np.asarray(rows, dtype=np.int64)
    return np.asarray(rows)
