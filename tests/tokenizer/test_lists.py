"""Lists of ids: what is made of shared integers is what Python makes of the buffer."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pywasmtok
from pywasmtok.tokenizer import lists as _lists
from pywasmtok.tokenizer.integers import Integers


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Integers:
    """Integers that are kept from the first long list on."""
    integers = Integers()
    monkeypatch.setattr(_lists, "_integers", integers)
    return integers


def some_ids(count: int, below: int, seed: int = 0) -> list[int]:
    draw = random.Random(seed)
    return [draw.randrange(below) for _ in range(count)]


def packed(ids: list[int]) -> bytes:
    return array("I", ids).tobytes()


@pytest.mark.parametrize(
    "below", [1, 257, 1 << 16, (1 << 16) + 1, 262_145, 1 << 20, 1 << 31, 1 << 32]
)
def test_every_size_and_length(kept: Integers, below: int) -> None:
    for count in (0, 1, 255, 256, 511, 512, 513, 5000):
        ids = [*some_ids(count, below, count), below - 1]
        assert _lists.list_of(packed(ids)) == ids
        listed = kept.listed(packed(ids))
        assert listed is None if below > 1 << 20 else listed == ids
        assert listed is None or all(type(one) is int for one in listed)


def test_more_integers_are_kept_when_larger_ids_come(kept: Integers) -> None:
    before = some_ids(1000, 1000)
    first = kept.listed(packed(before))
    assert len(kept) == 1 << 16
    later = [70_000, *before]
    assert kept.listed(packed(later)) == later
    assert len(kept) == 1 << 17
    assert first == before
    assert kept.listed(packed(before)) == before


def test_an_integer_has_as_many_references_as_there_are_lists_with_it(kept: Integers) -> None:
    ids = [60_001] * 700 + [60_002] * 300
    first = kept.listed(packed(ids))
    assert first is not None
    one, other = first[0], first[-1]
    before = sys.getrefcount(one), sys.getrefcount(other)
    lists = [kept.listed(packed(ids)) for _ in range(10)]
    during = sys.getrefcount(one), sys.getrefcount(other)
    assert (during[0] - before[0], during[1] - before[1]) == (7000, 3000)
    del lists
    assert (sys.getrefcount(one), sys.getrefcount(other)) == before


def test_a_list_is_the_callers_own(kept: Integers) -> None:
    ids = some_ids(2000, 100_000)
    first = kept.listed(packed(ids))
    assert first is not None
    first[:] = [0]
    assert kept.listed(packed(ids)) == ids


def test_threads_list_while_more_integers_come(kept: Integers) -> None:
    def work(seed: int) -> bool:
        ids = some_ids(1000 + seed, (1 << 16) * (1 + seed % 8), seed)
        return all(kept.listed(packed(ids)) == ids for _ in range(5))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))
    assert len(kept) == 1 << 19


def test_who_lists_little_keeps_no_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lists, "_integers", None)
    monkeypatch.setattr(_lists, "_listed", 0)
    ids = some_ids(_lists._MANY_IDS // 4, 50_000)
    for _ in range(3):
        assert _lists.list_of(packed(ids)) == ids
        assert _lists._integers is None
    assert _lists.list_of(packed(ids)) == ids
    kept = _lists._integers
    assert kept is not None
    assert len(kept) == 65_536


def test_one_item_and_a_batch_have_the_ids_of_their_buffers(kept: Integers) -> None:
    tokenizer = pywasmtok.create_tokenizer("builtin:demo")
    texts = ["", "a few words " * 900, "x", "another text, somewhat shorter. " * 300]
    for text in texts:
        encoding = tokenizer.encode(text)
        assert encoding.ids == encoding.buffer.tolist() == list(np.asarray(encoding))
    batch = tokenizer.encode_batch(texts)
    assert batch.ids == [tokenizer.encode(text).buffer.tolist() for text in texts]
    assert len(kept)


NO_NUMPY = """
import sys
from array import array
from pywasmtok.tokenizer import lists as _lists
ids = list(range(60_000))
for _ in range(4):
    assert _lists.list_of(array("I", ids).tobytes()) == ids
assert not {"numpy", "ctypes"} & sys.modules.keys()
assert _lists._integers is None
"""


def test_numpy_is_not_loaded_for_it() -> None:
    subprocess.run([sys.executable, "-c", NO_NUMPY], check=True)


def test_a_growth_that_a_signal_ended_is_finished_later(kept: Integers) -> None:
    ids = some_ids(1000, below=100)
    assert kept.listed(packed(ids)) == ids
    # Where the handler of a signal raised.
    kept._kept.extend(range(len(kept._kept), 1 << 17))
    larger = [*ids, 100_000]
    assert kept.listed(packed(larger)) == larger
