"""One tenant is never found at another: `tools.verify.tenants_isolation`, shortened."""

from __future__ import annotations

import pytest

from tools.verify import tenants_isolation as tool


def test_nothing_is_found() -> None:
    result = tool.run(60, every=2)
    assert result["found"] == []
    assert result["reuses"] >= 60


def test_the_search_finds_what_is_there() -> None:
    """In guest memory, in objects, in what is told: a search that finds nothing proves nothing."""
    trial = tool.Trial(tool.file_of())
    word = tool.marker(1)
    needles = tool.mark(trial.a, trial.digest, word)
    assert len(needles) == 2
    for whole in (True, False):
        found = "".join(tool.found_in_memory(trial.a, needles, whole))
        assert all(repr(needle) in found for needle in needles)
        assert "TemplateInstance" in found
    # Templates that came with a call are kept for the next.
    assert "raise_exception" in "".join(tool.found_in_objects(trial.a, trial.pool, needles))


def test_instances_that_are_handed_on_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = tool.Trial(tool.file_of())
    monkeypatch.setattr(trial.b, "_entries", trial.a._entries)
    monkeypatch.setattr(trial.b, "_instances", trial.a._instances)
    monkeypatch.setattr(trial.a, "evict", lambda: None)
    monkeypatch.setattr(trial.b, "evict", lambda: None)
    assert trial.round(3, thorough=False)
