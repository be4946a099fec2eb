"""The committed core: built from the committed sources, and no more demanding than it says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from pywasmtok._host.template import abi as template_abi
from pywasmtok._host.wasm import abi
from tools.build import abi_constants, crate_sources, wasm_sections
from tools.build import core as build_core
from tools.build.wasm_sections import Limits, Module, Signature

# What hosts of 2022 have. A compiler that starts to use more must not widen this unnoticed.
FLOOR = {
    "bulk-memory",
    "bulk-memory-opt",
    "call-indirect-overlong",
    "multivalue",
    "mutable-globals",
    "nontrapping-fptoint",
    "reference-types",
    "sign-ext",
}
BEYOND = {
    "portable": {"simd128"},
    "threads": {"simd128", "atomics"},
    "baseline": set[str](),
    "template": {"simd128"},
}
WORKER_EXPORTS = {"__stack_pointer", "__tls_size", "__tls_align", "__wasm_init_tls"}


def artifact(name: str) -> bytes:
    return (build_core.CORE / f"{name}.wasm").read_bytes()


@pytest.fixture(params=[variant.name for variant in build_core.ARTIFACTS])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def module(name: str) -> Module:
    return wasm_sections.read(artifact(name))


def test_the_lock_matches_sources_and_artifacts() -> None:
    assert build_core.problems() == [], f"run: {build_core.REBUILD}"


def test_a_changed_source_or_artifact_is_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in (build_core.LOCK, *build_core.CORE.glob("*.wasm")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "portable.wasm").write_bytes(artifact("portable") + b"\0")
    monkeypatch.setattr(build_core, "ROOT", tmp_path)
    monkeypatch.setattr(build_core, "CORE", tmp_path)
    monkeypatch.setattr(build_core, "LOCK", tmp_path / build_core.LOCK.name)
    real = build_core.source_hash

    def source_hash(crate: build_core.Crate = build_core.ENGINE) -> str:
        return "another" if crate is build_core.ENGINE else real(crate)

    monkeypatch.setattr(build_core, "source_hash", source_hash)
    assert build_core.problems() == [
        "the sources of the core have changed since it was built",
        "portable.wasm is not the file that was locked",
    ]


def test_each_crate_has_its_own_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the two is built anew because the other has changed."""
    folders = {build_core.ENGINE: {"abi", "engine"}, build_core.RENDERER: {"template"}}
    for crate, own in folders.items():
        files = crate_sources.files(build_core.WORKSPACE / crate.folder)
        inside = {path.relative_to(build_core.WORKSPACE).parts[0] for path in files}
        assert inside == own | {"panic-text"}
        assert build_core.WORKSPACE / crate.folder / "abi.toml" in files
    engine, renderer = (
        {entry["name"] for entry in crate_sources.locked_packages(crate.package)}
        for crate in folders
    )
    assert "serde_json" in engine - renderer
    assert build_core.source_hash() != build_core.source_hash(build_core.RENDERER)


def test_the_constants_match_the_table() -> None:
    assert abi_constants.stale() == []


def test_imports(name: str, module: Module) -> None:
    if name == "threads":
        [(key, memory)] = module.imports.items()
        assert key == ("env", "memory")
        assert isinstance(memory, Limits)
        assert memory.shared
        assert memory.maximum == build_core.THREADS_MAX_MEMORY // 65536
    else:
        assert module.imports == {}
        assert [limits.shared for limits in module.memories] == [False]


def test_exports_are_the_functions_of_the_table(name: str, module: Module) -> None:
    functions = {key: what for key, what in module.exports.items() if isinstance(what, Signature)}
    if name == "template":
        expected = {
            key: Signature(("i32",) * params, (result,) if result else ())
            for key, (params, result) in template_abi.FUNCTIONS.items()
        }
    else:
        expected = {
            key: Signature(("i32",) * params, ("i32",) * results)
            for key, (params, results) in abi.FUNCTIONS.items()
        }
    if name == "threads":
        expected["__wasm_init_tls"] = Signature(("i32",), ())
        assert module.exports.keys() >= WORKER_EXPORTS
    assert functions == expected
    assert isinstance(module.exports["memory"], Limits)


def test_features_are_those_of_the_floor(name: str, module: Module) -> None:
    assert module.features <= FLOOR | BEYOND[name]
    assert module.features >= BEYOND[name]


def test_identity(name: str, module: Module) -> None:
    lock = tomllib.loads(build_core.LOCK.read_text(encoding="utf-8"))
    identity = json.loads(module.custom["pywasmtok.abi"])
    if name == "template":
        entry, number = lock["template"], template_abi.ABI_VERSION
    else:
        entry, number = lock, abi.ABI_VERSION
    assert identity["abi"] == entry["abi"] == number
    assert identity["variant"] == name
    assert identity["version"] == lock["version"]
    assert BEYOND[name] <= set(identity["features"])
    assert module.custom["build_id"].hex() == entry["source"]


def test_the_package_holds_every_artifact() -> None:
    """The folder is data of the package: whoever builds a wheel gets what is in it."""
    assert build_core.CORE.is_relative_to(build_core.ROOT / "pywasmtok")
    names = {path.stem for path in build_core.CORE.glob("*.wasm")}
    assert names == {variant.name for variant in build_core.ARTIFACTS}


def test_no_path_of_the_building_machine_is_inside(name: str) -> None:
    paths = re.findall(rb"(?<![\w.-])/[\w./+-]+\.rs", artifact(name))
    assert paths
    remapped = (b"/rust/", b"/crates/", b"/pywasmtok/")
    assert [path for path in paths if not path.startswith(remapped)] == []
