"""Whether pywasmtok installs beside other programs, and what it changes there.

    python -m tools.verify.resolves WORK --record docs/records/DATE-resolves.md

Each set of requirements is resolved alone, from the metadata of the package registry. Then this
package is resolved beside what came out, and if that fails, together with the set. Nothing is
installed. WORK keeps an environment with the resolver. The exit code is 1 if a set that resolves
alone does not with pywasmtok.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETS = {
    "transformers 4.57": ["transformers==4.57.*"],
    "transformers 5.23": ["transformers==5.23.*"],
    "vLLM 0.33": ["vllm==0.33.*"],
    # It asks for a pre-release of the second.
    "SGLang 0.5.23": ["sglang==0.5.23", "flash-attn-4>=4.0.0b18"],
}
OURS = f"pywasmtok @ {ROOT.as_uri()}"
SHOWN = ("tokenizers", "transformers")
# Of a server for models: SGLang 0.5.23 has wheels for this and newer ones only.
PLATFORM = "x86_64-manylinux_2_34"


def prepare(work: Path) -> Path:
    """The resolver, which is installed where it is missing."""
    found = work / "venv" / "bin" / "uv"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        pip = [str(work / "venv" / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "uv==0.13.*"], check=True)
    return found


def resolve(resolver: Path, requirements: list[str], python: str) -> dict[str, str] | str:
    """The version of each package, or why there is no solution."""
    how = ["--python-version", python, "--python-platform", PLATFORM, "--no-python-downloads"]
    done = subprocess.run(
        [str(resolver), "pip", "compile", "-q", *how, "--no-header", "--no-annotate", "-"],
        input="\n".join(requirements),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return " ".join(done.stderr.split())
    pins = (line.partition("==") for line in done.stdout.splitlines())
    return {name: version for name, equals, version in pins if equals}


def row(name: str, alone: dict[str, str] | str, beside: dict[str, str] | str) -> str:
    if isinstance(alone, str):
        return f"| {name} | - | - | does not resolve by itself: {alone} |"
    if isinstance(beside, str):
        return f"| {name} | - | - | does not resolve: {beside} |"
    changed = ", ".join(f"{one} {alone[one]}" for one in alone if beside.get(one) != alone[one])
    versions = " | ".join(beside.get(one, "-") for one in SHOWN)
    return f"| {name} | {versions} | {changed or 'nothing'} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--python", nargs="+", default=["3.11", "3.12", "3.13", "3.14"])
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    resolver = prepare(options.work)
    failed = False
    lines = [
        "# What pywasmtok installs beside",
        "",
        f"`python -m tools.verify.resolves`, {datetime.date.today()}, {PLATFORM}.",
        "The last column names the packages that have another version without pywasmtok.",
    ]
    for python in options.python:
        lines += [
            *("", f"## Python {python}", ""),
            f"| beside | {' | '.join(SHOWN)} | changed by pywasmtok |",
            "|---|---|---|---|",
        ]
        for name, requirements in SETS.items():
            alone = resolve(resolver, requirements, python)
            beside = alone
            if not isinstance(alone, str):
                pins = [f"{one}=={version}" for one, version in alone.items()]
                beside = resolve(resolver, [*pins, OURS], python)
                if isinstance(beside, str):
                    beside = resolve(resolver, [*requirements, OURS], python)
            lines.append(row(name, alone, beside))
            print(python, lines[-1], flush=True)
            failed |= isinstance(beside, str) and not isinstance(alone, str)
    if options.record is not None:
        options.record.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
