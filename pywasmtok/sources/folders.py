"""Which of the files in a folder is the tokenizer."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..errors import AmbiguousDirectory, NotATokenizer, SourceNotFound
from .paths import list_folder, printable

__all__ = ["PAIRS", "TOKENIZER_FILES", "Choice", "choose"]

# Best first. What is a tokenizer.json is read as it is; the others have to be understood.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "tiktoken.model",
    "*.tiktoken",
    "spiece.model",
    "sentencepiece.bpe.model",
)
# Vocabulary and merges in two files; the second pair of names is GPT-2's own.
PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
_LAST = ("vocab.txt", "rwkv_vocab*.txt", "*.gguf")
_SIDECARS = ("tokenizer_config.json", "config.json", "special_tokens_map.json", "vocab.json")

_SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")


class Choice(NamedTuple):
    files: tuple[bytes, ...]
    """One file, or the files of a pair."""
    passed_over: tuple[str, ...]


def choose(folder: bytes) -> Choice:
    entries = list_folder(folder)
    names = {os.fsdecode(entry): entry for entry in entries}
    found = [group for group in _candidates(list(names)) if group]
    if not found:
        raise _nothing(folder, names)
    first, *others = found
    _refuse_several(first, folder)
    files = first if _is_pair(first) else first[:1]
    passed = [f"{name}: {files[0]} comes first" for group in others for name in group]
    passed += [f"{name}: a shard without the metadata" for name in first if name not in files]
    return Choice(tuple(names[name] for name in files), tuple(map(_shown, passed)))


def _candidates(names: list[str]) -> list[tuple[str, ...]]:
    """What each rule finds, best rule first. A group of several is one choice among equals, a
    pair, or the shards of one file."""

    def matching(rule: str) -> tuple[str, ...]:
        return tuple(name for name in names if fnmatchcase(name, rule))

    pairs = [pair for pair in PAIRS if all(name in names for name in pair)]
    return [*map(matching, TOKENIZER_FILES), *pairs, *map(matching, _LAST)]


def _is_pair(group: tuple[str, ...]) -> bool:
    return group in PAIRS


def _refuse_several(group: tuple[str, ...], folder: bytes) -> None:
    if len(group) == 1 or _is_pair(group) or _are_shards_of_one(group):
        return
    shown = ", ".join(map(_shown, group[:8])) + (", ..." if len(group) > 8 else "")
    raise AmbiguousDirectory(
        f"the folder holds several files that could be meant: {shown}",
        source=printable(folder),
        hint="Give the path of one of them",
    )


def _are_shards_of_one(group: tuple[str, ...]) -> bool:
    """All of the shards, or only some: the first one, which has the metadata, must be there."""
    shards = [_SHARD.fullmatch(name) for name in group]
    if not all(shards):
        return False
    models = {(shard[1], shard[3]) for shard in shards if shard}
    first = shards[0]
    return len(models) == 1 and first is not None and int(first[2]) == 1


def _nothing(folder: bytes, names: dict[str, bytes]) -> NotATokenizer | SourceNotFound:
    sidecars = [known for known in _SIDECARS if known in names]
    if sidecars:
        return NotATokenizer(
            f"the folder holds {', '.join(sidecars)} but no tokenizer",
            source=printable(folder),
            hint="A tokenizer.json, a tokenizer.model, or a vocab.json with its merges.txt belongs "
            "beside them",
        )
    looked_for = (*TOKENIZER_FILES, *(" + ".join(pair) for pair in PAIRS), *_LAST)
    return SourceNotFound(
        "the folder holds no tokenizer",
        source=printable(folder),
        hint=f"Looked for {', '.join(looked_for)}",
    )


def _shown(name: str) -> str:
    return printable(os.fsencode(name))
