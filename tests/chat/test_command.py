"""`pywasmtok chat`: what it prints, for people and for programs."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok.chat.contract import CompiledTemplate, Origin, Rendered, RenderRequest
from pywasmtok.cli.main import main

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo \x1b[31m"}]
TEXT = "<|user|>Hi\n<|assistant|>Yo \x1b[31m\n"


@pytest.fixture
def conversation(tmp_path: Path) -> str:
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(MESSAGES))
    return str(path)


def chat(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["chat", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status, out, err = chat(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_the_text_is_the_text_where_no_terminal_is(
    conversation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat(capsys, "render", conversation, "--template", TEMPLATE) == (0, TEXT, "")


def test_a_conversation_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.TextIOWrapper(io.BytesIO(json.dumps({"messages": MESSAGES}).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    status, out, _ = chat(capsys, "render", "--template", TEMPLATE, "--prompt")
    assert (status, out) == (0, TEXT + "<|assistant|>")


def test_a_template_from_standard_input(
    conversation: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEMPLATE.encode())))
    assert chat(capsys, "render", conversation, "--template", "-") == (0, TEXT, "")
    status, _, err = chat(capsys, "render", "--template", "-")
    assert status == 2
    assert "asked for twice" in err


def test_everything_that_may_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"messages": MESSAGES, "tools": [{"name": "lost"}]}))
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "f"}]))
    documents = tmp_path / "documents.json"
    documents.write_text(json.dumps([{"title": "D"}]))
    template = tmp_path / "own.jinja"
    template.write_text(
        "{{ tools[0].name }} {{ documents[0].title }} {{ n + 1 }} {{ word }} "
        "{{ strftime_now('%Y-%m-%d %H:%M') }} {{ messages[-1].content }} END"
    )
    arguments = ["--tools", str(tools), "--documents", str(documents), "--arg", "n=4"]
    arguments += ["--arg", "word=plain text", "--now", "2025-01-02T03:04", "--continue"]
    _, out, err = chat(capsys, "render", str(file), "--template", str(template), *arguments)
    assert err == ""
    assert out == "f D 5 plain text 2025-01-02 03:04 Yo \x1b[31m"


def test_colours_say_who_wrote_what_and_messages_paint_nothing(
    conversation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = chat(
        capsys, "render", conversation, "--template", TEMPLATE, "--color", "always"
    )
    assert status == 0
    assert out.startswith("\x1b[2m<|")
    assert "\x1b[32mHi\x1b[0m" in out
    assert "\x1b[36mYo \\x1b[31m\x1b[0m" in out
    assert "\x1b[31m" not in out
    assert err.startswith("by ")
    assert all(name in err for name in ("template", "user", "assistant"))


def test_ids_spans_and_what_was_defused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    name = next(token for token, number in tok.special_tokens.ids.items() if number is not None)
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": f"a {name} b"}]))
    template = f"{name}{{{{ messages[0].content }}}}"
    said = answer(capsys, "encode", str(file), "--template", template)
    assert said["ids"].count(tok.token_to_id(name)) == 1
    assert said["defused"] == 1
    assert said["messages"][0]["token_start"] == 1
    assert said["messages"][0]["token_end"] == len(said["ids"]) == len(said["tokens"])
    status, out, _ = chat(capsys, "encode", str(file), "--template", template)
    assert status == 0
    assert out.splitlines()[0].split()[1:] == [str(number) for number in said["ids"]]
    assert "message 0: user, tokens 1-" in out
    assert "defused:  1 " in out


def test_a_conversation_to_be_continued_as_json(
    conversation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = answer(capsys, "render", conversation, "--template", TEMPLATE, "--continue")
    assert (said["text"], said["generation"]) == (TEXT.rstrip("\n"), [])


def test_only_a_name_that_there_is_chooses_a_template(
    conversation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    named = [{"name": name, "template": f"of {name}"} for name in ("default", "rag")]
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": named}))
    given = "render", conversation, "-t", str(tmp_path)
    assert chat(capsys, *given, "--name", "rag")[:2] == (0, "of rag")
    status, out, err = chat(capsys, *given, "--name", "ragg")
    assert (status, out) == (2, "")
    assert "default, rag" in err
    config.write_text(json.dumps({"chat_template": "the only one"}))
    assert chat(capsys, *given, "--name", "default")[:2] == (0, "the only one")
    for command in ("render", "encode"):
        assert chat(capsys, command, *given[1:], "--name", "rag")[0] == 2


def test_inspect_says_what_the_template_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    said = answer(capsys, "inspect", "--template", TEMPLATE)
    assert said["from"] == "set_chat_template"
    assert said["templates"] == {"default": f"{len(TEMPLATE)} characters"}
    assert said["capabilities"]["generation_prompt"] == "<|assistant|>"
    assert said["capabilities"]["tools"] is False
    status, out, _ = chat(capsys, "inspect", "--template", TEMPLATE)
    assert status == 0
    lines = dict(line.strip().split(":", 1) for line in out.splitlines())
    assert lines["generation_prompt"].split()[0] == "<|assistant|>"


@pytest.mark.parametrize("command", ["render", "encode"])
def test_there_is_no_renderer_to_choose(
    command: str, conversation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = command, conversation, "--template", TEMPLATE
    status, out, err = chat(capsys, *given, "--renderer", "minijinja")
    assert (status, out) == (2, "")
    assert "minijinja" in err
    assert "nothing has to be chosen" in err


@pytest.mark.parametrize(
    ("content", "arguments", "kind"),
    [
        ("[", [], "invalid_argument"),
        ("5", [], "invalid_argument"),
        ('{"messages": [], "surprise": 1}', [], "invalid_argument"),
        ('[{"role": "user", "content": ""}]', ["--now", "noon"], "invalid_argument"),
        ('[{"role": "user", "content": ""}]', ["--arg", "novalue"], "invalid_argument"),
        ('[{"role": "user", "content": ""}]', ["--arg", f"x={'[' * 100_000}"], "invalid_argument"),
        (
            '[{"role": "user", "content": ""}]',
            ["--template", "{{ raise_exception('no') }}"],
            "template_raised",
        ),
        ('[{"role": "user", "content": ""}]', ["--template", "{% if %}"], "template_syntax"),
    ],
)
def test_an_error_is_one_line(
    content: str,
    arguments: list[str],
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "chat.json"
    file.write_text(content)
    status, out, err = chat(capsys, "render", str(file), "--template", TEMPLATE, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"pywasmtok: {kind}: ")
    assert err.count("\n") == 1


class _Echo:
    """A renderer that knows the origin of one character, and nothing else."""

    name = "echo"
    source = ""
    warnings = ("half of it is guessed",)

    def compile(self, source: str, **_: Any) -> CompiledTemplate:
        return self

    def render(self, request: RenderRequest) -> Rendered:
        assert request.origins
        return Rendered("a\nb", (), (Origin(0, 3, ("tools", 0)),))


def test_lines_are_painted_one_by_one_and_warnings_are_shown(
    conversation: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pywasmtok.chat.rendering.sandbox.renderer", _Echo)
    status, out, err = chat(
        capsys, "render", conversation, "--template", "x", "--color", "always", "--lenient"
    )
    assert (status, out) == (0, "\x1b[34ma\x1b[0m\n\x1b[34mb\x1b[0m\n")
    assert err.splitlines()[0] == "pywasmtok: warning: half of it is guessed"
