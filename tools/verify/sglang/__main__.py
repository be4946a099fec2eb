"""Asks SGLang's own `get_tokenizer` for `--tokenizer-backend fastokens` with the core and without.

    python -m tools.verify.sglang WORK --record docs/records/DATE-sglang.json [FAMILY ...]

WORK keeps an environment with sglang, the transformers that it wants, and this package. `inside.py`
makes empty modules of its other dependencies, as torch. The module `fastokens` is the one line of
docs/compat-transformers.md. The status is 1 where an answer differs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

from pywasmtok.bench.json_text import json_text

from ..vllm.families import FAMILIES

ROOT = Path(__file__).resolve().parents[3]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
LINE = "from pywasmtok.compat.sglang import patch_transformers\n"
# The versions that sglang 0.5.23 asks for, but tokenizers 0.23.3 in place of 0.23.2.
PACKAGES = ("transformers==5.19.0", "tokenizers==0.23.3", "jinja2", "numpy", "sentencepiece")


def prepare(work: Path, version: str) -> Path:
    python, done = work / "venv" / "bin" / "python", work / f"sglang-{version}"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "--no-deps", f"sglang=={version}"], check=True)
        subprocess.run([*pip, *PACKAGES, str(ROOT)], check=True)
        done.touch()
    (work / "path").mkdir(exist_ok=True)
    (work / "path" / "fastokens.py").write_text(LINE)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="where everything is kept")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--version", default="0.5.23", help="of SGLang")
    parser.add_argument("--record", type=Path, help="where the answer is written, as JSON")
    chosen = parser.parse_args()
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python, report = prepare(work, chosen.version), work / "report.json"
    subprocess.run(
        [python, "-m", "tools.verify.sglang.inside", ASSETS, report]
        + (chosen.families or list(FAMILIES)),
        check=True,
        cwd=work,
        env={
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{work / 'path'}",
        },
    )
    families = json.loads(report.read_text())
    if chosen.record:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        record = {"date": today, "sglang": chosen.version, **families}
        chosen.record.write_text(json_text(record) + "\n")
    for name, found in families.items():
        print(name, json.dumps(found))
    return 1 if any(found["differ"] or not found["on"] for found in families.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
