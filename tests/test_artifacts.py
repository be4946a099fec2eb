"""The committed core: built from the committed sources, and no more demanding than it says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from pywasmtok._host import abi
from tools import abi_constants, build_core, wasm_sections
from tools.wasm_sections import Limits, Module, Signature

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
BEYOND = {"portable": {"simd128"}, "threads": {"simd128", "atomics"}, "baseline": set[str]()}
WORKER_EXPORTS = {"__stack_pointer", "__tls_size", "__tls_align", "__wasm_init_tls"}


def artifact(name: str) -> bytes:
    return (build_core.CORE / f"{name}.wasm").read_bytes()


@pytest.fixture(params=[variant.name for variant in build_core.VARIANTS])
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
    monkeypatch.setattr(build_core, "source_hash", lambda: "another")
    assert build_core.problems() == [
        "the sources of the core have changed since it was built",
        "portable.wasm is not the file that was locked",
    ]


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
    assert identity["abi"] == lock["abi"] == abi.ABI_VERSION
    assert identity["variant"] == name
    assert identity["version"] == lock["version"]
    assert BEYOND[name] <= set(identity["features"])
    assert module.custom["build_id"].hex() == lock["source"]


def test_no_path_of_the_building_machine_is_inside(name: str) -> None:
    paths = re.findall(rb"(?<![\w.-])/[\w./+-]+\.rs", artifact(name))
    assert paths
    remapped = (b"/rust/", b"/crates/", b"/pywasmtok/")
    assert [path for path in paths if not path.startswith(remapped)] == []
