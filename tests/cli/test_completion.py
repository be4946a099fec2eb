"""The scripts of `pywasmtok completion`, in real shells on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pywasmtok.cli.completion.words import commands
from pywasmtok.cli.main import main
from pywasmtok.cli.options.shell import SHELLS
from pywasmtok.cli.options.tree import whole

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")

# How a shell is started without the files of the user, and how `pywasmtok` shows its arguments.
STARTED = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
# A shell with jobs wants the terminal to be its own.
ON_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
SHOWS = "pywasmtok() { printf '<%s>' \"$@\"; echo '<END>'; }"
SETUP = {
    "bash": [SHOWS, "source script.bash"],
    "zsh": [SHOWS, "autoload -Uz compinit; compinit -u -D", "source script.zsh"],
    "fish": [
        "function pywasmtok; printf '<%s>' $argv; echo '<END>'; end",
        "source script.fish",
    ],
}

# What is typed, where each § is the key TAB, and the arguments that it becomes.
TYPED = [
    ("enc§x", ["encode", "x"]),
    ("encode --offs§x", ["encode", "--offsets", "x"]),
    ("encode --encoder h§x", ["encode", "--encoder", "hf", "x"]),
    ("encode --encoder=h§x", ["encode", "--encoder=hf", "x"]),
    ("encode -f pro§--json", ["encode", "-f", "prompt.txt", "--json"]),
    ("inspect tok§--js§", ["inspect", "tokenizer.json", "--json"]),
    ("inspect tokenizer.json pro§", ["inspect", "tokenizer.json", "prompt.txt"]),
    ("cac§ver§", ["cache", "verify"]),
    ("chat ren§pro§", ["chat", "render", "prompt.txt"]),
    ("tenants ro§--store fol§", ["tenants", "rotate", "--store", "folder"]),
    ("diff --against tr§tok§", ["diff", "--against", "transformers", "tokenizer.json"]),
    ("tokenizers add mine=tok§x", ["tokenizers", "add", "mine=tokenizer.json", "x"]),
    ("completion f§", ["completion", "fish"]),
]


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell: str, folder: Path) -> None:
        import pty

        environment = {**os.environ, "TERM": "dumb", "HOME": str(folder), "PS1": "$ "}
        environment |= {"LC_ALL": "C.UTF-8", "HISTFILE": ""}
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", ON_TERMINAL, *STARTED[shell]],
            cwd=folder,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._said = ""

    def send(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, pattern: str) -> str:
        """All that came until the pattern did."""
        import select

        while not re.search(pattern, self._said):
            ready, _, _ = select.select([self._master], [], [], 60)
            assert ready, f"nothing came after {self._said!r}"
            self._said += os.read(self._master, 65536).decode(errors="replace")
        said, self._said = self._said, ""
        return said

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tokenizer.json", "prompt.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.fixture(params=SHELLS)
def terminal(request: pytest.FixtureRequest, folder: Path) -> Iterator[Terminal]:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    made = subprocess.run(
        [sys.executable, "-m", "pywasmtok", "completion", shell], capture_output=True, check=True
    )
    (folder / f"script.{shell}").write_bytes(made.stdout)
    found = Terminal(shell, folder)
    for line in [*SETUP[shell], "echo rea''dy"]:
        found.send(f"{line}\r")
    found.until("ready")
    yield found
    found.close()


def test_tab_completes(terminal: Terminal) -> None:
    for typed, expected in TYPED:
        *before, last = typed.split("§")
        terminal.send("pywasmtok ")
        for part in before:
            # A shell takes a TAB amid further input for text: what came is shown first.
            terminal.send(part)
            terminal.until(re.escape(part[-3:]))
            terminal.send("\t")
        terminal.send(f"{last}\r")
        # zsh takes the / of a folder away at the end of a line.
        said = terminal.until(r"<END>[^']").replace("/>", ">")
        assert "".join(f"<{word}>" for word in expected) + "<END>" in said, (typed, said)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    words = set(re.findall(r"[\w-]+", script))
    for command in commands(whole()):
        assert set(command.path) <= words
        for option in command.options:
            flags = option.flags
            assert {flag if shell != "fish" else flag.lstrip("-") for flag in flags} <= words
            assert option.value is None or set(option.value.choices) <= set(
                re.findall(r"[\w.-]+", script)
            )


def test_bash_lists_what_fits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also bash 3.2 has this way; the script asks for nothing that it lacks."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    main(["completion", "bash"])
    script = capsys.readouterr().out
    for line, expected in (
        (["pywasmtok", "to"], ["tokenizers"]),
        (["pywasmtok", "tokenizers", ""], ["add", "list", "alias", "remove", "verify"]),
        (["pywasmtok", "encode", "--encoder", "=", "h"], ["hf"]),
        (["pywasmtok", "encode", "--seed", ""], []),
        (["pywasmtok", "encode", "-t", "chat", "--enc"], ["--encoder", "--encoding"]),
        (["pywasmtok", "convert", "a", "b", "--to", ""], ["json", "gguf", "model", "tiktoken"]),
    ):
        words = " ".join(f"'{word}'" for word in line)
        code = (
            f"{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={len(line) - 1}\n"
            "_pywasmtok 2>/dev/null\nprintf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", code], capture_output=True, text=True, check=True, cwd=folder
        )
        assert done.stdout.split() == expected, line
