"""What there is to test: the folder of the suite."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import lzma
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema

REAL_FILES = "TOKCONF_REAL"
# Operations that ask for no tokenizer.
WITHOUT_TOKENIZER = frozenset(("render",))
# Names of a command that mean the interpreter of the runner, active virtual environment or not.
PYTHON = ("python", "python3")
INHERITED = ("spec", "level", "requires", "origin", "tokenizer")


class SuiteError(Exception):
    """The suite itself is broken; the text says where."""


@dataclass(frozen=True)
class Case:
    """One case, with what its file says for all of them filled in."""

    data: dict[str, Any]
    area: str
    group: str
    path: Path

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def level(self) -> str:
        return str(self.data.get("level", "must"))

    @property
    def op(self) -> str:
        return str(self.data["op"])

    @property
    def tokenizer(self) -> str:
        return str(self.data.get("tokenizer", ""))

    @property
    def requires(self) -> list[str]:
        return list(self.data.get("requires", ()))

    @property
    def load_options(self) -> dict[str, Any]:
        """A case that allows a fallback loads its tokenizer for itself."""
        return dict(self.data.get("load_options", {"fallback": "forbid"}))


@dataclass(frozen=True)
class TokenizerFile:
    name: str
    format: str
    path: Path | None
    reason: str = ""
    """Why there is no path."""


@dataclass(frozen=True)
class Adapter:
    """How to start an implementation. A variant is an adapter of its own: `name:variant`."""

    name: str
    folder: Path
    command: list[str]
    language: str = ""
    setup: list[list[str]] = field(default_factory=list)
    available: list[str] = field(default_factory=list)
    timeout_factor: float = 1.0
    env: dict[str, str] = field(default_factory=dict)
    variant: str = ""
    broken: str = ""
    """What is wrong with its adapter.toml; it is then never started."""


class Suite:
    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not (self.root / "SPEC.md").is_file():
            raise SuiteError(f"{root} is not a suite: it has no SPEC.md")

    @classmethod
    def found(cls, start: Path | None = None) -> Suite:
        """The folder named by the caller, or the nearest one above here, or the one that this
        package lies in."""
        if start is not None:
            return cls(start)
        here = Path.cwd()
        for folder in (here, *here.parents):
            for candidate in (folder, folder / "conformance"):
                if (candidate / "SPEC.md").is_file() and (candidate / "cases").is_dir():
                    return cls(candidate)
        around = Path(__file__).resolve().parents[2]
        if (around / "SPEC.md").is_file():
            return cls(around)
        raise SuiteError(
            f"no suite in {here} or above it: go into the folder of the suite, or name it with "
            "--suite FOLDER"
        )

    @property
    def version(self) -> str:
        return (self.root / "VERSION").read_text().strip()

    @property
    def texts(self) -> Path:
        return self.root / "texts"

    @cached_property
    def cases(self) -> list[Case]:
        found: list[Case] = []
        for path in sorted((self.root / "cases").rglob("*.json")):
            if path.name == "retired.json":
                continue
            found.extend(_cases_of(path))
        return found

    def select(self, patterns: Iterable[str] = (), levels: Iterable[str] = ()) -> list[Case]:
        """Cases by pattern of their id (`encode/**`) and by level; nothing said: all."""
        wanted, levels = [_pattern(p) for p in patterns], set(levels)
        return [
            case
            for case in self.cases
            if (not wanted or any(p.match(case.id) for p in wanted))
            and (not levels or case.level in levels)
        ]

    @cached_property
    def tokenizers(self) -> dict[str, TokenizerFile]:
        found: dict[str, TokenizerFile] = {}
        folder = self.root / "tokenizers"
        for name, entry in toml(folder / "index.toml").items():
            found[name] = TokenizerFile(name, entry["format"], folder / entry["file"])
        for name, entry in toml(folder / "catalog.toml").items():
            found[name] = self._real(name, entry)
        return found

    def adapters(self) -> dict[str, Adapter]:
        """All of them; one whose description is broken says so when it is asked to play."""
        paths = [
            *sorted((self.root / "adapters").glob("*/adapter.toml")),
            *(self.root / "tests" / "miniatures").glob("adapter.toml"),
        ]
        found = [one for path in paths for one in self._adapters_of(path)]
        return {one.name: one for one in found}

    def violations(self, schema: str, document: Any) -> Iterator[str]:
        """What in a document is not as one of the schemas says."""
        said = json.loads((self.root / "schemas" / schema).read_bytes())
        for problem in jsonschema.Draft202012Validator(said).iter_errors(document):
            place = "/".join(map(str, problem.absolute_path))
            yield f"{place}{': ' if place else ''}{problem.message[:200]}"

    def digest(self, folder: str) -> str:
        """One hash of all files below a folder: says which suite a result belongs to."""
        state = hashlib.sha256()
        for path in sorted((self.root / folder).rglob("*")):
            if path.is_file():
                state.update(path.relative_to(self.root).as_posix().encode() + b"\0")
                state.update(hashlib.sha256(path.read_bytes()).digest())
        return state.hexdigest()

    def _adapters_of(self, path: Path) -> Iterator[Adapter]:
        try:
            document = toml(path)
            for wrong in self.violations("adapter.json", document):
                raise SuiteError(f"{path}: {wrong}")
        except SuiteError as problem:
            yield Adapter(path.parent.name, path.parent, [], broken=str(problem))
            return
        yield from _variants(path, document)

    def _real(self, name: str, entry: dict[str, Any]) -> TokenizerFile:
        """A file that cannot be shipped: known by its hash, used if the machine has it."""
        for folder in self._real_folders():
            for hint in entry["paths"]:
                path = _with_hash(folder / hint, entry["sha256"])
                if path is not None:
                    return TokenizerFile(name, entry["format"], path)
        return TokenizerFile(name, entry["format"], None, f"not here: set {REAL_FILES}")

    def _real_folders(self) -> list[Path]:
        named = os.environ.get(REAL_FILES)
        if named:
            return [Path(part) for part in named.split(os.pathsep)]
        return [self.root.parent.parent / "shared" / "assets"]


def matches(pattern: str, case_id: str) -> bool:
    return bool(_pattern(pattern).match(case_id))


def _pattern(pattern: str) -> re.Pattern[str]:
    """`*` stays within a part of an id, `**` does not; a prefix of parts selects all below it."""
    parts = re.split(r"(\*\*|\*)", pattern.rstrip("/"))
    made = "".join({"**": ".*", "*": "[^/]*"}.get(part) or re.escape(part) for part in parts)
    return re.compile(f"^{made}(/.*)?$")


def _cases_of(path: Path) -> Iterator[Case]:
    try:
        document = json.loads(path.read_bytes())
        shared = {key: document[key] for key in INHERITED if key in document}
        for case in document["cases"]:
            yield Case({**shared, **case}, document["area"], document["group"], path)
    except (ValueError, KeyError, TypeError) as problem:
        raise SuiteError(f"{path}: {type(problem).__name__}: {problem}") from None


def _variants(path: Path, document: dict[str, Any]) -> Iterator[Adapter]:
    variants = document.pop("variants", None) or {"": {}}
    for variant, more in variants.items():
        said = {**document, **more, "env": {**document.get("env", {}), **more.get("env", {})}}
        yield Adapter(
            name=f"{said['name']}:{variant}" if variant else said["name"],
            folder=path.parent,
            command=_with_interpreter(said["command"]),
            language=said.get("language", ""),
            setup=[_with_interpreter(words) for words in said.get("setup", [])],
            available=_with_interpreter(said.get("available", [])),
            timeout_factor=float(said.get("timeout_factor", 1.0)),
            env=said["env"],
            variant=variant,
        )


def _with_interpreter(words: list[str]) -> list[str]:
    return [sys.executable, *words[1:]] if words and words[0] in PYTHON else words


def toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SuiteError(f"{path}: {problem}") from None


_unpacked: tempfile.TemporaryDirectory[str] | None = None


def _with_hash(path: Path, sha256: str) -> Path | None:
    """The file, or an unpacked copy of the file beside it, if its content is the one meant."""
    global _unpacked  # noqa: PLW0603
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
        return path
    packed = path.with_name(path.name + ".xz")
    if not packed.is_file():
        return None
    data = lzma.decompress(packed.read_bytes())
    if hashlib.sha256(data).hexdigest() != sha256:
        return None
    if _unpacked is None:
        _unpacked = tempfile.TemporaryDirectory(prefix="tokconf-")
    target = Path(_unpacked.name) / sha256[:16] / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def glob(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Names that one of the patterns means; a pattern without a variant means all of them."""
    patterns = list(patterns)
    return [
        name
        for name in names
        if any(
            fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(name.split(":")[0], p)
            for p in patterns
        )
    ]
