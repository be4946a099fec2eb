"""What a terminal is shown, and that nothing of it reaches a pipe."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import small

import pywasmtok
from pywasmtok.cli import terminal
from pywasmtok.cli.main import main
from pywasmtok.cli.terminal import Progress, clipped, colours, visible, waiting, width_of, wrapped

TEXT = "Hello, wörld!\n\tПривет 世界 👋🏽 e\u0301 <|endoftext|>"
ESCAPE = re.compile(r"\x1b\[[0-9;]*[mK]")
needs_pty = pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals there")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("wanted", "environment", "on_terminal", "in_pipe"),
    [
        ("auto", {}, True, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"TERM": "dumb"}, False, False),
    ],
)
def test_when_there_are_colours(
    wanted: str, environment: dict[str, str], on_terminal: bool, in_pipe: bool
) -> None:
    assert colours(wanted, Screen(), environment) is on_terminal
    assert colours(wanted, io.StringIO(), environment) is in_pipe


def test_widths() -> None:
    assert [width_of(text) for text in ("ab", "世界", "e\u0301", "Ａ", "\u200d", "")] == [
        *(2, 4, 1, 2, 0, 0)
    ]
    assert clipped("世界世界", 5) == "世界…"
    assert clipped("世界", 4) == "世界"


def test_every_character_can_be_seen() -> None:
    assert visible(" a\tb\r\n") == "·a⇥b␍⏎"
    assert visible(" a b", spaces=False) == " a b"
    assert visible("\x1b[0m\x00\u200b\ufeff") == "<U+001B>[0m<U+0000><U+200B><U+FEFF>"
    assert visible(b"\xf0\x9fx".decode("utf-8", "surrogateescape")) == "<F0><9F>x"
    assert visible("世e\u0301") == "世e\u0301"


def test_long_values_go_on_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert wrapped("one two three four five", 6) == "one two three\n      four five"
    assert wrapped("x" * 40, 6) == "x" * 40


def test_progress_appears_after_a_second_and_goes(clock: list[float]) -> None:
    screen = Screen()
    with Progress("counting", 8, screen) as progress:
        progress.at(1)
        clock[0] += 0.9
        progress.at(2)
        assert screen.getvalue() == ""
        clock[0] += 0.2
        progress.at(4)
        first = screen.getvalue()
        assert first == "\r\x1b[K[############............]  50% counting, 1 s"
        clock[0] += 0.01
        progress.at(5)
        assert screen.getvalue() == first
    assert screen.getvalue() == f"{first}\r\x1b[K"


def test_progress_leaves_no_trace_when_it_is_quick_or_piped(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, quick, dumb = io.StringIO(), Screen(), Screen()
    with Progress("x", stream=quick) as progress:
        progress.draw()
    monkeypatch.setenv("TERM", "dumb")
    for stream in (pipe, dumb):
        with Progress("x", stream=stream) as progress:
            clock[0] += 10
            progress.draw()
    assert pipe.getvalue() == quick.getvalue() == dumb.getvalue() == ""


def test_a_line_of_progress_never_wraps(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    screen = Screen()
    with Progress("世" * 40, 10, screen) as progress:
        clock[0] += 2
        progress.at(3)
        assert width_of(ESCAPE.sub("", screen.getvalue()).strip("\r")) < 30


def test_lines_that_stay_come_between(clock: list[float]) -> None:
    screen, pipe = Screen(), io.StringIO()
    for stream in (screen, pipe):
        with Progress("a", stream=stream) as progress:
            clock[0] += 2
            progress.draw()
            progress.say("group 1")
            clock[0] += 2
            progress.draw()
    first, between, last, end = screen.getvalue().split("\r\x1b[K")[1:]
    assert (first, between, last, end) == ("a, 2 s", "group 1\n", "group 1, 4 s", "")
    assert pipe.getvalue() == "group 1\n"


def test_a_call_that_says_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_PATIENCE", 0.01)
    monkeypatch.setattr(terminal, "_BETWEEN", 0.0)
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    logger = logging.getLogger("pywasmtok")
    before, threads = (logger.level, list(logger.filters)), set(threading.enumerate())

    def until(shown: str) -> None:
        end = time.monotonic() + 60
        while shown not in screen.getvalue():
            assert time.monotonic() < end
            time.sleep(0.01)

    with waiting("loading x"):
        until("loading x, 0 s")
        logger.info("compiling %s", "portable")
        logger.info("something else")
        until("compiling portable, 0 s")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert "something else" not in screen.getvalue()
    assert before == (logger.level, list(logger.filters))
    assert set(threading.enumerate()) <= threads


def test_nothing_waits_beside_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    before = threading.active_count()
    with waiting("loading"):
        assert threading.active_count() == before


def on_terminal(
    *arguments: str, columns: int = 60, setup: str = "", stdout: Path | None = None, **more: str
) -> tuple[str, int]:
    """What a terminal of this width is sent: it is stdout, or with `stdout` stderr. Not both: on a
    busy machine there is progress before any answer."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    code = f"import sys; from pywasmtok.cli import main, terminal\n{setup}\nsys.exit(main.main())"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **more}
    with Path(os.devnull if stdout is None else stdout).open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=theirs if stdout is None else file,
            stderr=subprocess.DEVNULL if stdout is None else theirs,
            env=environment,
        )
    os.close(theirs)
    sent = b""
    try:
        while data := os.read(ours, 65536):
            sent += data
    except OSError:
        # How Linux says that the other end is closed.
        pass
    os.close(ours)
    return sent.decode().replace("\r\n", "\n"), process.wait(60)


@needs_pty
def test_encode_on_a_terminal(tmp_path: Path) -> None:
    file = small.write(tmp_path)
    shown, status = on_terminal("encode", "Hello 世\nx</s>", "-t", str(file))
    assert status == 0
    coloured, table = shown.split("\n\n", 1)
    # A character of several tokens is shown by its bytes, a line ends where the text has it end.
    assert "<E4>" in coloured
    assert [ESCAPE.sub("", line) for line in coloured.split("\n")] == [
        "<s>Hello <E4><B8><96>⏎",
        "x</s>",
    ]
    assert coloured.count("\x1b[1;97;45m") == 2
    encoding = pywasmtok.create_tokenizer(file).encode("Hello 世\nx</s>")
    pieces, ids = (ESCAPE.sub("", line) for line in table.split("\n")[:2])
    assert pieces.split() == ["<s>", "Hello", "·", "<E4>", "<B8>", "<96>", "⏎", "x", "</s>"]
    assert [int(number) for number in ids.split()] == encoding.ids
    for piece, number in zip(pieces.split(), ids.split(), strict=True):
        assert pieces.index(piece) == ids.index(number)
    assert f"{len(encoding)} ids, 13 characters\nbackend:  core" in table


@needs_pty
@pytest.mark.parametrize("columns", [30, 61])
def test_rows_fit_the_terminal(columns: int) -> None:
    shown, status = on_terminal("encode", TEXT * 3, "--offsets", columns=columns)
    assert status == 0
    lines = shown.split("\n\n", 1)[1].splitlines()
    rows = [ESCAPE.sub("", line) for line in lines]
    assert max(map(width_of, rows)) <= columns
    assert len(rows) > 12
    # Without colours the same, and the text is not repeated.
    plain, _ = on_terminal("encode", TEXT * 3, "--offsets", columns=columns, NO_COLOR="1")
    assert "\x1b" not in plain
    assert [line.rstrip() for line in plain.splitlines()] == [line.rstrip() for line in rows]
    dumb, _ = on_terminal("encode", TEXT * 3, "--offsets", columns=columns, TERM="dumb")
    assert dumb == plain


@needs_pty
def test_of_a_long_text_a_terminal_shows_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("word " * 5000)
    shown, _ = on_terminal("encode", "-f", str(path), columns=200)
    assert re.search(r"\.\.\. and [0-9],[0-9]{3} more ids", shown)
    assert shown.count("·word") < 1001


@needs_pty
def test_a_pipe_gets_the_same_beside_a_terminal(tmp_path: Path) -> None:
    """Progress goes to stderr alone, and the line is removed."""
    path, out = tmp_path / "text", tmp_path / "out"
    path.write_text(TEXT * 20_000, encoding="utf-8")
    at_once = "terminal._PATIENCE = terminal._BETWEEN = 0"
    shown, status = on_terminal("encode", "-f", str(path), setup=at_once, stdout=out)
    assert status == 0
    assert re.search(r"\[#+\.*\] +[0-9]+% writing", shown)
    assert shown.endswith("\r\x1b[K")
    ids, pieces, backend = out.read_text(encoding="utf-8").splitlines()
    encoding = pywasmtok.create_tokenizer("builtin:demo").encode(TEXT * 20_000)
    assert ids == f"ids:     {' '.join(map(str, encoding.ids))}"
    found = zip(encoding.offsets, encoding.tokens, strict=True)
    text = TEXT * 20_000
    quoted = (json.dumps(text[a:b] or name, ensure_ascii=False) for (a, b), name in found)
    assert pieces == f"pieces:  {' '.join(quoted)}"
    assert backend.startswith("backend:  core")


def test_long_answers_are_what_json_makes_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text"
    text = TEXT * 10_000
    path.write_text(text, encoding="utf-8")
    assert main(["encode", "-f", str(path), "--json", "--offsets"]) == 0
    written = capsys.readouterr().out
    found = json.loads(written)
    assert written == json.dumps(found, ensure_ascii=False) + "\n"
    encoding = pywasmtok.create_tokenizer("builtin:demo").encode(text)
    assert found["ids"] == encoding.ids
    assert found["tokens"] == encoding.tokens
    assert found["offsets"] == [list(span) for span in encoding.offsets]
    assert found["byte_offsets"] == [list(span) for span in encoding.byte_offsets]
    for empty in (["encode", ""], ["encode", "", "--json"]):
        assert main(empty) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["ids:     ", "pieces:  "]
    assert json.loads(lines[3])["ids"] == []


def test_colours_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["encode", "Hello world"])
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    main(["encode", "Hello world", "--color", "always"])
    assert "\x1b[30;46mHello\x1b[0m" in capsys.readouterr().out
    main(["encode", "", "--color", "always"])
    assert capsys.readouterr().out.startswith("0 ids, 0 characters\nbackend:")
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["encode", "Hello world"])
    assert "\x1b[30;46mHello\x1b[0m" in capsys.readouterr().out
    main(["encode", "Hello world", "--color", "never"])
    assert capsys.readouterr().out == plain


@needs_pty
def test_values_fit_the_terminal() -> None:
    shown, _ = on_terminal("inspect", columns=50)
    assert "\n                <|user|>" in shown
    assert len(
        subprocess.run(
            [sys.executable, "-m", "pywasmtok", "inspect"], capture_output=True, check=True
        ).stdout.splitlines()
    ) < len(shown.splitlines())
