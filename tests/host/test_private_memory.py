from __future__ import annotations

import ctypes
import gc
import mmap

import pytest

from pywasmtok._host.linux import ON
from pywasmtok._host.linux.private_memory import give_back
from pywasmtok._host.wasm import wasmtime_functions, wasmtime_objects
from pywasmtok._host.wasm.core import open_core
from pywasmtok._host.wasm.instance import Instance

SIZE = 20 << 20


@pytest.mark.skipif(not ON, reason="elsewhere nothing is done")
def test_pages_that_are_given_back_are_empty() -> None:
    memory = mmap.mmap(-1, SIZE + mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.write(b"\x01" * len(memory))
        window = ctypes.c_char.from_buffer(memory)
        give_back(ctypes.addressof(window), SIZE)
        del window
        assert memory[:SIZE].count(0) == SIZE
        assert memory[SIZE:].count(1) == mmap.PAGESIZE
    finally:
        memory.close()


@pytest.mark.parametrize(("size", "gone"), [(4 << 20, False), (SIZE, True)])
def test_large_memories_are_given_back_before_they_are_unmapped(
    size: int, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(
        wasmtime_objects, "give_back", lambda address, size: seen.append((address, size))
    )
    instance = Instance(open_core("portable"))
    instance.grow_to(size)
    own = instance.base(), instance.size
    del instance
    # Instances that other tests left in rings may be collected meanwhile.
    assert own in seen if gone else own not in seen


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_store_is_deleted_also_where_giving_back_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deleted: list[int] = []
    delete = wasmtime_functions.store_delete

    def interrupted(address: int, size: int) -> None:
        raise KeyboardInterrupt

    def noted(address: int) -> None:
        deleted.append(address)
        delete(address)

    monkeypatch.setattr(wasmtime_objects, "give_back", interrupted)
    monkeypatch.setattr(wasmtime_functions, "store_delete", noted)
    instance = Instance(open_core("portable"))
    instance.grow_to(SIZE)
    store = instance._machine._store.address
    del instance
    gc.collect()
    assert store in deleted


@pytest.mark.parametrize("store_first", [False, True])
def test_in_a_ring_that_is_collected_the_order_does_not_matter(
    store_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector finalizes what is in a ring and behind it in any order."""
    seen: list[int] = []
    give = wasmtime_objects.give_back

    def noted(address: int, size: int) -> None:
        seen.append(address)
        give(address, size)

    monkeypatch.setattr(wasmtime_objects, "give_back", noted)
    instance = Instance(open_core("portable"))
    instance.grow_to(SIZE)
    # What other tests left in rings is collected with ours, so only our address is counted.
    address = instance.base()
    if store_first:
        # As if the collector had begun with it.
        instance._machine._store.close()
    before = seen.count(address)
    ring: list[object] = [instance]
    ring.append(ring)
    del instance, ring
    gc.collect()
    assert (before, seen.count(address)) == (1 if store_first else 0, 1)
