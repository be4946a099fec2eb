"""Writes the suite's tokenizers.

    python -m tools.make_tokenizers             those that are not there yet
    python -m tools.make_tokenizers NAME ...    these, anew

Training breaks some ties by chance, so a second run gives other files: what is committed is what
the cases speak of, and a file that is written anew needs its cases generated anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from . import border_files, hf_files, option_files, other_files
from .broken_files import BROKEN, Broken

FOLDER = Path(__file__).resolve().parent.parent / "tokenizers"
LARGEST = 100_000


def main(names: list[str]) -> int:
    index = ["# Written by tools/make_tokenizers: do not edit.\n"]
    for name, (file_format, main_file, about, make) in sorted(everything().items()):
        folder = FOLDER / name
        if name in names or not (folder / main_file).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            for file, data in make().items():
                if len(data) > LARGEST:
                    print(f"{name}/{file} has {len(data)} bytes: too large", file=sys.stderr)
                    return 1
                (folder / file).write_bytes(data)
            print(f"wrote {name}")
        entry = {"file": f"{name}/{main_file}", "format": file_format, "about": about}
        index.append(f"\n[{name}]\n" + "".join(f'{key} = "{v}"\n' for key, v in entry.items()))
    (FOLDER / "index.toml").write_text("".join(index))
    return 0


def everything() -> dict[str, tuple[str, str, str, Callable[[], other_files.Files]]]:
    found = dict(other_files.MADE)
    for name, (about, make) in {**border_files.FILES, **option_files.FILES}.items():

        def files(make: Callable[[], hf_files.Document] = make) -> other_files.Files:
            return {"tokenizer.json": hf_files.checked(hf_files.written(make()))}

        found[name] = ("tokenizer.json", "tokenizer.json", about, files)
    for name, one in BROKEN.items():

        def broken(one: Broken = one) -> other_files.Files:
            return {one.file: one.data}

        found[f"broken-{name}"] = (one.format, one.file, one.why, broken)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
