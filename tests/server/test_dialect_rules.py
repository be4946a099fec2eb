"""What the dialects allow whom, and how they say no."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from assets import Asset, needs_assets
from starlette.testclient import TestClient

import pywasmtok
from pywasmtok.server import dialects
from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.contract import PUBLIC, AliasRecord, TenantRecord
from pywasmtok.server.dialects.pieces import piece_bytes, pieces_of
from pywasmtok.server.requests.conversations import RESERVED
from pywasmtok.tenants import TenantLimits

from .live import service_of

HOME = Path(__file__).parents[2] / "conformance" / "http" / "tokenizer"
MESSAGES = [{"role": "user", "content": "Hi"}]


@contextmanager
def client_of(tokenizers: dict[str, str] | None = None, **config: Any) -> Iterator[TestClient]:
    with service_of(tokenizers or {"m": str(HOME)}, **config) as service:
        app = create_app(service, dialects.routes(service))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            client.headers["content-type"] = "application/json"
            yield client


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with client_of() as client:
        yield client


def post(client: TestClient, path: str, body: Any) -> Any:
    found = client.post(path, json=body)
    assert found.status_code == 200, found.text
    return found.json()


def test_a_template_of_the_request_needs_leave() -> None:
    asked = {"messages": MESSAGES, "chat_template": "{{ messages[0].content }}!"}
    with client_of() as client:
        for path in ("/tokenize", "/apply-template"):
            assert client.post(path, json=asked).status_code == 403
    with client_of(limits={"templates": True}) as client:
        assert post(client, "/apply-template", asked) == {"prompt": "Hi!"}
        loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
        found = client.post("/tokenize", json={"messages": MESSAGES, "chat_template": loop})
        assert found.status_code in (413, 504)
        assert found.json()["error"]["kind"] in ("template_limit", "deadline_exceeded")


@pytest.mark.parametrize(
    "name",
    [
        *("messages", "tools", "add_generation_prompt", "bos_token", "raise_exception", "now"),
        *("self", "range", "namespace", "dict"),
    ],
)
@pytest.mark.parametrize("path", ["/tokenize", "/apply-template", "/chat_tokenize"])
def test_what_a_template_is_given_cannot_be_replaced(
    client: TestClient, path: str, name: str
) -> None:
    asked = {"messages": MESSAGES, "chat_template_kwargs": {name: "x"}}
    found = client.post(path, json=asked)
    assert found.status_code == 400
    assert name in found.text


def test_no_variable_is_taken_for_an_argument_of_the_library() -> None:
    parameters = signature(pywasmtok.Tokenizer.apply_chat_template).parameters
    assert RESERVED.issuperset(parameters.keys() - {"kwargs"})


def test_parts_of_text_are_joined_for_a_template_that_takes_texts(client: TestClient) -> None:
    parts = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]
    asked = {"messages": [{"role": "user", "content": parts}]}
    joined = {"messages": [{"role": "user", "content": "Hi\nthere"}]}
    for path in ("/tokenize", "/apply-template", "/chat_tokenize"):
        assert post(client, path, asked) == post(client, path, joined)


def test_long_answers_are_those_of_the_library(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "ab c" * 3000
    tok = pywasmtok.create_tokenizer(HOME)
    ids = tok.encode(text).ids
    assert len(ids) > 5000
    asked = []
    find = pywasmtok.Tokenizer.id_to_token

    def noted(tok: pywasmtok.Tokenizer, token_id: int) -> str | None:
        asked.append(token_id)
        return find(tok, token_id)

    monkeypatch.setattr(pywasmtok.Tokenizer, "id_to_token", noted)
    found = post(client, "/tokenize", {"prompt": text, "return_token_strs": True})
    assert found["tokens"] == ids
    assert found["token_strs"] == [find(tok, id) for id in ids]
    # A call of the library for each token, not for each place of it.
    assert sorted(asked) == sorted(set(ids))
    found = post(client, "/tokenize", {"content": text, "with_pieces": True, "add_special": True})
    assert [one["id"] for one in found["tokens"]] == ids
    spans = post(client, "/tokenize", {"inputs": text})
    assert [one["id"] for one in spans] == ids
    cut = {"inputs": text, "parameters": {"truncate": 3000}}
    assert post(client, "/tokenize", cut) == spans[-3000:]


def test_model_names_a_tokenizer_of_the_caller() -> None:
    tokenizers = {"m": str(HOME), "other": "builtin:demo"}
    with client_of(tokenizers) as client:
        for body in ({"prompt": "Hello"}, {"content": "Hello"}, {"inputs": "Hello"}):
            one = post(client, "/tokenize", {**body, "model": "m"})
            two = post(client, "/tokenize", {**body, "model": "other"})
            assert one != two
            found = client.post("/tokenize", json=body)
            assert found.status_code == 404
        assert client.get("/info?model=other").json()["model_id"] == "other"
        assert client.get("/info").status_code == 404
        tokens = client.get("/tokenizer_info?model=m").json()["bos_token"]
        assert tokens == "<s>"


def test_nobody_sees_the_tokenizers_of_another_tenant() -> None:
    with service_of({"m": str(HOME)}, identity=True) as service:
        keys = {}
        for name in ("a", "b"):
            service.store.put_tenant(TenantRecord(name, TenantLimits(), 0.0))
            keys[name], record = make_key(name)
            service.store.put_key(record)
        digest = service.upload(service.tenant("a"), file_of_a(), {}, "mine")
        app = create_app(service, dialects.routes(service))
        with TestClient(app, base_url="http://anything") as client:
            answers = {}
            for name, key in keys.items():
                headers = {"authorization": f"Bearer {key}"}
                for model in ("mine", digest):
                    body = {"prompt": "Hello", "model": model}
                    found = client.post("/tokenize", json=body, headers=headers)
                    answers[name, model] = found.status_code
            assert answers == {
                ("a", "mine"): 200,
                ("a", digest): 200,
                ("b", "mine"): 404,
                ("b", digest): 404,
            }
            unknown = client.post("/tokenize", json={"prompt": "Hello"})
            assert unknown.status_code == 401
            assert unknown.json()["error"]["type"] == "AuthenticationError"
        assert AliasRecord("a", "mine", digest) in service.store.aliases("a")
        assert not service.store.aliases(PUBLIC) or digest not in str(service.store.aliases(PUBLIC))


def file_of_a() -> bytes:
    import small

    return small.file()


def test_limits_are_those_of_the_tenant() -> None:
    calls = {"max_text_bytes": 10, "max_tokens": 5, "max_batch_items": 2}
    with client_of(limits={"calls": calls}) as client:
        for body in (
            {"prompt": "a" * 11},
            {"content": "abcdefgh"},
            {"inputs": "é" * 6},
            {"prompt": ["a", "b", "c"]},
        ):
            found = client.post("/tokenize", json=body)
            assert found.status_code == 413
            assert '"limit":' in found.text
            assert '"asked":' in found.text
        assert client.post("/detokenize", json={"tokens": [1] * 6}).status_code == 413


def test_errors_before_the_dialect_is_known_have_a_shape_that_clients_read(
    client: TestClient,
) -> None:
    for path, keys in (
        ("/tokenize", {"message", "type", "param", "code"}),
        ("/apply-template", {"message", "type", "code"}),
    ):
        for data in (b"", b"{", b"\xff", b'{"a":1,"a":2}'):
            found = client.post(path, content=data)
            assert found.status_code == 400
            assert keys <= found.json()["error"].keys()
        found = client.post(path, content=b"x", headers={"content-type": "text/plain"})
        assert found.status_code == 415
    found = client.post("/chat_tokenize", content=b"{")
    assert isinstance(found.json()["error"], str)
    assert client.post("/v1/tokenize", content=b"{").json()["object"] == "error"
    assert "kind" in client.post("/nothing", content=b"{").json()["error"]


def test_ids_that_there_are_not(client: TestClient) -> None:
    for number, status in ((2**63, 400), (-1, 400), (2**63 - 1, 400), (2**32, 400), (True, 400)):
        found = client.post("/detokenize", json={"tokens": [number]})
        assert found.status_code == status, number
        assert "tokens[0]" in found.text
    # `tokenizers` leaves out what it does not know.
    assert post(client, "/detokenize", {"tokens": [260, 99_999]})["prompt"] == "Hello"


@pytest.mark.parametrize("text", ["Hello world", "naïve 你好 🤦", "  two\n\nlines ", "<|end|>"])
def test_pieces_put_together_are_the_text(client: TestClient, text: str) -> None:
    found = post(client, "/tokenize", {"content": text, "with_pieces": True})["tokens"]
    pieces = [
        one["piece"].encode() if isinstance(one["piece"], str) else bytes(one["piece"])
        for one in found
    ]
    assert b"".join(pieces).decode() == text
    ids = [one["id"] for one in found]
    assert post(client, "/detokenize", {"tokens": ids})["content"] == text


@needs_assets
def test_pieces_of_a_sentencepiece_model_keep_their_space(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(Asset("llama2", "tokenizer.model").read())
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    ids = tok.encode("Hello world\n", add_special_tokens=False).ids
    pieces = pieces_of(tok, ids)
    assert [pieces[number] for number in ids] == [" Hello", " world", "\n"]
    assert piece_bytes(tok, tok.token_to_id("<0xE4>") or 0) == b"\xe4"


def test_the_body_counts_as_the_cost() -> None:
    with service_of({"m": str(HOME)}) as service:
        costs = []
        run = service.work.run

        async def counting(tenant: Any, cost: int, *rest: Any, **named: Any) -> Any:
            costs.append(cost)
            return await run(tenant, cost, *rest, **named)

        service.work.run = counting  # type: ignore[method-assign]
        app = create_app(service, dialects.routes(service))
        body = json.dumps({"content": "Hello"})
        with TestClient(app, base_url="http://127.0.0.1") as client:
            client.post("/tokenize", content=body)
    assert costs == [len(body)]


@pytest.mark.parametrize("text", [None, 5])
def test_a_part_whose_text_is_none_is_a_wrong_request(text: Any) -> None:
    begun = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    with client_of() as client:
        found = client.post("/apply-template", json={"messages": [*MESSAGES, begun]})
        assert found.status_code == 400
        assert found.json()["error"]["kind"] == "bad_request"
