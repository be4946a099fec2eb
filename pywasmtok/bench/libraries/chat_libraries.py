"""The libraries that render chat templates, behind the same call: a conversation to its text.

`hf` is transformers' whole `apply_chat_template`, and the reference of all; `jinja2` and
`minijinja` render a template that is compiled already, without any of the work around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..inputs.chats import Chat
from .files import TokenizerFile
from .peers import TWIN, LeftOutError, imported

__all__ = ["NAMES", "ChatLibrary", "load"]

# Variables that a tokenizer would define; the same for all libraries.
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}

Render = Callable[[Chat], Any]


@dataclass(frozen=True)
class ChatLibrary:
    name: str
    compile: Callable[[str], Any] | None
    """None: it has no such step of its own."""
    text: Callable[[str], Render]
    """For a template, what turns a conversation into text."""
    ids: Callable[[str], Render] | None = None
    """The same to a list of ids."""


def ours(file: TokenizerFile, build: str, name: str) -> ChatLibrary:
    from ...chat.rendering.sandbox import renderer
    from ...loading.factory import create_tokenizer

    tokenizer = create_tokenizer(file.source, encoder="core", build=build)
    apply: Callable[..., Any] = tokenizer.apply_chat_template

    def text(source: str) -> Render:
        tokenizer.set_chat_template(source)
        return lambda chat: apply(
            chat.messages,
            tools=chat.tools,
            add_generation_prompt=True,
            tokenize=False,
            **SPECIAL,
        )

    def ids(source: str) -> Render:
        tokenizer.set_chat_template(source)
        return lambda chat: apply(
            chat.messages, tools=chat.tools, add_generation_prompt=True, **SPECIAL
        )["input_ids"]

    # What one of the twins has compiled, the other finds.
    return ChatLibrary(name, None if name == TWIN else renderer().compile, text, ids)


def sandbox(_: TokenizerFile, __: str) -> ChatLibrary:
    """Ours without the face: what one render costs in the module, and the way there and back."""
    from ...chat.contract import RenderRequest
    from ...chat.rendering.sandbox import renderer

    def text(source: str) -> Render:
        render = renderer().compile(source).render
        return lambda chat: (
            render(
                RenderRequest(
                    chat.messages, chat.tools, add_generation_prompt=True, special_tokens=SPECIAL
                )
            ).text
        )

    return ChatLibrary("sandbox", None, text)


def transformers(file: TokenizerFile, _: str) -> ChatLibrary:
    # It renders with it, and imports it with the first template.
    imported("jinja2")
    package = imported("transformers")
    tokenizer = package.PreTrainedTokenizerFast(tokenizer_file=str(file.path))
    apply = tokenizer.apply_chat_template

    def text(source: str) -> Render:
        return lambda chat: apply(
            chat.messages,
            tools=chat.tools,
            chat_template=source,
            add_generation_prompt=True,
            tokenize=False,
            **SPECIAL,
        )

    def ids(source: str) -> Render:
        return lambda chat: apply(
            chat.messages,
            tools=chat.tools,
            chat_template=source,
            add_generation_prompt=True,
            **SPECIAL,
        )["input_ids"]

    return ChatLibrary("hf", None, text, ids)


def jinja2(_: TokenizerFile, __: str) -> ChatLibrary:
    """In the environment that transformers makes."""
    imported("jinja2")
    compile_ = imported("transformers.utils.chat_template_utils")._compile_jinja_template

    def text(source: str) -> Render:
        render = compile_(source).render
        return lambda chat: render(**_variables(chat))

    return ChatLibrary("jinja2", compile_, text)


def minijinja(_: TokenizerFile, __: str) -> ChatLibrary:
    """As it comes, with Python's methods and the functions of transformers."""
    package = imported("minijinja")
    functions = (
        imported("transformers.utils.chat_template_utils")._compile_jinja_template("").globals
    )

    def compile_(source: str) -> Any:
        environment = package.Environment(
            trim_blocks=True,
            lstrip_blocks=True,
            pycompat=True,
            globals={name: functions[name] for name in ("raise_exception", "strftime_now")},
        )
        environment.add_template("chat", source)
        return environment

    def text(source: str) -> Render:
        render = compile_(source).render_template
        return lambda chat: render("chat", **_variables(chat))

    return ChatLibrary("minijinja", compile_, text)


def _variables(chat: Chat) -> Mapping[str, Any]:
    return {
        "messages": chat.messages,
        "tools": chat.tools,
        "documents": None,
        "add_generation_prompt": True,
        **SPECIAL,
    }


PEERS: Mapping[str, Callable[[TokenizerFile, str], ChatLibrary]] = {
    "sandbox": sandbox,
    "hf": transformers,
    "jinja2": jinja2,
    "minijinja": minijinja,
}
NAMES = (TWIN, *PEERS)


def load(name: str, file: TokenizerFile, build: str) -> ChatLibrary:
    try:
        found = PEERS.get(name)
        return ours(file, build, name) if found is None else found(file, build)
    except LeftOutError:
        raise
    except Exception as error:
        # A peer that does not take the file must not end the run.
        raise LeftOutError(f"{name}: {type(error).__name__}: {error}") from None
