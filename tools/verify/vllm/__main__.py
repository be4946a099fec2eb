"""Runs the plugin inside an unmodified vLLM, beside vLLM's own tokenizer.

    python -m tools.verify.vllm --assets ../shared/assets --record docs/records/NAME.json

Makes an environment with vLLM (5.4 GB) and this package below `--venv`, or takes the one that is
there, and runs `checks.py` in it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", default="0.33.0", help="of vLLM")
    parser.add_argument("--venv", type=Path, default=Path(tempfile.gettempdir(), "pywasmtok-vllm"))
    parser.add_argument("--assets", type=Path, default=ROOT.parent / "shared" / "assets")
    parser.add_argument("--record", type=Path, help="where the answer is written, as JSON")
    parser.add_argument("families", nargs="*")
    chosen = parser.parse_args()
    python = chosen.venv / "bin" / "python"
    if not python.exists():
        venv.create(chosen.venv, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, f"vllm=={chosen.version}"], check=True)
    subprocess.run([*pip, str(ROOT)], check=True)
    how = [str(python), str(Path(__file__).with_name("checks.py")), str(chosen.assets)]
    how += [str(chosen.record.resolve()) if chosen.record else "-", *chosen.families]
    return subprocess.run(how, check=False, cwd=chosen.venv).returncode


if __name__ == "__main__":
    sys.exit(main())
