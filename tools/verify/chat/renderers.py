"""The renderers that can be set against the reference, by name."""

from __future__ import annotations

from collections.abc import Callable

from pywasmtok.chat.contract import Renderer

from .bare import Bare


def _sandbox() -> Renderer:
    from pywasmtok.chat.rendering.sandbox import SandboxRenderer

    return SandboxRenderer()


def _reference() -> Renderer:
    from .reference import Reference

    return Reference()


RENDERERS: dict[str, Callable[[], Renderer]] = {
    "sandbox": _sandbox,
    "bare": Bare,
    "reference": _reference,
}


def open_renderer(name: str) -> Renderer:
    return RENDERERS[name]()
