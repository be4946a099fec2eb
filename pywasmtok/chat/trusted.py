"""The operator's own templates, rendered in this process by the Python package `minijinja`.

No sandbox: the package dies of a hostile template and holds the interpreter's lock for a whole
render. The source is translated, and the request prepared, by the same module that the sandbox
runs; here stands only what the package needs to answer as jinja2 does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import (
    BackendUnavailable,
    TemplateError,
    TemplateLimitExceeded,
    TemplateRaised,
    TemplateRuntimeError,
    TemplateSyntaxError,
    TokenizerError,
)
from .contract import Rendered, RenderRequest, TemplateLimits
from .package_filters import FILTERS, OWN
from .package_operators import FILTERS as CARRIERS
from .package_operators import float_literal
from .package_values import UNDEFINED, boxed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["TrustedRenderer", "TrustedTemplate", "renderer"]

_NAME = "chat"
_KEPT = 64
_PRIVATE = range(0xF0000, 0xFFFFE)


class TrustedRenderer:
    """Keeps the templates that were used last."""

    name = "minijinja"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, bool, TemplateLimits], TrustedTemplate] = OrderedDict()

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> TrustedTemplate:
        limits = limits or TemplateLimits()
        key = (source, strict, limits)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        made = TrustedTemplate(source, strict=strict, limits=limits)
        with self._lock:
            self._known[key] = made
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return made


class TrustedTemplate:
    def __init__(self, source: str, *, strict: bool, limits: TemplateLimits) -> None:
        from .sandbox import translate

        translated = translate(source, strict=strict, limits=limits)
        self.source = source
        self.warnings: Sequence[str] = tuple(translated.warnings)
        self._limits = limits
        self._environment = _environment(translated.source, limits)

    def render(self, request: RenderRequest) -> Rendered:
        from .sandbox import prepare

        if request.origins:
            raise TemplateError(
                "the package minijinja does not know where text comes from",
                hint="renderer='sandbox' does",
            )
        prepared = prepare(request, self.source)
        marks = _marks(prepared.variables, self.source) if request.generation else ("", "")
        variables = {
            "strftime_now": _clock(request.now),
            **boxed(prepared.variables),
            "__generation": lambda opens: marks[0] if opens else marks[1],
        }
        text = self._render(variables)
        if request.generation:
            text, spans = _without(text, *marks)
            return Rendered(text, spans)
        return Rendered(prepared.finish(text))

    def _render(self, variables: dict[str, Any]) -> str:
        import minijinja

        try:
            text = str(self._environment.render_template(_NAME, **variables))
        except TokenizerError:
            raise
        except minijinja.TemplateError as error:
            raise _typed(error) from error
        except Exception as error:
            # Of the filters, which are Python and fail as jinja2's do.
            raise TemplateRuntimeError(f"{type(error).__name__}: {error}") from error
        if len(text) > self._limits.output or len(text.encode()) > self._limits.output:
            raise TemplateLimitExceeded(
                f"the text is larger than {self._limits.output} bytes", feature="output"
            )
        return text


def _environment(source: str, limits: TemplateLimits) -> Any:
    try:
        import minijinja
    except ImportError as error:
        raise BackendUnavailable(
            "the package minijinja, which renders trusted templates, is not installed",
            hint="Run: pip install 'pywasmtok[minijinja]'",
        ) from error
    environment = minijinja.Environment(
        filters={**FILTERS, **CARRIERS},
        tests=OWN,
        globals={
            "__undefined": UNDEFINED,
            "__float": float_literal,
            "raise_exception": _raise,
        },
        fuel=limits.fuel,
        keep_trailing_newline=True,
        auto_escape_callback=_never,
        finalizer=_printed,
        debug=False,
    )
    try:
        environment.add_template(_NAME, source)
    except minijinja.TemplateError as error:
        raise TemplateSyntaxError(error.message, line=error.line) from error
    return environment


def _never(_: str) -> bool:
    return False


def _printed(value: Any) -> Any:
    """The package does not escape characters that cannot be seen; the rest it prints itself."""
    return repr(value) if isinstance(value, list | dict | tuple) else NotImplemented


def _raise(message: object) -> NoReturn:
    raise TemplateRaised(str(message))


def _clock(now: datetime | None) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        return (now or datetime.now()).strftime(form)

    return strftime_now


def _typed(error: Any) -> TemplateError:
    if "OutOfFuel" in str(error.kind):
        return TemplateLimitExceeded("the template does too much", feature="fuel")
    return TemplateRuntimeError(str(error.detail or error.message))


def _marks(variables: dict[str, Any], source: str) -> tuple[str, str]:
    """Two characters that nobody wrote, so that nobody can forge a span."""
    written = ascii((variables, source))
    free = (chr(number) for number in _PRIVATE if ascii(chr(number))[1:-1] not in written)
    return next(free), next(free)


def _without(text: str, opening: str, closing: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    place = 0
    start = 0
    for at, character in enumerate(text):
        if character in (opening, closing):
            parts.append(text[start:at])
            place += at - start
            start = at + 1
            if character == opening:
                opened.append(place)
            elif opened:
                spans.append((opened.pop(), place))
    parts.append(text[start:])
    return "".join(parts), tuple(spans)


_SHARED = TrustedRenderer()


def renderer() -> TrustedRenderer:
    return _SHARED
