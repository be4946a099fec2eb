"""The commands `pywasmtok serve`, `tenants` and `tokenizers`."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import BackendUnavailable, InvalidArgument
from ..loading.choice import ENCODERS

if TYPE_CHECKING:
    from ..server.config import Config
    from ..server.store.folder import FolderStore

__all__ = ["Run", "named_source", "open_named_store", "parser"]

ABOUT: Final = {
    "serve": "A tokenizer server that many tenants share.",
    "tenants": "Tenants of a server and their keys; a running server sees changes at once.",
    "tokenizers": "Tokenizers of a server; a running server sees changes at once.",
}

# Of a path or a name, what an alias may not have.
_NOT_IN_ALIAS: Final = re.compile(r"[^A-Za-z0-9._-]+")


def parser(command: str) -> argparse.ArgumentParser:
    """That of `serve` is complete; `store` adds the actions of the other commands. Raises where
    the packages of the server are not installed."""
    _require_packages()
    made = argparse.ArgumentParser(prog=f"pywasmtok {command}", description=ABOUT[command])
    if command == "serve":
        _serve_options(made)
    return made


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("msgspec", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            f"the server needs {', '.join(missing)}", hint="pip install 'pywasmtok[server]'"
        )


def _serve_options(made: argparse.ArgumentParser) -> None:
    made.set_defaults(run=_serve)
    made.add_argument(
        "sources",
        nargs="*",
        metavar="[NAME=]SOURCE",
        help="tokenizers for every tenant: paths, folders, names of models, builtin:demo",
    )
    made.add_argument("--config", metavar="FILE", help="a TOML file; what is said here wins")
    made.add_argument("--host", help="default: 127.0.0.1")
    made.add_argument("--port", type=int, help="default: 8080; 0: any that is free")
    made.add_argument(
        "--store", metavar="FOLDER", help="where all is kept; default: memory, and nothing is"
    )
    made.add_argument(
        "--encoder",
        choices=ENCODERS,
        help="what serves these tokenizers: auto: HuggingFace for what the core refuses; core: the"
        " core or an error; hf: HuggingFace; default, fastokens: as DYN_TOKENIZER means them."
        " Without it: the configuration, then the environment, then auto. Never for tenants' files",
    )
    made.add_argument("--workers", type=int, help="processes that serve; default: 1")
    made.add_argument(
        "--long-workers",
        type=int,
        help="further processes for what is large or takes long; default: 0",
    )
    made.add_argument(
        "--admin-key-file",
        metavar="FILE",
        help="holds an admin's key; where there is no such file, a new key is written there;"
        " requests then need keys",
    )
    made.add_argument(
        "--no-keys", action="store_true", help="requests need no keys; on loopback only"
    )
    made.add_argument("--certificate", metavar="PEM", help="for TLS, with --private-key")
    made.add_argument("--private-key", metavar="PEM")
    made.add_argument("--no-access-log", action="store_true", help="no line a request on stderr")
    made.add_argument("--json", action="store_true", help="print the address as JSON")


def _serve(options: argparse.Namespace) -> int:
    import msgspec

    from ..server.config import read_config
    from ..server.workers.supervisor import run

    config = read_config(options.config, _flags(options))
    if options.admin_key_file is not None and config.identity is None:
        config = msgspec.structs.replace(config, identity=True)
    return run(
        config,
        admin_key_file=options.admin_key_file,
        say=_say_json if options.json else _say,
    )


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
        "tokenizers": dict(map(named_source, options.sources)),
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
    print(f"pywasmtok serves at {address} ({keys})", flush=True)


def _say_json(address: str, config: Config) -> None:
    print(json.dumps({"address": address, "identity": config.needs_keys}), flush=True)


def open_named_store(
    options: argparse.Namespace, *, to_verify: bool = False
) -> tuple[FolderStore, Config]:
    """The store that --store or the configuration names, and the rest of that configuration.
    `to_verify`: also if its records are damaged."""
    from ..server.store.folder import FolderStore

    config = _config_of_store(options)
    if to_verify and not Path(config.storage.path).is_dir():
        raise InvalidArgument(f"there is no store at {config.storage.path}")
    return FolderStore(Path(config.storage.path), to_verify=to_verify), config


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


Run = Callable[[argparse.Namespace], int]
