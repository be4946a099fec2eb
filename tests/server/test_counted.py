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


@pytest.mark.parametrize(
    ("limits", "done"),
    # The first call leaves a debt.
    [({"concurrent": 0}, 0), ({"bytes_per_second": 0, "burst_bytes": 0}, 1)],
)
def test_a_call_that_is_refused_is_counted_as_refused_alone(
    limits: dict[str, int], done: int
) -> None:
    with service_of({"demo": "builtin:demo"}, limits=limits) as service:
        with TestClient(create_app(service), base_url="http://127.0.0.1") as client:
            for number in range(done + 3):
                found = client.post(f"{API}demo/encode", json={"text": "words"})
                assert found.status_code == (200 if number < done else 429)
            numbers = client.get("/metrics").text
        usage = service.usage(LOCAL)
    assert (usage.requests, usage.refused, usage.text_bytes) == (done, 3, 5 * done)
    assert 'pywasmtok_server_refusals_total{kind="too_many_requests"} 3.0' in numbers
    assert numbers.count('call_seconds_count{operation="encode"} 1.0') == done
    assert numbers.count("tenant_bytes_total{") == done
    assert "call_errors_total{" not in numbers
