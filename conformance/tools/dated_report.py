"""Plays everything that this machine has and keeps the reports under today's date.

tokconf setup                       builds the adapters that need it
python -m tools.dated_report        writes reports/<date>/{report.html,report.md,report.json}
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ("report.html", "report.md", "report.json")


def main(arguments: list[str]) -> int:
    """Arguments go to `tokconf run`: -i to leave some out, -j for the processes."""
    path = os.pathsep.join([str(ROOT / "runner"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-m", "tokconf", "run", "--quiet", "--out", scratch, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
        if done.returncode not in (0, 1):
            return done.returncode
        folder = ROOT / "reports" / datetime.now(UTC).strftime("%Y-%m-%d")
        folder.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            shutil.copy(Path(scratch) / name, folder / name)
    print(f"written to {folder.relative_to(ROOT)}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
