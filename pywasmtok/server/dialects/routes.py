"""Paths of other servers, and the functions that answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute, Route

from .chats import apply_template, chat_tokenize
from .detokenize import detokenize, detokenize_v1
from .info import info, tokenizer_info
from .tokenize import tokenize, tokenize_v1

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    Endpoint = Callable[[Request], Awaitable[Response]]

__all__ = ["routes"]

_POST: dict[str, Endpoint] = {
    "/tokenize": tokenize,
    "/v1/tokenize": tokenize_v1,
    "/detokenize": detokenize,
    "/v1/detokenize": detokenize_v1,
    "/apply-template": apply_template,
    "/chat_tokenize": chat_tokenize,
}
_GET: dict[str, Endpoint] = {"/tokenizer_info": tokenizer_info, "/info": info}


def routes(service: Any) -> list[BaseRoute]:
    return [
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in _POST.items()),
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in _GET.items()),
    ]
