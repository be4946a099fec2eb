"""Every command ends with the code of docs/cli.md."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pywasmtok import errors
from pywasmtok.cli import main as module
from pywasmtok.cli.completion.words import Command
from pywasmtok.cli.exits import Exit, code_of
from pywasmtok.cli.main import main

from .commands import TEMPLATE, every, examples, fill, run, words_of

EXAMPLES = examples()
COMMANDS = pytest.mark.parametrize("path", EXAMPLES, ids=" ".join)

# What each command says of a file or a name that is not there; `completion` and `doctor` read none.
BAD = {
    "encode": ["-t", "none.json", "x"],
    "decode": ["-f", "none"],
    "count": ["none"],
    "truncate": ["5", "-f", "none"],
    "inspect": ["none.json"],
    "convert": ["none.json", "out.json"],
    "diff": ["none.json", "tokenizer.json"],
    "chat render": ["none.json", "--template", TEMPLATE],
    "chat encode": ["none.json", "--template", TEMPLATE],
    "chat inspect": ["-t", "none.json"],
    "cache": ["none"],
    "serve": ["none.json", "--port", "0"],
    "tenants add": ["A B", "--store", "store"],
    "tenants list": ["--config", "none.toml"],
    "tenants rotate": ["none", "--store", "store"],
    "tenants limit": ["none", "--store", "store"],
    "tenants remove": ["none", "--store", "store"],
    "tenants verify": ["--store", "none"],
    "tokenizers add": ["x=none.json", "--store", "store"],
    "tokenizers list": ["--config", "none.toml"],
    "tokenizers alias": ["x", "none", "--store", "store"],
    "tokenizers remove": ["none", "--store", "store"],
    "tokenizers verify": ["--store", "none"],
    "bench": ["--show", "none.json"],
    "conformance": ["--suite", "none"],
}
# Programs of a scheduler may begin with closed streams.
CLOSED = {
    "stdin": ["encode", "--json"],
    "stdout": ["encode", "x"],
    "stderr": ["encode", "-f", "none"],
}
READ_NOTHING = {"completion", "doctor"}
NEEDS = {
    "conformance": "tokconf",
    "serve": "msgspec",
    "tenants": "msgspec",
    "tokenizers": "msgspec",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", every(), ids=lambda command: " ".join(command.path))
def test_wrong_usage(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.path, "--no-such-option"]) == Exit.WRONG
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usage: pywasmtok")


def test_the_table_of_bad_input_is_complete() -> None:
    assert BAD.keys() | READ_NOTHING == {" ".join(path) for path in EXAMPLES}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if (needed := NEEDS.get(name.split(maxsplit=1)[0])) is not None:
        pytest.importorskip(needed)
    assert main([*name.split(), *BAD[name]]) == Exit.WRONG
    assert "pywasmtok: " in capsys.readouterr().err


@COMMANDS
@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (errors.DeadlineExceeded("late"), Exit.LIMIT),
        (errors.BackendUnavailable("gone"), Exit.MISSING),
        (errors.CoreTrap("trap"), Exit.FAILED),
        (OSError(28, "No space left on device"), Exit.FAILED),
        (RuntimeError("a bug"), Exit.FAILED),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (BrokenPipeError(), Exit.CLOSED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_ends_the_work(
    path: tuple[str, ...],
    raised: BaseException,
    code: Exit,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def work(options: object) -> int:
        raise raised

    monkeypatch.setattr(module, "_work", lambda name: work)
    # Else the output of this process would be gone.
    monkeypatch.setattr(module, "drop", lambda stream: None)
    assert main(words_of(EXAMPLES[path][0])[0]) == code
    said = capfd.readouterr()
    assert said.out == ""
    assert (said.err == "") == (code in {Exit.INTERRUPTED, Exit.CLOSED})


def test_every_error_of_the_library_has_a_code() -> None:
    names = [name for name in errors.__all__ if name != "TokenizerError"]
    codes = {name: code_of(getattr(errors, name)("x")) for name in names}
    assert set(codes.values()) == {Exit.WRONG, Exit.LIMIT, Exit.MISSING, Exit.FAILED}
    for name, code in codes.items():
        assert (code == Exit.LIMIT) == issubclass(getattr(errors, name), errors.LimitExceeded)


def test_findings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    other = json.loads(text)
    other["model"]["merges"].pop(0)
    (folder / "other.json").write_text(json.dumps(other), encoding="utf-8")
    assert main(["diff", "tokenizer.json", "other.json", "--budget", "300"]) == Exit.FOUND
    from pywasmtok.cli import cache, doctor

    monkeypatch.setattr(doctor, "_core", lambda: doctor._round_trip(None))
    monkeypatch.setattr(doctor, "_round_trip", lambda tokenizer: fail())
    assert main(["doctor"]) == Exit.FOUND
    damaged: dict[str, Any] = {"directory": None, "off_because": "", "cores": [], "snapshots": []}
    monkeypatch.setattr(cache, "report", lambda verify: (damaged, False))
    assert main(["cache", "verify"]) == Exit.FOUND


def fail() -> None:
    raise errors.CoreTrap("trap")


def test_a_limit_of_a_real_template(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"
    assert main(["chat", "render", "chat.json", "--template", endless]) == Exit.LIMIT
    assert "template_limit" in capsys.readouterr().err


def test_missing_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("pywasmtok.cli.conformance.find_spec", lambda name: None)
    for command in (["conformance"], ["serve"], ["tenants", "list"], ["tokenizers", "list"]):
        assert main(command) == Exit.MISSING
        assert "pip install" in capsys.readouterr().err


def start(*arguments: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "pywasmtok", *arguments],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        preexec_fn=hear_ctrl_c if os.name == "posix" else None,  # noqa: PLW1509
    )


def hear_ctrl_c() -> None:
    """A shell starts what runs in the background with this signal ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_by_the_signal_without_a_word(folder: Path) -> None:
    process = start("count", "prompt.txt", "-")
    assert process.stdout is not None
    # After this line it waits for standard input.
    assert process.stdout.readline().split()[1:] == [b"prompt.txt"]
    process.send_signal(signal.SIGINT)
    # Before its input ends, which would end it, too.
    process.wait(timeout=60)
    _, said = process.communicate(timeout=60)
    # A shell reports this as 130.
    assert (process.returncode, said) == (-signal.SIGINT, b"")


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [["encode", "x " * 60000], ["--help"], ["inspect", "--json"]])
def test_a_closed_pipe_ends_quietly(arguments: list[str]) -> None:
    process = start(*arguments)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (Exit.CLOSED, b"")


def test_one_of_several_files_may_be_bad(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bytes").write_bytes(b"\xff")
    files = ["prompt.txt", "none", "bytes", "-"]
    assert run(monkeypatch, ["count", *files], b"Hello") == Exit.WRONG
    said = capsys.readouterr()
    assert [line.split()[-1] for line in said.out.splitlines()] == ["prompt.txt", "-", "total"]
    assert ["none" in said.err, "bytes: no UTF-8" in said.err] == [True, True]
    given = [word for file in files for word in ("-f", file)]
    assert run(monkeypatch, ["truncate", "1", *given], b"Hello") == Exit.WRONG
    assert "==> standard input <==\n" in capsys.readouterr().out


def test_standard_input_is_read_wherever_a_file_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = folder / "tokenizer.json"
    outputs = []
    for arguments in (["encode", "Hello", "--json"], ["encode", "Hello", "--json", "-t", "-"]):
        assert run(monkeypatch, arguments, tokenizer) == Exit.DONE
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    for arguments in (
        ["inspect", "-"],
        ["diff", "-", "tokenizer.json", "--budget", "100"],
        ["diff", "tokenizer.json", "-", "--budget", "100"],
        ["diff", "-", "--against", "hf", "--budget", "100"],
        ["diff", "tokenizer.json", "other.json", "--budget", "100", "--text", "-"],
        ["convert", "-", "out.json"],
    ):
        assert run(monkeypatch, arguments, tokenizer) == Exit.DONE, capsys.readouterr().err
        if arguments[-1] != "-" or arguments[0] == "inspect":
            continue
        assert "standard input" in capsys.readouterr().out
    assert run(monkeypatch, ["encode", "-t", "-"], tokenizer) == Exit.WRONG
    assert "standard input is asked for twice" in capsys.readouterr().err
    assert run(monkeypatch, ["inspect", "-"], b"junk") == Exit.WRONG
    assert capsys.readouterr().err.startswith("pywasmtok: unknown_format: standard input: ")


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes them")
@pytest.mark.parametrize("stream", CLOSED)
def test_a_stream_that_is_closed(stream: str, tmp_path: Path) -> None:
    sign = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}[stream]
    command = shlex.join([sys.executable, "-m", "pywasmtok", *CLOSED[stream]])
    done = subprocess.run(
        ["sh", "-c", f"{command} {sign}"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
    )
    if stream == "stdin":
        assert json.loads(done.stderr)["error"]["message"] == "standard input is closed"
    else:
        assert not done.stderr
    assert done.returncode == (Exit.DONE if stream == "stdout" else Exit.WRONG)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["encode", "-f", "none"], Exit.WRONG),
        (["encode", "-f", "none", "--json"], Exit.WRONG),
        (["nonsense"], Exit.WRONG),
        (["encode", "x"], Exit.DONE),
    ],
)
def test_a_standard_error_that_is_full(command: list[str], code: Exit, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pywasmtok", *command],
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
            # A warning, which is lost as well.
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "PYWASMTOK_SNAPSHOTS": "maybe",
            },
            cwd=tmp_path,
        )
    assert done.returncode == code
