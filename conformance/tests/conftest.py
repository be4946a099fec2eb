"""A small suite of bytes for the tests of the runner."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "runner"))

from tokconf.playing.protocol import features  # noqa: E402
from tokconf.suite import Suite  # noqa: E402

Cases = list[dict[str, Any]]


def case(slug: str, text: str, **more: Any) -> dict[str, Any]:
    made = {
        "id": f"encode/bytes/{slug}",
        "since": "1.0",
        "why": "bytes are their own ids",
        "op": "encode",
        "input": {"text": text},
        "expect": {"ids": list(text.encode())},
    }
    return {**made, **more}


CASES: Cases = [
    case("plain", "plain"),
    case("crash", "a crash"),
    case("hang", "will hang"),
    case("chat", "some chat"),
    case("last", "last"),
    {
        "id": "encode/bytes/counted",
        "since": "1.0",
        "why": "counting is asked for only where it is declared",
        "op": "count",
        "input": {"text": "abc"},
        "expect": {"count": 3},
        "spec": ["B-2"],
    },
]


@pytest.fixture
def make_suite(tmp_path: Path) -> Callable[..., Suite]:
    def make(
        cases: Cases = CASES,
        adapter: str = "",
        expectations: str = "",
        timeout_factor: float = 12.0,
    ) -> Suite:
        root = tmp_path / "suite"
        for folder in ("cases/encode", "tokenizers", "texts", "adapters/mini"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "VERSION").write_text("1.0.0\n")
        described = "".join(f"| `{name}` | |\n" for name in features(HERE.parent / "schemas"))
        (root / "SPEC.md").write_text(f"| E-1 | ids |\n| B-2 | count |\n{described}")
        (root / "schemas").symlink_to(HERE.parent / "schemas")
        (root / "tokenizers" / "bytes.json").write_text("{}")
        (root / "tokenizers" / "index.toml").write_text(
            '[bytes]\nfile = "bytes.json"\nformat = "tokenizer.json"\n'
        )
        document = {
            "area": "encode",
            "group": "bytes",
            "tokenizer": "bytes",
            "spec": ["E-1"],
            "origin": {"oracle": "derived", "by": "hand"},
            "cases": cases,
        }
        (root / "cases" / "encode" / "bytes.json").write_text(json.dumps(document))
        program = json.dumps(str(HERE / "miniatures" / "miniature.py"))
        (root / "adapters" / "mini" / "adapter.toml").write_text(
            f'name = "mini"\ncommand = [{json.dumps(sys.executable)}, {program}]\n'
            f'timeout_factor = {timeout_factor}\nenv = {{ MINIATURE = "echo" }}\n{adapter}'
        )
        if expectations:
            (root / "adapters" / "mini" / "expectations.toml").write_text(expectations)
        return Suite(root)

    return make
