"""The examples in the READMEs of `hosts/` work, as they stand there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORES = ROOT / "pywasmtok" / "core"
TOKENIZER = ROOT / "conformance" / "tokenizers" / "bpe-qwen2" / "tokenizer.json"


def example(host: str, language: str) -> str:
    text = (ROOT / "hosts" / host / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def beside(folder: Path, core: str) -> Path:
    shutil.copy(CORES / core, folder)
    shutil.copy(TOKENIZER, folder)
    return folder


def run(*command: str, cwd: Path) -> list[str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_javascript(tmp_path: Path) -> None:
    code = example("js", "js")
    shutil.copy(CORES / "template.wasm", beside(tmp_path, "portable.wasm"))
    (tmp_path / "example.mjs").write_text(code, encoding="utf-8")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "pywasmtok").symlink_to(ROOT / "hosts" / "js")
    said = re.findall(r"console\.log\(.*\); // (.*)", code)
    assert len(said) == 2
    assert run("node", "example.mjs", cwd=tmp_path) == said


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_go(tmp_path: Path) -> None:
    host = ROOT / "hosts" / "go"
    if subprocess.run(["go", "mod", "download"], cwd=host, check=False).returncode:
        pytest.skip("the modules that the host needs cannot be had here")
    code = example("go", "go")
    beside(tmp_path, "portable.wasm").joinpath("main.go").write_text(code, encoding="utf-8")
    module = (ROOT / "conformance" / "adapters" / "wazero" / "go.mod").read_text(encoding="utf-8")
    (tmp_path / "go.mod").write_text(
        module.replace("../../../hosts/go", str(host)), encoding="utf-8"
    )
    shutil.copy(host / "go.sum", tmp_path)
    said = re.findall(r"fmt\.Println\(.*\) // (.*)", code)
    assert said
    assert run("go", "run", ".", cwd=tmp_path) == said


@pytest.mark.skipif(
    not (ROOT / "hosts" / "java" / "target" / "lib").is_dir(),
    reason="needs what `mvn package` makes in hosts/java",
)
def test_java(tmp_path: Path) -> None:
    code = example("java", "java")
    beside(tmp_path, "baseline.wasm").joinpath("Example.java").write_text(code, encoding="utf-8")
    target = ROOT / "hosts" / "java" / "target"
    path = f"{target}/classes:{target}/lib/*"
    said = re.findall(r"System\.out\.println\(.*\); // (.*)", code)
    assert said
    assert run("java", "-cp", path, "Example.java", cwd=tmp_path) == said
