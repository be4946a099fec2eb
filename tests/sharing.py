"""Which tests go to one process: those of one real file, and else those of one module.

Real files take seconds to unpack and to load, above all in the reference; what is loaded once
serves all tests of the file, in whatever module they are. Fixtures of a module are made once, too.
"""

from __future__ import annotations

import re

from assets import FAMILIES
from xdist.scheduler import LoadScopeScheduling

_OF_A_FAMILY = re.compile(
    r"\[(?:{})(?=[-/\]])".format("|".join(sorted(map(re.escape, FAMILIES), key=len, reverse=True)))
)


def group_of(nodeid: str) -> str:
    """`tests/engine/test_vectors.py::test_vectors[llama3.1-core]` goes with all of llama3.1."""
    found = _OF_A_FAMILY.search(nodeid)
    return found[0] if found else nodeid.partition("::")[0]


class Grouped(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
