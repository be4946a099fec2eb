"""The command `pywasmtok serve`, and the store that `tenants` and `tokenizers` work on."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import BackendUnavailable, InvalidArgument
from .common import drop
from .exits import Exit

if TYPE_CHECKING:
    from ..server.config import Config
    from ..server.store.folder import FolderStore

__all__ = ["named_source", "open_named_store", "require_packages", "run"]

# Of a path or a name, what an alias may not have.
_NOT_IN_ALIAS: Final = re.compile(r"[^A-Za-z0-9._-]+")
# One without records is refused, if it has files.
_OF_A_STORE: Final = ("records.sqlite", "files")


def require_packages() -> None:
    """Raises where the packages of the server are not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("msgspec", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            f"the server needs {', '.join(missing)}", hint="pip install 'pywasmtok[server]'"
        )


def run(options: argparse.Namespace) -> int:
    require_packages()
    import msgspec

    from ..server.config import read_config
    from ..server.lifecycle import CUT_OFF
    from ..server.workers import supervisor

    def read() -> Config:
        config = read_config(options.config, _flags(options))
        if options.admin_key_file is not None and config.identity is None:
            config = msgspec.structs.replace(config, identity=True)
        return config

    ended = supervisor.run(
        read(),
        read=read,
        admin_key_file=options.admin_key_file,
        say=_say_json if options.json else _say,
    )
    return {0: Exit.DONE, CUT_OFF: Exit.FOUND}.get(ended, Exit.FAILED)


def _flags(options: argparse.Namespace) -> dict[str, Any]:
    """In the shape of the configuration's file, and only what was said."""
    listen = {
        "host": options.host,
        "port": options.port,
        "workers": options.workers,
        "long-workers": options.long_workers,
        "certificate": options.certificate,
        "private-key": options.private_key,
    }
    said: dict[str, Any] = {
        "listen": {name: value for name, value in listen.items() if value is not None},
        "tokenizers": _by_name(options.sources),
    }
    if options.encoder is not None:
        said["encoder"] = options.encoder
    if options.store is not None:
        said["storage"] = {"path": options.store}
    if options.no_keys:
        said["identity"] = False
    if options.no_access_log:
        said["logs"] = {"access": False}
    return said


def _by_name(sources: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, source in map(named_source, sources):
        if name in found:
            raise InvalidArgument(
                f"two tokenizers have the name {name!r}: {found[name]} and {source}",
                hint="Say NAME=SOURCE",
            )
        found[name] = source
    return found


def named_source(given: str) -> tuple[str, str]:
    """`name=source`, or a source whose name is made of its own."""
    from ..server.names import check_alias

    name, equals, source = given.partition("=")
    if equals and source and "/" not in name.partition(":")[0] and not Path(given).exists():
        return check_alias(name), source
    stem = given.removeprefix("builtin:") if given.startswith("builtin:") else given
    path = Path(stem)
    if path.is_file() and path.name.startswith("tokenizer.") and path.resolve().parent.name:
        # Nearly all of them are called so; their folders are not.
        path = path.resolve().parent
    name = _NOT_IN_ALIAS.sub("-", path.stem if path.is_file() else path.name).strip("-._")
    if not name:
        raise InvalidArgument(f"{given!r} needs a name", hint="Say NAME=SOURCE")
    return check_alias(name[:128]), given


def _say(address: str, config: Config) -> None:
    """A line for people; scripts use `_say_json`."""
    keys = "keys are needed" if config.needs_keys else "no keys are needed on this machine"
    _print(f"pywasmtok serves at {address} ({keys})")


def _say_json(address: str, config: Config) -> None:
    _print(json.dumps({"address": address, "identity": config.needs_keys}))


def _print(line: str) -> None:
    """A full disk or a closed pipe does not stop a server: it goes on without the line."""
    try:
        print(line, flush=True)
    except OSError:
        drop(sys.stdout)


def open_named_store(
    options: argparse.Namespace, *, may_make: bool = False, to_verify: bool = False
) -> tuple[FolderStore, Config]:
    """The store that --store or the configuration names, and the rest of that configuration.
    `may_make`: it is made where there is none. `to_verify`: opening it changes nothing."""
    from ..server.store.folder import FolderStore

    config = _config_of_store(options)
    folder = Path(config.storage.path)
    if not may_make and not any(os.path.exists(folder / name) for name in _OF_A_STORE):
        raise InvalidArgument(f"there is no store at {config.storage.path}")
    return FolderStore(folder, to_verify=to_verify), config


def _config_of_store(options: argparse.Namespace) -> Config:
    from ..server.config import read_config
    from ..server.store import MEMORY

    flags = {} if options.store is None else {"storage": {"path": options.store}}
    config = read_config(options.config, flags)
    if config.storage.path == MEMORY:
        raise InvalidArgument(
            "which store? What is kept in memory, only its own server can reach",
            hint="Give --store FOLDER, or --config FILE that names one",
        )
    return config
