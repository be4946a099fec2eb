"""The app of `vllm launch render`: requests over HTTP in both modes, without an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .calls import CHAT
from .streams import TEXTS

__all__ = ["different_answers", "model_config"]

TOOLS = [{
    "type": "function",
    "function": {
        "name": "add", "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}]  # fmt: skip
SYSTEM = [{"role": "system", "content": "Be brief."}, CHAT[0]]
# Made anew for each request.
VOLATILE = ("request_id", "id", "created", "model")


def _arguments(folder: Path, mode: str) -> Any:
    from vllm.entrypoints.common.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    options = ["--model", str(folder), "--tokenizer-mode", mode]
    return make_arg_parser(FlexibleArgumentParser()).parse_args(
        [*options, "--enable-tokenizer-info-endpoint"]
    )


def model_config(folder: Path, mode: str) -> Any:
    """What vLLM derives from the folder."""
    from vllm import AsyncEngineArgs
    from vllm.config import VllmConfig

    made = AsyncEngineArgs.from_cli_args(_arguments(folder, mode))
    return VllmConfig(model_config=made.create_model_config())


async def _app(folder: Path, mode: str, config: Any) -> Any:
    """As `vllm launch render` builds it."""
    from vllm.entrypoints.launchers.app import build_app
    from vllm.entrypoints.launchers.render.app_state import init_render_app_state

    arguments = _arguments(folder, mode)
    app = build_app(arguments, ("render",))
    await init_render_app_state(config, app.state, arguments)
    return app


def _requests(ids: list[int], prompt: list[int]) -> Iterator[tuple[str, str, Any]]:
    """A name for the report, a path, and a body."""
    body: dict[str, Any]
    for add in (True, False):
        for text in TEXTS[1:]:
            body = {"prompt": text, "add_special_tokens": add, "return_token_strs": True}
            yield "tokenize a prompt", "/tokenize", body
    for messages in (CHAT, SYSTEM):
        body = {"messages": messages, "return_token_strs": True}
        yield "tokenize a chat", "/tokenize", body
        yield "tokenize a chat with tools", "/tokenize", {**body, "tools": TOOLS}
        render = {"messages": messages, "max_tokens": 9}
        yield "render a chat", "/v1/chat/completions/render", render
        more = {**render, "tools": TOOLS}
        yield "render a chat with tools", "/v1/chat/completions/render", more
        more = {**render, "return_token_offsets": True}
        yield "render a chat with offsets", "/v1/chat/completions/render", more
        more = {**render, "truncate_prompt_tokens": 7}
        yield "render a truncated chat", "/v1/chat/completions/render", more
    yield "detokenize", "/detokenize", {"tokens": ids}
    for text in TEXTS[1:]:
        body = {"prompt": text, "max_tokens": 9, "return_token_offsets": True}
        yield "render a prompt", "/v1/completions/render", body
        more = {**body, "truncate_prompt_tokens": 3}
        yield "render a truncated prompt", "/v1/completions/render", more
    choice = {"index": 0, "token_ids": ids, "finish_reason": "stop"}
    whole = [{"choices": [choice]}]
    body = {"generate_responses": whole, "prompt_token_ids": [prompt]}
    yield "derender a completion", "/v1/completions/derender", body
    body = {"generate_response": whole[0], "prompt_token_ids": prompt}
    yield "derender a chat", "/v1/chat/completions/derender", body


async def _answers(folder: Path, mode: str, config: Any) -> dict[str, list[Any]]:
    import httpx

    app = await _app(folder, mode, config)
    tokenizer = app.state.online_renderer.renderer.get_tokenizer()
    ids = tokenizer.encode(TEXTS[2], add_special_tokens=False)
    prompt = tokenizer.encode(TEXTS[1])
    made: dict[str, list[Any]] = {}
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:

        async def ask(name: str, path: str, body: Any) -> Any:
            answer = await client.post(path, json=body)
            said = answer.json()
            made.setdefault(name, []).append([answer.status_code, _lasting(said)])
            return said

        for request in _requests(ids, prompt):
            await ask(*request)
        state = None
        for token_id in ids:
            choice = {"index": 0, "token_ids": [token_id]}
            body = {"stream": True, "generate_chunk": {"choices": [choice]}, "stream_state": state}
            body["prompt_token_ids"] = prompt
            said = await ask("derender a stream", "/v1/completions/derender", body)
            state = said.get("stream_state")
        answer = await client.get("/tokenizer_info")
        made["tokenizer info"] = [[answer.status_code, answer.json()]]
    return made


def _lasting(said: Any) -> Any:
    if isinstance(said, dict):
        return {name: _lasting(one) for name, one in said.items() if name not in VOLATILE}
    return [_lasting(one) for one in said] if isinstance(said, list) else said


def different_answers(folder: Path, configs: dict[str, Any]) -> dict[str, Any]:
    """Of each kind of request, whether the answers differ, and which statuses vLLM's own has."""
    ours, theirs = (asyncio.run(_answers(folder, mode, one)) for mode, one in configs.items())
    refused = {
        name: f"{code}: {said.get('error', {}).get('message', '')[:90]}"
        for name, answers in theirs.items()
        for code, said in answers
        if code != 200
    }
    return {
        "requests": sum(map(len, theirs.values())),
        "differ": [name for name, answers in theirs.items() if ours[name] != answers],
        "refused in both": {n: said for n, said in refused.items() if ours[n] == theirs[n]},
    }
