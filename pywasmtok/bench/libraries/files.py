"""The tokenizer that is measured, in the two forms in which libraries want it."""

from __future__ import annotations

import hashlib
import lzma
import os
from dataclasses import dataclass
from pathlib import Path

from ...errors import LoadError, SourceNotFound
from ...loading.conversion import convert
from ...loading.sources import Request, read_source
from ...loading.sources.builtin import SCHEME

__all__ = ["TokenizerFile", "label"]


@dataclass(frozen=True)
class TokenizerFile:
    name: str
    source: str
    """What ours is made from: the file itself, whatever its format."""
    path: Path
    """A tokenizer.json for the others, unpacked."""
    sha256: str
    """Of the file itself."""
    size: int

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @staticmethod
    def read(source: str, folder: Path, name: str | None = None) -> TokenizerFile:
        """From a path, a folder, or a name that `create_tokenizer` takes; also a file packed with
        xz. What the others read is written to `folder`."""
        name = name or label(source)
        folder = folder / name
        folder.mkdir(parents=True, exist_ok=True)
        if source.endswith(".xz"):
            source = str(_unpacked(Path(source), folder))
        request = Request().checked()
        found = read_source(source, request)
        data = bytes(found.data)
        plain = data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and not found.parts
        path = folder / "for-others" / "tokenizer.json"
        path.parent.mkdir(exist_ok=True)
        document = data if plain and _has_model(data) else None
        if document is None:
            document = convert(data, found.options(request), found.name).document
        path.write_bytes(document)
        digest = hashlib.sha256(data).hexdigest()
        return TokenizerFile(name, source, path, digest, len(data))


def label(source: str) -> str:
    """`llama3/tokenizer.json` is known by its folder, any other file by its own name."""
    if source.startswith(SCHEME):
        return source.removeprefix(SCHEME)
    if not os.path.exists(source):
        return source.replace("/", "-")
    path = Path(source)
    first = path.name.partition(".")[0]
    return path.resolve().parent.name if first == "tokenizer" else first


def _unpacked(packed: Path, folder: Path) -> Path:
    path = folder / packed.name.removesuffix(".xz")
    try:
        path.write_bytes(lzma.decompress(packed.read_bytes()))
    except FileNotFoundError as error:
        raise SourceNotFound("no such file", source=str(packed)) from error
    except (OSError, lzma.LZMAError) as error:
        raise LoadError(f"cannot be unpacked: {error}", source=str(packed)) from error
    return path


def _has_model(data: bytes) -> bool:
    """A tokenizer.json rather than another JSON document, such as tekken.json."""
    return b'"model"' in data and b'"added_tokens"' in data
