"""The record of what tenants cost: `tools.verify.tenants_scale`, with few and small ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pywasmtok._host.linux import ON
from tools.verify import tenants_scale as tool

from .parts import small

linux = pytest.mark.skipif(not ON, reason="Linux adds memory up")


@linux
def test_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small" / "tokenizer.json"
    file.parent.mkdir()
    file.write_bytes(small())
    monkeypatch.setattr(sys, "argv", ["x", str(file), "--tenants", "12", "--out", str(tmp_path)])
    assert tool.main() == 0
    (record,) = tmp_path.glob("*-tenants.json")
    (text,) = tmp_path.glob("*-tenants.md")
    assert str(tmp_path) not in record.read_text() + text.read_text()
    assert "| 12, two requests each |" in text.read_text()


def test_texts_differ_from_tenant_to_tenant() -> None:
    one, other = tool.text_of(1000, 1), tool.text_of(1000, 2)
    assert one != other
    assert 1000 <= len(one.encode()) < 1300
