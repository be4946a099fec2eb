"""All routes of the server, by the module that answers them."""

from __future__ import annotations

from typing import Any

from starlette.routing import BaseRoute

from . import api, dialects, lifecycle, page
from .requests.straight import Straight

__all__ = ["routes_of", "straight_of"]


def routes_of(service: Any) -> list[BaseRoute]:
    parts = (lifecycle, page, dialects, api)
    return [route for part in parts for route in part.routes(service)]


def straight_of(service: Any) -> Straight:
    """The quick way for short requests of all parts."""
    return Straight(service, dialects.ways(service), api.ways(service))
