"""Writes the cases by asking the references.

    python -m tools.generate            all files
    python -m tools.generate --check    whether the files are what the references say today

Files below cases/regressions belong to people and to `tokconf fuzz`; nothing here touches them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .cases import (
    Group,
    chat,
    decode,
    encode,
    loading,
    matrix,
    options,
    shape,
    special,
    stops,
    streams,
)

CASES = Path(__file__).resolve().parent.parent / "cases"
MAKERS = (loading, encode, options, special, shape, decode, streams, stops, chat, matrix)


def groups() -> Iterator[Group]:
    for maker in MAKERS:
        yield from (group for group in maker.groups() if group.cases)


def written(group: Group) -> str:
    """One case a line: a change of one case is a change of one line."""
    document = group.document()
    cases = document.pop("cases")
    head = json.dumps(document, ensure_ascii=False, indent=1)[:-2]
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    return f'{head},\n "cases": [\n{lines}\n ]\n}}\n'


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    wanted = {CASES / group.area / f"{group.name}.json": written(group) for group in groups()}
    here = {p for p in CASES.rglob("*.json") if p.parent.name != "regressions"}
    here.discard(CASES / "retired.json")
    problems = [f"{path} is made by nothing" for path in sorted(here - wanted.keys())]
    for path, text in wanted.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            problems.append(f"{path} is not what the references say: python -m tools.generate")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    count = sum(text.count('\n  {"id"') for text in wanted.values())
    print(f"{count} cases in {len(wanted)} files")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
