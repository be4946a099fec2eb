"""The beginning of a GGUF file: all of its metadata, and as little as possible behind it.

Such a file may hold a hundred gigabytes of weights behind a vocabulary of ten megabytes. How far
the metadata reaches shows only while it is read, and reading it is for the core. So it is handed a
prefix that grows until the core says that nothing is missing.
"""

from __future__ import annotations

from typing import BinaryIO

from ...errors import HostError, InputTooLarge, TokenizerError, Unsupported
from ...tokenizer.limits import Limits

__all__ = ["read_metadata"]

# The vocabularies of most models fit into the second step.
_FIRST = 1 << 20
_GROWTH = 8


def read_metadata(stream: BinaryIO, limits: Limits, name: str) -> bytes:
    """The prefix that holds the metadata, or the whole file if that is shorter: a file that is cut
    off is for the reader to complain about."""
    from ... import _host

    data = stream.read(min(_FIRST, limits.metadata))
    while True:
        try:
            extent = _host.extent(data)
        except (HostError, ModuleNotFoundError, Unsupported):
            # The core cannot read it: loading reports that.
            return data
        except TokenizerError as error:
            error.source = name
            raise
        if extent["complete"]:
            return data[: extent["bytes"]]
        if len(data) >= limits.metadata:
            raise InputTooLarge.of(
                f"its metadata takes more than {limits.metadata} bytes",
                limits.metadata,
                len(data) + 1,
                source=name,
                hint="Limits(metadata=...) moves the bound",
            )
        wanted = min(max(extent["bytes"], len(data) * _GROWTH), limits.metadata)
        more = stream.read(wanted - len(data))
        if not more:
            return data
        data += more
