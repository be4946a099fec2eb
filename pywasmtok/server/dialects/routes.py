"""Paths of other servers, and the functions that answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.routing import BaseRoute, Route

from ..requests.endpoint import Endpoint
from .chats import read_apply_template, read_chat_tokenize
from .detokenize import read_detokenize, read_detokenize_v1
from .info import info, tokenizer_info
from .requests import named
from .tokenize import read_tokenize, read_tokenize_v1

if TYPE_CHECKING:
    from ..requests.endpoint import Reader
    from ..service import Service

__all__ = ["routes"]

# Bytes of a body: up to here the call may run on the event loop, if the executor permits it.
_INLINE_BYTES: Final = 128 << 10

# The dialect of those that serve several is in the request.
_POST: Final[dict[str, tuple[str, Reader]]] = {
    "/tokenize": ("none", read_tokenize),
    "/v1/tokenize": ("sglang", read_tokenize_v1),
    "/detokenize": ("none", read_detokenize),
    "/v1/detokenize": ("sglang", read_detokenize_v1),
    "/apply-template": ("llamacpp", read_apply_template),
    "/chat_tokenize": ("tgi", read_chat_tokenize),
}
_GET: Final = {"/tokenizer_info": tokenizer_info, "/info": info}


def routes(service: Service) -> list[BaseRoute]:
    return [
        *(
            Route(
                path,
                Endpoint(read, named, dialect=dialect, inline_cost=_INLINE_BYTES),
                methods=["POST"],
            )
            for path, (dialect, read) in _POST.items()
        ),
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in _GET.items()),
    ]
