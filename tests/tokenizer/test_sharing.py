"""Tests of one real file go to one process, and those of a module stay together."""

from __future__ import annotations

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed")

from sharing import group_of


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/engine/test_vectors.py::test_vectors[llama3.1]", "[llama3.1"),
        ("tests/tokenizer/test_stream.py::test_every_real_file[llama3.1-auto]", "[llama3.1"),
        ("tests/tokenizer/test_segments.py::test_x[llama3]", "[llama3"),
        ("tests/tokenizer/test_segments.py::test_x[gpt-oss]", "[gpt-oss"),
        ("tests/tokenizer/test_stop.py::test_any_scenario[gemma3]", "[gemma3"),
        ("tests/tokenizer/test_segments.py::test_x[llama2/tokenizer.model]", "[llama2"),
        # Of another folder, or of no file at all.
        ("tests/tokenizer/test_segments.py::test_x[llama3x]", "tests/tokenizer/test_segments.py"),
        ("tests/engine/test_abi.py::test_x[portable]", "tests/engine/test_abi.py"),
        ("tests/server/test_app.py::TestApp::test_x", "tests/server/test_app.py"),
    ],
)
def test_groups(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group
