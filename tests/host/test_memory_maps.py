"""What a process has no room for is a typed limit at once, and the process goes on."""

from __future__ import annotations

import gc

import pytest

from pywasmtok import errors
from pywasmtok._host.wasm.memory_maps import NO_ROOM, MemoryMaps

from .processes import run


class Thing:
    pass


def test_what_is_gone_is_free_again() -> None:
    maps, things = MemoryMaps(10), [Thing(), Thing()]
    for thing in things:
        maps.take(5)
        maps.give_back_with(thing, 5)
    with pytest.raises(errors.HostLimit) as caught:
        maps.take(1)
    assert (caught.value.limit, caught.value.asked, caught.value.feature) == (10, 11, NO_ROOM)
    del things[0], thing
    gc.collect()
    maps.take(5)
    assert maps.taken == 10
    maps.give_back(5)
    assert maps.taken == 5


def test_copies_end_at_a_limit_and_not_in_a_fallback() -> None:
    """Nothing is read anew, HuggingFace is not asked, no line is logged; what is there goes on, and
    when a copy is gone there is room for another."""
    code = """
    import copy
    import pywasmtok
    from pywasmtok._host.wasm.memory_maps import of_clones
    tok = pywasmtok.create_tokenizer("builtin:demo")
    ids = tok.encode("text").ids
    of_clones._most = of_clones.taken + 40
    copies = []
    try:
        while len(copies) < 1000:
            copies.append(copy.copy(tok))
    except pywasmtok.HostLimit as error:
        print(error.kind, 0 < len(copies) < 1000)
    print([one.encode("text").ids == ids for one in (tok, *copies)] == [True] * (len(copies) + 1))
    copies.pop().close()
    print(copy.copy(tok).encode("text").ids == ids)
    """
    # The user's, which saves compiling.
    found = run(code, PYWASMTOK_CACHE_DIR="", PYWASMTOK_SNAPSHOTS="off")
    assert found.split("\n") == ["host_limit True", "True", "True"]
