"""`tenants` and `tokenizers` on a store; `serve` is tested where it runs, in test_serve."""

from __future__ import annotations

import json
import sqlite3
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from pywasmtok import InvalidArgument
from pywasmtok.cli.exits import Exit
from pywasmtok.cli.main import main
from pywasmtok.cli.serve import named_source
from pywasmtok.server.auth.keys import hash_of
from pywasmtok.server.config import Config, Logs, Storage, read_config
from pywasmtok.server.contract import LOCAL, PUBLIC, Caller
from pywasmtok.server.opening import open_service
from pywasmtok.server.store.folder import FolderStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, status: int = 0) -> Any:
        given = [*arguments, "--store", str(folder)]
        assert main([*given, "--json"]) == status, capsys.readouterr().err
        said = capsys.readouterr()
        return said.err if status and not said.out else json.loads(said.out)

    return run


def keys(folder: Path) -> dict[str, tuple[str | None, float | None]]:
    store = FolderStore(folder)
    found = {one.hash: (one.tenant, one.expires) for one in store.keys()}
    store.close()
    return found


def test_a_tenant_comes_with_a_key_that_is_shown_once(run: Any, folder: Path) -> None:
    made = run("tenants", "add", "acme", "concurrent=3", "calls.deadline=0.5", "templates=true")
    assert keys(folder) == {hash_of(made["key"]): ("acme", None)}
    (listed,) = run("tenants", "list")["tenants"]
    assert (listed["name"], listed["keys"][0]["id"]) == ("acme", made["id"])
    assert listed["limits"]["calls"]["deadline"] == 0.5
    assert (listed["limits"]["concurrent"], listed["limits"]["templates"]) == (3, True)
    assert made["key"] not in json.dumps(listed)
    assert "conflict" in run("tenants", "add", "acme", status=2)
    assert "invalid_argument" in run("tenants", "add", "A B", status=2)
    assert "invalid_argument" in run("tenants", "add", "public", status=2)


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"serve builtin:demo {option}"
            for option in (
                *("--store", "--config", "--admin-key-file"),
                *("--certificate", "--private-key"),
            )
        ),
        *(f"tenants add acme {option}" for option in ("--store", "--config")),
    ],
)
def test_an_empty_path_is_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), ""]) == Exit.WRONG
    assert "an empty path" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_rotated_key_stays_good_for_a_while_or_not_at_all(run: Any, folder: Path) -> None:
    first = run("tenants", "add", "acme")["key"]
    second = run("tenants", "rotate", "acme", "--keep", "60")["key"]
    found = keys(folder)
    assert found[hash_of(second)] == ("acme", None)
    assert found[hash_of(first)][1] is not None
    for keep in ("inf", "nan", "-1"):
        assert "seconds" in run("tenants", "rotate", "acme", f"--keep={keep}", status=2)
    third = run("tenants", "rotate", "acme", "--keep", "0")["key"]
    assert keys(folder) == {hash_of(third): ("acme", None)}
    admin = run("tenants", "rotate")["key"]
    assert keys(folder)[hash_of(admin)] == (None, None)
    assert hash_of(third) in keys(folder)
    assert len(run("tenants", "list")["admin_keys"]) == 1
    assert "not_found" in run("tenants", "rotate", "absent", status=2)


def test_limits_are_changed_one_by_one(run: Any) -> None:
    run("tenants", "add", "acme", "concurrent=3")
    changed = run("tenants", "limit", "acme", "calls.max_tokens=none", "queued=9", "--disable")
    assert (changed["limits"]["concurrent"], changed["limits"]["queued"]) == (3, 9)
    assert (changed["limits"]["calls"]["max_tokens"], changed["disabled"]) == (None, True)
    assert run("tenants", "limit", "acme")["disabled"]
    assert not run("tenants", "limit", "acme", "--enable")["disabled"]
    for wrong in (
        "speed=3",
        "calls.speed=3",
        "queued=x",
        "queued",
        "queued=-1",
        "load_deadline=inf",
    ):
        assert "invalid_argument" in run("tenants", "limit", "acme", wrong, status=2)
    both = "calls=none", "calls.deadline=1"
    assert "invalid_argument" in run("tenants", "limit", "acme", *both, status=2)


def test_a_tenant_is_removed_with_all_it_has(run: Any, folder: Path) -> None:
    run("tenants", "add", "acme")
    run("tokenizers", "add", "mine=builtin:demo", "--tenant", "acme")
    run("tenants", "remove", "acme")
    assert run("tenants", "list")["tenants"] == run("tokenizers", "list")["tokenizers"] == []
    assert list((folder / "files").iterdir()) == []
    assert keys(folder) == {}
    assert "not_found" in run("tenants", "remove", "acme", status=2)


def test_tokenizers_are_read_and_kept_and_named(run: Any, folder: Path) -> None:
    added = run("tokenizers", "add", "builtin:demo")
    assert (added["name"], added["tenant"], added["format"]) == ("demo", PUBLIC, "tokenizer.json")
    assert run("tokenizers", "alias", "other", "demo")["aliases"] == ["demo", "other"]
    assert run("tokenizers", "add", "again=builtin:demo")["digest"] == added["digest"]
    run("tokenizers", "remove", "demo")
    run("tokenizers", "remove", "other")
    assert [one["aliases"] for one in run("tokenizers", "list")["tokenizers"]] == [["again"]]
    run("tokenizers", "remove", "again")
    assert run("tokenizers", "list")["tokenizers"] == []
    assert "unknown_tokenizer" in run("tokenizers", "remove", "again", status=2)
    assert "source_not_found" in run("tokenizers", "add", "x=no/such/file", status=2)
    assert "unknown_tokenizer" in run("tokenizers", "alias", "x", "nothing", status=2)
    assert "not_found" in run("tokenizers", "add", "builtin:demo", "--tenant", "no", status=2)


def ranks_in(folder: Path) -> Path:
    """All bytes, and `ab`; neither a pattern nor special tokens."""
    tokens = [bytes([number]) for number in range(256)] + [b"ab"]
    lines = [f"{b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    path = folder / "mine.tiktoken"
    path.write_text("\n".join(lines))
    return path


def test_how_a_file_is_read_can_be_said(run: Any, tmp_path: Path) -> None:
    ranks = ranks_in(tmp_path)
    assert "ambiguous_pattern" in run("tokenizers", "add", f"m={ranks}", status=2)
    how = ("--pattern", r"\S+|\s", "--special-token", "<end>=257", "--special-token", "<x>=258")
    added = run("tokenizers", "add", f"mine={ranks}", *how)
    assert (added["format"], added["tokens"]) == ("tiktoken", 259)


def test_how_a_file_of_the_configuration_is_read(tmp_path: Path) -> None:
    ranks = ranks_in(tmp_path)
    config = tmp_path / "server.toml"
    config.write_text(
        "[tokenizers.mine]\n"
        f"source = {json.dumps(str(ranks))}\n"
        "pattern = '\\S+|\\s'\nspecial-tokens = { '<end>' = 257 }\n"
    )
    service = open_service(read_config(config))
    try:
        caller = Caller(LOCAL)
        served = service.find(caller, "mine")
        assert served.tokenizer.encode("ab<end>b").ids == [256, 257, 98]
    finally:
        service.close()


def test_verify_finds_what_is_damaged(run: Any, folder: Path) -> None:
    digest = run("tokenizers", "add", "builtin:demo")["digest"]
    good = {"problems": [], "set_aside": 0, "removed": 0}
    assert run("tokenizers", "verify") == good
    path = folder / "files" / digest
    path.chmod(0o600)
    path.write_bytes(b"something else")
    found = run("tokenizers", "verify", status=1)
    assert (found["problems"], found["set_aside"]) == ([f"{digest} is damaged"], 1)
    assert run("tokenizers", "verify", status=1)["problems"] == [f"{digest} is missing"]
    assert [one.read_bytes() for one in (folder / "damaged").iterdir()] == [b"something else"]
    run("tokenizers", "add", "builtin:demo")
    assert run("tokenizers", "verify") == good


def test_verify_of_tenants_reads_records_and_no_files(run: Any, folder: Path) -> None:
    digest = run("tokenizers", "add", "builtin:demo")["digest"]
    run("tenants", "add", "acme")
    (folder / "files" / digest).unlink()
    assert run("tenants", "verify") == {"problems": [], "set_aside": 0}
    with sqlite3.connect(folder / "records.sqlite") as connection:
        connection.execute("UPDATE tenants SET disabled = 7")
    connection.close()
    found = {"problems": ["the record tenants 'acme' is damaged"], "set_aside": 2}
    assert run("tenants", "verify", status=1) == found
    assert run("tenants", "list")["tenants"] == []


def test_only_what_adds_something_makes_a_store(run: Any, folder: Path) -> None:
    def refused() -> None:
        for command in (
            *("tenants verify", "tenants list", "tenants rotate a", "tenants limit a"),
            *("tenants remove a", "tokenizers verify", "tokenizers list", "tokenizers alias a b"),
            "tokenizers remove a",
        ):
            assert "there is no store" in run(*command.split(), status=2)

    refused()
    assert not folder.exists()
    folder.mkdir()
    (folder / "mine").touch()
    refused()
    assert [path.name for path in folder.iterdir()] == ["mine"]
    run("tenants", "rotate")
    assert len(run("tenants", "list")["admin_keys"]) == 1


def test_verify_reports_first_and_removes_on_request(
    run: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("tenants", "add", "acme")
    run("tokenizers", "add", "builtin:demo")
    with sqlite3.connect(folder / "records.sqlite") as connection:
        connection.execute("UPDATE tenants SET disabled = 7")
    connection.close()
    orphan = folder / "files" / ("0" * 64)
    orphan.write_bytes(b"orphan")
    found = [f"{'0' * 64} has no record", "the record tenants 'acme' is damaged"]
    for removed, left in ((0, found), (1, found[:1])):
        assert orphan.exists()
        assert main(["tokenizers", "verify", "--remove", "--store", str(folder)]) == 1
        lines = capsys.readouterr().out.splitlines()
        said = f"{len(left)} problems, {0 if removed else 2} set aside"
        assert (sorted(lines[:-2]), lines[-2:]) == (left, [said, f"{removed} removed"])
    assert not orphan.exists()
    assert run("tokenizers", "verify") == {"problems": [], "set_aside": 0, "removed": 0}
    assert run("tenants", "list")["tenants"] == []
    assert len(run("tokenizers", "list")["tokenizers"]) == 1


def test_a_running_service_sees_what_the_commands_do(run: Any, folder: Path) -> None:
    config = Config(storage=Storage(path=str(folder)), logs=Logs(access=False))
    service = open_service(config)
    try:
        key = run("tenants", "add", "acme")["key"]
        run("tokenizers", "add", "builtin:demo")
        service.refresh()
        assert service.keys.find(key) is not None
        assert service.find(Caller("acme"), "demo").tokenizer.encode("Hello").ids
        run("tenants", "limit", "acme", "--disable")
        service.refresh()
        assert service.keys.find(key) is None
    finally:
        service.close()


def test_a_disabled_tenant_is_not_a_missing_one(
    run: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("tenants", "add", "acme")
    run("tenants", "limit", "acme", "--disable")
    add = ["tokenizers", "add", "builtin:demo", "--store", str(folder), "--tenant"]
    assert main([*add, "acme"]) == Exit.WRONG
    said = capsys.readouterr().err
    assert "the tenant 'acme' is disabled" in said
    assert "tenants limit acme --enable" in said
    assert main([*add, "initech"]) == Exit.WRONG
    assert "there is no tenant 'initech'" in capsys.readouterr().err


def test_for_people_it_is_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        assert main([*arguments, "--store", str(folder)]) == 0
        return capsys.readouterr().out

    assert said("tenants", "add", "acme").startswith("pwt_")
    assert said("tokenizers", "add", "builtin:demo").startswith("demo -> ")
    assert "1 tenants" in said("tenants", "list")
    assert "32,768 tokens" in said("tokenizers", "list")
    assert "calls.deadline = 1.0" in said("tenants", "limit", "acme")
    assert "0 problems" in said("tokenizers", "verify")
    assert said("tenants", "remove", "acme") == "removed acme\n"


def test_which_store_must_be_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["tenants", "list"]) == 2
    assert "--store" in capsys.readouterr().err
    config = tmp_path / "server.toml"
    config.write_text(f'[storage]\npath = "{(tmp_path / "store").as_posix()}"\n')
    assert main(["tenants", "add", "acme", "--config", str(config)]) == 0
    assert main(["tenants", "list", "--config", str(config)]) == 0


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("builtin:demo", "demo"),
        ("mine=builtin:demo", "mine"),
        ("gpt-4o", "gpt-4o"),
        ("org/name", "name"),
        ("a=org/name=x", "a"),
        ("org/a b", "a-b"),
    ],
)
def test_a_source_has_a_name(given: str, name: str) -> None:
    assert named_source(given)[0] == name


def test_files_are_called_by_what_tells_them_apart(tmp_path: Path) -> None:
    folder = tmp_path / "llama=3"
    folder.mkdir()
    for name in ("tokenizer.json", "bpe.model"):
        (folder / name).write_text("{}")
    assert named_source(str(folder)) == ("llama-3", str(folder))
    assert named_source(str(folder / "tokenizer.json"))[0] == "llama-3"
    assert named_source(str(folder / "bpe.model"))[0] == "bpe"
    assert named_source(f"x={folder}") == ("x", str(folder))
    with pytest.raises(InvalidArgument):
        named_source("/")


def test_without_its_packages_the_server_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for command in (["serve"], ["tenants", "list"], ["tokenizers", "list"]):
        assert main(command) == Exit.MISSING
        assert "pip install 'pywasmtok[server]'" in capsys.readouterr().err
        with pytest.raises(SystemExit) as ended:
            main([*command, "--help"])
        assert ended.value.code == Exit.DONE
    assert "msgspec" in sys.modules


def test_two_sources_have_two_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "v1/llama", "mine=v3", "v2/llama"]) == 2
    said = capsys.readouterr().err
    assert "two tokenizers have the name 'llama': v1/llama and v2/llama" in said
    assert "NAME=SOURCE" in said
