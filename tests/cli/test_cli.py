from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small
from versions import IS_REFERENCE

import pywasmtok
from pywasmtok.backends.hf import REFERENCE
from pywasmtok.cli.main import main


def run(
    *arguments: str | bytes, stdin: bytes = b"", encoding: str = "utf-8"
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pywasmtok", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )


def answer(*arguments: str, stdin: bytes = b"") -> Any:
    done = run(*arguments, "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return json.loads(done.stdout)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(small.write(tmp_path))


def test_encode_shows_ids_pieces_and_who_answered(file: str) -> None:
    text = "Hello world, Привет 世界"
    done = run("encode", text)
    assert done.returncode == 0, done.stderr
    ids, pieces, backend = done.stdout.decode().splitlines()
    expected = pywasmtok.create_tokenizer("builtin:demo").encode(text)
    assert ids.split()[1:] == [str(number) for number in expected]
    assert pieces.startswith("pieces:")
    shown = [json.loads(piece) for piece in re.findall(r'"[^"]*"', pieces)]
    assert shown == [text[start:end] for start, end in expected.offsets]
    assert shown[0] == "Hello"
    assert {"世", "界"} <= set(shown)
    assert backend.split()[:2] == ["backend:", "core"]
    # What is added has no part of the text, and what comes of a pair is shown by its tokens.
    assert '"<s>"' in run("encode", "a", "-t", file).stdout.decode()
    assert '"a" "b"' in run("encode", "a", "--pair", "b", "--no-special").stdout.decode()


def test_names_of_special_tokens(file: str) -> None:
    def tokens(special: str) -> list[str]:
        arguments = ("-t", file, "--no-special", "--special", special, "<s></s>")
        return list(answer("encode", *arguments)["tokens"])

    assert tokens("all") == ["<s>", "</s>"]
    assert tokens("none") == list("<s></s>")
    assert tokens("<s>") == ["<s>", *"</s>"]
    assert tokens("<s>,</s>") == ["<s>", "</s>"]
    refused = run("encode", "-t", file, "--special", "raise", "a <s>")
    assert refused.returncode != 0
    assert b"'<s>'" in refused.stderr or b'"<s>"' in refused.stderr
    assert b"(byte 2)" in refused.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    text = "h\u00e9llo \U0001f44d"
    done = run("encode", text, "--no-special", "--offsets", "--json", encoding=encoding)
    found = json.loads(done.stdout.decode(encoding))
    assert found["ids"] == pywasmtok.create_tokenizer("builtin:demo").encode(text, None, False).ids
    shown = run("decode", *map(str, found["ids"]), "--json", encoding=encoding)
    assert json.loads(shown.stdout.decode(encoding))["text"] == text
    missing = str(tmp_path / text)
    failed = run("inspect", missing, "--json", encoding=encoding)
    assert json.loads(failed.stderr.decode(encoding))["error"]["source"] == missing


def test_encode_as_json(file: str) -> None:
    found = answer("encode", "-t", file, "--offsets", "--pair", "world", "é")
    encoding = pywasmtok.create_tokenizer(file).encode("é", "world")
    assert found["ids"] == encoding.ids
    assert found["tokens"] == encoding.tokens
    assert found["offsets"] == [list(span) for span in encoding.offsets]
    assert found["byte_offsets"] == [list(span) for span in encoding.byte_offsets]
    assert found["hash"] == f"{encoding.hash:016x}"
    assert found["backend"]["encoder"] == found["backend"]["served_by"] == "core"
    assert answer("encode", "-t", file, "--no-special", "Hello")["tokens"] == ["Hello"]
    assert answer("encode", "-t", file, "--encoder", "hf", "x")["backend"]["encoder"] == "hf"


def test_text_comes_verbatim_from_argument_file_or_stdin(file: str, tmp_path: Path) -> None:
    text = "Hello\r\nwörld\n"
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    expected = pywasmtok.create_tokenizer(file).encode(text).ids
    assert answer("encode", "-t", file, text)["ids"] == expected
    assert answer("encode", "-t", file, "--file", str(path))["ids"] == expected
    assert answer("encode", "-t", file, stdin=text.encode())["ids"] == expected


def test_decode(file: str, tmp_path: Path) -> None:
    ids = pywasmtok.create_tokenizer(file).encode("Hello wörld").ids
    words = [str(number) for number in ids]
    path = tmp_path / "ids.json"
    path.write_text(json.dumps(ids))
    for arguments, stdin in (
        (words, b""),
        ([",".join(words)], b""),
        ([json.dumps(ids)], b""),
        (["--file", str(path)], b""),
        ([], " ".join(words).encode()),
    ):
        done = run("decode", "-t", file, *arguments, stdin=stdin)
        assert done.stdout.decode() == "Hello wörld" + os.linesep
    found = answer("decode", "-t", file, "--keep-special", "--decoder", "core", *words)
    assert found["text"] == "<s>Hello wörld"
    assert found["backend"]["decoder"] == "core"


def test_inspect(file: str) -> None:
    found = answer("inspect", file)
    assert found["format"] == "tokenizer.json"
    assert "model" in found["reason"]
    assert found["encoder"] == "core"
    assert found["falls_back"] is None
    assert found["size"] == len(small.file())
    assert found["special_tokens"]["additional"] == ["<s>", "</s>", "<|user|>"]
    shown = run("inspect", file).stdout.decode()
    assert "tokenizer.json" in shown
    assert "BPE" in shown


def test_inspect_says_what_falls_back(tmp_path: Path) -> None:
    path = tmp_path / "clusters.json"
    path.write_bytes(small.UNSERVED)
    found = answer("inspect", str(path))
    assert (found["encoder"], found["falls_back"]) == ("hf", small.UNSERVED_FEATURE)
    path.write_bytes(b"GGUF\x63\0\0\0" + bytes(16))
    found = answer("inspect", str(path))
    assert (found["format"], found["encoder"]) == ("gguf", None)
    assert "version" in found["falls_back"]


def test_doctor() -> None:
    found = answer("doctor")
    assert found["pywasmtok"] == pywasmtok.__version__
    assert set(found["checks"].values()) == {"ok"}
    assert found["packages"]["wasmtime"]
    assert found["reference"].startswith(f"tokenizers {REFERENCE}, ")
    assert ("not installed" in found["reference"]) == (not IS_REFERENCE)
    shown = run("doctor")
    assert shown.returncode == 0
    assert pywasmtok.__version__ in shown.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["encode", "-t", "no/such/file", "x"], "source_not_found"),
        (["encode", "--file", "no/such/file"], "source_not_found"),
        (["encode", "--file", "x", "text"], "invalid_argument"),
        (["encode", "--build", "huge", "x"], "invalid_argument"),
        (["decode", "1", "x"], "invalid_argument"),
        (["decode", "[1,[2]]"], "invalid_argument"),
        (["decode", "[1,2"], "invalid_argument"),
        (["decode", "--", "-1"], "invalid_token"),
        (["inspect", "no/such/file"], "source_not_found"),
    ],
)
def test_errors_are_one_line(arguments: list[str], kind: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"pywasmtok: {kind}: ")


def test_hints_name_options_and_not_calls(tmp_path: Path) -> None:
    done = run("encode", "<|endoftext|>", "--special", "raise")
    assert done.stderr.decode().endswith(". --special none takes such names as text" + os.linesep)
    messages = tmp_path / "messages.json"
    messages.write_text('[{"role": "user", "content": "Hello"}]')
    done = run("chat", "render", str(messages))
    assert done.stderr.decode().endswith(". --template takes a template or its file" + os.linesep)
    done = run("encode", "a", "--special", "nope")
    assert "`pywasmtok inspect` lists those of the file" in done.stderr.decode()
    messages.write_text('[{"role": "user", "content": "\\ud800"}]')
    done = run("chat", "render", str(messages), "--template", "{{ messages[0].content }}")
    assert "(" not in done.stderr.decode().rpartition(". ")[2], done.stderr


def test_input_that_is_no_text() -> None:
    done = run("encode", stdin=b"ab\xff")
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("pywasmtok: invalid_text: standard input")
    assert "byte 2" in line


@pytest.mark.skipif(os.name == "nt", reason="arguments are UTF-16 there")
def test_an_argument_that_is_no_text() -> None:
    done = run("encode", b"\xff")
    assert done.returncode == 2
    assert done.stderr.decode().startswith("pywasmtok: invalid_text: ")
    assert done.stderr.decode().endswith("An argument is UTF-8" + os.linesep)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["encode", "--encoder", "fast", "x"]])
def test_wrong_usage(arguments: list[str]) -> None:
    assert run(*arguments).returncode == 2


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["encode", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    assert f"pywasmtok {pywasmtok.__version__}" in capsys.readouterr().out


def test_a_reader_that_leaves_early(file: str) -> None:
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'pywasmtok', 'encode', 'x' * 100000],"
        " stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "p.stdout.close()\n"
        "print(repr(p.stderr.read()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "b''"


def test_count_has_a_line_for_each_file_and_the_total(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("Hello, world!")
    second.write_text("Привет, 世界!\n" * 100, encoding="utf-8")
    tok = pywasmtok.create_tokenizer("builtin:demo")
    counts = [tok.count(path.read_text(encoding="utf-8")) for path in (first, second)]
    done = run("count", str(first), str(second))
    assert done.stderr == b""
    assert done.stdout.decode().split() == [
        *(str(counts[0]), str(first), str(counts[1]), str(second)),
        *(str(sum(counts)), "total"),
    ]
    assert answer("count", stdin=first.read_bytes()) == {
        "files": [{"file": "-", "tokens": counts[0]}],
        "total": counts[0],
    }
    assert run("count", stdin=first.read_bytes()).stdout.split() == [b"%d" % counts[0], b"-"]
    assert run("count", str(tmp_path / "none")).stderr.startswith(b"pywasmtok: source_not_found")


def test_truncate_prints_what_is_kept(tmp_path: Path) -> None:
    text = "Hello, world! Привет, 世界!"
    tok = pywasmtok.create_tokenizer("builtin:demo")
    kept = tok.truncate(text, 5)
    assert 0 < len(kept.text) < len(text)
    assert run("truncate", "5", stdin=text.encode()).stdout.decode() == kept.text
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    end = tok.truncate(text, 5, "left")
    assert answer("truncate", "5", "--side", "left", "-f", str(path)) == {
        "file": str(path),
        "text": end.text,
        "tokens": len(end.encoding),
    }
    assert run("truncate", "-1", stdin=b"a").returncode != 0


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no such file here")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_converted_file_on_standard_output_is_alone(file: str, options: tuple[str, ...]) -> None:
    done = run("convert", file, "/dev/stdout", *options)
    assert done.returncode == 0
    assert json.loads(done.stdout)["model"]
    assert b"/dev/stdout" in done.stderr
