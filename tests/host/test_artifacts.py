"""Which build is used, and that an altered one never runs."""

from __future__ import annotations

import contextlib
import hashlib
import random
import tomllib
from pathlib import Path

import pytest
import wasmtime

import pywasmtok._host as host
from pywasmtok import errors
from pywasmtok._host.wasm import abi, artifacts, core
from pywasmtok._host.wasm.artifacts import Artifact
from pywasmtok._host.wasm.cache import ENVIRONMENT, Cache
from pywasmtok._host.wasm.core import Core
from pywasmtok._host.wasm.wasm_file import FunctionType, MemoryLimits, custom_sections, shape_of
from pywasmtok._host.wasm.wasmtime_objects import Module, WasmtimeError

from .cores import custom, ids_of, sample_wasm


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of builds in place of the real one, and a process that has opened none."""
    monkeypatch.setattr(artifacts, "DIRECTORY", tmp_path)
    monkeypatch.setattr(core, "_opened", {})
    monkeypatch.setattr(core, "_refused", {})
    monkeypatch.delenv(artifacts.ENVIRONMENT, raising=False)
    monkeypatch.setenv(ENVIRONMENT, "off")
    put(
        tmp_path,
        portable=sample_wasm(False),
        baseline=sample_wasm(False),
        threads=sample_wasm(True),
    )
    return tmp_path


def put(directory: Path, **builds: bytes) -> None:
    lines = ["abi = 1"]
    for name, wasm in builds.items():
        (directory / f"{name}.wasm").write_bytes(wasm)
        lines += [f"[builds.{name}]", f'sha256 = "{hashlib.sha256(wasm).hexdigest()}"']
    (directory / artifacts.LOCK_NAME).write_text("\n".join(lines))


def test_the_default_is_portable(directory: Path) -> None:
    tok = host.load_tokenizer(b"x")
    assert tok.build == "portable"
    assert tok.encode_ids("x", False) == ids_of("x")
    assert host.builds() == ["baseline", "portable", "threads"]
    assert host.detect(b"x" * 100_000) == {"format": "test"}
    assert host.convert(b"x", b"{}") == (b"{}", ["a:b"])


def test_argument_before_environment_before_default(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(artifacts.ENVIRONMENT, "baseline")
    assert host.load_tokenizer(b"x").build == "baseline"
    assert host.load_tokenizer(b"x", build="portable").build == "portable"
    assert host.load_tokenizer(b"x", build="threads").build == "threads"
    monkeypatch.setenv(artifacts.ENVIRONMENT, "")
    assert host.load_tokenizer(b"x").build == "portable"


def test_detect_never_uses_the_shared_memory(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(artifacts.ENVIRONMENT, "threads")
    assert host.detect(b"x") == {"format": "test"}
    assert host.detect(b"x", build="threads") == {"format": "test"}
    assert "threads" not in {one.name for one in core.opened()}


def test_a_build_is_compiled_once(directory: Path) -> None:
    assert core.open_core(None) is core.open_core("portable")


@pytest.mark.parametrize("name", ["fast", "../portable", ""])
def test_an_unknown_build_is_named_with_those_that_exist(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(artifacts.ENVIRONMENT, name or "none")
    with pytest.raises(errors.InvalidArgument, match="baseline, portable, threads"):
        host.load_tokenizer(b"x")


def test_without_simd_the_baseline_serves(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = core.Core

    def refuse(artifact: Artifact, cache: Cache, *, checked: bool) -> Core:
        if artifact.name == "portable":
            raise WasmtimeError("SIMD is not supported by this CPU")
        return real(artifact, cache, checked=checked)

    monkeypatch.setattr(core, "Core", refuse)
    assert host.load_tokenizer(b"x").build == "baseline"
    # Who asks for it by name gets it or an error.
    with pytest.raises(errors.ArtifactError, match="SIMD is not supported"):
        host.load_tokenizer(b"x", build="portable")
    monkeypatch.setenv(artifacts.ENVIRONMENT, "portable")
    with pytest.raises(errors.ArtifactError, match="SIMD is not supported"):
        host.load_tokenizer(b"x")


def test_an_altered_build_is_refused(directory: Path) -> None:
    path = directory / "portable.wasm"
    wasm = bytearray(path.read_bytes())
    wasm[-1] ^= 1
    path.write_bytes(wasm)
    with pytest.raises(errors.ArtifactError, match="SHA-256 differs") as caught:
        host.load_tokenizer(b"x")
    assert caught.value.source == str(path)


def test_what_is_compiled_already_is_not_read_again(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key has the checksum of the lock file, and the ABI: only those very bytes left it."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    assert host.load_tokenizer(b"x").encode_ids("x", False) == ids_of("x")
    monkeypatch.setattr(core, "_opened", {})
    (directory / "portable.wasm").write_bytes(b"altered")
    assert host.load_tokenizer(b"x").encode_ids("x", False) == ids_of("x")
    # An installation that was replaced under a process is not its fault.
    assert "SHA-256 differs" in host.describe()["opened"]["portable"]["about"]["problem"]
    monkeypatch.setattr(core, "_opened", {})
    monkeypatch.setattr(abi, "ABI_VERSION", 2)
    with pytest.raises(errors.ArtifactError, match="SHA-256 differs"):
        host.load_tokenizer(b"x")


def test_the_lock_file_is_read_as_by_a_reader_of_toml() -> None:
    lock = tomllib.loads((artifacts.DIRECTORY / artifacts.LOCK_NAME).read_text(encoding="utf-8"))
    assert artifacts.locked() == {name: build["sha256"] for name, build in lock["builds"].items()}
    assert artifacts.read_template().sha256 == lock["template"]["sha256"]


def test_missing_files_are_refused(directory: Path) -> None:
    (directory / "portable.wasm").unlink()
    with pytest.raises(errors.ArtifactError, match="cannot read the core build"):
        host.load_tokenizer(b"x")
    (directory / artifacts.LOCK_NAME).unlink()
    for call in (host.builds, lambda: host.load_tokenizer(b"x")):
        with pytest.raises(errors.ArtifactError, match="no core builds"):
            call()


def test_a_package_in_a_zip_is_told_to_be_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zipped = tmp_path / "app.pyz"
    zipped.write_bytes(b"PK")
    monkeypatch.setattr(artifacts, "DIRECTORY", zipped / "pywasmtok" / "core")
    with pytest.raises(errors.ArtifactError, match="unpacked"):
        host.builds()


@pytest.mark.parametrize("lock", ["", "x", "builds = 3", "[builds.portable]\nsha256 = 3"])
def test_a_broken_lock_is_refused(directory: Path, lock: str) -> None:
    (directory / artifacts.LOCK_NAME).write_text(lock)
    with pytest.raises(errors.ArtifactError):
        host.builds()


@pytest.mark.parametrize("number", [0, 2, "1", None])
def test_another_abi_is_refused_before_anything_runs(
    directory: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(directory, portable=sample_wasm(False, number))
    monkeypatch.setattr(Module, "compile", lambda *_: pytest.fail("was compiled"))
    with pytest.raises(errors.ArtifactError, match=f"ABI {number!r}, this package speaks 1"):
        host.load_tokenizer(b"x")


@pytest.mark.parametrize(
    ("wasm", "what"),
    [
        (b"", "not a WebAssembly module"),
        (b"\0asm\2\0\0\0", "not a WebAssembly module"),
        (b"\0asm\1\0\0\0\0\x7f", "cut off inside a section"),
        (b"\0asm\1\0\0\0\0", "malformed length"),
        (b"\0asm\1\0\0\0\0\xff\xff\xff\xff\xff\xff", "malformed length"),
        (b"\0asm\1\0\0\0\0\2\x30a", "ends behind it"),
        (b"\0asm\1\0\0\0", "no section"),
        (b"\0asm\1\0\0\0" + custom("pywasmtok.abi", b"{"), "no JSON"),
        (b"\0asm\1\0\0\0" + custom("pywasmtok.abi", b"[1]"), "no JSON object"),
    ],
)
def test_malformed_modules_are_refused(wasm: bytes, what: str) -> None:
    with pytest.raises(errors.ArtifactError, match=what):
        Artifact("odd", wasm).require_abi()


def test_sections_are_read() -> None:
    sections = custom_sections(sample_wasm(False) + custom("build_id", b"a second one"))
    assert sections["build_id"] == bytes(32)
    assert Artifact("x", sample_wasm(False)).about == {
        "abi": 1,
        "build_id": "00" * 32,
        "variant": "test",
    }


def test_describe(directory: Path) -> None:
    host.load_tokenizer(b"x")
    about = host.describe()
    assert about["abi"] == 1
    assert about["builds"].keys() == {"baseline", "portable", "threads"}
    assert about["opened"]["portable"]["sha256"] == about["builds"]["portable"]
    # One or the other: what can be ended from outside is checked.
    assert about["engine"]["epoch_interruption"] is (about["traps"] == "checks")
    assert about["cache"] is None
    assert "off" in about["cache_off_because"]


VARIED = """(module
  (import "env" "now" (func $now (param i32 f64) (result i64)))
  (import "env" "table" (table 1 2 funcref))
  (import "env" "number" (global i32))
  (import "other" "memory" (memory 3))
  (func $own (param f32) (result f32 i32) (f32.const 1) (i32.const 2))
  (export "now" (func $now))
  (export "own" (func $own))
  (export "memory" (memory 0))
  (export "number" (global 0))
  (export "table" (table 0)))"""


@pytest.mark.parametrize("wasm", [sample_wasm(False), sample_wasm(True), wasmtime.wat2wasm(VARIED)])
def test_the_shape_of_a_module_is_what_wasmtime_reads(wasm: bytes) -> None:
    config = wasmtime.Config()
    config.shared_memory = True
    module = wasmtime.Module(wasmtime.Engine(config), bytes(wasm))

    def function(kind: wasmtime.FuncType) -> FunctionType:
        return FunctionType([*map(str, kind.params)], [*map(str, kind.results)])

    def imported(kind: object) -> object:
        if isinstance(kind, wasmtime.FuncType):
            return function(kind)
        if isinstance(kind, wasmtime.MemoryType):
            return MemoryLimits(kind.limits.min, kind.limits.max, kind.is_shared)
        return None

    def exported(kind: object) -> object:
        others = {
            wasmtime.MemoryType: "memory",
            wasmtime.TableType: "table",
            wasmtime.GlobalType: "global",
        }
        return function(kind) if isinstance(kind, wasmtime.FuncType) else others[type(kind)]

    shape = shape_of(bytes(wasm))
    theirs = {f"{one.module}.{one.name}": imported(one.type) for one in module.imports}
    assert shape.imports == theirs
    assert shape.exports == {one.name: exported(one.type) for one in module.exports}


def test_the_shape_of_a_damaged_module_is_read_or_refused() -> None:
    random_numbers = random.Random(1)
    for wasm in (sample_wasm(False), bytes(wasmtime.wat2wasm(VARIED))):
        for _ in range(2000):
            damaged = bytearray(wasm[: random_numbers.randrange(8, len(wasm) + 1)])
            for _ in range(random_numbers.randrange(3)):
                damaged[random_numbers.randrange(8, len(damaged) + 1) - 1] = (
                    random_numbers.randrange(256)
                )
            with contextlib.suppress(errors.ArtifactError):
                shape_of(bytes(damaged))
