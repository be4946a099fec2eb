"""Runs the plugin inside an unmodified vLLM, beside vLLM's own tokenizer.

    python -m tools.verify.vllm WORK --record docs/records/DATE-vllm.json [FAMILY ...]

WORK keeps an environment with vLLM (9 GB) and a report a family: a second start goes on where the
first one ended. Delete `WORK/reports` to ask again. PYWASMTOK_ASSETS names the folder with real
tokenizer files. No GPU and no network are needed once vLLM is there. The status is 1 where an
answer differs that this does not explain.
"""

from __future__ import annotations

import argparse
import datetime
import json
import lzma
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from pywasmtok.bench.json_text import json_text

from .families import FAMILIES

ROOT = Path(__file__).resolve().parents[3]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
# One family with tokens of bytes, and one with words that begin with a mark.
TIMED = ("llama3", "phi-3")


def prepare(work: Path, version: str) -> Path:
    """The interpreter of the environment. The plugin is found by what pip wrote of this package;
    its code is that of this folder."""
    python, done = work / "venv" / "bin" / "python", work / f"vllm-{version}"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        install = [python, "-m", "pip", "install", "-q", f"vllm=={version}", ROOT]
        subprocess.run([str(part) for part in install], check=True)
        done.touch()
    return python


def run(python: Path, work: Path, families: list[str]) -> dict[str, Any]:
    """The reports of each family. One process writes those that are not there, as importing vLLM
    takes half a minute."""
    reports, ranks = work / "reports", work / "ranks" / "o200k_base.tiktoken"
    names = [f"{family}.speed" for family in TIMED if family in families]
    names += [f"{family}.checks" for family in families]
    missing = [name for name in names if not (reports / f"{name}.json").exists()]
    for folder in (reports, ranks.parent):
        folder.mkdir(exist_ok=True)
    if missing:
        packed = ASSETS / "tiktoken-openai" / f"{ranks.name}.xz"
        ranks.write_bytes(lzma.decompress(packed.read_bytes()))
        how = {
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(ROOT),
            # vLLM renders chats of gpt-oss by a library that reads this file.
            "TIKTOKEN_ENCODINGS_BASE": str(ranks.parent),
            # The released package is built for GPUs; its app without an engine needs none.
            "VLLM_TARGET_DEVICE": "cpu",
        }
        command = [python, "-m", "tools.verify.vllm.inside", ASSETS, reports, *missing]
        subprocess.run(
            [str(part) for part in command], check=True, cwd=work, env={**os.environ, **how}
        )
    read = {name: json.loads((reports / f"{name}.json").read_text()) for name in names}
    timed = {name: {"microseconds": read[f"{name}.speed"]} for name in TIMED if name in families}
    return {name: {**read[f"{name}.checks"], **timed.get(name, {})} for name in families}


def faults(report: dict[str, Any]) -> list[str]:
    """What is not as it is in mode hf, apart from the named classes of streams."""
    masks = report["structured output"].items()
    return [
        *([] if report["on"] else ["the core is not inside"]),
        *report["calls"]["differ"],
        *(kind for kind in report["streams"]["differ"] if kind.startswith("not explained")),
        *report["requests"]["differ"],
        *(name for name, said in masks if said.startswith("DIFFERENT")),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="where everything is kept")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--version", default="0.33.0", help="of vLLM")
    parser.add_argument("--record", type=Path, help="where the answer is written, as JSON")
    chosen = parser.parse_args()
    unknown = set(chosen.families) - set(FAMILIES)
    if unknown:
        parser.error(f"no family of the name {min(unknown)}; there are {', '.join(FAMILIES)}")
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    families = chosen.families or list(FAMILIES)
    reports = run(prepare(work, chosen.version), work, families)
    wrong = 0
    for name, report in reports.items():
        found = faults(report)
        wrong += len(found)
        alike, differ = report["streams"]["same"], sum(report["streams"]["differ"].values())
        said = found or "no other difference"
        print(f"{name}: {alike} of {alike + differ} streams equal, {said}")
    if chosen.record:
        record = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "vllm": chosen.version,
            "machine": f"Python {platform.python_version()}, {os.cpu_count()} cores",
            **reports,
        }
        chosen.record.write_text(json_text(record) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
