"""Runs where vLLM is installed: modes pywasmtok and hf side by side.

python -m tools.verify.vllm.inside ASSETS REPORTS NAME...

NAME is FAMILY.checks or FAMILY.speed; each becomes a file in REPORTS.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from .calls import different
from .families import write_folder
from .serving import different_answers, model_config
from .speed import speed
from .streams import streams
from .structured import different_masks

MODES = ("pywasmtok", "hf")


def checks(folder: Path, ours: Any, theirs: Any) -> dict[str, Any]:
    from pywasmtok.compat.tokenizers import Tokenizer

    configs = {mode: model_config(folder, mode) for mode in MODES}
    return {
        "on": isinstance(ours.backend_tokenizer, Tokenizer),
        "calls": different(ours, theirs),
        "streams": streams(ours, theirs),
        "requests": different_answers(folder, configs),
        "structured output": different_masks(ours, theirs, configs["hf"]),
    }


def main(assets: str, reports: str, *names: str) -> None:
    import vllm
    from vllm.plugins import load_general_plugins
    from vllm.tokenizers import get_tokenizer

    # As `vllm serve` does it: ours is found by its entry point.
    load_general_plugins()
    code = Path(vllm.__file__).with_name("config").joinpath("model.py").read_text()
    for name in names:
        family, _, part = name.rpartition(".")
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(assets), family, Path(folder))
            both = [get_tokenizer(folder, tokenizer_mode=mode) for mode in MODES]
            made = (
                checks(Path(folder), *both)
                if part == "checks"
                else speed(dict(zip(MODES, both, strict=True)), code)
            )
        Path(reports, f"{name}.json").write_text(json.dumps(made, ensure_ascii=False))
        print(name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
