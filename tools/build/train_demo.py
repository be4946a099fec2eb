"""Trains `builtin:demo`, the tokenizer inside the package.

    python -m tools.build.train_demo             fetch the texts, train, write pywasmtok/data/
    python -m tools.build.train_demo --compare   bytes per token of demo (and others) on texts that it
                                           was not trained from

Needs Debian's `apt-get` and `dpkg-deb` and the `tokenizers` package. The same package versions
give the same bytes; the versions used are in pywasmtok/data/README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer

from tools.build.demo_sources import (DOC, MB, SOURCES, Source, lines_of, read_html, read_text)

DATA = Path(__file__).resolve().parents[2] / "pywasmtok" / "data"
VOCABULARY = DATA / "demo.tokenizer.json.xz"

SIZE = 32_768
SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|pad|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|tool|>",
    "<|end|>",
    "<|reserved|>",
)
# The pattern of most present-day models (digits in threes, contractions, one leading space).
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

GUIDE = "usr/share/developers-reference"
HELD_OUT = (
    Source("debian-faq", "", "en", f"{DOC}/debian/FAQ/*.en.html", MB, read_html),
    Source("python3-django", "", "code", "usr/lib/python3/**/*.py", 2 * MB, read_text),
    Source("developers-reference-de", "", "de", f"{GUIDE}/de/*.html", MB, read_html),
    Source("developers-reference-ru", "", "ru", f"{GUIDE}/ru/*.html", MB, read_html),
    Source("maint-guide-zh-cn", "", "zh", f"{DOC}/**/*.zh-cn.html", MB, read_html),
    Source("developers-reference-ja", "", "ja", f"{GUIDE}/ja/*.html", MB, read_html),
)


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    root: Path


def fetch(names: Iterable[str], folder: Path) -> dict[str, Package]:
    """Downloads the packages (unless they are in `folder`) and unpacks them, without installing."""
    folder.mkdir(parents=True, exist_ok=True)
    packages = {}
    for name in sorted(set(names)):
        if not list(folder.glob(f"{name}_*.deb")):
            print(f"fetching {name}", flush=True)
            subprocess.run(["apt-get", "download", "-qq", name], cwd=folder, check=True)
        archive = max(folder.glob(f"{name}_*.deb"))
        root = folder / "unpacked" / name
        if not root.exists():
            root.mkdir(parents=True)
            subprocess.run(["dpkg-deb", "-x", str(archive), str(root)], check=True)
        query = ["dpkg-deb", "-f", str(archive), "Version"]
        version = subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()
        packages[name] = Package(name, version, root)
    return packages


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Lines joined up to a size that keeps newlines and indentation in the training text."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == 32:
            yield "\n".join(block) + "\n"
            block.clear()
    yield "\n".join(block)


def train(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=SIZE - len(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=24,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens(
        [AddedToken(content, normalized=False) for content in SPECIAL_TOKENS]
    )
    return tokenizer


def describe(used: dict[tuple[str, str], int], packages: dict[str, Package], digest: str) -> str:
    licences = {(source.package, source.language): source.licence for source in SOURCES}
    rows = [
        f"| {name} | {packages[name].version} | {language} | {size / MB:.1f} "
        f"| {licences[name, language]} |"
        for (name, language), size in sorted(used.items())
    ]
    return "\n".join(
        [
            "# The embedded default tokenizer",
            "",
            f"`{VOCABULARY.name}` is what `builtin:demo` loads: a byte-level BPE of {SIZE:,}",
            f"entries ({len(SPECIAL_TOKENS)} of them special tokens) in the form of a",
            "`tokenizer.json`. It belongs to no model. It is there so that the package works",
            "offline from the first minute, for trying things out and for tests.",
            "",
            "It was made by `python -m tools.build.train_demo`, with the trainer of `tokenizers`",
            f"{tokenizers.__version__}, from text in the Debian packages below. Only the",
            "vocabulary and its merges are here, none of the text. sha256 of the unpacked file:",
            f"`{digest}`.",
            "",
            "| package | version | language | MB used | licence of the text |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def build(folder: Path) -> None:
    packages = fetch((source.package for source in SOURCES), folder)
    seen: set[int] = set()
    used: dict[tuple[str, str], int] = {}

    def texts() -> Iterator[str]:
        for source in SOURCES:
            key = (source.package, source.language)
            for text in paragraphs(lines_of(source, packages[source.package].root, seen)):
                used[key] = used.get(key, 0) + len(text.encode())
                yield text

    tokenizer = train(texts())
    for key, size in used.items():
        if size == 0:
            sys.exit(f"{key[0]} gave no {key[1]} text: its layout has changed")
    document = json.loads(tokenizer.to_str())
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    data = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    check(data)
    DATA.mkdir(exist_ok=True)
    VOCABULARY.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    digest = hashlib.sha256(data).hexdigest()
    (DATA / "README.md").write_text(describe(used, packages, digest), encoding="utf-8")
    print(
        f"{sum(used.values()) / MB:.1f} MB of text -> {tokenizer.get_vocab_size():,} entries, "
        f"{VOCABULARY.stat().st_size:,} bytes packed, sha256 {digest}"
    )


def check(data: bytes) -> None:
    """What was written must load elsewhere, be of the size promised, and lose nothing."""
    tokenizer = Tokenizer.from_str(data.decode())
    if tokenizer.get_vocab_size() != SIZE:
        sys.exit(f"{tokenizer.get_vocab_size()} entries instead of {SIZE}: too little text")
    every_byte = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000, 97))))
    for text in ("", " a  b\n\n\tc", "<|user|>hi<|end|>", every_byte):
        if tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) != text:
            sys.exit(f"{text[:20]!r} does not come back")


def compare(folder: Path, others: list[Path]) -> None:
    packages = fetch((source.package for source in HELD_OUT), folder)
    candidates = {"demo": Tokenizer.from_str(lzma.decompress(VOCABULARY.read_bytes()).decode())}
    for path in others:
        data = path.read_bytes()
        data = lzma.decompress(data) if path.suffix == ".xz" else data
        candidates[path.parent.name] = Tokenizer.from_str(data.decode())
    print("| held-out text | package | " + " | ".join(candidates) + " |")
    print("|---" * (len(candidates) + 2) + "|")
    for source in HELD_OUT:
        text = "\n".join(lines_of(source, packages[source.package].root, set()))
        size = len(text.encode())
        if size == 0:
            sys.exit(f"{source.package} gave no text: its layout has changed")
        ratios = (f"{size / len(tok.encode(text).ids):.2f}" for tok in candidates.values())
        version = packages[source.package].version
        print(f"| {source.language} | {source.package} {version} | " + " | ".join(ratios) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--packages", type=Path, help="folder that keeps the downloaded packages")
    parser.add_argument("--compare", action="store_true", help="measure instead of training")
    parser.add_argument(
        "--against", type=Path, action="append", default=[], help="tokenizer.json[.xz] to compare"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.packages or Path(temporary)).resolve()
        if arguments.compare:
            compare(folder, arguments.against)
        else:
            build(folder)


if __name__ == "__main__":
    main()
