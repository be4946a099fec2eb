"""The benchmark: `pywasmtok bench`. docs/benchmarking.md says how to run and how to read it.

command    options and output          run, child, worker   a process for each group
groups     what can be measured        measure, together    taking turns; many callers at once
libraries  ours and its peers          texts, hostile       what is encoded
record     a run as JSON               tables, plots, compare   what people look at
"""

__all__: list[str] = []
