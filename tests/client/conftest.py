from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("httpx", reason="the extra `client` is not installed")
pytest.importorskip("starlette", reason="the extra `server` is not installed")


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    from client.live import serving

    with serving() as (address, _):
        yield address
