"""What a request did is in the numbers of the server and in the usage of who asked."""

from __future__ import annotations

import pytest
import small
from starlette.testclient import TestClient

from pywasmtok.server.app import create_app
from pywasmtok.server.contract import LOCAL

from .live import service_of

pytest.importorskip("prometheus_client")

API = "/api/v1/tokenizers/"


def test_tokens_calls_and_refusals() -> None:
    with service_of({"demo": "builtin:demo"}) as service:
        with TestClient(create_app(service), base_url="http://127.0.0.1") as client:
            made = client.post(f"{API}demo/encode", json={"text": "so many words of mine"}).json()
            client.post(f"{API}demo/decode", json={"ids": made["ids"]}).raise_for_status()
            client.post("/tokenize", json={"prompt": "and two more"}).raise_for_status()
            client.put(f"{API}mine", content=small.file()).raise_for_status()
            assert client.post(f"{API}none/encode", json={"text": "a"}).status_code == 404
            numbers = client.get("/metrics").text
        usage = service.usage(LOCAL)
    for operation in ("encode", "decode", "upload"):
        assert f'call_seconds_count{{operation="{operation}"}}' in numbers
    assert 'pywasmtok_server_refusals_total{kind="unknown_tokenizer"} 1.0' in numbers
    assert usage.tokens > 2 * made["count"]
    assert usage.text_bytes > len(small.file())
    assert "pywasmtok_server_tenant_tokens_total{" in numbers
    line = next(one for one in numbers.splitlines() if "tenant_tokens_total{" in one)
    assert float(line.rpartition(" ")[2]) == usage.tokens
