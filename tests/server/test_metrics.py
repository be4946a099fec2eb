"""The numbers of a server: what is counted, under which labels, and over several workers."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

import pywasmtok
from pywasmtok import metrics as library
from pywasmtok.server.config import Config, Numbers
from pywasmtok.server.contract import Caller
from pywasmtok.server.observe import metrics as observe_metrics
from pywasmtok.server.observe.history import STEP, STEPS, Histories, History
from pywasmtok.server.observe.metrics import OTHER_TENANTS, ServerMetrics, routes
from pywasmtok.server.observe.shared_counters import Siblings
from pywasmtok.server.requests.record import Exchange
from pywasmtok.tenants.errors import Overloaded

MARKER = "MARKERxyz"


@pytest.fixture
def made() -> Iterator[Any]:
    opened: list[ServerMetrics] = []

    def make(**how: Any) -> ServerMetrics:
        folder = how.pop("folder", None)
        one = ServerMetrics(Numbers(**how), secret=b"s" * 32, folder=folder)
        opened.append(one)
        return one

    yield make
    for one in opened:
        one.close()
    assert not library.enabled()


def request(metrics: ServerMetrics, **how: Any) -> None:
    tenant = how.pop("tenant", None)
    caller = None if tenant is None else Caller(tenant)
    plain = {"route": "encode", "dialect": "own", "status": 200, "seconds": 0.003}
    metrics.request(Exchange("POST", caller=caller, **{**plain, **how}))


def samples(metrics: ServerMetrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text, kind = metrics.render()
    assert kind.startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(metrics: ServerMetrics, name: str, **labels: str) -> float | None:
    return samples(metrics).get((f"pywasmtok_server_{name}", tuple(sorted(labels.items()))))


@pytest.mark.parametrize("version", ["abc", "1..0", "1" * 5000, "1e5"])
@pytest.mark.parametrize("kind", ["text/plain", "application/openmetrics-text"])
def test_a_version_that_is_none_gets_the_plain_format(made: Any, kind: str, version: str) -> None:
    text, given = made().render(f"{kind};version={version}")
    assert given == made().render()[1]
    assert text.startswith(b"# HELP pywasmtok_server_requests_total")


def test_requests_are_counted_and_measured(made: Any) -> None:
    metrics = made()
    for _ in range(3):
        request(metrics, received=10, sent=100, tenant="acme")
    request(metrics, dialect="vllm", status=404, error="unknown_tokenizer")
    request(metrics, status=429, tenant="acme", error="too_many_requests", seconds=99.0)
    labels = {"route": "encode", "dialect": "own"}
    assert value(metrics, "requests_total", **labels, status="2xx") == 3
    assert value(metrics, "requests_total", **labels, status="429") == 1
    assert value(metrics, "requests_total", route="encode", dialect="vllm", status="4xx") == 1
    assert value(metrics, "received_bytes_total", route="encode") == 30
    assert value(metrics, "sent_bytes_total", route="encode") == 300
    assert value(metrics, "request_seconds_count", route="encode") == 5
    assert value(metrics, "request_seconds_bucket", route="encode", le="0.002") == 0
    assert value(metrics, "request_seconds_bucket", route="encode", le="0.004") == 4
    assert value(metrics, "request_seconds_bucket", route="encode", le="16.384") == 4
    assert value(metrics, "request_seconds_bucket", route="encode", le="+Inf") == 5
    assert value(metrics, "request_seconds_sum", route="encode") == pytest.approx(99.012)
    assert value(metrics, "refusals_total", kind="too_many_requests") == 1
    who = metrics.label("acme")
    assert value(metrics, "tenant_requests_total", tenant=who, status="2xx") == 3
    assert value(metrics, "tenant_requests_total", tenant=who, status="429") == 1


def test_calls_are_counted_by_operation_and_tenant(made: Any) -> None:
    metrics = made()
    metrics.call("acme", "encode", 500, 0.001, tokens=100)
    metrics.call("acme", MARKER, 1, 0.001, error=Overloaded("no"))
    who = metrics.label("acme")
    assert value(metrics, "call_seconds_count", operation="encode") == 1
    assert value(metrics, "call_seconds_count", operation="other") == 1
    assert value(metrics, "call_errors_total", kind="overloaded") == 1
    assert value(metrics, "tenant_bytes_total", tenant=who) == 501
    assert value(metrics, "tenant_tokens_total", tenant=who) == 100
    assert MARKER not in metrics.render()[0].decode()


def test_tenants_stand_under_a_hash_that_others_cannot_make(made: Any) -> None:
    metrics = made()
    assert metrics.label("acme") == metrics.label("acme") != metrics.label("acmf")
    assert metrics.hash("acme") != ServerMetrics(Numbers(enabled=False)).hash("acme")
    request(metrics, tenant="acme")
    assert "acme" not in metrics.render()[0].decode()


def test_tenants_beyond_so_many_share_a_bucket(made: Any) -> None:
    metrics = made(tenants=3)
    for number in range(1000):
        request(metrics, tenant=f"t{number}")
    labels = {
        dict(labels)["tenant"]
        for name, labels in samples(metrics)
        if name == "pywasmtok_server_tenant_requests_total"
    }
    assert len(labels) == 4
    assert value(metrics, "tenant_requests_total", tenant=OTHER_TENANTS, status="2xx") == 997
    assert len(metrics.histories._of) == 3


def test_what_nobody_knows_is_no_label(made: Any) -> None:
    metrics = made()
    request(metrics, dialect=MARKER, status=999)
    assert value(metrics, "requests_total", route="encode", dialect="none", status="none") == 1


def test_gauges_are_asked_for(made: Any) -> None:
    metrics = made()
    metrics.gauge("queued", "Calls that wait", lambda: 7)
    assert value(metrics, "queued") == 7
    resident = value(metrics, "resident_bytes")
    assert (resident or 0) > 1 << 20 or not sys.platform.startswith("linux")


def test_memory_of_tenants_has_a_label_for_the_first_of_them(made: Any) -> None:
    metrics = made(tenants=2)
    metrics.tenant_memory = lambda: {"a": 1, "b": 2, "c": 4, "d": 8}
    found = [value(metrics, "tenant_memory_bytes", tenant=metrics.label(one)) for one in "ab"]
    assert found == [1, 2]
    assert value(metrics, "tenant_memory_bytes", tenant=OTHER_TENANTS) == 12
    metrics.tenant_memory = lambda: {}
    assert value(metrics, "tenant_memory_bytes", tenant=OTHER_TENANTS) is None


def test_the_library_counts_too_and_under_other_names_if_asked(made: Any) -> None:
    metrics = made(names=("sglang", "dynamo"))
    tok = pywasmtok.create_tokenizer("builtin:demo", encoder="core", decoder="core")
    tok.encode("Hello " + MARKER)
    text = metrics.render()[0].decode()
    assert 'pywasmtok_encode_seconds_count{backend="core"' in text
    assert "sgl_tokenizer_encode_duration_seconds_count" in text
    assert "dynamo_frontend_tokenizer_latency_ms_count" in text
    assert MARKER not in text


def test_off_is_off(made: Any) -> None:
    metrics = made(enabled=False)
    request(metrics, tenant="acme")
    metrics.call("acme", "encode", 1, 0.1)
    assert metrics.render()[0] == b""
    assert not library.enabled()


OTHER_WORKER = """
import sys, pathlib
from pywasmtok.server.config import Numbers
from pywasmtok.server.contract import Caller
from pywasmtok.server.requests.record import Exchange
from pywasmtok.server.observe.metrics import ServerMetrics
metrics = ServerMetrics(Numbers(), secret=b"s" * 32, folder=pathlib.Path(sys.argv[1]))
metrics.gauge("queued", "Calls that wait", lambda: 5)
for _ in range(4):
    metrics.request(
        Exchange("POST", "encode", "own", Caller("acme"), status=200, seconds=0.003)
    )
metrics.close() if sys.argv[2] == "dies" else metrics.render()
print("written", flush=True)
sys.stdin.read()
"""


def start_worker(folder: Path, fate: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_WORKER, str(folder), fate],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def test_one_worker_answers_for_all(made: Any, tmp_path: Path) -> None:
    metrics = made(folder=tmp_path)
    metrics.gauge("queued", "Calls that wait", lambda: 1)
    request(metrics, tenant="acme")
    alive = start_worker(tmp_path, "lives")
    dead = start_worker(tmp_path, "dies")
    dead.communicate("")
    (tmp_path / "99.numbers").write_bytes(b"no numbers")
    try:
        # Those of the dead stay counted; what waited there does not wait any more.
        labels = {"route": "encode", "dialect": "own", "status": "2xx"}
        assert value(metrics, "requests_total", **labels) == 9
        assert value(metrics, "request_seconds_bucket", route="encode", le="0.004") == 9
        who = metrics.label("acme")
        assert value(metrics, "tenant_requests_total", tenant=who, status="2xx") == 9
        assert value(metrics, "queued") == 6
    finally:
        alive.communicate("")


def test_what_a_worker_has_shown_stays_counted_if_it_is_killed(made: Any, tmp_path: Path) -> None:
    metrics = made(folder=tmp_path)
    worker = start_worker(tmp_path, "lives")
    worker.kill()
    worker.communicate()
    labels = {"route": "encode", "dialect": "own", "status": "2xx"}
    assert value(metrics, "requests_total", **labels) == 4


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process cannot open anything."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 30, before[1]))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(OSError, match="Too many open files"):
            os.listdir("/")
        yield
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_without_descriptors_no_counter_falls(made: Any, tmp_path: Path) -> None:
    metrics = made(folder=tmp_path)
    # The thread would write, too.
    metrics._stop.set()
    metrics._writer.join()
    start_worker(tmp_path, "dies").communicate("")
    labels = {"route": "encode", "dialect": "own", "status": "2xx"}
    request(metrics)
    assert value(metrics, "requests_total", **labels) == 5
    with no_descriptors():
        for number in range(6, 9):
            request(metrics)
            assert value(metrics, "requests_total", **labels) == number
    # Another worker reads what was shown last.
    other = Siblings(tmp_path)
    other._own = tmp_path / "other.numbers"
    try:
        shown = [one for family in other.others() for one in family.samples]
    finally:
        other.close()
    requests = [one.value for one in shown if one.name == "pywasmtok_server_requests_total"]
    assert sum(requests) == 8


def test_files_that_cannot_be_read_count_as_they_were(made: Any, tmp_path: Path) -> None:
    metrics = made(folder=tmp_path)
    start_worker(tmp_path, "dies").communicate("")
    labels = {"route": "encode", "dialect": "own", "status": "2xx"}
    assert value(metrics, "requests_total", **labels) == 4
    for file in tmp_path.glob("*.numbers"):
        file.write_bytes(b"no numbers")
    assert value(metrics, "requests_total", **labels) == 4
    for file in tmp_path.iterdir():
        file.unlink()
    tmp_path.rmdir()
    assert value(metrics, "requests_total", **labels) == 4


def test_a_failure_does_not_end_the_thread_that_writes(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe_metrics, "_WRITE_SECONDS", 0.01)
    metrics = made(folder=tmp_path)
    failed, written = threading.Event(), threading.Event()

    def resident() -> float:
        if not failed.is_set():
            failed.set()
            raise OSError(errno.EMFILE, "no descriptor")
        written.set()
        return 1.0

    metrics.gauge("late", "Fails once", resident)
    assert failed.wait(60)
    assert written.wait(60)
    assert metrics._writer.is_alive()


def test_numbers_are_written_beside_the_work(made: Any, tmp_path: Path) -> None:
    metrics = made(folder=tmp_path)
    request(metrics)
    metrics.close()
    assert [path.name for path in tmp_path.iterdir()] == [f"{os.getpid()}.numbers"]


# The route.


def ask(metrics: ServerMetrics, caller: Caller | None, **numbers: Any) -> httpx.Response:
    service: Any = SimpleNamespace(metrics=metrics, config=Config(metrics=Numbers(**numbers)))
    inner = Starlette(routes=routes(service))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope.setdefault("state", {})["caller"] = caller
        await inner(scope, receive, send)

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/metrics")

    return asyncio.run(get())


def test_only_admins_see_them_unless_they_are_open(made: Any) -> None:
    metrics = made()
    metrics.gauge("queued", "Calls that wait", lambda: 3)
    for caller in (None, Caller("acme")):
        with pytest.raises(pywasmtok.TokenizerError) as refused:
            ask(metrics, caller)
        assert refused.value.kind == "forbidden"
        assert "pywasmtok_server_queued 3.0" in ask(metrics, caller, open=True).text
    answer = ask(metrics, Caller("public", admin=True))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")


def test_there_is_nothing_where_metrics_are_off(made: Any) -> None:
    with pytest.raises(pywasmtok.TokenizerError) as refused:
        ask(made(enabled=False), Caller("public", admin=True))
    assert refused.value.kind == "not_found"


# What the plots show.


def test_a_history_has_the_last_minutes_in_steps() -> None:
    now = 1000.0
    history = History(lambda: now)
    for _ in range(98):
        history.add(0.001, 200, 10)
    history.add(1.0, 503, 0)
    history.add(1.0, 500, 0)
    now += STEP
    history.add(0.01, 429, 0)
    plain = history.plain()
    assert plain["requests"][-2:] == [100, 1]
    assert plain["refused"][-2:] == [1, 1]
    assert plain["failed"][-2:] == [1, 0]
    assert plain["received_bytes"][-2] == 980
    assert 0.001 <= plain["p50"][-2] < 0.00126
    assert 1.0 <= plain["p99"][-2] < 1.26
    assert {len(values) for values in plain.values() if isinstance(values, list)} == {STEPS}
    json.dumps(plain)
    now += STEP * STEPS
    assert sum(history.plain()["requests"]) == 0
    assert history.plain()["p99"] == [None] * STEPS


def test_a_tenant_has_a_history_of_its_own() -> None:
    histories = Histories(2)
    for tenant in ("a", "b", "c", None):
        histories.add(tenant, 0.001, 200, 1)
    assert sum(histories.all.plain()["requests"]) == 4
    assert sum(histories.of("c").plain()["requests"]) == 1
    # Let go of for others, as one that never asked.
    assert sum(histories.of("a").plain()["requests"]) == 0
