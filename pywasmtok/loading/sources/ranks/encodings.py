"""The encodings of tiktoken by name: where their rank files are published, and where they are kept.

tiktoken keeps what it has downloaded in a folder, each file under the SHA-1 of its address. That
folder is read and filled here, too: tiktoken need not be installed.
"""

from __future__ import annotations

import logging
import os
from hashlib import sha1, sha256
from typing import Final, NamedTuple

from ....errors import LoadError, SourceNotFound
from ....tokenizer.limits import Limits
from ..paths import exists, read, write
from ..source import Source
from .download import download

__all__ = ["ENCODINGS", "ENDPOINT", "cache_folder", "read_encoding"]

log = logging.getLogger("pywasmtok")

ENDPOINT: Final = "PYWASMTOK_TIKTOKEN_ENDPOINT"
"""The variable that names a mirror: a server with the same paths."""

_HOST: Final = "https://openaipublic.blob.core.windows.net/"

# Twice the largest one.
_MOST_BYTES: Final = 8 << 20


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


def _key(published: Published) -> str:
    return sha1(published.address.encode()).hexdigest()


def _place(published: Published) -> str | None:
    folder = cache_folder()
    return folder and os.path.join(folder, _key(published))


def _kept(published: Published) -> bytes | None:
    place = _place(published)
    if place is None or not exists(os.fsencode(place)):
        return None
    try:
        data = read(os.fsencode(place), Limits()).data
    except LoadError:
        return None
    # A damaged file is downloaded again.
    return data if _is_whole(data, published) else None


def _is_whole(data: bytes, published: Published) -> bool:
    return sha256(data).hexdigest() == published.sha256


def _downloaded(name: str, published: Published, *, offline: bool) -> bytes:
    place = _place(published)
    where = place or f"{_key(published)} in a folder that TIKTOKEN_CACHE_DIR names"
    hint = f"Fetch {published.address} elsewhere and store it as {where}"
    if offline:
        raise SourceNotFound(
            "the rank file is not kept on this machine, and downloading is switched off",
            source=name,
            hint=hint,
        )
    mirror = os.environ.get(ENDPOINT)
    address = published.address
    if mirror:
        address = f"{mirror.rstrip('/')}/{address.removeprefix(_HOST)}"
    data = download(address, _MOST_BYTES, name, f"{hint}; {ENDPOINT} names a mirror")
    if not _is_whole(data, published):
        raise LoadError(
            f"{address} is not the published file: its SHA-256 is not {published.sha256}",
            source=name,
            hint=hint,
        )
    if place is not None:
        _keep(place, data)
    return data


def _keep(place: str, data: bytes) -> None:
    """Another process may store the same file."""
    try:
        os.makedirs(os.path.dirname(place) or os.curdir, exist_ok=True)
        write(os.fsencode(place), data)
    except OSError as error:
        log.warning("Cannot keep %s: %s", place, error.strerror or error)
