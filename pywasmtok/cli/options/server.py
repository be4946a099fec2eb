"""The options of `serve`, `tenants` and `tokenizers`."""

from __future__ import annotations

from typing import Any, Final

from ...loading.choice import ENCODERS
from ..common import reading_options
from .parser import Parser, command, group, path

__all__ = ["KEEP_SECONDS", "add"]

KEEP_SECONDS: Final = 3600.0


def add(commands: Any) -> None:
    _serve(commands)
    _tenants(group(commands, "tenants", "tenants of a server and their keys", "ACTION"))
    _tokenizers(group(commands, "tokenizers", "tokenizers of a server", "ACTION"))


def _serve(commands: Any) -> None:
    made = command(
        commands,
        "serve",
        "serve:run",
        "a tokenizer server that many tenants share",
        (
            "pywasmtok serve builtin:demo --port 0",
            "pywasmtok serve mine=tokenizer.json --port 0 --store store --json",
        ),
    )
    made.add_argument(
        "sources",
        nargs="*",
        metavar="[NAME=]SOURCE",
        help="tokenizers for every tenant: paths, folders, names of models, builtin:demo",
    )
    made.add_argument(
        "--config", type=path, metavar="FILE", help="a TOML file; what is said here wins"
    )
    made.add_argument("--host", metavar="ADDRESS", help="default: 127.0.0.1")
    made.add_argument("--port", type=int, metavar="N", help="default: 8080; 0: any that is free")
    made.add_argument(
        "--store",
        type=path,
        metavar="FOLDER",
        help="the folder of the store; default: in memory, lost at the end",
    )
    made.add_argument(
        "--encoder",
        choices=ENCODERS,
        help="what serves these tokenizers: auto: HuggingFace for what the core refuses; core: the"
        " core or an error; hf: HuggingFace; default, fastokens: as DYN_TOKENIZER means them."
        " Without it: the configuration, then the environment, then auto. Never for tenants' files",
    )
    made.add_argument("--workers", type=int, metavar="N", help="processes that serve; default: 1")
    made.add_argument(
        "--long-workers",
        type=int,
        metavar="N",
        help="further processes for what is large or takes long; default: 0",
    )
    made.add_argument(
        "--admin-key-file",
        type=path,
        metavar="FILE",
        help="holds an admin's key; where there is no such file, a new key is written there;"
        " requests then need keys",
    )
    made.add_argument(
        "--no-keys", action="store_true", help="requests need no keys; on loopback only"
    )
    made.add_argument("--certificate", type=path, metavar="PEM", help="for TLS, with --private-key")
    made.add_argument("--private-key", type=path, metavar="PEM", help="for TLS, with --certificate")
    made.add_argument("--no-access-log", action="store_true", help="no line a request on stderr")


def _tenants(actions: Any) -> None:
    add = _action(
        actions,
        "tenants add",
        "a new tenant; shows its first key, once",
        ("pywasmtok tenants add acme concurrent=4 --store store",),
    )
    add.add_argument("name", metavar="NAME")
    _limits(add)
    _action(
        actions,
        "tenants list",
        "all of them, with their keys and what they used",
        ("pywasmtok tenants list --store store --json",),
    )
    rotate = _action(
        actions,
        "tenants rotate",
        "a new key; shows it, once",
        ("pywasmtok tenants rotate --store store",),
    )
    rotate.add_argument("name", metavar="NAME", nargs="?", help="without one: an admin's key")
    rotate.add_argument(
        "--keep",
        type=float,
        default=KEEP_SECONDS,
        metavar="SECONDS",
        help=f"how long older keys stay good; default: {KEEP_SECONDS:g}",
    )
    limit = _action(
        actions,
        "tenants limit",
        "changes limits, and disables or enables",
        ("pywasmtok tenants limit initech calls.deadline=0.5 --store store",),
    )
    limit.add_argument("name", metavar="NAME")
    _limits(limit)
    able = limit.add_mutually_exclusive_group()
    able.add_argument("--disable", action="store_true", help="its keys open nothing")
    able.add_argument("--enable", action="store_true", help="its keys open it again")
    remove = _action(
        actions,
        "tenants remove",
        "with its keys, files and usage",
        ("pywasmtok tenants remove initech --store store",),
    )
    remove.add_argument("name", metavar="NAME")
    _action(
        actions,
        "tenants verify",
        "reads all records and sets damaged ones aside",
        ("pywasmtok tenants verify --store store",),
    )


def _tokenizers(actions: Any) -> None:
    add = _action(
        actions,
        "tokenizers add",
        "reads a file in a sandbox and keeps it",
        (
            "pywasmtok tokenizers add mine=tokenizer.json --store store",
            "cat tokenizer.json | pywasmtok tokenizers add mine=- --store store",
        ),
    )
    add.add_argument("source", metavar="[NAME=]SOURCE", help="a path, a folder, builtin:demo, ...")
    _owner(add)
    reading_options(add)
    _action(
        actions,
        "tokenizers list",
        "all of them, with their names",
        ("pywasmtok tokenizers list --store store",),
    )
    alias = _action(
        actions,
        "tokenizers alias",
        "lets a name mean another tokenizer, at once",
        ("pywasmtok tokenizers alias newest demo --store store",),
    )
    alias.add_argument("name", metavar="NEW-NAME")
    alias.add_argument("tokenizer", metavar="TOKENIZER", help="another name of it, or its digest")
    _owner(alias)
    remove = _action(
        actions,
        "tokenizers remove",
        "a name; the file goes with the last",
        ("pywasmtok tokenizers remove demo --store store",),
    )
    remove.add_argument("name", metavar="NAME", help="or a digest: the file with all its names")
    _owner(remove)
    verify = _action(
        actions,
        "tokenizers verify",
        "reads all records and files and sets damaged ones aside",
        ("pywasmtok tokenizers verify --store store",),
    )
    verify.add_argument(
        "--remove",
        action="store_true",
        help="then remove files without a record, unless something was set aside",
    )


def _action(actions: Any, words: str, text: str, examples: tuple[str, ...]) -> Parser:
    of, _, name = words.partition(" ")
    made = command(actions, name, f"store:{name}_{of.removesuffix('s')}", text, examples)
    made.add_argument("--store", type=path, metavar="FOLDER", help="the store of the server")
    made.add_argument(
        "--config", type=path, metavar="FILE", help="or the configuration that names it"
    )
    return made


def _owner(made: Parser) -> None:
    # Without it: `server.contract.PUBLIC`, the owner of tokenizers for all.
    made.add_argument("--tenant", metavar="NAME", help="of this one; default: for all")


def _limits(made: Parser) -> None:
    made.add_argument(
        "limits",
        nargs="*",
        default=[],
        metavar="LIMIT=VALUE",
        help="such as concurrent=4, stored_bytes=1000000000, calls.deadline=0.5; none, no bound, "
        "is for the deadline and the bounds of calls",
    )
