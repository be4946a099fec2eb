"""Wrong use that ends in an error of ours, which says what to do."""

from __future__ import annotations

import copy
import ctypes
import logging
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest

import pywasmtok
from pywasmtok._host.switches import is_off


@pytest.fixture(scope="module")
def tok() -> pywasmtok.Tokenizer:
    return pywasmtok.create_tokenizer("builtin:demo")


def test_streams_are_not_pickled_but_copied(tok: pywasmtok.Tokenizer) -> None:
    stream = tok.decode_stream()
    stops = tok.stop_decoder(pywasmtok.StopSequenceConfig(stop_sequences=("x",)))
    for one in (stream, stops):
        with pytest.raises(pywasmtok.InvalidArgument, match="from_state"):
            pickle.dumps(one)
    ids = tok.encode("abc").ids
    assert copy.deepcopy(stream).step_batch(ids) == copy.copy(stream).step_batch(ids)
    assert copy.deepcopy(stops).process_token(ids[0]) == stops.process_token(ids[0])


@pytest.mark.parametrize("size", [None, "1", 1.5, True, -1])
def test_the_size_of_a_prefix_cache(size: object) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="count of bytes"):
        pywasmtok.PrefixCache(size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ids",
    [
        [numpy.array([1, 2])],
        memoryview((ctypes.c_uint32 * 2)(1, 2)),
        [1.5],
    ],
    ids=["an array inside", "another memory", "a float"],
)
def test_what_are_no_ids(tok: pywasmtok.Tokenizer, ids: Any) -> None:
    for call in (tok.decode, tok.decode_bytes, tok.decode_stream().step_batch):
        with pytest.raises(pywasmtok.InvalidArgument, match="ids"):
            call(ids)


def test_ids_whose_owner_gives_none(tok: pywasmtok.Tokenizer) -> None:
    class Null:
        """As a null list of pyarrow."""

        def __iter__(self) -> Any:
            return iter(None)  # type: ignore[call-overload]

    gone = memoryview(b"1234").cast("I")
    gone.release()
    odd: list[Any] = [Null(), gone]
    for ids in odd:
        for call in (tok.decode, tok.decode_bytes, lambda one: tok.decode_batch([[1], one])):
            with pytest.raises(pywasmtok.InvalidArgument, match="ids"):
                call(ids)


@pytest.mark.parametrize("state", [None, "5", 5])
def test_what_is_no_state(tok: pywasmtok.Tokenizer, state: Any) -> None:
    config = pywasmtok.StopSequenceConfig()
    with pytest.raises(pywasmtok.InvalidArgument, match="state"):
        pywasmtok.DecodeStream.from_state(tok, state)
    with pytest.raises(pywasmtok.InvalidArgument, match="state"):
        pywasmtok.StopSequenceDecoder.from_state(tok, config, state)


def test_what_is_no_tokenizer() -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="Tokenizer"):
        pywasmtok.PrefixCache(1000).encode(None, "a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("conversation", "more"),
    [
        (None, {}),
        (5, {}),
        ([{"role": "user", "content": "a"}], {"tools": 5}),
        ([{"role": "user", "content": "a"}], {"documents": 5}),
        ([{"role": "user", "content": "a"}], {"limits": 5}),
        ([{"role": "user", "content": "a"}], {"now": "2020"}),
        ([{"role": "user", "content": "a"}], {"tokenizer_kwargs": "x"}),
    ],
)
def test_what_no_conversation_is_rendered_with(
    tok: pywasmtok.Tokenizer, conversation: Any, more: dict[str, Any]
) -> None:
    for one in (tok, tok.limited(max_tokens=100)):
        with pytest.raises(pywasmtok.InvalidArgument, match="is a "):
            one.apply_chat_template(conversation, chat_template="x", **more)


def test_what_are_no_messages(tok: pywasmtok.Tokenizer) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="messages is a list"):
        tok.encode_chat(None, chat_template="x")  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument, match="messages is a list"):
        tok.chat_session(messages=None)


def test_without_numpy(tok: pywasmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(pywasmtok.errors.BackendUnavailable, match="pip install numpy"):
        tok.encode("a").numpy()


@pytest.mark.skipif(sys.platform != "linux", reason="there is nothing to switch off")
def test_what_only_linux_has_is_off_in_any_case() -> None:
    code = "from pywasmtok._host import linux; print(linux.ON)"
    for value, on, warned in (("OFF", "False", False), ("no", "True", True)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYWASMTOK_LINUX": value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout.strip(), "PYWASMTOK_LINUX" in done.stderr) == (on, warned)


def test_a_switch_that_is_neither_on_nor_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    variable = "PYWASMTOK_SNAPSHOTS"
    monkeypatch.setenv(variable, "offf")
    with caplog.at_level(logging.WARNING, logger="pywasmtok"):
        assert not is_off(variable)
    assert f"{variable}='offf' is neither 'on' nor 'off'" in caplog.text
    monkeypatch.setenv(variable, "OFF")
    assert is_off(variable)
