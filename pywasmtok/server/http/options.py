"""The options that uvicorn is run with, the protocol of a process among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from ..workers.handover_protocol import HandoverHttp
from .connections import Connections
from .one_step import OneStepHttp
from .websocket import PatientSockets

if TYPE_CHECKING:
    from ..config import Config
    from ..workers.worker_kind import WorkerKind
    from .protocol import BoundedHttp

__all__ = ["protocol", "reconfigure", "sockets", "uvicorn_options"]


def protocol(counted: Connections, kind: WorkerKind | None = None) -> type[BoundedHttp]:
    """`kind`: of this process, if there are two kinds of them."""
    of_all = {"bounds": counted.bounds, "counted": counted}
    if kind is None:
        return type("OneStepHttp", (OneStepHttp,), of_all)
    return type("HandoverHttp", (HandoverHttp,), {**of_all, "kind": kind})


def sockets(config: Config, counted: Connections) -> type[PatientSockets]:
    return type("PatientSockets", (PatientSockets,), {"counted": counted, **_of_sockets(config)})


def _of_sockets(config: Config) -> dict[str, Any]:
    return {
        "write_seconds": config.bounds.header_seconds,
        "frames_per_second": config.streams.messages_per_second,
    }


def reconfigure(options: Any, config: Config) -> None:
    """`options`: the `uvicorn.Config` of a running server. Open connections change, too."""
    http, ws = options.http_protocol_class, options.ws_protocol_class
    http.bounds = http.counted.bounds = config.bounds
    for name, value in _of_sockets(config).items():
        setattr(ws, name, value)
    options.ws_max_size = _most_of_message(config)


def _most_of_message(config: Config) -> int:
    # Somewhat more than a message may have: up to here the refusal says why.
    return 2 * config.streams.message_bytes


def uvicorn_options(config: Config, kind: WorkerKind | None = None) -> dict[str, Any]:
    """TLS is not among them: `TlsListener` accepts such connections."""
    proxies = list(_networks(config.listen.proxies))
    counted = Connections(config.bounds, proxies)
    return {
        "http": protocol(counted, kind),
        "ws": sockets(config, counted),
        "ws_max_size": _most_of_message(config),
        "ws_max_queue": 8,
        # A frame of a few bytes could unpack to many; what is sent is short anyway.
        "ws_per_message_deflate": False,
        "lifespan": "off",
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": proxies,
        "timeout_keep_alive": 30,
    }


def _networks(proxies: Iterable[str]) -> Iterator[str]:
    """A socket for both families shows an IPv4 address a.b.c.d as ::ffff:a.b.c.d."""
    for one in proxies:
        try:
            network = ip_network(one, strict=False)
        except ValueError:
            yield one
            continue
        yield str(network)
        if network.version == 4:
            yield f"::ffff:{network.network_address}/{96 + network.prefixlen}"
