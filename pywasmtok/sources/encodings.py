"""The encodings of tiktoken by name: where their rank files are published, and where they are kept.

tiktoken keeps what it has downloaded in a folder, each file under the SHA-1 of its address. What is
there is used without tiktoken and without a network; what is not, tiktoken itself downloads.
"""

from __future__ import annotations

import os
from hashlib import sha1, sha256
from typing import NamedTuple

from ..errors import BackendUnavailable, LoadError, SourceNotFound, TokenizerError
from ..limits import Limits
from .paths import exists, read
from .source import Source

__all__ = ["ENCODINGS", "cache_folder", "read_encoding"]

_HOST = "https://openaipublic.blob.core.windows.net/"


class Published(NamedTuple):
    address: str
    sha256: str


def _ranks(name: str, digest: str) -> Published:
    return Published(f"{_HOST}encodings/{name}.tiktoken", digest)


_R50K = _ranks("r50k_base", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
_P50K = _ranks("p50k_base", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
_CL100K = _ranks("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7")
_O200K = _ranks("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")

# gpt2 is published as a vocabulary and its merges; the ranks that come out are those of r50k_base.
ENCODINGS = {
    "gpt2": _R50K,
    "r50k_base": _R50K,
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "cl100k_base": _CL100K,
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
}


def read_encoding(name: str, *, offline: bool) -> Source:
    published = ENCODINGS[name]
    data = _kept(published)
    if data is None:
        data = _downloaded(name, published, offline=offline)
    return Source(data, name, encoding=name)


def cache_folder() -> str | None:
    """Where tiktoken keeps its files. None: it was told to keep none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        folder = os.environ.get(variable)
        if folder is not None:
            return folder or None
    import tempfile

    return os.path.join(tempfile.gettempdir(), "data-gym-cache")


def _kept(published: Published) -> bytes | None:
    folder = cache_folder()
    if folder is None:
        return None
    path = os.fsencode(os.path.join(folder, sha1(published.address.encode()).hexdigest()))
    if not exists(path):
        return None
    try:
        data = read(path, Limits()).data
    except LoadError:
        return None
    # A damaged one is replaced by tiktoken.
    return data if sha256(data).hexdigest() == published.sha256 else None


def _downloaded(name: str, published: Published, *, offline: bool) -> bytes:
    where = cache_folder() or "a folder named by TIKTOKEN_CACHE_DIR"
    hint = f"Its place is {where}, as {sha1(published.address.encode()).hexdigest()}"
    if offline:
        raise SourceNotFound(
            "the rank file is not kept on this machine, and downloading is switched off",
            source=name,
            hint=hint,
        )
    try:
        from tiktoken.load import read_file_cached
    except ImportError as error:
        raise BackendUnavailable(
            "the rank file is not kept on this machine, and tiktoken, which downloads it, is not "
            "installed",
            source=name,
            hint=f"Run: pip install tiktoken; or fetch {published.address} yourself. {hint}",
        ) from error
    try:
        data = read_file_cached(published.address, published.sha256)
    except TokenizerError:
        raise
    except Exception as error:
        raise LoadError(
            f"tiktoken cannot download {published.address}: {error}", source=name, hint=hint
        ) from error
    return bytes(data)
