"""Whole programs of users, each with what it used before and with this package."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from assets import ROOT as ASSETS
from assets import Asset, needs_assets

from tools.verify.integrations.table import PROGRAMS, Program
from tools.verify.integrations.turns import SIDES, environment, run

MODULES = {
    "datasets": "datasets",
    "langchain-text-splitters": "langchain_text_splitters",
    "litellm": "litellm",
    "llama-index-core": "llama_index.core",
    "lm-eval": "lm_eval",
}
REPOSITORY = Path(__file__).resolve().parents[2]

TEXTS = [
    "Hello, world! How are you?\n\nNaïve café 🌶️, 中文 and `code(x) ** 2`.",
    "A sentence. Another one, which is longer! And a third? " * 30,
    "def f(x):\n    return x + 1\n\n" * 40,
]


def skip_without(*packages: str) -> None:
    """`tokenizers`, tiktoken and transformers are there where the tests are."""
    for package in packages:
        name = package.partition("==")[0].partition("[")[0]
        module = MODULES.get(name, name)
        parent = module.partition(".")[0]
        if find_spec(parent) is None or find_spec(module) is None:
            pytest.skip(f"{name} is not installed: pip install {name}")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_one_line_of_a_program_is_another(program: Program) -> None:
    compile(program.text(ours=True), program.name, "exec")
    *imports, last = program.changed
    assert last.rstrip(",") == program.change
    assert all(line.startswith("from pywasmtok") for line in imports)
    before, ours = (program.text(ours=side == "ours").splitlines() for side in SIDES)
    assert len(ours) - len(before) in (0, len(imports), len(imports) + 1)
    page = (REPOSITORY / "docs/integrations.md").read_text(encoding="utf-8")
    assert program.change in page


@needs_assets
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_the_result_is_the_same(program: Program, tmp_path: Path) -> None:
    skip_without(*program.packages)
    folder = tmp_path / "qwen3"
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes(Asset("qwen3", name).read())
    env = {**environment(ASSETS), "PYTHONPATH": str(REPOSITORY), "PYWASMTOK_SNAPSHOTS": "off"}
    rounds = [TEXTS, TEXTS[::-1], ["one more"]]
    turns = run(program, Path(sys.executable), tmp_path, folder=folder, rounds=rounds, env=env)
    before, ours = ([one.digest for one in turns[side]] for side in SIDES)
    assert ours == before
    assert before[-1] not in before[:-1]
