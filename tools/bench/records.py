"""The dated records of the reference run: everything that docs/performance.md cites.

    python -m tools.bench.records                 all of them: hours, on an idle machine
    python -m tools.bench.records sentencepiece   some of them
    python -m tools.bench.records --quick --out FOLDER   a check that it works

Each is a run of `pywasmtok bench`: its JSON, its tables as Markdown, and a folder of plots, under
docs/records/, named by the day. The tokenizers are read from the assets beside the repository, or
from the folder that PYWASMTOK_ASSETS names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pywasmtok.cli.bench import main as bench

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
FILE = "tokenizer.json.xz"


@dataclass(frozen=True)
class Run:
    tokenizers: tuple[str, ...]
    """Below the assets."""
    options: tuple[str, ...] = ()


ENCODE = ("--groups", "encode,batch")
RUNS: Mapping[str, Run] = {
    # One tokenizer through all groups.
    "llama3": Run((f"llama3/{FILE}",)),
    # The other large vocabularies of bytes, and fresh text through them.
    "byte-level": Run(
        (f"qwen3/{FILE}", f"gpt-oss/{FILE}", "tiktoken-openai/cl100k_base.tiktoken.xz"), ENCODE
    ),
    "sentencepiece": Run((f"mistral-v1/{FILE}", f"llama2/{FILE}", f"gemma3/{FILE}"), ENCODE),
    # Hostile texts where vocabularies and patterns are others; what loading 200k entries takes.
    "hostile": Run((f"qwen3/{FILE}", f"mistral-v1/{FILE}"), ("--groups", "adversarial")),
    "loading": Run((f"gpt-oss/{FILE}", f"gemma3/{FILE}"), ("--groups", "load,memory")),
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
    parser.add_argument("--out", type=Path, default=ROOT / "docs/records")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.runs if name not in RUNS]
    if unknown:
        parser.error(f"no run {unknown[0]!r}; there are {', '.join(RUNS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    status = 0
    for name in options.runs or RUNS:
        run = RUNS[name]
        start = from_here(options.out / f"{datetime.now(UTC):%Y-%m-%d}-{name}")
        files = [from_here(ASSETS / path) for path in run.tokenizers]
        command = [part for file in files for part in ("--tokenizer", file)]
        command += [*run.options, *(["--quick"] if options.quick else [])]
        command += ["--json", f"{start}.json", "--markdown", f"{start}.md", "--plots", start]
        print(f"=== {name}", file=sys.stderr)
        status |= bench(command)
    return status


if __name__ == "__main__":
    sys.exit(main())
