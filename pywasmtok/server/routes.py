"""All routes of the server, by the module that answers them."""

from __future__ import annotations

from typing import Any

from starlette.routing import BaseRoute

from . import api, dialects, lifecycle, page

__all__ = ["routes_of"]


def routes_of(service: Any) -> list[BaseRoute]:
    parts = (lifecycle, page, dialects, api)
    return [route for part in parts for route in part.routes(service)]
