"""The tokenizer that came with the package."""

from __future__ import annotations

from ...errors import SourceNotFound
from .source import Source

__all__ = ["SCHEME", "read_builtin"]

SCHEME = "builtin:"
_FILES = {"demo": "demo.tokenizer.json.xz"}


def read_builtin(source: str) -> Source:
    import lzma
    from importlib.resources import files

    known = _FILES.get(source.removeprefix(SCHEME))
    if known is None:
        names = ", ".join(SCHEME + name for name in _FILES)
        raise SourceNotFound("no such built-in tokenizer", source=source, hint=f"There is {names}")
    try:
        packed = files("pywasmtok").joinpath("data", known).read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(
            "missing from this installation", source=source, hint="Reinstall pywasmtok"
        ) from error
    return Source(lzma.decompress(packed), source)
