"""What the README shows works: the adapter that it builds, and the numbers that it names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, text: str = README) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_worked_adapter_works(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    suite.mkdir()
    for entry in ROOT.iterdir():
        if entry.name != "adapters":
            (suite / entry.name).symlink_to(entry)
    folder = suite / "adapters" / "longest"
    folder.mkdir(parents=True)
    (folder / "adapter.toml").write_text(block("toml"))
    (folder / "main.py").write_text(block("python"), encoding="utf-8")
    out = tmp_path / "out"
    command = ["--suite", str(suite), "run", "-i", "longest", "--tokenizer", "rwkv"]
    done = subprocess.run(
        [sys.executable, "-m", "tokconf", *command, "--quiet", "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "runner")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counted = json.loads((out / "report.json").read_text())["matrix"]["longest"]
    assert counted["encode"]["pass"] > 100
    assert counted["decode"]["pass"] > 20
    assert not any("fail" in counts for counts in counted.values())


def test_every_command_of_the_readme_exists() -> None:
    said = set(re.findall(r"tokconf ([a-z]+) -", README)) | {"setup", "list", "diff"}
    done = subprocess.run(
        [sys.executable, "-m", "tokconf", "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "runner")},
        capture_output=True,
        text=True,
        check=True,
    )
    for command in said:
        assert command in done.stdout


def test_the_table_is_that_of_the_newest_report() -> None:
    newest = max((ROOT / "reports").iterdir())
    assert f"reports/{newest.name}/report.md" in README
    counted = {}
    for name, areas in json.loads((newest / "report.json").read_text())["matrix"].items():
        outcomes = ("pass", "xfail", "skip")
        counted[name] = [sum(one.get(kind, 0) for one in areas.values()) for kind in outcomes]
    said = {}
    row = r"^\| (`.*`) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$"
    for names, *numbers in re.findall(row, README, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            said[name] = [int(number.replace(",", "")) for number in numbers]
    assert said == counted
