"""docs/serving.md, docs/security.md and the errors of docs/api.md say what is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from pywasmtok.server.app import create_app
from pywasmtok.server.config import Config, Logs
from pywasmtok.server.opening import open_service
from tools.build.config_table import page_with_table, rows

from .live import serving
from .serving import served

ROOT = Path(__file__).resolve().parent.parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_table_of_the_configuration_is_that_of_the_code() -> None:
    page = read("docs/serving.md")
    assert len(rows()) > 25
    assert page_with_table(page) == page, "run: python -m tools.build.config_table"


def test_the_example_of_a_configuration_is_one() -> None:
    examples = re.findall(r"```toml\n(.*?)```", read("docs/serving.md"), re.DOTALL)
    config, choice = (msgspec.convert(tomllib.loads(one), Config) for one in examples)
    said, encoder = choice.source_of("odd")
    assert (choice.encoder, said.source, said.how_to_read, encoder) == (
        "core",
        "/models/odd",
        {},
        "auto",
    )
    assert (config.listen.workers, set(config.tokenizers)) == (2, {"llama3", "gpt-4o"})
    from pywasmtok.server.limits import changed
    from pywasmtok.tenants import TenantLimits

    assert changed(TenantLimits(), config.limits).calls.deadline == 0.5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has long workers")
def test_the_example_of_a_configuration_is_served(tmp_path: Path) -> None:
    example = re.findall(r"```toml\n(.*?)```", read("docs/serving.md"), re.DOTALL)[0]
    places = ("/models/llama3", "builtin:demo"), ("/var/lib/pywasmtok", str(tmp_path))
    for there, here in (*places, ('= "gpt-4o"', '= "builtin:demo"')):
        assert there in example
        example = example.replace(there, here)
    file, admin_key = tmp_path / "server.toml", tmp_path / "admin.key"
    file.write_text(example, encoding="utf-8")
    with served("--config", str(file), "--admin-key-file", str(admin_key)) as server:
        admin, count = admin_key.read_text().strip(), "/api/v1/tokenizers/llama3/count"
        assert server.put("/api/v1/tenants/acme", b"{}", admin).status_code == 200
        key = server.post("/api/v1/tenants/acme/keys", {}, admin).json()["key"]
        assert server.post(count, {"text": "Hello"}).status_code == 401
        assert server.post(count, {"text": "Hello"}, key).json()["count"] == 1
        # A long worker answers this one.
        assert server.post(count, {"text": "Hello " * 20_000}, key).status_code == 200
        assert [server.get("/metrics", one).status_code for one in (key, admin)] == [403, 200]


def test_the_table_of_errors_is_that_of_the_code() -> None:
    from pywasmtok.client.retry import _AGAIN
    from pywasmtok.errors import HostLimit, TokenizerError
    from pywasmtok.server.errors import status_of
    from pywasmtok.server.http.protocol import _KINDS
    from pywasmtok.server.store.files import Damaged

    def below(kind: type[TokenizerError]) -> set[type[TokenizerError]]:
        return {kind}.union(*(below(one) for one in kind.__subclasses__()))

    # The host's lack of memory maps reaches a client as `overloaded`.
    errors = below(TokenizerError) - {HostLimit}
    assert Damaged in errors
    places = "pywasmtok.server", "pywasmtok.tenants", "pywasmtok.errors"
    kinds = {(status_of(one("")), one.kind) for one in errors if one.__module__.startswith(places)}
    table = read("docs/api.md").partition("\n## Errors\n")[2]
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \| .* \| (.*?) \|$", table, re.MULTILINE)
    named = [
        (int(status), kind) for status, said, _ in rows for kind in said.strip("`").split("`, `")
    ]
    assert sorted(named) == sorted(kinds | set(_KINDS.items()))
    # A proxy says 502.
    assert {int(one) for one, _, again in rows if again.startswith("yes")} == _AGAIN - {502}


def test_flags_that_the_page_uses_exist() -> None:
    from pywasmtok.cli.completion.words import commands
    from pywasmtok.cli.options.tree import whole

    (serve,) = (one for one in commands(whole()) if one.path == ("serve",))
    known = {flag for option in serve.options for flag in option.flags}
    used = set(re.findall(r"serve .*?(?=\n)", read("docs/serving.md")))
    flags = {flag for line in used for flag in re.findall(r"--[a-z-]+", line)}
    assert flags
    assert {flag for flag in flags if flag not in known} == set()


@pytest.mark.parametrize(
    ("part", "least"),
    [("Promised", 20), ("When something breaks", 15), ("What can be used up", 30)],
)
def test_every_promise_names_a_test_that_exists(part: str, least: int) -> None:
    page = read("docs/security.md")
    promised = page.partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    lines = [line for line in promised.splitlines() if line.startswith("| ")][1:]
    assert len(lines) > least
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
    for name in re.findall(r"python -m tools\.([\w.]+\w)", read(page)):
        place = ROOT.joinpath("tools", *name.split("."))
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), name


def test_metrics_that_the_page_names_are_there_and_no_others() -> None:
    page = read("docs/metrics.md").partition("\n## Of the server\n")[2]
    table = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", page, re.MULTILINE)
    named = {name for line in table for name in re.findall(r"`(\w+)`", line)}
    service = open_service(Config(logs=Logs(access=False)))
    try:
        text, _ = service.metrics.render()
    finally:
        service.close()
    families = re.findall(r"^# TYPE pywasmtok_server_(\w+) (\w+)$", text.decode(), re.MULTILINE)
    # A library may also say when each of them was made.
    assert named == {name for name, _ in families if not name.endswith("_created")}


def test_the_defaults_of_what_can_be_used_up_are_those_of_the_code() -> None:
    from pywasmtok.tenants import TenantLimits

    units = {"KiB": 1 << 10, "MiB": 1 << 20, "Mi": 1 << 20, "GiB": 1 << 30, "s": 1, "": 1}
    page = read("docs/security.md").partition("\n## What can be used up\n")[2].partition("\n## ")[0]
    found = re.findall(r"`([\w.-]+)`(?: of a tenant)?(?:: | \()([\d.]+)(?: ([KMG]iB?|s)\b)?", page)
    assert len(found) > 25
    settings, limits = Config(), TenantLimits()
    for name, number, unit in found:
        value: object = settings
        words = name.replace("-", "_").split(".")
        if words[0] == "calls" or len(words) == 1:
            value = limits
        for word in words:
            value = getattr(value, word)
        assert value == float(number) * units[unit], name


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_requests_that_the_page_shows_are_answered() -> None:
    lines = re.findall(r"^curl .*localhost:8080/.*$", read("docs/serving.md"), re.MULTILINE)
    assert len(lines) == 2
    config = Config(logs=Logs(access=False))
    service = open_service(config)
    try:
        with serving(create_app(service), config) as port:
            for line in lines:
                script = line.replace("localhost:8080", f"localhost:{port}")
                done = subprocess.run(
                    ["sh", "-c", script], capture_output=True, timeout=120, check=True
                )
                assert b'"count":' in done.stdout, (line, done.stdout)
    finally:
        service.close()
