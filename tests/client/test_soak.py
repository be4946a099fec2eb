"""The soak, shortened: every answer is right while a name is pointed elsewhere."""

from __future__ import annotations

import json
import sys

import pytest

pytest.importorskip("starlette", reason="the extra `server` is not installed")

from tools.verify.soak import draw, run, slope


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_few_seconds_of_it() -> None:
    record = run(seconds=3, every=0.5, tenants=2, sampled=0.2)
    assert record.reloads >= 1
    assert record.load.answers > 0
    assert (record.load.wrong, record.load.lost, record.deaths) == (0, 0, 0)
    assert record.internal_errors == []
    assert len(record.samples) >= 2
    assert set(json.loads(record.as_json())["growth an hour"]) == {
        "rss",
        "pss",
        "descriptors",
        "maps",
    }
    picture = draw(record)
    assert picture.startswith("<svg")
    assert "descriptors" in picture


def test_growth() -> None:
    assert slope([(0.0, 5.0), (1.0, 7.0), (2.0, 9.0)]) == 2.0
    assert slope([(0.0, 5.0), (1.0, 9.0), (2.0, 5.0)]) == 0.0
    assert slope([(1.0, 5.0)]) == 0.0
