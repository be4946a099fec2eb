"""What templates are found to do, against templates that were written to do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small
from assets import ROOT, needs_assets
from signals import StopError, arrive, handled

import pywasmtok
from chat.whole_reference import ReferenceRenderer
from pywasmtok._host.template.pool import TemplatePools
from pywasmtok.chat.rendering.sandbox import SandboxRenderer
from pywasmtok.chat.templates.capabilities import ChatCapabilities, probe
from pywasmtok.tenants import CancelToken, cancellable

PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
PARTS = (
    "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}"
    "{% endif %}{% endfor %}{% endfor %}"
)
EITHER = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{{ m.content |"
    " selectattr('type', 'equalto', 'text') | map(attribute='text') | join }}{% endif %}"
    "{% endfor %}"
)
CALLS = (
    "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments FILTER }}"
    "{% endfor %}{% endfor %}"
)


def found(template: str) -> ChatCapabilities:
    return probe(ReferenceRenderer().compile(template), {"bos_token": "<s>"})


def test_content() -> None:
    assert found(PLAIN).content == "string"
    assert found(PARTS).content == "parts"
    assert found(EITHER).content == "both"
    assert found("nothing").content == "none"
    assert found("{{ raise_exception('never') }}").content == "none"


def test_roles() -> None:
    no_system = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    assert found(PLAIN).system_role
    assert found(PARTS).system_role
    refused = found(no_system)
    assert not refused.system_role
    assert refused.how["system_role"] == "a system message is refused"
    assert refused.content == "string"


def test_tools_and_calls() -> None:
    as_object = found(CALLS.replace("FILTER", "| tojson"))
    assert (as_object.tools, as_object.tool_calls, as_object.parallel_tool_calls) == (
        True,
        True,
        True,
    )
    assert (as_object.arguments, as_object.tool_role) == ("object", True)
    assert found(CALLS.replace("FILTER", "")).arguments == "string"
    both = CALLS.replace(
        "{{ c.function.arguments FILTER }}",
        "{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}"
        "{{ c.function.arguments | tojson }}{% endif %}",
    )
    assert found(both).arguments == "both"
    one = CALLS.replace("m.tool_calls or []", "(m.tool_calls or [])[:1]").replace("FILTER", "")
    assert (found(one).tool_calls, found(one).parallel_tool_calls) == (True, False)
    none = found(PLAIN)
    assert (none.tools, none.tool_calls, none.arguments) == (False, False, "none")


def test_reasoning() -> None:
    switch = (
        PLAIN + "{% for m in messages %}{{ m.reasoning_content }}{% endfor %}"
        "{% if add_generation_prompt %}<a>{% if enable_thinking is defined and not enable_thinking"
        " %}<think></think>{% endif %}{% endif %}"
    )
    seen = found(switch)
    assert (seen.reasoning, seen.reasoning_switch, seen.thinking_prefill) == (
        True,
        "enable_thinking",
        None,
    )
    assert seen.generation_prompt == "<a>"
    assert found(PLAIN + "{# enable_thinking #}").reasoning_switch is None
    opened = found(PLAIN + "{% if add_generation_prompt %}<think>\n{% endif %}")
    assert (opened.thinking_prefill, opened.reasoning) == ("open", False)
    closed = found(PLAIN + "{% if add_generation_prompt %}<think>\n</think>{% endif %}")
    assert closed.thinking_prefill == "closed"
    effort = found(PLAIN + "{{ reasoning_effort }}")
    assert effort.reasoning_switch == "reasoning_effort"


def test_documents_dates_and_masks() -> None:
    assert found(PLAIN + "{% for d in documents or [] %}{{ d.text }}{% endfor %}").documents
    assert found(PLAIN + "{{ strftime_now('%d %b %Y') }}").date == "clock"
    assert found(PLAIN + "{{ date_string }}").date == "date_string"
    masked = found(PLAIN + "{% generation %}x{% endgeneration %}")
    assert (masked.assistant_mask, masked.date) == (True, None)
    assert not found(PLAIN).assistant_mask
    assert json.loads(json.dumps(masked.as_dict()))["how"]["date"]


def test_a_template_for_tools_is_asked_about_tools(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    tok = pywasmtok.create_tokenizer_with_chat_template(
        tmp_path, {"default": PLAIN, "tool_use": CALLS.replace("FILTER", "| tojson")}
    )
    pytest.importorskip("pywasmtok.chat.rendering.sandbox")
    seen = tok.chat_capabilities
    assert (seen.content, seen.tools, seen.arguments) == ("string", True, "object")
    assert tok.chat_capabilities is seen
    tok.set_chat_template(PLAIN)
    assert not tok.chat_capabilities.tools
    tok.set_chat_template(None)
    with pytest.raises(pywasmtok.TokenizerError):
        tok.chat_capabilities  # noqa: B018


# What a look into each template says.
KNOWN: dict[str, dict[str, Any]] = {
    "axolotl__llama3": {"content": "both", "tools": False},
    "axolotl__qwen3": {"arguments": "both", "tool_role": True, "assistant_mask": False},
    "lenml__gemma3": {"content": "both", "tools": False, "system_role": True},
    # It changes a list while it prints calls, which the reference refuses.
    "llamacpp__Kimi-K2-Instruct": {"content": "both", "tools": True, "tool_calls": False},
}


@needs_assets
@pytest.mark.parametrize("name", KNOWN)
def test_real_templates(name: str) -> None:
    path = ROOT / "chat" / "templates" / f"{name}.jinja"
    seen = found(path.read_bytes().decode()).as_dict()
    assert {key: seen[key] for key in KNOWN[name]} == KNOWN[name]


def test_a_tokenizer_is_asked_in_its_own_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    own, used = TemplatePools(), set()
    pool = TemplatePools.pool

    def noted(pools: TemplatePools, *args: Any) -> Any:
        used.add(pools)
        return pool(pools, *args)

    monkeypatch.setattr(TemplatePools, "pool", noted)
    tok = pywasmtok.create_tokenizer_with_chat_template("builtin:demo", PLAIN)
    tok.chat_sandbox = SandboxRenderer(own)
    assert tok.chat_capabilities.content == "string"
    assert used == {own}


def test_a_function_may_fail_as_it_likes() -> None:
    def write(messages: Any, **_: Any) -> str:
        return "".join(message["content"] + "!" for message in messages)

    tok = pywasmtok.create_tokenizer_with_chat_template("builtin:demo", write)
    assert tok.chat_capabilities.content == "string"


def test_what_ends_the_call_says_nothing_of_the_template() -> None:
    """A signal handler raises, or the call is cancelled: no answer is kept for the next call."""
    due = [False, True]

    def write(messages: Any, **_: Any) -> str:
        if due and due.pop(0):
            arrive()
        return "".join(message["content"] for message in messages)

    tok = pywasmtok.create_tokenizer_with_chat_template("builtin:demo", write)
    with handled(), pytest.raises(StopError):
        assert tok.chat_capabilities
    assert tok.chat_capabilities.system_role

    template = SandboxRenderer(TemplatePools()).compile(PLAIN)
    token = CancelToken()
    with cancellable(token):
        token.cancel()
        with pytest.raises(pywasmtok.Cancelled):
            probe(template, {})
