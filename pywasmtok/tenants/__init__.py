"""Many tenants in one process, each with tokenizers, instances, limits and counters of its own.

    pool = TenantPool(snapshots=SnapshotStore("/var/lib/app/snapshots"))
    tenant = pool.add("acme", TenantLimits(calls=Limits(deadline=0.5, memory=256 << 20)))
    digest = tenant.add(Path("tokenizer.json").read_bytes()).digest
    with tenant.admitted(len(text)):
        ids = tenant.tokenizer(digest).encode(text)

What tenants share is the snapshot of a file: memory that holds its tables and nothing else, mapped
copy-on-write. docs/tenants.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .contract import FileInfo, Files, TenantLike, Usage
from .errors import Cancelled, Overloaded, StorageFull, TooManyRequests, UnknownTokenizer
from .limits import TenantLimits

if TYPE_CHECKING:
    from .._host.calls.cancel import CancelToken, cancellable
    from .options import digest_of, read_source
    from .pool import TenantPool
    from .tenant import Tenant

__all__ = [
    "CancelToken",
    "Cancelled",
    "FileInfo",
    "Files",
    "Overloaded",
    "StorageFull",
    "Tenant",
    "TenantLike",
    "TenantLimits",
    "TenantPool",
    "TooManyRequests",
    "UnknownTokenizer",
    "Usage",
    "cancellable",
    "digest_of",
    "read_source",
]

_LATER = {
    "CancelToken": "pywasmtok._host.calls.cancel",
    "Tenant": "pywasmtok.tenants.tenant",
    "TenantPool": "pywasmtok.tenants.pool",
    "cancellable": "pywasmtok._host.calls.cancel",
    "digest_of": "pywasmtok.tenants.options",
    "read_source": "pywasmtok.tenants.options",
}


def __getattr__(name: str) -> Any:
    """Imports the rest on first access: many modules need the errors and limits alone."""
    from importlib import import_module

    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
