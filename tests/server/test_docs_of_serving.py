"""docs/serving.md and docs/security.md say what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from pywasmtok.server.config import Config
from tools.config_table import page_with_table, rows

ROOT = Path(__file__).resolve().parent.parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_table_of_the_configuration_is_that_of_the_code() -> None:
    page = read("docs/serving.md")
    assert len(rows()) > 25
    assert page_with_table(page) == page, "run: python -m tools.config_table"


def test_the_example_of_a_configuration_is_one() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", read("docs/serving.md"), re.DOTALL)
    config = msgspec.convert(tomllib.loads(example), Config)
    assert (config.listen.workers, set(config.tokenizers)) == (2, {"llama3", "gpt-4o"})
    from pywasmtok.server.limits import changed
    from pywasmtok.tenants import TenantLimits

    assert changed(TenantLimits(), config.limits).calls.deadline == 0.5


def test_flags_that_the_page_uses_exist() -> None:
    from pywasmtok.server.command import parser

    known = parser("serve").format_help()
    used = set(re.findall(r"serve .*?(?=\n)", read("docs/serving.md")))
    flags = {flag for line in used for flag in re.findall(r"--[a-z-]+", line)}
    assert flags
    assert {flag for flag in flags if flag not in known} == set()


def test_every_promise_names_a_test_that_exists() -> None:
    page = read("docs/security.md")
    promised = page.partition("\n## Promised\n")[2].partition("\n## Not promised\n")[0]
    lines = [line for line in promised.splitlines() if line.startswith("| ")][1:]
    assert len(lines) > 20
    for line in lines:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)
        assert named, line
        for file, name in named:
            assert (ROOT / file).exists(), file
            assert re.search(rf"^(async )?def {name}\(", read(file), re.MULTILINE), (
                f"{file}::{name}"
            )


@pytest.mark.parametrize("page", ["docs/serving.md", "docs/security.md"])
def test_commands_that_the_pages_name_exist(page: str) -> None:
    for name in re.findall(r"python -m tools\.(\w+)", read(page)):
        place = ROOT / "tools" / name
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), name
