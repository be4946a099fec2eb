"""The dated records of the reference run: everything that docs/performance.md cites.

    python -m tools.bench.corpus DIR              the texts that people wrote
    python -m tools.bench.records --texts DIR     all records: hours, on an idle machine
    python -m tools.bench.records text --texts DIR      some of them
    python -m tools.bench.records --quick --out FOLDER   a check that it works

Each is a run of `pywasmtok bench`: its JSON, its tables as Markdown, and a folder of plots, under
docs/records/, named by the day. The same command goes on where an earlier one ended, on another
day with `--day`. The tokenizers are read from the assets beside the repository, or from the folder
that PYWASMTOK_ASSETS names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pywasmtok.bench.groups import GROUPS
from pywasmtok.cli.bench import main as bench

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
FILE = "tokenizer.json.xz"


@dataclass(frozen=True)
class Run:
    tokenizers: tuple[str, ...]
    """Below the assets."""
    groups: tuple[str, ...]
    texts: bool = False
    """Whether it is of the text that people wrote."""


TEXT = ("encode", "first", "latency", "batch")
BYTE_LEVEL = tuple(f"{name}/{FILE}" for name in ("llama3", "qwen3", "gpt-oss"))
SENTENCEPIECE = tuple(f"{name}/{FILE}" for name in ("mistral-v1", "llama2", "gemma3"))
RUNS: Mapping[str, Run] = {
    # Text that people wrote, through the large vocabularies; and beside it what the bench makes.
    "text": Run(
        (*BYTE_LEVEL, "tiktoken-openai/cl100k_base.tiktoken.xz", *SENTENCEPIECE), TEXT, texts=True
    ),
    "generated": Run((*BYTE_LEVEL[:1], *SENTENCEPIECE[1:2]), ("encode",)),
    # One tokenizer through all other groups.
    "llama3": Run(BYTE_LEVEL[:1], tuple(name for name in GROUPS if name not in TEXT)),
    # Hostile texts where vocabularies and patterns are others; what loading 200k entries takes.
    "hostile": Run((BYTE_LEVEL[1], SENTENCEPIECE[0]), ("adversarial",)),
    "loading": Run((BYTE_LEVEL[2], SENTENCEPIECE[2]), ("load", "memory")),
}


def from_here(path: Path) -> str:
    """A relative path: the record keeps the command, and must not show the user's folders."""
    return os.path.relpath(path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--texts", type=Path, metavar="DIR", help="what tools.bench.corpus wrote")
    parser.add_argument("--day", default=f"{datetime.now(UTC):%Y-%m-%d}", help="of the names")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/records")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.runs if name not in RUNS]
    if unknown:
        parser.error(f"no run {unknown[0]!r}; there are {', '.join(RUNS)}")
    names = options.runs or list(RUNS)
    texts = sorted(options.texts.resolve().glob("*.txt")) if options.texts else []
    if not texts and not options.quick and any(RUNS[name].texts for name in names):
        parser.error("--texts DIR: a folder that `python -m tools.bench.corpus DIR` has filled")
    options.out.mkdir(parents=True, exist_ok=True)
    status = 0
    for name in names:
        run = RUNS[name]
        start = from_here(options.out / f"{options.day}-{name}")
        files = [from_here(ASSETS / path) for path in run.tokenizers]
        command = [part for file in files for part in ("--tokenizer", file)]
        command += ["--groups", ",".join(run.groups), *(["--quick"] if options.quick else [])]
        if run.texts and texts:
            command += ["--text", *map(str, texts)]
        command += [
            "--resume",
            "--json",
            f"{start}.json",
            "--markdown",
            f"{start}.md",
            "--plots",
            start,
        ]
        print(f"=== {name}", file=sys.stderr)
        status |= bench(command)
    return status


if __name__ == "__main__":
    sys.exit(main())
