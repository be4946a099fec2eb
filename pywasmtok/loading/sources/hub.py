"""Repositories of the HuggingFace hub, through `huggingface_hub`: its cache, login and proxies.

Only what belongs to a tokenizer is fetched: no weights, and nothing that runs. Of a GGUF file that
is the metadata.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..._signals import raised_by_handler
from ...errors import (
    AmbiguousDirectory,
    BackendUnavailable,
    InvalidArgument,
    LoadError,
    SourceNotFound,
    TokenizerError,
)
from .folders import PAIRS, TOKENIZER_FILES, holds_tokenizer, one_of_each_model
from .sidecars import FILES, MORE_TEMPLATES, TEMPLATES

if TYPE_CHECKING:
    from .source import Request

__all__ = ["fetch", "is_offline", "looks_like_repository"]

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?"
# No name has two dashes or two dots in a row; for names with an owner, the library reports that.
_REPOSITORY = re.compile(rf"{_NAME}/{_NAME}|(?!.*(?:--|\.\.)){_NAME}")
_FILE_ENDINGS = (".json", ".model", ".gguf", ".tiktoken", ".txt", ".bpe", ".xz", ".gz", ".zip")

# Of a *.gguf, which holds the weights too, only the beginning is fetched.
WANTED = [
    *TOKENIZER_FILES,
    *(name for pair in PAIRS for name in pair),
    "vocab.txt",
    "rwkv_vocab*.txt",
    *FILES,
    *TEMPLATES,
    f"{MORE_TEMPLATES}/*.jinja",
]

_MOST_MODELS: Final = 8

_TRUE = {"1", "ON", "YES", "TRUE"}


def looks_like_repository(name: str) -> bool:
    """`org/name` or `name`, and not the path of a file that is not there."""
    return _REPOSITORY.fullmatch(name) is not None and not name.endswith(_FILE_ENDINGS)


def is_offline(request: Request) -> bool:
    """The argument, else the variables of huggingface_hub, which reads them only once itself."""
    if request.offline is not None:
        return request.offline
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").upper() in _TRUE for name in names)


def fetch(repository: str, request: Request) -> tuple[bytes, bytes]:
    """The folders in the cache that hold the tokenizer of a repository, and its configurations."""
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
        if raised_by_handler(error):
            raise
        raise _explained(error, repository, request, offline=offline) from error
    snapshot = os.fsencode(str(folder))
    if os.path.isdir(snapshot) and holds_tokenizer(snapshot):
        return snapshot, snapshot
    # Beside the snapshots, whose files are complete; removed with the repository.
    storage, commit = os.path.dirname(os.path.dirname(snapshot)), os.path.basename(snapshot)
    kept = os.path.join(storage, b"gguf-metadata", commit)
    if not os.path.isdir(kept) and not offline:
        try:
            _keep_beginnings(repository, os.fsdecode(commit), kept, request)
        except Exception as error:
            if isinstance(error, TokenizerError) or raised_by_handler(error):
                raise
            raise _explained(error, repository, request, offline=offline) from error
    if os.path.isdir(kept):
        # Without this folder huggingface_hub knows no commit of the repository when offline.
        os.makedirs(snapshot, exist_ok=True)
        return kept, snapshot
    if os.path.isdir(snapshot):
        return snapshot, snapshot
    raise SourceNotFound("the repository holds no tokenizer", source=repository)


def _keep_beginnings(repository: str, commit: str, kept: bytes, request: Request) -> None:
    """Stores the metadata of one GGUF file of each model of a repository, if it has any."""
    from shutil import rmtree

    from huggingface_hub import HfApi, HfFileSystem

    from .prefix import read_metadata

    listed = HfApi(token=request.token).list_repo_files(repository, revision=commit)
    files = [name for name in listed if name.endswith(".gguf")]
    models = one_of_each_model([name for name in files if "/" not in name] or files)
    if len(models) > _MOST_MODELS:
        raise AmbiguousDirectory(
            f"the repository holds {len(models)} GGUF files of different names",
            source=repository,
            hint="Download one, for example with `hf download`, and give its path",
        )
    if not models:
        return
    hub = HfFileSystem(token=request.token, skip_instance_cache=True)
    temporary = kept + b"." + os.urandom(8).hex().encode()
    os.makedirs(temporary)
    try:
        for name in models:
            with hub.open(f"{repository}@{commit}/{name}", "rb", cache_type="none") as stream:
                data = read_metadata(stream, request.bounds, f"{repository}/{name}")
            with open(os.path.join(temporary, os.path.basename(name).encode()), "wb") as file:
                file.write(data)
        # Another process may have stored it at the same time.
        with suppress(OSError):
            os.rename(temporary, kept)
    finally:
        rmtree(temporary, ignore_errors=True)


def _explained(
    error: Exception, repository: str, request: Request, *, offline: bool
) -> TokenizerError:
    """An error of our own: those of the library explain its own arguments, at length."""
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
    # Before version 1 huggingface_hub has the first of them only.
    names = ("LocalEntryNotFoundError", "RevisionResolutionError", "IncompleteSnapshotError")
    missing = tuple(getattr(hub, name) for name in names if hasattr(hub, name))
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
