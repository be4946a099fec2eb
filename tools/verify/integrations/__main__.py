"""Runs small programs of users with what they used before, and with this package.

    python -m tools.verify.integrations WORK --record docs/records/DATE-integrations

WORK keeps an environment for each library, into which pip installs what was released, and the
answer of each row: a second start goes on where the first one ended. Delete `WORK/rows` to measure
again. PYWASMTOK_ASSETS names the folder with real tokenizer files. The status is 1 where a result
differs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import lzma
import os
import platform
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pywasmtok.bench.json_text import json_text

from .table import PROGRAMS, Program
from .turns import SIDES, Turn, environment, run

ROOT = Path(__file__).resolve().parents[3]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
FAMILY = "qwen3"
ROUNDS, TEXTS, CHARACTERS = 10, 50, 2000


def prepare(program: Program, work: Path) -> Path:
    """The interpreter of the environment of the program's library."""
    venv = work / "venvs" / program.library
    python, done = venv / "bin" / "python", venv / "ready"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        same = [one for one in PROGRAMS if one.library == program.library]
        packages = {package for one in same for package in one.packages}
        ours = f"{ROOT}[server,numpy]" if any(one.serves for one in same) else f"{ROOT}[numpy]"
        # Most files are never imported.
        install = [str(python), "-m", "pip", "install", "-q", "--no-compile"]
        subprocess.run([*install, *sorted(packages), ours], check=True)
        done.touch()
    return python


def model(work: Path) -> Path:
    folder = work / FAMILY
    folder.mkdir(exist_ok=True)
    packed = ASSETS / FAMILY / "tokenizer.json.xz"
    (folder / "tokenizer.json").write_bytes(lzma.decompress(packed.read_bytes()))
    config = (ASSETS / FAMILY / "tokenizer_config.json").read_bytes()
    (folder / "tokenizer_config.json").write_bytes(config)
    return folder


def rounds() -> list[list[str]]:
    """Parts of the documentation and of the sources of this repository, no part twice: no cache of
    whole texts helps. Names of special tokens are left out, as tiktoken refuses them."""
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("pywasmtok/**/*.py")]
    whole = "\n\n".join(page.read_text(encoding="utf-8") for page in sorted(pages))
    parts = [whole[at : at + CHARACTERS] for at in range(0, len(whole), CHARACTERS)]
    parts = [part for part in parts if "<|" not in part]
    random.Random(1).shuffle(parts)
    return [parts[at : at + TEXTS] for at in range(0, ROUNDS * TEXTS, TEXTS)]


def row(program: Program, work: Path) -> dict[str, Any]:
    answer = work / "rows" / f"{program.name}.json"
    if not answer.exists():
        print(program.name, file=sys.stderr, flush=True)
        python = prepare(program, work)
        texts = rounds()
        turns = run(
            program, python, work, folder=model(work), rounds=texts, env=environment(ASSETS)
        )
        answer.parent.mkdir(exist_ok=True)
        found = summary(program, turns, [sum(len(t.encode()) for t in one) for one in texts])
        answer.write_text(json.dumps(found, indent=1) + "\n")
    read: dict[str, Any] = json.loads(answer.read_text())
    return read


def summary(program: Program, turns: dict[str, list[Turn]], sizes: Sequence[int]) -> dict[str, Any]:
    """Medians without the first round, which is the warm-up of each side."""
    speeds = {
        side: [size / one.seconds / 1e6 for size, one in zip(sizes, turns[side], strict=True)]
        for side in SIDES
    }
    ratios = [ours / before for before, ours in zip(*speeds.values(), strict=True)][1:]
    pairs = list(zip(*turns.values(), strict=True))
    cpu = [before.cpu_seconds / max(ours.cpu_seconds, 1e-6) for before, ours in pairs][1:]
    same = sum(before.digest == ours.digest for before, ours in pairs)
    return {
        "program": program.name,
        "about": program.about,
        "packages": program.packages,
        "glue": program.change,
        "lines of glue": 1,
        "rounds": len(sizes),
        "equal rounds": same,
        "MB/s": {side: round(statistics.median(speeds[side][1:]), 3) for side in SIDES},
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(min(ratios), 2), round(max(ratios), 2)],
        "CPU ratio": round(statistics.median(cpu), 2),
    }


def markdown(record: dict[str, Any]) -> str:
    lines = [
        f"# Programs of users, {record['date']}",
        "",
        f"`{record['command']}`; {record['machine']}; load before and after: {record['load']}.",
        "",
        f"Each round has {TEXTS} texts of {CHARACTERS} characters, from the documentation and the",
        f"sources of this package; the model is {FAMILY}, or gpt-4o for tiktoken. Both forms of a",
        "program run by turns. MB/s are medians of the rounds but the first, of wall time. A ratio",
        "is our speed by that before, in one round: the median, the least and the greatest. CPU is",
        "the median ratio of the processor time of all threads, without that of a server. An",
        "import that the line of glue needs is not counted.",
        "",
        "| library | program | lines of glue | the line | equal | before | ours | ratio | CPU |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in record["rows"]:
        library, _, version = one["packages"][0].partition("==")
        least, most = one["ratios"]
        line = f"`{one['glue']}`" if one["glue"] else ""
        cells = (
            f"{library.partition('[')[0]} {version}", one["about"], one["lines of glue"], line,
            f"{one['equal rounds']} of {one['rounds']} rounds", f"{one['MB/s']['before']} MB/s",
            f"{one['MB/s']['ours']} MB/s", f"{one['ratio']} ({least} to {most})",
            one["CPU ratio"],
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--record", type=Path, help="without its suffix")
    parser.add_argument("--program", action="append", choices=[one.name for one in PROGRAMS])
    asked = parser.parse_args()
    work = asked.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    load = [round(os.getloadavg()[0], 1)]
    chosen = [one for one in PROGRAMS if asked.program is None or one.name in asked.program]
    rows = [row(program, work) for program in chosen]
    load.append(round(os.getloadavg()[0], 1))
    record = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": "python -m tools.verify.integrations WORK",
        "machine": f"Python {platform.python_version()}, {os.cpu_count()} cores",
        "load": load,
        "rows": rows,
    }
    print(markdown(record), end="")
    if asked.record is not None:
        asked.record.with_suffix(".json").write_text(json_text(record) + "\n")
        asked.record.with_suffix(".md").write_text(markdown(record))
    return int(any(one["equal rounds"] != one["rounds"] for one in rows))


if __name__ == "__main__":
    sys.exit(main())
