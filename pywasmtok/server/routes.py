"""All routes of the server, by the module that answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from . import api, dialects, lifecycle, page

if TYPE_CHECKING:
    from .service import Service

__all__ = ["routes_of"]


def routes_of(service: Service) -> list[BaseRoute]:
    parts = (lifecycle, page, dialects, api)
    return [route for part in parts for route in part.routes(service)]
