"""Memory of busy instances on large pages: moved bit by bit, with everything that is in it."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import pywasmtok._host as host
from pywasmtok._host import large_pages, trap_handlers
from pywasmtok._host.instance import Instance
from pywasmtok._host.tokenizer import CoreTokenizer

from .processes import run
from .small_tokenizer import FILE, expected, numbers

pytestmark = pytest.mark.skipif(
    large_pages._system_calls() is None, reason="this system has no large pages"
)

SIZE = 2 << 20


@pytest.fixture
def soon_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_pages, "_BUSY", 1)


def words(count: int, seed: int) -> str:
    """So many that their places in the cache are everywhere in it."""
    draw = random.Random(seed)
    return " ".join(f"{draw.getrandbits(40):x}" for _ in range(count))


def make_busy(tok: CoreTokenizer, seed: int = 0) -> Instance:
    for turn in range(24):
        tok.encode_ids(words(8000, 100 * seed + turn), False)
    (instance,) = tok._pool.idle
    return instance


def large_at(addresses: set[int]) -> int:
    """How many of these are on large pages, as the kernel says."""
    found, start = 0, 0
    with open("/proc/self/smaps", encoding="ascii") as file:
        for line in file:
            first, *rest = line.split()
            if "-" in first and not first.endswith(":"):
                start, end = (int(number, 16) for number in first.split("-"))
                here = {one for one in addresses if start <= one < end}
            elif first == "AnonHugePages:" and here:
                found += min(len(here), int(rest[0]) * 1024 // SIZE)
    return found


@pytest.mark.usefixtures("soon_busy")
def test_a_busy_instance_moves_and_answers_as_before() -> None:
    tok = host.load_tokenizer(FILE, build="portable")
    texts = ["hello hello, world!\n", words(50, 7), "Grüße, 世界 🙂"]
    before = [tok.encode_ids(text, False) for text in texts]
    instance = make_busy(tok)
    assert instance.settling is not None
    moved = instance.settling._moved
    assert len(moved) >= 2
    # Where memory is scarce, the kernel may have had none.
    assert large_at(moved) >= 1
    again = [tok.encode_ids(text, False) for text in texts]
    assert again == before
    assert [numbers(ids) for ids in again] == list(map(expected, texts))
    text = words(9000, 0)
    assert tok.encode_ids(text, False) == host.load_tokenizer(FILE).encode_ids(text, False)


@pytest.mark.usefixtures("soon_busy")
def test_threads_go_on_meanwhile() -> None:
    tok = host.load_tokenizer(FILE, build="portable")
    texts = [words(6000, turn) for turn in range(40)]
    alone = [host.load_tokenizer(FILE).encode_ids(text, False) for text in texts[:10]]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: tok.encode_ids(text, False), texts * 3))
    assert together[:10] == alone
    assert together == together[:40] * 3
    assert any(one.settling and one.settling._moved for one in tok._pool.idle)


@pytest.mark.usefixtures("soon_busy")
def test_who_sets_bounds_keeps_small_pages() -> None:
    tok = host.load_tokenizer(FILE, build="portable", deadline=60.0)
    assert make_busy(tok).settling is None
    views = host.load_tokenizer(FILE, build="portable")
    pool = views._other_pool((True, None))
    instance = pool.acquire()
    pool.release(instance)
    make_busy(views)
    assert instance.settling is None


@pytest.fixture
def memory() -> Iterator[tuple[int, mmap.mmap]]:
    """Two large pages' worth of memory, and where a large page may begin in it."""
    area = mmap.mmap(-1, 3 * SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    window = ctypes.c_char.from_buffer(area)
    start = ctypes.addressof(window)
    del window
    area.write(random.Random(1).randbytes(len(area)))
    yield start + -start % SIZE, area
    area.close()


def test_a_part_moves_with_its_bytes(memory: tuple[int, mmap.mmap]) -> None:
    address, area = memory
    before = bytes(area)
    assert large_pages.move(address)
    assert bytes(area) == before
    ctypes.memset(address + 5, 7, 1)
    assert bytes(area) != before


@pytest.mark.parametrize("failing", ["mmap", "mremap"])
def test_what_fails_leaves_it_where_it_is(
    failing: str, memory: tuple[int, mmap.mmap], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = large_pages._system_calls()
    assert system is not None
    broken = system._replace(**{failing: lambda *_: large_pages._FAILED})
    monkeypatch.setattr(large_pages, "_system_calls", lambda: broken)
    address, area = memory
    before, maps = bytes(area), number_of_maps()
    assert not large_pages.move(address)
    assert bytes(area) == before
    assert number_of_maps() <= maps


def number_of_maps() -> int:
    with open("/proc/self/maps", encoding="ascii") as file:
        return len(file.readlines())


def test_only_parts_that_are_mostly_its_own_are_worth_it(memory: tuple[int, mmap.mmap]) -> None:
    address, area = memory
    size = len(area) - SIZE
    assert address in large_pages.worth_moving(address, size)
    area.madvise(mmap.MADV_DONTNEED)
    assert large_pages.worth_moving(address, size) == []
    quarter = SIZE // 4
    ctypes.memset(address, 1, quarter - mmap.PAGESIZE)
    assert large_pages.worth_moving(address, size) == []
    ctypes.memset(address, 1, quarter)
    assert large_pages.worth_moving(address, size) == [address]


@pytest.mark.usefixtures("soon_busy")
def test_its_memory_goes_with_the_instance() -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    sizes = []
    for turn in range(8):
        tok = host.load_tokenizer(FILE, build="portable")
        make_busy(tok, turn)
        tok.close()
        del tok
        gc.collect()
        sizes.append(resident())
    assert sizes[-1] - sizes[1] < 8 << 20, sizes


FORKS = """
    import os, random
    from pywasmtok._host import large_pages
    from small_tokenizer import FILE
    import pywasmtok._host as host

    large_pages._BUSY = 1
    draw = random.Random(3)
    texts = [" ".join(f"{draw.getrandbits(40):x}" for _ in range(8000)) for _ in range(24)]
    tok = host.load_tokenizer(FILE, build="portable")
    ids = [tok.encode_ids(text, False) for text in texts]
    print(bool(tok._pool.idle[0].settling._moved))
    child = os.fork()
    if child == 0:
        os._exit(0 if [tok.encode_ids(text, False) for text in texts] == ids else 1)
    print(os.waitpid(child, 0)[1])
    print([tok.encode_ids(text, False) for text in texts] == ids)
"""


def test_a_forked_process_has_a_copy() -> None:
    assert run(FORKS).split() == ["True", "0", "True"]


@pytest.mark.parametrize(("value", "moves"), [("off", "False"), ("", "True")])
def test_it_can_be_switched_off(value: str, moves: str) -> None:
    code = FORKS[: FORKS.index("    child = ")]
    assert run(code, **{large_pages.VARIABLE: value}).split() == [moves]


def test_it_begins_after_64_megabytes() -> None:
    assert large_pages._BUSY * trap_handlers.BETWEEN_LOOKS == 64 << 20
    assert os.sysconf("SC_PAGE_SIZE") == large_pages.PAGE
