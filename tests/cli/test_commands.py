"""Every command: its examples run, `--json` gives JSON, and the page and the parser agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pywasmtok.cli.completion.words import KINDS, Command
from pywasmtok.cli.exits import Exit
from pywasmtok.cli.main import _work, main
from pywasmtok.cli.options.tree import whole

from .commands import every, examples, fill, run, words_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
EXAMPLES = examples()
OF_SERVER = {"serve", "tenants", "tokenizers"}

# The keys that the page promises of each answer. Without one, programs break.
KEYS = {
    name: set(re.findall(r"`([a-z_]+)`", keys))
    for name, keys in re.findall(r"^\| `([a-z ]+)` \| .* \| (.*`.*) \|$", PAGE, re.MULTILINE)
}
# It prints a script, which is no result.
WITHOUT_JSON = {"completion"}


def name_of(command: Command) -> str:
    return " ".join(command.path)


def test_every_command_has_examples_and_work() -> None:
    assert {" ".join(path) for path in EXAMPLES} == set(map(name_of, every()))
    for path, lines in EXAMPLES.items():
        assert 1 <= len(lines) <= 3, path
        assert all(words_of(line)[0][: len(path)] == list(path) for line in lines), path


def test_the_function_of_every_command_exists() -> None:
    pytest.importorskip("msgspec")
    for line in (lines[0] for lines in EXAMPLES.values()):
        assert callable(_work(whole().parse_args(words_of(line)[0]).run))


def test_the_parser_of_everything_loads_nothing_heavy() -> None:
    heavy = ("wasmtime", "tokenizers", "numpy", "msgspec", "uvicorn", "starlette", "httpx")
    ours = ("pywasmtok.server", "pywasmtok.tenants", "pywasmtok.bench.groups", "pywasmtok.diff")
    code = (
        "import sys; from pywasmtok.cli.main import main\n"
        "try: main(['tenants', 'add', '--help'])\n"
        f"except SystemExit: sys.exit(str([m for m in {heavy + ours!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    assert "examples:" in done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes ready what a command of this name needs beside files."""

    def prepare(name: str) -> None:
        # Other tests may have put the folder of the runner into the path of this process.
        asks = [sys.executable, "-c", "import tokconf"]
        if name == "conformance" and subprocess.run(asks, check=False).returncode:
            pytest.skip("tokconf is not installed: pip install ./conformance/runner")
        if name.split(maxsplit=1)[0] not in OF_SERVER:
            return
        pytest.importorskip("msgspec")
        if name == "serve":
            pytest.importorskip("uvicorn")
            from pywasmtok.server.workers import supervisor

            def serve(
                service: object, listening: object, say: Callable[[], None], reload: object
            ) -> int:
                say()
                return 0

            # All is opened, bound and announced; it ends where it would wait for requests.
            monkeypatch.setattr(supervisor, "serve", serve)
            return
        for line in ("tenants add initech", "tokenizers add demo=builtin:demo"):
            assert main([*line.split(), "--store", str(folder / "store")]) == Exit.DONE

    return prepare


@pytest.mark.parametrize("path", EXAMPLES, ids=" ".join)
def test_the_examples_run(
    path: tuple[str, ...],
    prepared: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = " ".join(path)
    prepared(name)
    for line in EXAMPLES[path]:
        capsys.readouterr()
        arguments, stdin = words_of(line)
        assert run(monkeypatch, arguments, stdin) == Exit.DONE, capsys.readouterr().err
        said = capsys.readouterr()
        # The runner of the suite writes to the file descriptor itself.
        assert said.out or name == "conformance", said.err
        if "--json" in arguments and name != "bench":
            check(name, said.out)
    if name in WITHOUT_JSON | {"bench"} or "--json" in EXAMPLES[path][0]:
        return
    arguments, stdin = words_of(EXAMPLES[path][0])
    if name.endswith(("add", "remove")):
        assert main(["tenants", "add", "umbrella", "--store", "store"]) == Exit.DONE
        assert main(["tokenizers", "add", "builtin:demo", "--store", "store"]) == Exit.DONE
        capsys.readouterr()
        arguments = ["umbrella" if one == "initech" else one for one in arguments]
        arguments = ["hooli" if one == "acme" else one for one in arguments]
    assert run(monkeypatch, [*arguments, "--json"], stdin) == Exit.DONE, capsys.readouterr().err
    check(name, capsys.readouterr().out)


def check(name: str, printed: str) -> None:
    """One JSON object a line, with the keys that are promised."""
    lines = printed.splitlines()
    assert lines
    for line in lines:
        assert KEYS[name] <= json.loads(line).keys()


def test_the_bench_answers_with_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = ROOT / "docs/records"
    shown = next(path for path in sorted(record.glob("*.json")) if b'"rows"' in path.read_bytes())
    main(["bench", "--show", str(shown), "--json"])
    check("bench", capsys.readouterr().out)
    assert run(monkeypatch, ["bench", "--compare", "-", str(shown), "--json"], shown) == Exit.DONE
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert changes
    assert {change["factor"] for change in changes} == {1.0}
    assert main(["bench", "--show", str(folder / "none"), "--json"]) == Exit.WRONG
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "source_not_found"


def test_json_is_there_where_there_is_a_result() -> None:
    for command in every():
        flags = {flag for option in command.options for flag in option.flags}
        assert ("--json" in flags) == (name_of(command) not in WITHOUT_JSON), command.path
    assert KEYS.keys() == set(map(name_of, every())) - WITHOUT_JSON


@pytest.mark.parametrize("command", every(), ids=name_of)
def test_errors_are_json_where_json_is_asked_for(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.path, "--json", "--no-such-option"]) == Exit.WRONG
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    error = json.loads(line)["error"]
    assert (error["kind"], error["exit"], said.out) == ("usage", 2, "")
    assert "--no-such-option" in error["message"] or "required" in error["message"]
    assert error["hint"].startswith(f"pywasmtok {name_of(command)} --help")


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("tenants add", "NAME"),
        ("tenants limit", "NAME"),
        ("tokenizers alias", "NEW-NAME, TOKENIZER"),
    ],
)
def test_arguments_that_may_be_left_out_are_not_missing(
    command: str, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == Exit.WRONG
    assert f"arguments are required: {missing}. pywasmtok" in capsys.readouterr().err


def test_an_error_says_what_and_where(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, ["encode", "--json"], b"ab\xff") == Exit.WRONG
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "invalid_text"
    assert (error["source"], error["offset"]) == ("standard input", 2)
    (folder / "bad.json").write_text("{}")
    assert main(["inspect", "bad.json", "--json"]) == Exit.WRONG
    assert json.loads(capsys.readouterr().err)["error"]["source"] == "bad.json"


def test_the_page_has_every_command() -> None:
    named = re.findall(r"^\| `([a-z ]+)` \| .* \| .* \|$", PAGE, re.MULTILINE)
    assert named == sorted(set(named), key=named.index)
    assert set(named) == set(map(name_of, every()))


def test_the_examples_of_the_page_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines():
        arguments, stdin = words_of(line)
        assert run(monkeypatch, arguments, stdin) == Exit.DONE, capsys.readouterr().err
        assert capsys.readouterr().out
    command, error = re.findall(r"\$ pywasmtok (.*)\n(.*)\n", PAGE)[0]
    assert run(monkeypatch, command.split()) == Exit.WRONG
    assert capsys.readouterr().err.strip() == error


def test_the_page_has_the_exit_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert [(int(code), about) for code, about in rows] == [(int(e), e.about) for e in Exit]


def test_every_metavar_is_known() -> None:
    """So that completion offers files where files are read."""
    unknown: list[str] = []

    def below(parser: Any) -> None:
        for action in parser._actions:
            if isinstance(action.choices, dict):
                for made in action.choices.values():
                    below(made)
            elif action.nargs != 0 and action.choices is None and action.help != "==SUPPRESS==":
                words = action.metavar or action.dest
                words = words if isinstance(words, tuple) else (words,)
                unknown.extend(word for word in words if word not in KINDS)

    below(whole())
    assert unknown == []
