"""A key that was removed ends what was begun with it, whether anything is sent or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.contract import KeyRecord, TenantRecord
from pywasmtok.server.service import Service
from pywasmtok.tenants.limits import TenantLimits

from .live import service_of

ACME = TenantRecord("acme", TenantLimits(), 1.0)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_of({"demo": "builtin:demo"}, identity=True) as made:
        yield made


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[TestClient]:
    with TestClient(create_app(service)) as made:
        yield made


def removed(service: Service, record: KeyRecord) -> None:
    service.store.remove_key(record.id)


def expired(service: Service, record: KeyRecord) -> None:
    service.store.put_key(replace(record, expires=time.time() - 1))


def disabled(service: Service, record: KeyRecord) -> None:
    service.store.put_tenant(replace(ACME, disabled=True))


def another_of_its_name(service: Service, record: KeyRecord) -> None:
    service.store.remove_tenant("acme")
    service.store.put_tenant(ACME)
    service.store.put_key(make_key("acme")[1])


@pytest.mark.parametrize("end", [removed, expired, disabled, another_of_its_name])
def test_sockets_end_with_their_key(
    service: Service, client: TestClient, end: Callable[[Service, KeyRecord], None]
) -> None:
    service.store.put_tenant(ACME)
    key, record = make_key("acme")
    service.store.put_key(record)
    ids = client.post(
        "/api/v1/tokenizers/demo/encode", json={"text": "hello"}, headers={"x-api-key": key}
    ).json()["ids"]
    path = "/api/v1/tokenizers/demo/stream"
    with client.websocket_connect(path, headers={"x-api-key": key}) as socket:
        socket.send_json({"stream": "a", "open": True, "ids": ids})
        assert "error" not in socket.receive_json()
        end(service, record)
        # Nothing is sent: who only listens is told, too.
        told = socket.receive_json()
        assert told["error"]["kind"] == "unauthorized"
        assert told["ended"]
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1008
    again = client.get("/api/v1/tokenizers", headers={"x-api-key": key})
    assert again.status_code == 401
