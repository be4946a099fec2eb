"""The numbers of a server, for Prometheus and for the status page. docs/metrics.md lists them.

No label holds a text, an id, a key, a name of a tokenizer or of a tenant. Tenants stand under a
hash that only this server can make, the first of them each under its own, all others in one bucket.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..._host.linux.private_memory import resident_bytes
from ..workers.heartbeats import metrics_of
from .counters import Counter, Histogram
from .history import Histories
from .shared_counters import Siblings, added

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from ...errors import TokenizerError
    from ..config import Numbers
    from ..requests.record import Exchange
    from ..service import Service
    from ..workers.heartbeats import Heartbeats

__all__ = ["OTHER_TENANTS", "ServerMetrics", "routes"]

log = logging.getLogger("pywasmtok")

OTHER_TENANTS: Final = "other"

_DIALECTS: Final = frozenset(("vllm", "sglang", "llamacpp", "tgi", "own"))
_OPERATIONS: Final = frozenset(
    (
        *("encode", "decode", "count", "fits", "truncate", "render", "encode_chat"),
        *("stream", "upload", "load"),
    )
)

# How old the numbers of another worker may be.
_WRITE_SECONDS: Final = 1.0

# Of kinds of requests, whose numbers are kept at hand.
_MOST_NUMBERS: Final = 4096


class ServerMetrics:
    """One a service. Counting is for the event loop; scraping may be done anywhere."""

    def __init__(
        self, config: Numbers, *, secret: bytes | None = None, folder: Path | None = None
    ) -> None:
        """`secret`: the same for all workers and starts keeps the names of tenants the same.
        `folder`: where the workers of one server find each other's numbers; None: there is one."""
        self.enabled = config.enabled
        self._most_tenants = config.tenants
        self._secret = secret or secrets.token_bytes(32)
        self._labels: dict[str, str] = {}
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self.tenant_memory: Callable[[], dict[str, int]] = dict
        """Bytes by tenant, asked at each scrape."""
        self.histories = Histories(config.tenants)
        self.heartbeats: Heartbeats | None = None
        """Of all workers of the server; None: it is one process."""
        self._numbers: dict[tuple[str, str, int, str | None], tuple[list[float], ...]] = {}

        name = "pywasmtok_server_"
        self._requests = Counter(
            name + "requests", "Requests that were answered", "route", "dialect", "status"
        )
        self._seconds = Histogram(
            name + "request_seconds", "From a request's head to the end of its answer", "route"
        )
        self._received = Counter(name + "received_bytes", "Bytes of bodies of requests", "route")
        self._sent = Counter(name + "sent_bytes", "Bytes of bodies of answers", "route")
        self._refusals = Counter(name + "refusals", "Requests that ended in an error", "kind")
        self._calls = Histogram(
            name + "call_seconds", "Calls into sandboxes, from start to end", "operation"
        )
        self._errors = Counter(name + "call_errors", "Calls that ended in an error", "kind")
        self._tenant_requests = Counter(
            name + "tenant_requests", "Requests of tenants, under hashes", "tenant", "status"
        )
        self._tenant_bytes = Counter(
            name + "tenant_bytes", "Bytes of text, ids and files done for tenants", "tenant"
        )
        self._tenant_tokens = Counter(
            name + "tenant_tokens", "Ids that tenants were given", "tenant"
        )
        self._registry = self._opened(config) if config.enabled else None
        self._siblings = Siblings(folder) if folder is not None and config.enabled else None
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._writer: threading.Thread | None = None
        if self._siblings is not None:
            self._writer = threading.Thread(
                target=self._write, name="pywasmtok-numbers", daemon=True
            )
            self._writer.start()

    # Counting.

    def request(self, exchange: Exchange) -> None:
        if not self.enabled:
            return
        seconds, received, status = exchange.seconds, exchange.received, exchange.status
        tenant = None if exchange.caller is None else exchange.caller.tenant
        key = exchange.route, exchange.dialect, status, tenant
        numbers = self._numbers.get(key)
        if numbers is None:
            if len(self._numbers) >= _MOST_NUMBERS:
                self._numbers.clear()
            numbers = self._numbers[key] = self._numbers_of(*key)
        requests, durations, received_bytes, sent_bytes, of_tenant = numbers
        requests[0] += 1
        self._seconds.add_to(durations, seconds)
        received_bytes[0] += received
        sent_bytes[0] += exchange.sent
        of_tenant[0] += 1
        if exchange.error is not None:
            self._refusals.add((exchange.error,))
        self.histories.add(tenant, seconds, status, received)

    def _numbers_of(
        self, route: str, dialect: str, status: int, tenant: str | None
    ) -> tuple[list[float], ...]:
        """What a request adds to, looked up once for all requests that are alike."""
        dialect = dialect if dialect in _DIALECTS else "none"
        kind = _class_of(status)
        return (
            self._requests.numbers((route, dialect, kind)),
            self._seconds.numbers((route,)),
            self._received.numbers((route,)),
            self._sent.numbers((route,)),
            [0.0] if tenant is None else self._tenant_requests.numbers((self.label(tenant), kind)),
        )

    def call(
        self,
        tenant: str,
        operation: str,
        cost: int,
        seconds: float,
        *,
        tokens: int = 0,
        error: TokenizerError | None = None,
    ) -> None:
        """A call into a sandbox that has ended, also one that ended in an error."""
        if not self.enabled:
            return
        self._calls.add((operation if operation in _OPERATIONS else "other",), seconds)
        label = self.label(tenant)
        self._tenant_bytes.add((label,), cost)
        if tokens:
            self._tenant_tokens.add((label,), tokens)
        if error is not None:
            self._errors.add((error.kind,))

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """`pywasmtok_server_<name>`: `value` is called at each scrape."""
        self.gauges[name] = (about, value)

    def label(self, tenant: str) -> str:
        """What a tenant is called in labels and logs."""
        known = self._labels.get(tenant)
        if known is None:
            if len(self._labels) >= self._most_tenants:
                return OTHER_TENANTS
            known = self._labels[tenant] = self.hash(tenant)
        return known

    def hash(self, tenant: str) -> str:
        """A keyed hash: only with the store's secret can a name be matched to its label."""
        digest = hashlib.blake2s(tenant.encode(), key=self._secret[:32], digest_size=6)
        return "t" + digest.hexdigest()

    # Scraping.

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The text for Prometheus, and its type."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import choose_encoder

        shown = CollectorRegistry(auto_describe=False)
        shown.register(_Fixed(self.collected()))
        try:
            encode, content_type = choose_encoder(accept)
        except (TypeError, ValueError):
            # A version that is no number.
            encode, content_type = choose_encoder("")
        return encode(shown), content_type

    def collected(self) -> list[Metric]:
        if self._registry is None:
            return []
        own = [*self._write_once(self._registry), *metrics_of(self.heartbeats)]
        return added(own, self._siblings.others() if self._siblings is not None else ())

    def close(self) -> None:
        self._stop.set()
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._siblings is not None:
            self._siblings.close()
        if self._registry is not None:
            from ... import metrics

            if self._of_library:
                metrics.disable()
            self._registry = None

    def _opened(self, config: Numbers) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry

        from ... import metrics

        registry = CollectorRegistry(auto_describe=False)
        for tally in (
            *(self._requests, self._seconds, self._received, self._sent, self._refusals),
            *(
                self._calls,
                self._errors,
                self._tenant_requests,
                self._tenant_bytes,
                self._tenant_tokens,
            ),
        ):
            registry.register(tally)
        registry.register(_Gauges(self))
        # A program that has enabled them itself keeps them where they are.
        self._of_library = bool(config.library or config.names) and not metrics.enabled()
        if self._of_library:
            metrics.enable(registry, config.names)
        return registry

    def _write(self) -> None:
        failing = False
        while True:
            ended = self._stop.wait(_WRITE_SECONDS)
            try:
                if self._registry is not None:
                    self._write_once(self._registry)
                failing = False
            except Exception:
                # Logged once, and tried again: without this thread the counters of this worker
                # would stand still for the others.
                if not failing:
                    log.exception("the numbers of this worker could not be written")
                failing = True
            if ended:
                return

    def _write_once(self, registry: CollectorRegistry) -> list[Metric]:
        """The numbers of this worker. They are written before they are shown: another worker then
        shows no smaller ones, even if this one is killed now."""
        with self._writing:
            own = list(registry.collect())
            if self._siblings is not None:
                self._siblings.write(own)
            return own


class _Gauges:
    def __init__(self, metrics: ServerMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        sizes: dict[str, int] = {}
        for tenant, size in self._metrics.tenant_memory().items():
            label = self._metrics.label(tenant)
            sizes[label] = sizes.get(label, 0) + size
        family = GaugeMetricFamily(
            "pywasmtok_server_tenant_memory_bytes",
            "Memory of instances that is not shared",
            labels=["tenant"],
        )
        for label, size in sizes.items():
            family.add_metric([label], size)
        yield family
        for name, (about, value) in tuple(self._metrics.gauges.items()):
            yield GaugeMetricFamily(f"pywasmtok_server_{name}", about, value())
        resident = resident_bytes()
        if resident is not None:
            yield GaugeMetricFamily(
                "pywasmtok_server_resident_bytes",
                "Memory of the process, shared pages too",
                resident,
            )


class _Fixed:
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        return self._metrics


def _class_of(status: int) -> str:
    """The status itself if it is one that the server uses, else its class, such as `4xx`."""
    if status in (413, 429, 499, 503, 504, 507):
        return str(status)
    return f"{status // 100}xx" if 100 <= status <= 599 else "none"


def routes(service: Service) -> list[Route]:
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response
    from starlette.routing import Route

    from ..errors import Forbidden, NotFound

    async def scrape(request: Request) -> Response:
        metrics: ServerMetrics = service.metrics
        if not metrics.enabled:
            raise NotFound("this server has no metrics", hint="metrics.enabled = true")
        caller: Any = getattr(request.state, "caller", None)
        if not service.config.metrics.open and (caller is None or not caller.admin):
            raise Forbidden("metrics are for admins", hint="an admin's key, or metrics.open = true")
        text, kind = await run_in_threadpool(metrics.render, request.headers.get("accept", ""))
        return Response(text, headers={"content-type": kind, "cache-control": "no-store"})

    return [Route("/metrics", scrape, methods=["GET"])]
