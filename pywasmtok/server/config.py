"""What the operator says: one TOML file, and flags that win over it.

Every key has a default with which `pywasmtok serve builtin:demo` runs at once on loopback.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..errors import InvalidArgument
from ..loading.choice import choose_encoder

__all__ = [
    "Bounds",
    "Config",
    "Listen",
    "Logs",
    "Numbers",
    "Source",
    "Storage",
    "Streams",
    "read_config",
]


# 0 is often a word of its own, such as: no bound.
Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
# A timer takes no infinite time.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
SomeSeconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
# An empty path is the working directory, and mostly a variable that is not set.
PathText = Annotated[str, msgspec.Meta(min_length=1)]


class Listen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8080
    workers: Positive = 1
    long_workers: Count = 0
    """Further processes, of a lower priority, to which connections go when their next request is
    large, an upload, or of a tenant whose calls have lately been long."""
    certificate: PathText | None = None
    """PEM files for TLS."""
    private_key: PathText | None = None
    proxies: tuple[str, ...] = ()
    """Addresses and networks whose X-Forwarded-For and -Proto are believed; `*`: all."""
    drain_seconds: Seconds = 20.0
    heartbeat_seconds: Seconds = 10.0
    """Of several workers, one whose event loop has not run for so long is killed and replaced; 0:
    never."""


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Bounds of the process, for all callers together; each tenant has limits of its own."""

    threads: Count = 0
    """Calls into sandboxes at the same time; 0: twice the processors."""
    queued: Count = 1024
    body_bytes: Positive = 8 << 20
    """Of one body. A body and its answer, and all those of one tenant that are on their way, may
    have eight times as many together."""
    upload_bytes: Positive = 64 << 20
    body_seconds: Seconds = 10.0
    body_bytes_per_second: Positive = 16 << 10
    """A body that comes slower than this, once `body-seconds` are over, is refused; an answer that
    is taken slower, once `header-seconds` are over, is cut off."""
    header_bytes: Positive = 32 << 10
    header_seconds: SomeSeconds = 10.0
    """For the head of a request to arrive, and for a caller to take what is sent to it."""
    handshake_seconds: SomeSeconds = 10.0
    """For the TLS handshake of a connection."""
    connections: Positive = 2048
    """Counted from their acceptance on, in each worker. When a sixteenth of them is left, a new one
    closes the oldest idle one on which no request was accepted yet; the last ones are for
    probes."""
    connections_per_address: Count = 512
    """Of one IPv4 address or IPv6 /64 network; 0: no bound. Loopback and `listen.proxies` are not
    counted."""
    json_depth: Positive = 64
    memory: Count = 0
    """Bytes of instances that are not shared, above which idle tenants lose theirs; of each worker.
    0: half of what the control group or the machine has, divided by the workers."""
    idle_seconds: Seconds = 600.0


class Streams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How many, and how long, is in each tenant's own limits."""

    message_bytes: Positive = 1 << 20
    """A message of a WebSocket."""
    messages_per_second: Positive = 2000
    """Of one WebSocket; it is read no faster."""
    idle_seconds: SomeSeconds = 300.0
    """A WebSocket on which nothing moves for so long is closed."""
    state_seconds: Seconds = 3600.0
    """How long a stream can be gone on with from its state."""
    state_bytes: Count = 256 << 10


class Storage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    path: PathText = "memory"
    """A folder; or `memory`: nothing survives."""
    snapshots: PathText | None = None
    """A folder. None: beside the records, or the user's cache."""
    snapshot_bytes: Count = 16 << 30
    """Disk that snapshots may take; the ones that were not used for longest go."""
    check_seconds: Seconds = 86400.0
    """Time between two checks of all records and files of the folder, of all workers together; 0:
    none."""
    check_bytes_per_second: Positive = 8 << 20
    """What such a check reads at most; one that an admin asks for reads faster."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A tokenizer of the configuration that has options."""

    source: PathText
    encoder: str | None = None
    encoding: str | None = None
    pattern: str | None = None
    special_tokens: dict[str, int] | None = None
    gguf_compat: str | None = None
    apply_config: bool | str | None = None

    @property
    def how_to_read(self) -> dict[str, Any]:
        stated = msgspec.structs.asdict(self)
        others = ("source", "encoder")
        return {name: stated[name] for name in stated if name not in others and stated[name]}


class Logs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    access: bool = True


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    enabled: bool = True
    names: tuple[str, ...] = ()
    """`sglang`, `dynamo`: their names beside ours."""
    library: bool = False
    """Also exports the metrics of `pywasmtok.metrics`, for some microseconds a call; `names` turns
    this on."""
    tenants: Count = 50
    """Tenants with numbers of their own, under a hash; all others share one bucket."""
    open: bool = False
    """Whether /metrics needs no admin's key."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    listen: Listen = msgspec.field(default_factory=Listen)
    bounds: Bounds = msgspec.field(default_factory=Bounds)
    streams: Streams = msgspec.field(default_factory=Streams)
    storage: Storage = msgspec.field(default_factory=Storage)
    logs: Logs = msgspec.field(default_factory=Logs)
    metrics: Numbers = msgspec.field(default_factory=Numbers)
    identity: bool | None = None
    """Whether requests need a key. Unset: yes if an admin's key file is given, if the host is not
    loopback, or if the store has a key. It is settled at the start."""
    encoder: str | None = None
    """Who serves the tokenizers below: `auto` (HuggingFace what the core refuses, with a warning),
    `core`, `hf`, `default`, `fastokens`. None: the environment, then `auto`."""
    tokenizers: Mapping[str, PathText | Source] = msgspec.field(default_factory=dict)
    """Names, and what `create_tokenizer` takes: for every tenant. A table has it as `source`, an
    `encoder` of its own, and how it is read: `encoding`, `pattern`, `special-tokens`,
    `gguf-compat`, `apply-config`."""
    limits: dict[str, Any] = msgspec.field(default_factory=dict)
    """Of tenants without limits of their own: fields of TenantLimits; `calls` is a table."""

    def source_of(self, name: str) -> tuple[Source, str]:
        """A tokenizer, and its encoder: its own setting, else the common one."""
        said = self.tokenizers[name]
        if isinstance(said, str):
            said = Source(said)
        return said, choose_encoder(said.encoder or self.encoder)

    @property
    def needs_keys(self) -> bool:
        return not is_loopback(self.listen.host) if self.identity is None else self.identity


def is_loopback(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    # ::ffff:127.0.0.1 is how a socket for both families shows 127.0.0.1.
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def read_config(path: str | Path | None, flags: dict[str, Any] | None = None) -> Config:
    """`flags` has the shape of the file; what it says wins."""
    said: dict[str, Any] = {}
    if path is not None:
        try:
            said = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidArgument(f"{path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidArgument(f"{path} is no TOML: {error}") from None
    try:
        config = msgspec.convert(_joined(said, flags or {}), Config)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"configuration: {error}") from None
    for name in config.tokenizers:
        # A word that there is not is named before anything is read.
        config.source_of(name)
    choose_encoder(config.encoder)
    for proxy in config.listen.proxies:
        _check_proxy(proxy)
    if not config.needs_keys and not is_loopback(config.listen.host):
        raise InvalidArgument(
            f"identity = false on {config.listen.host}: any client could use this server",
            hint="without keys it listens on 127.0.0.1 or ::1 only",
        )
    return config


def _check_proxy(proxy: str) -> None:
    try:
        if proxy != "*":
            ipaddress.ip_network(proxy, strict=False)
    except ValueError:
        raise InvalidArgument(
            f"configuration: {proxy!r:.80} is no address and no network",
            path="$.listen.proxies",
            hint='Such as "192.0.2.7", "10.0.0.0/8", or "*" for all',
        ) from None


def _joined(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    joined = dict(under)
    for name, value in over.items():
        below = joined.get(name)
        both = isinstance(value, dict) and isinstance(below, dict)
        joined[name] = _joined(below, value) if both else value  # type: ignore[arg-type]
    return joined
