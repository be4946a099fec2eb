"""What vLLM and TGI tell of a tokenizer: of their fields those that a tokenizer can know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contract import Served
from ..requests.responses import answer
from .requests import named
from .tokenize import max_model_len

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..service import Service

__all__ = ["info", "tokenizer_info"]

_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


async def tokenizer_info(request: Request) -> Response:
    """vLLM: like the model's tokenizer_config.json."""
    request.state.exchange.dialect = "vllm"
    served = _served(request)
    service: Service = request.app.state.service
    return answer(await service.run(served, 0, lambda: _tokenizer_info(served), operation="info"))


def _tokenizer_info(served: Served) -> dict[str, Any]:
    tok = served.tokenizer
    special = tok.special_tokens
    stated = tok.recipe.sidecars.of("tokenizer_config.json").get("tokenizer_class")
    found: dict[str, Any] = {
        "tokenizer_class": stated if isinstance(stated, str) else "PreTrainedTokenizerFast",
        "model_max_length": max_model_len(tok),
        "vocab_size": tok.vocab_size,
        "backend": served.info.backend,
    }
    for role in _ROLES:
        token = getattr(special, role)
        if token is not None:
            found[f"{role}_token"] = token
    if special.additional:
        found["additional_special_tokens"] = list(special.additional)
    # A function, which a program may set, cannot go over the wire.
    if isinstance(tok.chat_template, str | dict):
        found["chat_template"] = tok.chat_template
    return found


async def info(request: Request) -> Response:
    """TGI."""
    from ... import __version__

    request.state.exchange.dialect = "tgi"
    served = _served(request)
    calls = served.tenant.limits.calls
    return answer(
        {
            "model_id": served.name,
            "model_sha": served.digest,
            "model_pipeline_tag": None,
            "max_concurrent_requests": served.tenant.limits.concurrent,
            "max_best_of": 1,
            "max_stop_sequences": 0,
            "max_input_tokens": calls.max_tokens,
            "max_total_tokens": calls.max_tokens,
            "max_client_batch_size": calls.max_batch_items,
            "validation_workers": 1,
            "router": "pywasmtok",
            "backend": served.info.backend,
            "version": __version__,
            "sha": None,
            "docker_label": None,
        }
    )


def _served(request: Request) -> Served:
    service: Service = request.app.state.service
    return named(service, request.state.caller, request.query_params.get("model"))
