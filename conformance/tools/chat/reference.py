"""What transformers makes of a template and a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Any

Fields = dict[str, Any]

ORACLE = f"transformers {version('transformers')}, jinja2 {version('jinja2')}"
NOW = "2025-01-02T03:04:05"
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}

SYNTAX, RUN, REQUEST, RAISED = "invalid_template", "render_failed", "bad_request", "raised"


class RefusedError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@cache
def _tokenizer() -> Any:
    """Only its special tokens matter."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "<s>": 1, "</s>": 2}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL_TOKENS)


@contextmanager
def _clock(now: str) -> Iterator[None]:
    import transformers.utils.chat_template_utils as chat

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.fromisoformat(now)

    before = chat.datetime
    chat.datetime = Frozen
    try:
        yield
    finally:
        chat.datetime = before


def render(template: str, request: Fields) -> Fields:
    """The text and, if they are wanted, the spans of generation blocks; or RefusedError."""
    from jinja2.exceptions import TemplateError, TemplateSyntaxError

    options = request.get("options", {})
    spans: list[tuple[int, int]] = []
    try:
        wanted = "generation" in request.get("want", ())
        watched = _spans(spans) if wanted else nullcontext()
        with _clock(options.get("now", NOW)), watched:
            text = _tokenizer().apply_chat_template(
                request["messages"],
                tools=request.get("tools"),
                documents=request.get("documents"),
                chat_template=template,
                add_generation_prompt=options.get("add_generation_prompt", False),
                continue_final_message=options.get("continue_final_message", False),
                tokenize=False,
                **request.get("variables", {}),
                **options.get("kwargs", {}),
            )
    except TemplateSyntaxError as error:
        raise RefusedError(SYNTAX, str(error)) from None
    except TemplateError as error:
        # raise_exception raises the base class itself, and nothing else does.
        code = RAISED if type(error) is TemplateError else RUN
        raise RefusedError(code, str(error)) from None
    except Exception as error:
        ours = "continue_final_message" in str(error) or "Documents should be" in str(error)
        raise RefusedError(REQUEST if ours else RUN, str(error)) from None
    answer: Fields = {"text": text}
    if "generation" in request.get("want", ()):
        answer["generation"] = [list(span) for span in spans]
    return answer


@contextmanager
def _spans(found: list[tuple[int, int]]) -> Iterator[None]:
    """transformers keeps the spans of blocks to itself, unless token masks are asked for."""
    import transformers.utils.chat_template_utils as chat

    plain = chat._compile_jinja_template

    class Tracked:
        def __init__(self, compiled: Any) -> None:
            self._compiled = compiled

        def render(self, **variables: Any) -> str:
            text, spans = chat._render_with_assistant_indices(
                compiled_template=self._compiled, **variables
            )
            found.extend(spans)
            return str(text)

    chat._compile_jinja_template = lambda template: Tracked(plain(template))
    try:
        yield
    finally:
        chat._compile_jinja_template = plain
