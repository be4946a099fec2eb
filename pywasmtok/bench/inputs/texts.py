"""The texts of the benchmark, made on the spot: nothing is fetched and nothing is shipped.

`code` is the sources of the running Python. `english` is its docstrings and the plain text under
/usr/share/doc where there is any, mixed with the output of a word-pair generator fed from them.
`zhja`, `mixed` and `chat` are generated from word lists. All generators coin new words at a steady
rate: text without unseen words would let a piece cache answer everything.
"""

from __future__ import annotations

import ast
import gzip
import itertools
import json
import keyword
import random
import re
import sysconfig
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from ...errors import InvalidArgument
from ..names import GENERATED
from .words import (
    CHINESE,
    HAN,
    JAPANESE_ENDINGS,
    JAPANESE_NOUNS,
    JAPANESE_PARTICLES,
    SPACED,
    SYMBOLS,
)

__all__ = ["CORPORA", "Coiner", "Tape", "gather", "write"]

COINED = 0.02  # share of coined words, near the rate at which fresh prose misses a warm cache
ROOM = 16_000_000  # bytes of real text that are read at most for each kind
PART = 4096  # characters of ready text at a time
DOC = Path("/usr/share/doc")
FOLDERS = ("src", "core", "api", "tests", "utils", "models", "server", "data", "parser")


def stdlib_sources() -> Iterator[str]:
    root = Path(sysconfig.get_path("stdlib"))
    # `encodings` holds tables of numbers, `pydoc_data` one generated table.
    skipped = {"site-packages", "dist-packages", "test", "tests", "encodings", "pydoc_data"}
    for path in sorted(root.rglob("*.py")):
        if skipped.isdisjoint(path.parts):
            yield path.read_text(encoding="utf-8", errors="ignore")


def docstrings() -> Iterator[str]:
    for source in stdlib_sources():
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):  # deliberately broken examples
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def installed_documents() -> Iterator[str]:
    names = re.compile(r"(README|NEWS|FAQ|.*\.txt|.*\.md)(\.gz)?$", re.IGNORECASE)
    for path in sorted(DOC.rglob("*")) if DOC.is_dir() else ():
        if names.match(path.name) and path.is_file() and path.stat().st_size < 1_000_000:
            data = path.read_bytes()
            if path.suffix == ".gz":
                data = gzip.decompress(data)
            if data.isascii():
                yield data.decode()


def is_prose(block: str) -> bool:
    """Not a table, a list of names or a drawing."""
    letters = sum(char.islower() or char == " " for char in block)
    return letters > 0.85 * len(block) and "   " not in block


def blocks(texts: Iterator[str], lines: int) -> list[str]:
    """The texts in pieces of some lines, each piece once."""
    unique: dict[str, None] = {}
    size = 0
    for text in texts:
        rows = text.splitlines(keepends=True)
        for start in range(0, len(rows), lines):
            block = "".join(rows[start : start + lines])
            if len(block) > 40 and block not in unique:
                unique[block] = None
                size += len(block)
        if size > ROOM:
            break
    return list(unique)


class Coiner:
    """Words that look like the given ones but are not among them (letters by pairs)."""

    def __init__(self, words: list[str], rng: random.Random) -> None:
        self.rng = rng
        self.next: dict[str, list[str]] = defaultdict(list)
        for word in words:
            for a, b, c in zip("^" + word, word, word[1:] + "$", strict=False):
                self.next[a + b].append(c)
        self.starts = [word[0] for word in words if word]

    def word(self) -> str:
        text = "^" + self.rng.choice(self.starts)
        while len(text) < 16:
            letter = self.rng.choice(self.next.get(text[-2:], "$"))
            if letter == "$":
                break
            text += letter
        return text[1:]


def zipf(words: list[str]) -> list[float]:
    return list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words))))


def english(rng: random.Random) -> Iterator[str]:
    texts = itertools.chain(docstrings(), installed_documents())
    real = [block for block in blocks(texts, 6) if is_prose(block)]
    rng.shuffle(real)
    words = re.findall(r"\S+\s+", "".join(real[: 1 + len(real) // 4]))
    followers: dict[str, list[str]] = defaultdict(list)
    for first, second in itertools.pairwise(words):
        followers[first].append(second)
    coiner = Coiner(sorted(set(re.findall("[a-z]+", "".join(words)))), rng)
    # Real blocks all through the text, so that every part of it is of the same kind.
    for block in itertools.chain(real, itertools.repeat("")):
        yield block
        for _ in range(2):
            word = rng.choice(words)
            text = []
            for _ in range(80):
                text.append(coiner.word() + " " if rng.random() < COINED else word)
                word = rng.choice(followers[word] or words)
            yield "".join(text) + "\n\n"


def code(rng: random.Random) -> Iterator[str]:
    """Python sources; after the last one again, with some names replaced by coined ones."""
    real = blocks(stdlib_sources(), 40)
    rng.shuffle(real)
    yield from real
    names = re.compile(r"\b[a-zA-Z_]{3,}\b")
    coiner = Coiner(sorted(set(names.findall("".join(real[:400])))), rng)
    while True:
        for block in real:
            present = sorted(set(names.findall(block)) - set(keyword.kwlist))
            chosen = {name: coiner.word() for name in present if rng.random() < 5 * COINED}
            yield names.sub(lambda found, new=chosen: new.get(found[0], found[0]), block)  # type: ignore[misc]


def chinese_sentence(rng: random.Random, weights: list[float]) -> str:
    clauses = []
    for _ in range(rng.randint(1, 4)):
        words = rng.choices(CHINESE, cum_weights=weights, k=rng.randint(2, 8))
        if rng.random() < 0.2:
            words.insert(rng.randrange(len(words)), "".join(rng.choices(HAN, k=rng.randint(2, 3))))
        if rng.random() < 0.08:
            words.append(rng.choice((str(rng.randint(1, 3000)), "API", "Linux", "GPU")))
        clauses.append("".join(words))
    return "，".join(clauses) + rng.choice("。。。。！？；")  # noqa: RUF001


def japanese_sentence(rng: random.Random, weights: list[float]) -> str:
    text = ""
    for noun in rng.choices(JAPANESE_NOUNS, cum_weights=weights, k=rng.randint(2, 7)):
        text += noun if rng.random() > 0.08 else "".join(rng.choices(HAN, k=2))
        text += rng.choice(JAPANESE_PARTICLES)
        text += "、" if rng.random() < 0.2 else ""
    return text + rng.choice(JAPANESE_ENDINGS) + "。"


def zhja(rng: random.Random) -> Iterator[str]:
    chinese, japanese = zipf(CHINESE), zipf(JAPANESE_NOUNS)
    while True:
        count = rng.randint(2, 8)
        if rng.random() < 0.5:
            yield "".join(chinese_sentence(rng, chinese) for _ in range(count)) + "\n"
        else:
            yield "".join(japanese_sentence(rng, japanese) for _ in range(count)) + "\n"


def mixed(rng: random.Random) -> Iterator[str]:
    """About twenty languages in turn, with emoji and signs among them."""
    lists = [text.split() for text in SPACED.values()]
    tongues = [(words, zipf(words), Coiner(words, rng)) for words in lists]
    others = zhja(rng)
    while True:
        if rng.random() < 0.1:
            yield next(others)
            continue
        words, weights, coiner = rng.choice(tongues)
        text = rng.choices(words, cum_weights=weights, k=rng.randint(8, 40))
        for place in range(len(text)):
            if rng.random() < 3 * COINED:
                text[place] = coiner.word()
            elif rng.random() < COINED:
                text[place] = rng.choice(SYMBOLS)
        yield " ".join(text) + rng.choice((". ", "! ", "? ", ".\n", "\n\n"))


def chat(rng: random.Random) -> Iterator[str]:
    """An agent's conversations as JSON: prose, code, tool calls with ids, paths and numbers."""
    prose, source = english(rng), code(rng)
    tools = ("read_file", "run_command", "search", "write_file", "http_get", "sql_query")

    def call() -> dict[str, object]:
        path = "/".join(rng.choice(FOLDERS) for _ in range(rng.randint(2, 4)))
        return {
            "id": f"call_{rng.getrandbits(96):024x}",
            "type": "function",
            "function": {
                "name": rng.choice(tools),
                "arguments": json.dumps(
                    {"path": f"/srv/{path}.py", "line": rng.randint(1, 2000), "limit": 50}
                ),
            },
        }

    def message(role: str, content: str) -> dict[str, object]:
        return {"role": role, "content": content, "timestamp": 1_700_000_000 + rng.getrandbits(26)}

    while True:
        turns = [message("user", next(prose))]
        for _ in range(rng.randint(1, 4)):
            turns.append({"role": "assistant", "content": None, "tool_calls": [call()]})
            turns.append(message("tool", next(source)[:1500]))
            turns.append(message("assistant", next(prose)))
        conversation = {"model": "demo", "messages": turns, "temperature": rng.random()}
        yield json.dumps(conversation, indent=rng.choice((None, 2)), ensure_ascii=False) + "\n"


CORPORA: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "english": english,
    "code": code,
    "zhja": zhja,
    "chat": chat,
    "mixed": mixed,
}


class Tape:
    """Text that is handed out once: no two calls of `take` see the same part of it."""

    def __init__(self, name: str, seed: int, ready: Path | None = None) -> None:
        """`ready`: a file of text, handed out first. More is made only of a generated kind."""
        kind = name.removeprefix(GENERATED)
        makes = ready is None or name != kind
        made = CORPORA[kind](random.Random(f"{kind} {seed}")) if makes else iter(())
        self._source = made if ready is None else itertools.chain(_read(ready), made)
        self._rest = ""

    def take(self, size: int) -> str:
        """The next text, of `size` bytes or a character's worth less."""
        parts, have = [self._rest], len(self._rest.encode())
        while have < size:
            part = next(self._source, None)
            if part is None:
                raise InvalidArgument(
                    f"the text has {have} bytes left of the {size} that are next: "
                    "no part of it is used twice"
                )
            parts.append(part)
            have += len(part.encode())
        data = "".join(parts).encode()
        text = data[:size].decode(errors="ignore")
        self._rest = data[len(text.encode()) :].decode()
        return text


def _read(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as file:
        while part := file.read(PART):
            yield part


def gather(source: Path, size: int, path: Path) -> None:
    """So much of the text of a file, or of all files in a folder. The next file is taken from
    another place of the folder: what is behind the warm-up is of the same kind."""
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    random.Random(source.name).shuffle(files)
    have = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for one in files:
            if have >= size:
                return
            if one.is_file():
                data = one.read_bytes()
                data = gzip.decompress(data) if one.suffix == ".gz" else data
                try:
                    file.write(data.decode())
                except UnicodeDecodeError as error:
                    raise InvalidArgument(
                        f"no UTF-8 at byte {error.start}", source=str(one)
                    ) from error
                have += len(data)
    if have < size:
        raise InvalidArgument(
            f"{have} bytes of text are too few: these groups and sizes need {size}",
            source=str(source),
            hint="Name more text, or fewer --sizes, --groups and --rounds",
        )


def write(name: str, seed: int, size: int, path: Path) -> None:
    """Makes text once for several processes. Its seed is none that a tape uses, so that a tape
    that has come to the end of it goes on with other text."""
    path.write_text(Tape(name, -1 - seed).take(size), encoding="utf-8", newline="")
