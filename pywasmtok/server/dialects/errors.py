"""Errors as each server would say them, with our own fields beside theirs."""

from __future__ import annotations

from typing import Any, Final

from ...errors import TokenizerError
from ..errors import body_of, status_of

__all__ = ["shaped"]

_OPENAI: Final = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}
_LLAMACPP: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "unavailable_error",
    501: "not_supported_error",
    503: "unavailable_error",
}
_OF_PATHS: Final = {
    "/tokenize": "vllm",
    "/detokenize": "vllm",
    "/tokenizer_info": "vllm",
    "/v1/tokenize": "sglang",
    "/v1/detokenize": "sglang",
    "/apply-template": "llamacpp",
    "/chat_tokenize": "tgi",
    "/info": "tgi",
}


def shaped(error: TokenizerError, path: str, dialect: str) -> dict[str, Any] | None:
    """The body of a refusal in the shape of another server; None: the path belongs to our own API.

    `dialect` is empty if the request is refused before its route is known: then the path decides.
    """
    if dialect not in _SHAPES:
        dialect = _OF_PATHS.get(path, "")
    shape = _SHAPES.get(dialect)
    return None if shape is None else shape(error, status_of(error), body_of(error)["error"])


def _message(found: dict[str, Any]) -> str:
    """Clients of other servers show the message and nothing else."""
    text: str = found["message"]
    if "path" in found:
        text += f" (at {found['path']})"
    if "offset" in found:
        text += f" (byte {found['offset']})"
    if "hint" in found:
        text += f". {found['hint']}"
    return text


def _rest(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "message"}


def _vllm(error: TokenizerError, status: int, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "error": {
            "message": _message(found),
            "type": _openai_type(status),
            "param": found.get("path"),
            "code": status,
            **_rest(found),
        }
    }


def _sglang(error: TokenizerError, status: int, found: dict[str, Any]) -> dict[str, Any]:
    decoding = found["kind"] == "invalid_token"
    return {
        "object": "error",
        "message": _message(found),
        "type": "DecodeError" if decoding else _openai_type(status),
        "param": found.get("path"),
        "code": status,
        **_rest(found),
    }


def _llamacpp(error: TokenizerError, status: int, found: dict[str, Any]) -> dict[str, Any]:
    default = "invalid_request_error" if status < 500 else "server_error"
    return {
        "error": {
            "code": status,
            "message": _message(found),
            "type": _LLAMACPP.get(status, default),
            **_rest(found),
        }
    }


def _tgi(error: TokenizerError, status: int, found: dict[str, Any]) -> dict[str, Any]:
    kind = "validation" if status < 500 else "generation"
    if status in (429, 503):
        kind = "overloaded"
    return {"error": _message(found), "error_type": kind, **_rest(found)}


def _openai_type(status: int) -> str:
    return _OPENAI.get(status, "BadRequestError" if status < 500 else "InternalServerError")


_SHAPES: Final = {"vllm": _vllm, "sglang": _sglang, "llamacpp": _llamacpp, "tgi": _tgi}
