"""The reference behind the contract of renderers: transformers' own code over jinja2.

Profile `hf-5` is transformers' own `render_jinja_template`, with the step before it (None is
dropped). Profile `hf-4.57` repeats what transformers 4.57.1 did, on the same jinja2.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
from jinja2.utils import Namespace
from transformers.utils import chat_template_utils

from pywasmtok.chat.contract import Rendered, RenderRequest, TemplateLimits
from pywasmtok.errors import (
    TemplateError,
    TemplateRaised,
    TemplateRuntimeError,
    TemplateSyntaxError,
)

# Their annotations are for callers; this reaches inside.
theirs: Any = chat_template_utils
TAG = "CONTINUE_FINAL_MESSAGE_TAG "

# transformers keeps one tracker in each compiled template, and its module has one clock.
_turn = threading.RLock()


class _Clock(datetime):
    """Stands in for `datetime` in the module of transformers."""

    instant: datetime | None = None

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.instant or datetime.now(tz)


@contextmanager
def _clock_at(instant: datetime | None) -> Iterator[None]:
    with _turn:
        _Clock.instant, before = instant, theirs.datetime
        theirs.datetime = _Clock
        try:
            yield
        finally:
            theirs.datetime = before


@lru_cache(maxsize=256)
def compiled(source: str) -> jinja2.Template:
    template: jinja2.Template = theirs._cached_compile_jinja_template(source)
    return template


@lru_cache(maxsize=256)
def _compiled_as_457(source: str) -> jinja2.Template:
    environment = theirs._cached_compile_jinja_template("").environment
    environment.globals["dict"] = dict
    environment.globals["namespace"] = Namespace
    template: jinja2.Template = environment.from_string(source)
    return template


@contextmanager
def _errors() -> Iterator[None]:
    """jinja2's errors, and those of Python that it lets through, in the words of this package."""
    try:
        yield
    except TemplateError:
        raise
    except jinja2.TemplateSyntaxError as error:
        raise TemplateSyntaxError(str(error), line=error.lineno) from error
    except Exception as error:
        # raise_exception is the one place that raises the base class itself.
        if type(error) is jinja2.TemplateError:
            raise TemplateRaised(str(error)) from error
        raise TemplateRuntimeError(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class ReferenceTemplate:
    source: str
    warnings: Sequence[str] = ()

    def render(self, request: RenderRequest) -> Rendered:
        render = _hf_5 if request.profile == "hf-5" else _hf_457
        with _errors(), _clock_at(request.now):
            if not request.messages:
                # apply_chat_template says so before it renders anything.
                raise ValueError("Cannot apply chat template to an empty conversation.")
            text, spans = render(self.source, request)
        return Rendered(text, tuple(spans))


class Reference:
    name = "reference"

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> ReferenceTemplate:
        with _errors():
            compiled(source)
        return ReferenceTemplate(source)


def _variables(request: RenderRequest) -> dict[str, Any]:
    return {**request.special_tokens, **request.arguments}


def _hf_5(source: str, request: RenderRequest) -> tuple[str, Sequence[tuple[int, int]]]:
    chat = [
        {key: value for key, value in message.items() if value is not None}
        if isinstance(message, Mapping)
        else message
        for message in request.messages
    ]
    # The cache of transformers is small, and this one is shared with compile().
    theirs._compile_jinja_template, before = compiled, theirs._compile_jinja_template
    try:
        texts, spans = theirs.render_jinja_template(
            conversations=[chat],
            tools=request.tools,
            documents=request.documents,
            chat_template=source,
            return_assistant_tokens_mask=request.generation,
            continue_final_message=request.continue_final_message,
            add_generation_prompt=request.add_generation_prompt,
            **_variables(request),
        )
    finally:
        theirs._compile_jinja_template = before
    return texts[0], spans[0] if request.generation else ()


def _hf_457(source: str, request: RenderRequest) -> tuple[str, Sequence[tuple[int, int]]]:
    chat: list[Any] = list(request.messages)
    final = None
    if request.continue_final_message:
        final = chat[-1]["content"]
        chat[-1] = dict(chat[-1])
        if isinstance(final, list | tuple):
            blocks = [dict(block) for block in final]
            final = next(block["text"] for block in reversed(blocks) if "text" in block)
            last = next(block for block in reversed(blocks) if "text" in block)
            last["text"] = last["text"] + TAG
            chat[-1]["content"] = blocks
        else:
            chat[-1]["content"] = final + TAG
    context = {
        "messages": chat,
        "tools": request.tools,
        "documents": request.documents,
        "add_generation_prompt": request.add_generation_prompt,
        **_variables(request),
    }
    template = _compiled_as_457(source)
    spans: list[tuple[int, int]] = []
    if request.generation:
        text, spans = theirs._render_with_assistant_indices(compiled_template=template, **context)
    else:
        text = template.render(**context)
    if final is not None:
        if final.strip() not in text or TAG.strip() not in text:
            raise ValueError("the final message does not appear in the chat")
        place = text.rindex(TAG.strip())
        whole = text[place : place + len(TAG)] == TAG
        text = text[:place] if whole else text[:place].rstrip()
    # 4.57 asked whether the list of rendered blocks has anything in it, not whether it is there.
    return text, [span for span in spans if span[0] > 0]
