"""transformers with jinja2, the reference for chat templates."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import jinja2
import transformers
import transformers.utils.chat_template_utils as chat
from serve import Adapter, Fields, Refusal, serve, text_of
from tokenizers import Tokenizer, models


class Transformers(Adapter):
    implementation = {
        "name": "transformers",
        "version": transformers.__version__,
        "host": f"jinja2 {jinja2.__version__}",
        "homepage": "https://github.com/huggingface/transformers",
    }
    features = ["generation", "preparation"]

    def render(
        self,
        *,
        template: Fields,
        messages: list[Any],
        options: Fields,
        tools: list[Any] | None = None,
        documents: list[Any] | None = None,
        want: tuple[str, ...] = (),
    ) -> Fields:
        source = text_of(template)
        spans: list[tuple[int, int]] = []
        with _clock(options.get("now")), _watched(spans, "generation" in want):
            try:
                text = _tokenizer(options).apply_chat_template(
                    messages,
                    tools=tools,
                    documents=documents,
                    chat_template=source,
                    add_generation_prompt=options.get("add_generation_prompt", False),
                    continue_final_message=options.get("continue_final_message", False),
                    tokenize=False,
                    **options.get("kwargs", {}),
                )
            except jinja2.TemplateSyntaxError as error:
                raise Refusal("invalid_template", error) from None
            except jinja2.TemplateError as error:
                # raise_exception raises the base class itself, and nothing else does.
                raised = type(error) is jinja2.TemplateError
                raise Refusal("raised" if raised else "render_failed", error) from None
            except Exception as error:
                code = "bad_request" if _of_the_request(str(error)) else "render_failed"
                raise Refusal(code, error) from None
        return {"text": text, **({"generation": spans} if "generation" in want else {})}


def _of_the_request(message: str) -> bool:
    return "continue_final_message" in message or "Documents should be" in message


def _tokenizer(options: Fields) -> Any:
    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    special = options.get("special_tokens", {})
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, **special)


@contextmanager
def _clock(now: str | None) -> Iterator[None]:
    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) if now is None else datetime.fromisoformat(now)

    before = chat.datetime
    chat.datetime = Frozen
    try:
        yield
    finally:
        chat.datetime = before


class _Watched:
    """A compiled template that says where its generation blocks came to stand."""

    def __init__(self, compiled: Any, spans: list[tuple[int, int]]) -> None:
        self._compiled = compiled
        self._spans = spans

    def render(self, **variables: Any) -> str:
        render = chat._render_with_assistant_indices
        text, spans = render(compiled_template=self._compiled, **variables)
        self._spans.extend(spans)
        return str(text)


@contextmanager
def _watched(spans: list[tuple[int, int]], wanted: bool) -> Iterator[None]:
    compiled = chat._compile_jinja_template
    if wanted:
        chat._compile_jinja_template = lambda template: _Watched(compiled(template), spans)
    try:
        yield
    finally:
        chat._compile_jinja_template = compiled


if __name__ == "__main__":
    serve(Transformers())
