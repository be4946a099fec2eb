"""The options that uvicorn is run with, the protocol of a process among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..workers.handover_protocol import LaneHttp
from .one_step import OneStepHttp
from .websocket import PatientSockets

if TYPE_CHECKING:
    from ..config import Bounds, Config
    from ..workers.lane import Lane
    from .protocol import BoundedHttp

__all__ = ["protocol", "uvicorn_options"]


def protocol(bounds: Bounds, lane: Lane | None = None) -> type[BoundedHttp]:
    """`lane`: of this process, if there are two kinds of them."""
    if lane is None:
        return type("OneStepHttp", (OneStepHttp,), {"bounds": bounds})
    return type("LaneHttp", (LaneHttp,), {"bounds": bounds, "lane": lane})


def uvicorn_options(config: Config, lane: Lane | None = None) -> dict[str, Any]:
    listen = config.listen
    return {
        "http": protocol(config.bounds, lane),
        "ws": PatientSockets,
        # Somewhat more than a message may have: up to here the refusal says why.
        "ws_max_size": 2 * config.streams.message_bytes,
        "ws_max_queue": 8,
        # A frame of a few bytes could unpack to many; what is sent is short anyway.
        "ws_per_message_deflate": False,
        "lifespan": "off",
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(listen.proxies),
        "forwarded_allow_ips": list(listen.proxies),
        "timeout_keep_alive": 30,
        "ssl_certfile": listen.certificate,
        "ssl_keyfile": listen.private_key,
    }
