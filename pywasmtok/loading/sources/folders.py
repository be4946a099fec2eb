"""Which of the files in a folder is the tokenizer."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from ...errors import AmbiguousDirectory, NotATokenizer, SourceNotFound, TokenizerError
from ...tokenizer.limits import Limits
from .paths import beside, exists, list_folder, printable, read

__all__ = [
    "PAIRS",
    "TOKENIZER_FILES",
    "Choice",
    "choose",
    "first_shard",
    "holds_tokenizer",
    "one_of_each_model",
]

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
# The names that llama.cpp and those who publish its files give to types of weights.
_WEIGHTS = re.compile(
    r"[-._](?:i1-|UD-)?(?:I?Q\d\w*|TQ\d_\d|B?F16|FP16|F32|MXFP4\w*)$", re.IGNORECASE
)
# A key without which a GGUF file has no tokenizer.
_TOKENS_OF_GGUF = b"tokenizer.ggml.tokens"


class Choice(NamedTuple):
    files: tuple[bytes, ...]
    """One file, or the files of a pair."""
    passed_over: tuple[str, ...]


def choose(folder: bytes, limits: Limits | None = None) -> Choice:
    entries = list_folder(folder)
    names = {os.fsdecode(entry): entry for entry in entries}
    found = [group for group in _candidates(list(names)) if group]
    if not found:
        raise _nothing(folder, names)
    first, *others = found
    group = first
    passed: list[str] = []
    if len(first) > 1 and first[0].endswith(".gguf"):
        group, passed = _with_tokenizer(folder, names, first, limits or Limits())
    _refuse_several(group, folder)
    files = group if _is_pair(group) else group[:1]
    passed = [f"{name}: {files[0]} comes first" for group in others for name in group] + passed
    return Choice(tuple(names[name] for name in files), tuple(map(_shown, passed)))


def _candidates(names: list[str]) -> list[tuple[str, ...]]:
    """What each rule finds, best rule first. A group of several is one choice among equals, a
    pair, or the shards of one file."""

    def matching(rule: str) -> tuple[str, ...]:
        return tuple(name for name in names if fnmatchcase(name, rule))

    pairs = [pair for pair in PAIRS if all(name in names for name in pair)]
    return [*map(matching, TOKENIZER_FILES), *pairs, *map(matching, _LAST)]


def _with_tokenizer(
    folder: bytes, names: dict[str, bytes], group: tuple[str, ...], limits: Limits
) -> tuple[tuple[str, ...], list[str]]:
    """The GGUF files of a folder that may be meant, and why the others are not. Of shards it is the
    first one; files without tokens, such as projectors of images, are none."""
    matches = {name: _SHARD.fullmatch(name) for name in group}
    headed = {(match[1], match[3]) for match in matches.values() if match and int(match[2]) == 1}
    passed = {
        name: "a shard without the metadata"
        for name, match in matches.items()
        if match and (match[1], match[3]) in headed and int(match[2]) != 1
    }
    rest = [name for name in group if name not in passed]
    if len(rest) > 1:
        empty = [n for n in rest if _has_no_tokens(os.path.join(folder, names[n]), limits)]
        if len(empty) < len(rest):
            passed |= dict.fromkeys(empty, "no tokenizer in it")
    kept = tuple(name for name in group if name not in passed)
    return kept, [f"{name}: {passed[name]}" for name in group if name in passed]


def _has_no_tokens(path: bytes, limits: Limits) -> bool:
    """Whether it is a good GGUF file without them: a damaged one may be what is meant."""
    try:
        data = read(path, limits).data
    except TokenizerError:
        return False
    return data.startswith(b"GGUF") and _TOKENS_OF_GGUF not in data


def first_shard(path: bytes) -> bytes:
    """The shard that has the metadata, where `path` is a later one and the first is beside it."""
    match = _SHARD.fullmatch(os.fsdecode(os.path.basename(path)))
    if match is None:
        return path
    first = beside(path, f"{match[1]}-00001-of-{match[3]}.gguf")
    return first if exists(first) else path


def one_of_each_model(paths: list[str]) -> list[str]:
    """Of the GGUF files of a repository the first of each model: files whose names differ in the
    type of the weights have one tokenizer."""
    models: dict[str, str] = {}
    for path in sorted(paths):
        name = path.rpartition("/")[2]
        shard = _SHARD.fullmatch(name)
        stem = name.removesuffix(".gguf") if shard is None else shard[1]
        models.setdefault(_WEIGHTS.sub("", stem).lower(), path)
    return list(models.values())


def holds_tokenizer(folder: bytes) -> bool:
    return any(_candidates([os.fsdecode(entry) for entry in list_folder(folder)]))


def _is_pair(group: tuple[str, ...]) -> bool:
    return group in PAIRS


def _refuse_several(group: tuple[str, ...], folder: bytes) -> None:
    if len(group) == 1 or _is_pair(group):
        return
    shown = ", ".join(map(_shown, group[:8])) + (", ..." if len(group) > 8 else "")
    raise AmbiguousDirectory(
        f"the folder holds several files that could be meant: {shown}",
        source=printable(folder),
        hint="Give the path of one of them",
    )


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
