"""The package `minijinja` as it comes: what the harness must find fault with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pywasmtok.chat.contract import Rendered, RenderRequest, TemplateLimits
from pywasmtok.errors import TemplateRaised, TemplateRuntimeError, TemplateSyntaxError


class _RaisedError(Exception):
    pass


@dataclass(frozen=True)
class _Template:
    source: str
    environment: Any
    warnings: Sequence[str] = ()

    def render(self, request: RenderRequest) -> Rendered:
        variables = {**request.special_tokens, **request.arguments}
        now = request.now

        def strftime_now(form: str) -> str:
            assert now is not None
            return now.strftime(form)

        try:
            text = self.environment.render_str(
                self.source,
                messages=[
                    {key: value for key, value in message.items() if value is not None}
                    for message in request.messages
                ],
                tools=request.tools,
                documents=request.documents,
                add_generation_prompt=request.add_generation_prompt,
                strftime_now=strftime_now,
                **variables,
            )
        except _RaisedError as error:
            raise TemplateRaised(str(error)) from error
        except Exception as error:
            raise TemplateRuntimeError(f"{type(error).__name__}: {error}") from error
        return Rendered(text)


class Bare:
    name = "bare"

    def __init__(self) -> None:
        import minijinja

        def raise_exception(message: object) -> None:
            raise _RaisedError(str(message))

        self.environment = minijinja.Environment(trim_blocks=True, lstrip_blocks=True)
        self.environment.pycompat = True
        self.environment.add_global("raise_exception", raise_exception)

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> _Template:
        try:
            self.environment.undeclared_variables_in_str(source)
        except Exception as error:
            raise TemplateSyntaxError(str(error)) from error
        return _Template(source, self.environment)
