"""The document says what is served: each route is in it, and what it says is what happens."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
import schemathesis
import small
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.routing import Route

from pywasmtok.server import api
from pywasmtok.server.api import shapes
from pywasmtok.server.api.streams.desk import Desk
from pywasmtok.server.api.streams.state import Seal
from pywasmtok.server.api.table import operations
from pywasmtok.server.app import create_app
from pywasmtok.server.auth.identity import Failures
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.contract import TenantRecord
from pywasmtok.server.service import Service
from pywasmtok.tenants import TenantLimits

from .calls import PREFIX, client_of
from .direct_work import service_without_threads
from .live import service_of


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_of({"demo": small.file()}) as made:
        yield made


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    with client_of(service) as client:
        found: dict[str, Any] = client.get("/openapi.json").json()
        return found


def test_every_route_is_in_it(document: dict[str, Any], service: Service) -> None:
    served = {
        (re.sub(r":path}", "}", route.path), method.lower())
        for route in api.routes(service)
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    described = {(path, method) for path, item in document["paths"].items() for method in item}
    assert served - described == {(f"{PREFIX}/openapi.json", "get")}
    assert described - served == set()


def test_every_shape_is_in_it(document: dict[str, Any]) -> None:
    known = {
        name
        for name, kind in vars(shapes).items()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and not name.startswith("_")
        and kind.__module__ == shapes.__name__
    }
    assert known - set(document["components"]["schemas"]) == set()


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)):
        assert name in schemas
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_operation_has_a_name_of_its_own(document: dict[str, Any]) -> None:
    names = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    assert len(names) == len(set(names)) > 15


def test_examples_are_answered(document: dict[str, Any], service: Service) -> None:
    asked = 0
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with client_of(service) as client:
        client.put("/tokenizers/mine", content=small.file()).raise_for_status()
        for path, item in document["paths"].items():
            for method, one in item.items():
                body = one.get("requestBody", {}).get("content", {}).get("application/json", {})
                if "example" not in body:
                    continue
                where = path.removeprefix(PREFIX).replace("{name}", "demo")
                example = dict(body["example"])
                if "chat" in path:
                    example["chat_template"] = template
                answer = client.request(method, where, json=example)
                wanted = 403 if "chat" in path else 200
                assert answer.status_code == wanted, (where, answer.text)
                asked += 1
    assert asked >= 10


ADMIN, ADMINS = make_key(None)
KEY, RECORD = make_key("acme")


def guarded(service: Service) -> tuple[Any, dict[str, Any]]:
    """An application with keys, and its document with names of which some are there."""
    service.store.put_tenant(TenantRecord("acme", TenantLimits(), 0.0))
    service.store.put_key(ADMINS)
    service.store.put_key(RECORD)
    with client_of(service) as client:
        headers = {"authorization": f"Bearer {KEY}"}
        document = client.get("/openapi.json", headers=headers).json()
    for path, item in document["paths"].items():
        names = ["gone", "other"] if "/tenants" in path else ["demo", "mine", "a/b"]
        for method, one in item.items():
            for parameter in one["parameters"]:
                # What makes something takes more names than these.
                if parameter["name"] == "name" and method != "put":
                    parameter["schema"]["enum"] = names
    return create_app(service, api.routes(service)), document


@pytest.fixture
def described() -> Iterator[Any]:
    with service_of({"demo": small.file()}, identity=True) as service:
        app, document = guarded(service)
        # The tool shows more wrong keys than an address may.
        app._identity._failures = Failures(rate=1e9, burst=1e9)
        schema = schemathesis.openapi.from_dict(document)
        schema.app = app
        yield schema


OPERATIONS = sorted(
    one.id
    for one in operations(Desk(service_without_threads(), Seal(b"", seconds=1, most_bytes=1)))
)
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_answers_are_as_described(described: Any, operation: str) -> None:
    """What schemathesis makes of the document, good and bad requests: no error of the server, and
    no answer that is not described."""
    (one,) = (
        found.ok()
        for found in described.get_all_operations()
        if found.ok().definition.raw["operationId"] == operation
    )
    key = ADMIN if "admin" in one.tags else KEY
    count = 200 if os.environ.get("PYWASMTOK_SLOW") else 12

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=strategies.one_of([one.as_strategy(generation_mode=mode) for mode in MODES]))
    def check(case: schemathesis.Case[Any]) -> None:
        case.headers["Authorization"] = f"Bearer {key}"
        # What makes a good request is more than a schema says: one of three fields, a name that is
        # known, bytes that are a tokenizer. And 2.0 is refused where ids are meant.
        case.call_and_validate(
            headers={"host": "127.0.0.1"}, excluded_checks=[positive_data_acceptance]
        )

    check()
