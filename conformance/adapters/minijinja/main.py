"""minijinja, the engine alone: nothing around it makes up for what it does in its own way."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import minijinja
from serve import Adapter, Fields, Refusal, serve, text_of


class Raised(Exception):  # noqa: N818
    """What `raise_exception` raises; minijinja hands it through."""


class Minijinja(Adapter):
    implementation = {
        "name": "minijinja",
        "version": version("minijinja"),
        "homepage": "https://github.com/mitsuhiko/minijinja",
    }

    def render(
        self,
        template: Fields,
        messages: list[Any],
        options: Fields,
        tools: list[Any] | None = None,
        documents: list[Any] | None = None,
    ) -> Fields:
        source = text_of(template)
        try:
            text = _environment(options).render_str(
                source,
                messages=messages,
                tools=tools,
                documents=documents,
                add_generation_prompt=options.get("add_generation_prompt", False),
                **{**options.get("special_tokens", {}), **options.get("kwargs", {})},
            )
        except Raised as error:
            raise Refusal("raised", error) from None
        except minijinja.TemplateError as error:
            code = "invalid_template" if error.kind == "SyntaxError" else "render_failed"
            raise Refusal(code, error) from None
        except (TypeError, ValueError) as error:  # of what the environment was given
            raise Refusal("render_failed", error) from None
        return {"text": text}


def _environment(options: Fields) -> Any:
    environment = minijinja.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        fuel=5_000_000,
        auto_escape_callback=lambda name: False,
    )
    environment.add_filter("tojson", _tojson)
    environment.add_global("raise_exception", _raise)
    now = datetime.fromisoformat(options.get("now", "2025-01-02T03:04:05"))
    environment.add_global("strftime_now", now.strftime)
    return environment


def _raise(message: str) -> None:
    raise Raised(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


if __name__ == "__main__":
    serve(Minijinja())
