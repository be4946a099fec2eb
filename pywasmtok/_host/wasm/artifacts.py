"""The builds of the core that came with the package, and whether they are what they should be."""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from ...errors import ArtifactError, InvalidArgument
from ..template import abi as template_abi
from . import abi
from .wasm_file import custom_sections

DIRECTORY: Final = Path(__file__).resolve().parents[2] / "core"
LOCK_NAME: Final = "core.lock.toml"
ENVIRONMENT: Final = "PYWASMTOK_BUILD"
DEFAULT: Final = "portable"
# Served instead of the default where SIMD is refused.
WITHOUT_SIMD: Final = "baseline"
# The one build that shares a memory among its workers.
SHARED: Final = "threads"
# The renderer of chat templates: no build of the core, and never chosen by a name.
TEMPLATE: Final = "template"

_BUILDS: Final = "builds."
# A section of the lock file with its checksum.
_CHECKSUM: Final = re.compile(
    r"""^\[([a-z.]+)\]\n(?:[^\[\n].*\n)*?sha256 = "([0-9a-f]{64})"$""", re.MULTILINE
)

_ABI_SECTION: Final = "pywasmtok.abi"
_BUILD_ID_SECTION: Final = "build_id"
_REINSTALL: Final = "Reinstall pywasmtok, or rebuild the core: python -m tools.build.core"
_UNPACK: Final = "The package has to be unpacked: the core is not read out of a zip file"


class Artifact:
    """A wasm module; nothing of it has run yet."""

    def __init__(self, name: str, wasm: bytes) -> None:
        self.name = name
        self._wasm = wasm

    @property
    def wasm(self) -> bytes:
        return self._wasm

    @property
    def threads(self) -> bool:
        return self.name == SHARED

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.wasm).hexdigest()

    @property
    def identity(self) -> str:
        """All that code which was compiled from it depends on here."""
        return self.sha256

    @cached_property
    def about(self) -> dict[str, Any]:
        """What the module says of itself: its ABI, variant and features, and its source's hash."""
        sections = custom_sections(self.wasm)
        try:
            about: Any = json.loads(sections[_ABI_SECTION])
        except KeyError:
            raise self._refused(f"has no section {_ABI_SECTION}") from None
        except ValueError:
            raise self._refused(f"has a section {_ABI_SECTION} that is no JSON") from None
        if not isinstance(about, dict):
            raise self._refused(f"has a section {_ABI_SECTION} that is no JSON object")
        return {**about, "build_id": sections.get(_BUILD_ID_SECTION, b"").hex()}

    def described(self) -> dict[str, Any]:
        """The same for people; what is wrong with the file, if it is another one by now."""
        try:
            return self.about
        except ArtifactError as problem:
            return {"problem": str(problem)}

    def require_abi(self, number: int = abi.ABI_VERSION) -> Artifact:
        if self.about.get("abi") != number:
            raise self._refused(
                f"speaks ABI {self.about.get('abi')!r}, this package speaks {number}"
            )
        return self

    def _refused(self, why: str) -> ArtifactError:
        return ArtifactError(f"the core build {self.name!r} {why}", hint=_REINSTALL)


class LockedArtifact(Artifact):
    """A module of the lock file. Its checksum and its ABI are compared when it is read, and it is
    not read where code that was compiled from those very bytes is at hand."""

    def __init__(self, name: str, checksum: str, abi_version: int) -> None:
        self.name = name
        self._path = DIRECTORY / f"{name}.wasm"
        self._checksum = checksum
        self._abi_version = abi_version

    @cached_property
    def wasm(self) -> bytes:
        found = _read(self.name, self._path, self._checksum)
        Artifact(self.name, found).require_abi(self._abi_version)
        return found

    @cached_property
    def sha256(self) -> str:
        return self._checksum

    @property
    def identity(self) -> str:
        return f"{self._checksum} {self._abi_version}"


def locked() -> dict[str, str]:
    """SHA-256 by name of each build of the core in the lock file."""
    checksums = _checksums()
    builds = {
        section.removeprefix(_BUILDS): checksum
        for section, checksum in checksums.items()
        if section.startswith(_BUILDS)
    }
    if not builds:
        raise ArtifactError("names no builds", source=str(_lock_path()), hint=_REINSTALL)
    return builds


def _lock_path() -> Path:
    return DIRECTORY / LOCK_NAME


def _checksums() -> dict[str, str]:
    """SHA-256 by section of the lock file. Only lines as the build writes them are known here:
    importing `tomllib` would take a tenth of a load with a snapshot."""
    path = _lock_path()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ArtifactError(
            f"no core builds: {error.strerror}",
            source=str(path),
            hint=_UNPACK if isinstance(error, NotADirectoryError) else _REINSTALL,
        ) from error
    return dict(_CHECKSUM.findall(text))


def named(build: str | None) -> str | None:
    """The build that the argument asks for, else the environment, if one of them does."""
    return build or os.environ.get(ENVIRONMENT) or None


def read(name: str) -> LockedArtifact:
    """The named build."""
    checksums = locked()
    if name not in checksums:
        raise InvalidArgument(
            f"there is no core build {name!r}", hint=f"Choose one of {', '.join(sorted(checksums))}"
        )
    return LockedArtifact(name, checksums[name], abi.ABI_VERSION)


def read_template() -> LockedArtifact:
    """The renderer of chat templates."""
    checksum = _checksums().get(TEMPLATE)
    if checksum is None:
        raise ArtifactError("has no template", source=str(_lock_path()), hint=_REINSTALL)
    return LockedArtifact(TEMPLATE, checksum, template_abi.ABI_VERSION)


def _read(name: str, path: Path, checksum: str) -> bytes:
    try:
        wasm = path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"cannot read the core build: {error.strerror}", source=str(path), hint=_REINSTALL
        ) from error
    if hashlib.sha256(wasm).hexdigest() != checksum:
        raise ArtifactError(
            f"the core build {name!r} is not the one in {LOCK_NAME}: its SHA-256 differs",
            source=str(path),
            hint=_REINSTALL,
        )
    return wasm
