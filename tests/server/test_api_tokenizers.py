"""Tokenizers, tenants and keys over the API."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import small
from starlette.testclient import TestClient
from streams import llama

from pywasmtok.server import api
from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Bounds
from pywasmtok.server.contract import LOCAL
from pywasmtok.server.service import Service
from pywasmtok.tenants import TenantLimits

from .calls import PREFIX, client_of, error_of, words_of
from .live import service_of


@pytest.fixture
def service() -> Iterator[Service]:
    with service_of({"demo": words_of("demo")}) as made:
        yield made


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    with client_of(service) as made:
        yield made


def put(client: TestClient, name: str, data: bytes = b"", **query: str) -> Any:
    response = client.put(f"/tokenizers/{name}", content=data or small.file(), params=query)
    assert response.status_code == 200, response.text
    return response.json()


def names(client: TestClient) -> dict[str, list[str]]:
    listed = client.get("/tokenizers").json()["tokenizers"]
    return {one["digest"]: one["aliases"] for one in listed if not one["public"]}


def test_from_the_first_upload_to_the_last_name(client: TestClient) -> None:
    made = put(client, "org/mine")
    assert (made["name"], made["aliases"], made["public"]) == ("org/mine", ["org/mine"], False)
    assert (made["format"], made["bytes"]) == ("tokenizer.json", len(small.file()))
    digest = made["digest"]
    for name in ("org/mine", digest):
        found = client.get(f"/tokenizers/{name}").json()
        assert found["name"] == name
        assert found["digest"] == digest
        ids = client.post(f"/tokenizers/{name}/encode", json={"text": "Hello"}).json()
        assert ids["tokenizer"] == digest
    other = client.put("/aliases/other", json={"tokenizer": "org/mine"}).json()
    assert (other["name"], sorted(other["aliases"])) == ("other", ["org/mine", "other"])
    assert client.delete("/tokenizers/org/mine").status_code == 204
    assert names(client) == {digest: ["other"]}
    assert client.delete("/aliases/other").status_code == 204
    assert names(client) == {digest: []}
    assert client.get(f"/tokenizers/{digest}").json()["name"] == digest
    assert client.delete(f"/tokenizers/{digest}").status_code == 204
    assert names(client) == {}
    assert client.get(f"/tokenizers/{digest}").status_code == 404


def test_the_last_name_takes_the_file_with_it(client: TestClient) -> None:
    put(client, "mine")
    assert client.delete("/tokenizers/mine").status_code == 204
    assert names(client) == {}
    assert client.delete("/tokenizers/mine").status_code == 404


def test_a_name_is_pointed_somewhere_else(client: TestClient) -> None:
    first, second = put(client, "mine"), put(client, "mine", llama())
    assert first["digest"] != second["digest"]
    assert second["aliases"] == ["mine"]
    assert client.get("/tokenizers/mine").json()["digest"] == second["digest"]
    back = client.put("/aliases/mine", json={"tokenizer": first["digest"]}).json()
    assert back["digest"] == first["digest"]


def test_options_of_a_rank_file(client: TestClient) -> None:
    import base64

    ranks = b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256))
    special = json.dumps({"<|end|>": 256})
    made = put(client, "ranks", ranks, pattern=r"\p{L}+|\P{L}+", special_tokens=special)
    assert (made["format"], made["tokens"]) == ("tiktoken", 257)
    asked = {"text": "a<|end|>", "special": "all"}
    assert client.post("/tokenizers/ranks/encode", json=asked).json()["ids"] == [97, 256]
    for query in (
        {"special_tokens": "{"},
        {"special_tokens": '{"a": "b"}'},
        {"pattern": "("},
        {"nope": "1"},
        {"gguf_compat": "none"},
    ):
        refused = client.put("/tokenizers/ranks", content=ranks, params=query)
        assert refused.status_code in (400, 422), query


@pytest.mark.parametrize(
    "data", [b"", b"no tokenizer", b"{}", b'{"model": 1', b"GGUF" + b"\xff" * 40]
)
def test_what_is_no_tokenizer(client: TestClient, data: bytes) -> None:
    refused = client.put("/tokenizers/mine", content=data)
    assert refused.status_code == 422, refused.text
    assert names(client) == {}


@pytest.mark.parametrize(
    "name", ["encode", "a/encode", "x/chat", "-a", ".a", "a b", "é", "a" * 129, "0" * 64, "a%3Fb"]
)
def test_names_that_cannot_be(client: TestClient, name: str) -> None:
    for path, body in (
        (f"/tokenizers/{name}", {"content": small.file()}),
        (f"/aliases/{name}", {"json": {"tokenizer": "demo"}}),
    ):
        assert client.request("PUT", path, **body).status_code == 400, path


def test_bounds_of_uploads(client: TestClient) -> None:
    def bound(**limits: Any) -> None:
        client.put("/tenants/local", json={"limits": limits}).raise_for_status()

    size = len(small.file())
    bound(calls={"max_file_bytes": size - 1})
    refused = client.put("/tokenizers/mine", content=small.file())
    assert (refused.status_code, error_of(refused)["kind"]) == (413, "body_too_large")
    most = TenantLimits()
    bound(calls={"max_file_bytes": most.calls.max_file_bytes})
    for limits in ({"stored_bytes": size}, {"stored_bytes": most.stored_bytes, "tokenizers": 1}):
        bound(**limits)
        put(client, "mine")
        refused = client.put("/tokenizers/second", content=llama())
        assert (refused.status_code, error_of(refused)["kind"]) == (507, "storage_full")
        assert client.delete("/tokenizers/mine").status_code == 204


def test_public_ones_are_everybody_s_and_nobody_s(client: TestClient) -> None:
    (public,) = client.get("/tokenizers").json()["tokenizers"]
    assert public["public"] is True
    for path in ("/tokenizers/demo", f"/tokenizers/{public['digest']}", "/aliases/demo"):
        assert client.delete(path).status_code == 403
    assert client.put("/aliases/mine", json={"tokenizer": "demo"}).status_code == 403
    mine = put(client, "demo", llama())
    assert client.get("/tokenizers/demo").json()["digest"] == mine["digest"]
    assert client.delete("/tokenizers/demo").status_code == 204
    assert client.get("/tokenizers/demo").json()["digest"] == public["digest"]


def test_usage(client: TestClient) -> None:
    made = put(client, "mine")
    client.post("/tokenizers/mine/encode", json={"text": "Hello"})
    found = client.get("/usage").json()
    assert (found["tenant"], found["tokenizers"]) == (LOCAL, 1)
    assert found["stored_bytes"] == made["bytes"]
    assert (found["requests"], found["text_bytes"]) == (2, made["bytes"] + 5)
    assert found["limits"]["calls"]["max_text_bytes"] == 4 << 20


# With keys.


@pytest.fixture
def guarded() -> Iterator[tuple[TestClient, str, Service]]:
    with service_of({}, identity=True) as service:
        key, record = make_key(None)
        service.store.put_key(record)
        with client_of(service) as client:
            yield client, key, service


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_tenants_and_their_keys(guarded: tuple[TestClient, str, Service]) -> None:
    client, admin, _ = guarded
    made = client.put(
        "/tenants/acme",
        json={"limits": {"concurrent": 3, "calls": {"deadline": 0.5}}},
        headers=bearer(admin),
    ).json()
    assert (made["name"], made["disabled"], made["keys"]) == ("acme", False, [])
    assert made["limits"]["concurrent"] == 3
    assert made["limits"]["calls"]["deadline"] == 0.5
    assert made["limits"]["queued"] == TenantLimits().queued
    new = client.post("/tenants/acme/keys", json={}, headers=bearer(admin)).json()
    assert client.get("/usage", headers=bearer(new["key"])).json()["tenant"] == "acme"
    shown = client.get("/tenants/acme", headers=bearer(admin)).text
    assert new["id"] in shown
    assert new["key"] not in shown
    later = client.put(
        "/tenants/acme", json={"limits": {"queued": 1}}, headers=bearer(admin)
    ).json()
    assert (later["limits"]["concurrent"], later["limits"]["queued"]) == (3, 1)
    listed = client.get("/tenants", headers=bearer(admin)).json()["tenants"]
    assert [one["name"] for one in listed] == ["acme"]
    deleted = client.delete(f"/tenants/acme/keys/{new['id']}", headers=bearer(admin))
    assert deleted.status_code == 204
    assert client.get("/usage", headers=bearer(new["key"])).status_code == 401
    assert client.delete("/tenants/acme", headers=bearer(admin)).status_code == 204
    assert client.get("/tenants/acme", headers=bearer(admin)).status_code == 404


def test_keys_are_rotated(guarded: tuple[TestClient, str, Service]) -> None:
    client, admin, service = guarded
    client.put("/tenants/acme", json={}, headers=bearer(admin))
    first = client.post("/tenants/acme/keys", json={}, headers=bearer(admin)).json()
    asked = {"keep_old_seconds": 3600}
    second = client.post("/tenants/acme/keys", json=asked, headers=bearer(admin)).json()
    ends = {one.id: one.expires for one in service.store.keys() if one.tenant == "acme"}
    assert ends[second["id"]] is None
    assert ends[first["id"]] is not None
    asked = {"keep_old_seconds": 0}
    client.post("/tenants/acme/keys", json=asked, headers=bearer(admin)).raise_for_status()
    now = {one.id: one.expires for one in service.store.keys() if one.tenant == "acme"}
    assert (now[first["id"]] or 0) < (ends[first["id"]] or 0)


ADMIN: list[tuple[str, str]] = [
    ("GET", "/tenants"),
    ("GET", "/tenants/acme"),
    ("PUT", "/tenants/acme"),
    ("DELETE", "/tenants/acme"),
    ("POST", "/tenants/acme/keys"),
    ("DELETE", "/tenants/acme/keys/1"),
]


@pytest.mark.parametrize(("method", "path"), ADMIN)
def test_only_admins(guarded: tuple[TestClient, str, Service], method: str, path: str) -> None:
    client, admin, _ = guarded
    client.put("/tenants/acme", json={}, headers=bearer(admin)).raise_for_status()
    made = client.post("/tenants/acme/keys", json={}, headers=bearer(admin)).json()
    refused = client.request(method, path, json={}, headers=bearer(made["key"]))
    assert (refused.status_code, error_of(refused)["kind"]) == (403, "forbidden")
    assert client.request(method, path, json={}).status_code == 401


def test_what_an_admin_cannot_say(guarded: tuple[TestClient, str, Service]) -> None:
    client, admin, _ = guarded
    for name, body in (
        ("UPPER", {}),
        ("public", {}),
        ("acme", {"limits": {"nope": 1}}),
        ("acme", {"limits": {"concurrent": -1}}),
        ("acme", {"limits": {"burst_bytes": 10**400}}),
        ("acme", {"limits": {"queued": 2**63}}),
        ("acme", {"limits": {"load_deadline": 10**400}}),
        ("acme", {"limits": {"load_deadline": 1e10}}),
        ("acme", {"limits": {"calls": {"deadline": 0}}}),
        ("acme", {"limits": {"calls": {"deadline": 10**400}}}),
        ("acme", {"limits": {"calls": 1}}),
    ):
        refused = client.put(f"/tenants/{name}", json=body, headers=bearer(admin))
        assert refused.status_code == 400, (name, body)
    assert client.delete("/tenants/nope", headers=bearer(admin)).status_code == 404
    refused = client.post("/tenants/nope/keys", json={}, headers=bearer(admin))
    assert refused.status_code == 404
    refused = client.put("/tokenizers/mine", content=small.file(), headers=bearer(admin))
    assert refused.status_code == 403


def test_without_keys_the_tenant_of_all_requests_stays() -> None:
    with service_of({}) as service, client_of(service) as client:
        for refused in (
            client.delete("/tenants/local"),
            client.put("/tenants/local", json={"disabled": True}),
        ):
            assert (refused.status_code, error_of(refused)["kind"]) == (409, "conflict")
        client.put("/tenants/local", json={"disabled": False}).raise_for_status()
        client.put("/tenants/other", json={"disabled": True}).raise_for_status()
        client.delete("/tenants/other").raise_for_status()
        assert client.get("/usage").json()["tenant"] == "local"


def test_with_keys_a_tenant_of_this_name_is_any(
    guarded: tuple[TestClient, str, Service],
) -> None:
    client, admin, _ = guarded
    asked = client.put("/tenants/local", json={"disabled": True}, headers=bearer(admin))
    assert asked.json()["disabled"]
    assert client.delete("/tenants/local", headers=bearer(admin)).status_code == 204


def test_one_tenant_sees_nothing_of_another(guarded: tuple[TestClient, str, Service]) -> None:
    client, admin, _ = guarded
    keys = {}
    for name in ("one", "two"):
        client.put(f"/tenants/{name}", json={}, headers=bearer(admin)).raise_for_status()
        made = client.post(f"/tenants/{name}/keys", json={}, headers=bearer(admin)).json()
        keys[name] = bearer(made["key"])
    mine = client.put("/tokenizers/mine", content=small.file(), headers=keys["one"]).json()
    for name in ("mine", mine["digest"]):
        hidden = client.get(f"/tokenizers/{name}", headers=keys["two"])
        nothing = client.get("/tokenizers/never", headers=keys["two"])
        assert hidden.status_code == nothing.status_code == 404
        assert hidden.text.replace(name, "") == nothing.text.replace("never", "")
        assert client.delete(f"/tokenizers/{name}", headers=keys["two"]).status_code == 404
    assert client.get("/tokenizers", headers=keys["two"]).json() == {"tokenizers": []}
    body = {"ids": [1], "state": state_of(client, keys["one"])}
    stolen = client.post("/tokenizers/mine/stream", json=body, headers=keys["two"])
    assert stolen.status_code == 400


def state_of(client: TestClient, headers: dict[str, str]) -> str:
    from .calls import events_of

    answer = client.post("/tokenizers/mine/stream", json={"ids": [1]}, headers=headers)
    state: str = events_of(answer.text)[-1][1]["state"]
    return state


@pytest.mark.parametrize("what", ["put_alias", "put_tokenizer"])
def test_a_store_that_is_locked_holds_no_call_of_others(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither changes of records nor uploads take the threads of calls while they wait for it."""
    go_on = threading.Event()

    async def ask() -> None:
        bounds = Bounds(threads=1)
        with service_of({"demo": "builtin:demo"}, bounds=bounds) as service:
            app = create_app(service, api.routes(service))
            store_it = getattr(service.store, what)
            inside = threading.Semaphore(0)

            def locked(*args: Any, **named: Any) -> None:
                inside.release()
                assert go_on.wait(60)
                store_it(*args, **named)

            transport = httpx.ASGITransport(app)
            base = f"http://127.0.0.1{PREFIX}"
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                (await client.put("/tokenizers/mine", content=small.file())).raise_for_status()
                monkeypatch.setattr(service.store, what, locked)

                async def change(number: int) -> httpx.Response:
                    if what == "put_alias":
                        body = {"tokenizer": "mine"}
                        return await client.put(f"/aliases/n{number}", json=body)
                    file = words_of(f"w{number}")
                    return await client.put(f"/tokenizers/n{number}", content=file)

                waiting = [asyncio.create_task(change(number)) for number in range(8)]
                try:
                    assert await asyncio.to_thread(inside.acquire, timeout=60)
                    body = {"text": "a b " * 20_000}
                    asked = client.post("/tokenizers/demo/encode", json=body)
                    assert (await asyncio.wait_for(asked, 60)).status_code == 200
                    assert (await change(8)).status_code == 429
                finally:
                    go_on.set()
                assert {(await one).status_code for one in waiting} == {200}

    asyncio.run(ask())


def test_changes_of_records_take_their_turn_and_are_counted(
    service: Service, client: TestClient
) -> None:
    """Each is written to the disk and read by all processes: nobody may make them at will."""
    put(client, "mine")
    assert service.usage(LOCAL).requests == 1
    for method, path, body in (
        ("PUT", "/aliases/other", {"tokenizer": "mine"}),
        ("DELETE", "/aliases/other", None),
        ("DELETE", "/tokenizers/mine", None),
    ):
        before = service.usage(LOCAL)
        client.request(method, path, json=body).raise_for_status()
        after = service.usage(LOCAL)
        assert after.requests - before.requests == 1
        assert after.text_bytes - before.text_bytes >= 4096
