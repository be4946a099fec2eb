"""Repositories of the HuggingFace hub, through `huggingface_hub`: its cache, login and proxies.

Only what belongs to a tokenizer is fetched: no weights, and nothing that runs.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ..errors import BackendUnavailable, InvalidArgument, LoadError, SourceNotFound, TokenizerError
from .folders import PAIRS, TOKENIZER_FILES
from .sidecars import FILES, MORE_TEMPLATES, TEMPLATES

if TYPE_CHECKING:
    from .source import Request

__all__ = ["fetch", "is_offline", "looks_like_repository"]

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?"
_REPOSITORY = re.compile(rf"{_NAME}/{_NAME}")
_FILE_ENDINGS = (".json", ".model", ".gguf", ".tiktoken", ".txt", ".bpe", ".xz", ".gz", ".zip")

# A *.gguf holds the weights too, and is not fetched.
WANTED = [
    *TOKENIZER_FILES,
    *(name for pair in PAIRS for name in pair),
    "vocab.txt",
    "rwkv_vocab*.txt",
    *FILES,
    *TEMPLATES,
    f"{MORE_TEMPLATES}/*.jinja",
]

_TRUE = {"1", "ON", "YES", "TRUE"}


def looks_like_repository(name: str) -> bool:
    """`org/name`, and not the path of a file that is not there."""
    return _REPOSITORY.fullmatch(name) is not None and not name.endswith(_FILE_ENDINGS)


def is_offline(request: Request) -> bool:
    """The argument, else the variables of huggingface_hub, which reads them only once itself."""
    if request.offline is not None:
        return request.offline
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").upper() in _TRUE for name in names)


def fetch(repository: str, request: Request) -> bytes:
    """The folder in the cache that holds the tokenizer of a repository."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise BackendUnavailable(
            "the package huggingface_hub, which reads the hub, is not installed",
            source=repository,
            hint="Run: pip install huggingface_hub",
        ) from error
    offline = is_offline(request)
    cache = None if request.cache_dir is None else os.fsdecode(request.cache_dir)
    try:
        folder = snapshot_download(
            repository,
            revision=request.revision,
            cache_dir=cache,
            token=request.token,
            local_files_only=offline,
            allow_patterns=WANTED,
        )
    except Exception as error:
        raise _explained(error, repository, request, offline=offline) from error
    if not os.path.isdir(folder):
        raise SourceNotFound(
            "the repository holds no tokenizer",
            source=repository,
            hint="A GGUF file, which holds the weights too, is not fetched: download it, for "
            "example with `hf download`, and give its path",
        )
    return os.fsencode(str(folder))


def _explained(
    error: Exception, repository: str, request: Request, *, offline: bool
) -> TokenizerError:
    """The library's errors speak of its own arguments, at length."""
    from huggingface_hub import errors as hub

    at = f" at revision {request.revision}" if request.revision else ""
    if isinstance(error, hub.GatedRepoError):
        return LoadError(
            "access to this repository has to be asked for on the hub",
            source=repository,
            hint="Then log in (hf auth login) or pass token=...",
        )
    if isinstance(error, hub.RevisionNotFoundError):
        return SourceNotFound(
            f"the hub has no such revision: {request.revision}", source=repository
        )
    if isinstance(error, hub.RepositoryNotFoundError):
        return SourceNotFound(
            "neither a path nor a repository of the hub that can be seen from here",
            source=repository,
            hint="A private one needs a login (hf auth login) or token=...",
        )
    if isinstance(error, hub.HFValidationError):
        return InvalidArgument(f"no name of a repository: {error}", source=repository)
    missing = (
        hub.LocalEntryNotFoundError,
        hub.RevisionResolutionError,
        hub.IncompleteSnapshotError,
    )
    if isinstance(error, missing) or offline:
        why = "downloading is switched off" if offline else "the hub cannot be reached"
        return SourceNotFound(
            f"no path, and not in the cache of the hub{at}, while {why}",
            source=repository,
            hint="Fetch it once with a network, or pass the path of a folder",
        )
    return LoadError(
        f"the hub did not give it: {type(error).__name__}: {error}".splitlines()[0],
        source=repository,
    )
