"""Golden pairs of each server's dialect, sent by an ordinary client to a live server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pywasmtok.server import dialects
from pywasmtok.server.app import create_app

from .live import service_of, serving

HOME = Path(__file__).parents[2] / "conformance" / "http"


def cases(name: str) -> list[dict[str, Any]]:
    lines = (HOME / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with (
        service_of({"m": str(HOME / "tokenizer")}) as service,
        serving(create_app(service, dialects.routes(service))) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        yield client


def agrees(found: Any, wanted: Any, more: bool) -> bool:
    if isinstance(found, dict) and isinstance(wanted, dict):
        if not (more or found.keys() == wanted.keys()):
            return False
        return all(name in found and agrees(found[name], wanted[name], more) for name in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(
            agrees(one, other, more) for one, other in zip(found, wanted, strict=True)
        )
    return type(found) is type(wanted) and bool(found == wanted)


@pytest.mark.parametrize("name", ["vllm", "sglang", "llamacpp", "tgi", "nobodys"])
def test_golden_pairs(client: httpx.Client, name: str) -> None:
    wrong = []
    for case in cases(name):
        asked, wanted = case["request"], case["response"]
        body = {"json": asked["body"]} if "body" in asked else {}
        answer = client.request(asked["method"], asked["path"], **body)
        more = wanted.get("more", False)
        if answer.status_code != wanted["status"] or not agrees(
            answer.json(), wanted["body"], more
        ):
            wrong.append((case["id"], asked, answer.status_code, answer.text, wanted))
    assert not wrong


def test_there_are_pairs_of_each_dialect() -> None:
    counts = {path.stem: len(cases(path.stem)) for path in HOME.glob("*.jsonl")}
    assert all(counts[name] >= 12 for name in ("vllm", "sglang", "llamacpp", "tgi", "nobodys"))
