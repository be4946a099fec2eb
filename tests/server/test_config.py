"""What a configuration may say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from pywasmtok import InvalidArgument
from pywasmtok.server.config import Config, read_config


def numbers() -> Iterator[tuple[str, str, Any]]:
    """The table, name and default of each setting that is a number."""
    for table, settings in msgspec.to_builtins(Config()).items():
        if isinstance(settings, dict):
            for name, value in settings.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield table, name, value


def test_no_number_is_negative_or_none() -> None:
    found = list(numbers())
    assert len(found) > 25
    for table, name, default in found:
        assert read_config(None, {table: {name: default}}) == Config()
        for bad in (-1, *((math.nan, math.inf) if isinstance(default, float) else ())):
            with pytest.raises(InvalidArgument, match=rf"`\$\.{table}\.{name}`"):
                read_config(None, {table: {name: bad}})


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("listen", "workers", 0),
        ("listen", "port", 65536),
        ("bounds", "connections", 0),
        ("bounds", "json-depth", 0),
        ("bounds", "header-seconds", 0),
        ("streams", "messages-per-second", 0),
        ("streams", "idle-seconds", 0),
    ],
)
def test_a_number_with_which_nothing_could_be_served(table: str, name: str, value: int) -> None:
    with pytest.raises(InvalidArgument, match=name):
        read_config(None, {table: {name: value}})


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("listen", "certificate"),
        ("listen", "private-key"),
        ("storage", "path"),
        ("storage", "snapshots"),
        ("tokenizers", "a"),
    ],
)
def test_a_path_is_not_empty(table: str, name: str) -> None:
    with pytest.raises(InvalidArgument, match="length >= 1"):
        read_config(None, {table: {name: ""}})


def test_proxies_are_addresses_and_networks() -> None:
    good = ["192.0.2.7", "10.0.0.1/8", "2001:db8::/32", "::1", "*"]
    assert read_config(None, {"listen": {"proxies": good}}).listen.proxies == tuple(good)
    for bad in ("999", "", "localhost", "10.0.0.0/33", "1.2.3.4:80"):
        with pytest.raises(InvalidArgument, match="no address and no network"):
            read_config(None, {"listen": {"proxies": [bad]}})


def test_a_setting_that_there_is_not() -> None:
    with pytest.raises(InvalidArgument, match=r"unknown field `level` - at `\$\.logs`"):
        read_config(None, {"logs": {"level": "info"}})
