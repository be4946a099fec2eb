"""What a source means. A path that exists always wins over a name."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from ...errors import AmbiguousDirectory, BackendUnavailable, InvalidArgument, SourceNotFound
from ...tokenizer.recipe import Sidecars
from .builtin import SCHEME, read_builtin
from .folders import PAIRS, choose, first_shard
from .lazy import LazyFile
from .paths import as_path, beside, exists, printable, read, read_lazily
from .sidecars import read_sidecars
from .source import Request, Source, SourceLike
from .word_pieces import VOCABULARY, with_defaults, word_pieces

if TYPE_CHECKING:
    from .names import Rule

__all__ = ["MOCK", "is_url", "read_file", "read_source"]

MOCK = "mock://"

_URLS = ("http://", "https://")

_DEFAULTS = Request()

# An id, a token as Python writes it, its length.
_RWKV = re.compile(rb"\d+ b?['\"]")


def is_url(source: object) -> bool:
    """Of a server that has the tokenizer; like `builtin:` it is never taken for a path."""
    return isinstance(source, str) and source.lower().startswith(_URLS)


def read_source(source: SourceLike, request: Request = _DEFAULTS) -> Source:
    """The bytes of a tokenizer. `mock://` is not a source: the caller has dealt with it."""
    return _read(source, request, ())


def read_file(source: SourceLike, request: Request = _DEFAULTS) -> Source:
    """Like `read_source`, but only a file will do."""
    path = as_path(source)
    if os.path.isdir(path):
        raise InvalidArgument(
            "this is a folder", source=printable(path), hint="create_tokenizer() takes folders"
        )
    return _file(path, request)


def _read(source: SourceLike, request: Request, rules: tuple[Rule, ...]) -> Source:
    if isinstance(source, str) and source.startswith(SCHEME):
        return read_builtin(source)
    if is_url(source):
        raise InvalidArgument(
            "this is a tokenizer of a server, and no file",
            source=str(source),
            hint="create_tokenizer() takes it; download a file yourself",
        )
    path = as_path(source)
    if os.path.isdir(path):
        return _folder(path, path, request)
    if not isinstance(source, str) or exists(path):
        return _file(path, request)
    return _named(source, request, rules)


def _named(name: str, request: Request, rules: tuple[Rule, ...]) -> Source:
    """A name of a model, an encoding, or a repository."""
    from .hub import fetch, is_offline, looks_like_repository
    from .names import find_rule
    from .ranks.encodings import ENCODINGS, read_encoding

    rule = find_rule(name, request)
    if rule is not None and rule not in rules:
        if rule.source in ENCODINGS and not exists(as_path(rule.source)):
            found = read_encoding(rule.source, offline=is_offline(request))
        else:
            found = _read(rule.source, request, (*rules, rule))
        if rule.pattern == rule.source:
            return found
        return found._replace(name=f"{name} ({found.name})")
    if looks_like_repository(name):
        try:
            found = _folder(*fetch(name, request), request)
        except (BackendUnavailable, SourceNotFound) as error:
            if "/" in name:
                raise
            raise _not_found(
                name, request, f"; as a repository of the hub: {error.message}"
            ) from error
        except AmbiguousDirectory as error:
            error.source, error.hint = name, "Download one of them and give its path"
            raise
        at = f"@{request.revision}" if request.revision else ""
        return found._replace(name=f"{name}{at}/{found.chosen}")
    raise _not_found(name, request)


def _not_found(name: str, request: Request, hub: str = "") -> SourceNotFound:
    """`hub` is what the hub says about a name that may be a repository, too."""
    from difflib import get_close_matches

    from .names import tables

    known = [pattern for table in tables(request) for pattern in table.rules if "*" not in pattern]
    near = get_close_matches(name, known, 3, 0.75) if os.sep not in name else []
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return SourceNotFound(
        f"no such file or folder, and no known name of a model{hub}",
        source=printable(os.fsencode(name)),
        hint=f"{meant}Give the path of a tokenizer file or of its folder, the name of a model such "
        "as gpt-4o, a repository of the hub such as org/name, or builtin:demo",
    )


def _folder(folder: bytes, configurations: bytes, request: Request) -> Source:
    choice = choose(folder, request.bounds)
    paths = [os.path.join(folder, name) for name in choice.files]
    sidecars = read_sidecars(configurations)
    if len(paths) > 1:
        found = _pair(paths, request)._replace(sidecars=sidecars)
    else:
        found = _alone(paths[0], request, sidecars)
    return found._replace(
        chosen=" + ".join(map(printable, choice.files)),
        passed_over=choice.passed_over,
    )


def _file(path: bytes, request: Request) -> Source:
    """A file, with what stands beside it: the merges of a vocabulary, and configurations."""
    for pair in PAIRS:
        paths = [beside(path, name) for name in pair]
        if os.path.basename(path) in map(os.fsencode, pair) and all(map(exists, paths)):
            return _pair(paths, request)._replace(sidecars=read_sidecars(os.path.dirname(path)))
    return _alone(first_shard(path), request, read_sidecars(os.path.dirname(path)))


def _alone(path: bytes, request: Request, sidecars: Sidecars) -> Source:
    """A file that is a tokenizer by itself, or BERT's vocabulary."""
    data, size = read_lazily(path, request.bounds)
    name = printable(path)
    if os.path.basename(path) == VOCABULARY.encode() and not _RWKV.match(_start(data)):
        whole = with_defaults(sidecars)
        digest = sha256(data).hexdigest() if isinstance(data, bytes) else data.sha256()
        made = word_pieces(bytes(data), whole, name)
        return Source(made, name, sidecars=whole, size=size, sha256=digest, needs_config=True)
    return Source(data, name, sidecars=sidecars, size=size)


def _start(data: bytes | LazyFile) -> bytes:
    return data[:64] if isinstance(data, bytes) else data.start(64)


def _pair(paths: list[bytes], request: Request) -> Source:
    contents = [read(path, request.bounds).data for path in paths]
    # The core knows the two by these names, whatever the files are called.
    parts = tuple(zip(PAIRS[0], map(len, contents), strict=True))
    name = " + ".join((printable(paths[0]), printable(os.path.basename(paths[1]))))
    return Source(b"".join(contents), name, parts=parts)
