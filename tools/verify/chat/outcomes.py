"""What a renderer made of a case, and how that compares with the reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pywasmtok.chat.contract import Renderer, RenderRequest, TemplateLimits
from pywasmtok.errors import (
    TemplateError,
    TemplateLimitExceeded,
    TemplateRaised,
    TemplateRuntimeError,
    TemplateSyntaxError,
    UnsupportedTemplateFeature,
)

Kind = Literal["text", "raised", "error", "refused", "limit", "broken"]
Verdict = Literal["equal", "refused", "text", "spans", "message", "lenient", "severe", "broken"]
"""equal    the same text and spans, the same words of raise_exception, or an error in both
refused  the reference renders; here a typed error names what is not served
text     both render, and not the same: the worst
spans    the same text, other spans of generation blocks
message  other words of raise_exception
lenient  the reference raises, and here it renders
severe   the reference renders, and here it is an error that names no construct
broken   an error that is a defect: a trap, a panic, or one outside the family"""

# The address of an object is no answer to be equal to.
UNSTABLE = re.compile(r"\b0x[0-9a-f]{8,}", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    kind: Kind
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    feature: str | None = None

    @property
    def rendered(self) -> bool:
        return self.kind == "text"

    def __str__(self) -> str:
        if self.rendered:
            return f"{self.text!r}" + (f" {list(self.spans)}" if self.spans else "")
        feature = f" [{self.feature}]" if self.feature else ""
        return f"!{self.kind}{feature}: {self.text}"


@dataclass(frozen=True)
class Case:
    source: str
    request: RenderRequest
    name: str = ""


def observe(renderer: Renderer, case: Case, *, limits: TemplateLimits | None = None) -> Outcome:
    try:
        template = renderer.compile(case.source, limits=limits)
        rendered = template.render(case.request)
    except TemplateRaised as error:
        return Outcome("raised", error.message)
    except UnsupportedTemplateFeature as error:
        return Outcome("refused", str(error), feature=error.feature)
    except TemplateLimitExceeded as error:
        return Outcome("limit", str(error), feature=error.feature)
    except (TemplateSyntaxError, TemplateRuntimeError) as error:
        return Outcome("error", str(error))
    except TemplateError as error:
        # The root itself: neither the template's fault nor a bound.
        return Outcome("error" if type(error) is TemplateError else "broken", str(error))
    except ValueError as error:
        # Arguments that make no sense are ValueErrors in the reference, too.
        return Outcome("error", f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome("broken", f"{type(error).__name__}: {error}")
    return Outcome("text", rendered.text, tuple(rendered.generation))


def compare(expected: Outcome, found: Outcome) -> Verdict:
    if found.kind == "broken":
        return "broken"
    if expected.rendered and found.rendered:
        if expected.text != found.text:
            return "text"
        return "equal" if expected.spans == found.spans else "spans"
    if found.rendered:
        return "lenient"
    if expected.rendered:
        return "refused" if found.feature else "severe"
    if expected.kind == "raised" and found.kind not in {"refused", "limit"}:
        same = found.kind == "raised" and found.text == expected.text
        return "equal" if same else "message"
    return "equal"


def stable(outcome: Outcome) -> bool:
    return outcome.kind not in {"text", "raised"} or not UNSTABLE.search(outcome.text)
