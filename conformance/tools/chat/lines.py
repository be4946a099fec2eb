"""Templates of a line, by what they are about. Variables come from `values.py` by their names."""

from __future__ import annotations

from . import lines_refused, lines_syntax, lines_values

# name of the group -> (what it is about, clause, templates)
LINES = {**lines_syntax.LINES, **lines_values.LINES, **lines_refused.LINES}
