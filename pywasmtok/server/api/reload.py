"""For admins: the configuration is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..auth.identity import need_admin
from .answers import json_bytes, json_response
from .operation import Operation
from .shapes import Reloaded

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..service import Service


__all__ = ["operations"]


async def reload(request: Request, service: Service) -> Response:
    need_admin(request)
    found = Reloaded(changed=[], restart=[])
    # None: the configuration is not from a file.
    if service.lifecycle.reload is not None:
        changed, restart = await service.lifecycle.reload()
        found = Reloaded(changed=changed, restart=restart)
    return json_response(json_bytes(found))


operations: Final = (
    Operation(
        "POST",
        "/reload",
        "reload",
        "Reads configuration, certificate and tokenizers again, in all workers",
        reload,
        gives=Reloaded,
        refuses=(409,),
        admin=True,
    ),
)
