"""transformers itself as a renderer of the contract: what stands around a render can be compared
without asking who renders."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("jinja2")
utils = pytest.importorskip("transformers.utils.chat_template_utils")

from pywasmtok.chat.contract import Rendered, RenderRequest, TemplateLimits  # noqa: E402
from pywasmtok.errors import InvalidArgument, TemplateError, TemplateRaised  # noqa: E402

__all__ = ["ReferenceRenderer"]


class ReferenceRenderer:
    name = "reference"

    def __init__(self) -> None:
        self.requests: list[RenderRequest] = []

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> ReferenceTemplate:
        return ReferenceTemplate(source, self)


class ReferenceTemplate:
    warnings: tuple[str, ...] = ()

    def __init__(self, source: str, owner: ReferenceRenderer) -> None:
        self.source = source
        self._owner = owner

    def render(self, request: RenderRequest) -> Rendered:
        self._owner.requests.append(request)
        chat = [{k: v for k, v in item.items() if v is not None} for item in request.messages]
        with mock.patch.object(utils, "datetime", _clock(request.now)):
            try:
                texts, spans = utils.render_jinja_template(
                    [chat],
                    tools=request.tools,
                    documents=request.documents,
                    chat_template=self.source,
                    return_assistant_tokens_mask=request.generation,
                    continue_final_message=request.continue_final_message,
                    add_generation_prompt=request.add_generation_prompt,
                    **{**request.special_tokens, **request.arguments},
                )
            except ValueError as error:
                raise InvalidArgument(str(error)) from error
            except Exception as error:
                import jinja2

                kind = TemplateRaised if type(error) is jinja2.TemplateError else TemplateError
                raise kind(str(error)) from error
        return Rendered(texts[0], tuple(spans[0]) if spans else ())


def _clock(now: datetime | None) -> Any:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return now or datetime.now()

    return Clock
