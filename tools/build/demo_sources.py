"""The freely licensed texts that the embedded default tokenizer is trained from.

Each source is a Debian package: it has a version and a licence file, and can be fetched by name.
Only the vocabulary that training yields is shipped; no text is.
"""

from __future__ import annotations

import gzip
import hashlib
import html.parser
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

DOC = "usr/share/doc"
OFFICE = "usr/share/libreoffice/help"


@dataclass(frozen=True)
class Source:
    """A part of one package: which files, how to read them, and at most how much of them."""

    package: str
    licence: str
    language: str
    pattern: str
    budget: int
    read: Callable[[Path], str]


class _HtmlText(html.parser.HTMLParser):
    """Visible text; line breaks at blocks, white space kept only inside <pre>."""

    _SKIPPED = frozenset({"head", "script", "style", "nav", "header", "footer", "aside"})
    _INLINE = frozenset(
        {"a", "abbr", "b", "code", "em", "i", "kbd", "samp", "span", "strong", "sub", "sup", "tt"}
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipping = 0
        self._verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipping += tag in self._SKIPPED
        self._verbatim += tag == "pre"
        if tag not in self._INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in self._SKIPPED and self._skipping > 0
        self._verbatim -= tag == "pre" and self._verbatim > 0
        if tag not in self._INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(data if self._verbatim else re.sub(r"\s+", " ", data))


def read_text(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):  # Debian compresses documentation above a certain size
        data = gzip.decompress(data)
    return data.decode("utf-8", errors="ignore")


def read_html(path: Path) -> str:
    parser = _HtmlText()
    parser.feed(read_text(path))
    return "".join(parser.parts)


def read_glosses(path: Path) -> str:
    """WordNet's data files: the gloss follows the bar; the numbers before it are dropped."""
    lines = (line.partition(" | ")[2] for line in read_text(path).splitlines())
    return "\n".join(line.strip() for line in lines if line)


def _handbook(folder: str, language: str, budget: int) -> Source:
    pattern = f"{DOC}/debian-handbook/html/{folder}/*.html"
    licence = "GPL-2.0-or-later or CC-BY-SA-3.0"
    return Source("debian-handbook", licence, language, pattern, budget, read_html)


def _office(folder: str, language: str, budget: int) -> Source:
    package = f"libreoffice-help-{folder.lower()}"
    return Source(package, "MPL-2.0", language, f"{OFFICE}/{folder}/**/*.html", budget, read_html)


def _reference(language: str, budget: int) -> Source:
    package = f"debian-reference-{language.lower()}"
    pattern = f"usr/share/debian-reference/*.{language.lower()}.html"
    return Source(package, "GPL-2.0-or-later", language[:2], pattern, budget, read_html)


MB = 1_000_000
RUST = "usr/src/rustc-*"
STDLIB = "usr/lib/python3.11"

# English comes first: a line that was seen is not taken again, which removes what translations
# left untranslated.
SOURCES = (
    Source("wordnet-base", "WordNet-3.0", "en", "usr/share/wordnet/data.*", 9 * MB, read_glosses),
    Source("dict-jargon", "public domain", "en", "usr/share/dictd/*.dz", 2 * MB, read_text),
    Source("git-doc", "GPL-2.0", "en", f"{DOC}/git-doc/**/*.txt", 2 * MB, read_text),
    Source(
        "debian-policy", "GPL-2.0-or-later", "en", f"{DOC}/debian-policy/**/*.txt", MB, read_text
    ),
    Source("nodejs-doc", "MIT", "en", f"{DOC}/nodejs/api/*.md*", 2 * MB, read_text),
    Source("rust-src", "MIT or Apache-2.0", "en", f"{RUST}/src/doc/book/src/*.md", MB, read_text),
    _handbook("en-US", "en", 2 * MB),
    _reference("en", MB),
    _office("en-US", "en", 2 * MB),
    Source("libpython3.11-stdlib", "PSF-2.0", "code", f"{STDLIB}/**/*.py", 5 * MB, read_text),
    Source("libpython3.11-minimal", "PSF-2.0", "code", f"{STDLIB}/**/*.py", 3 * MB, read_text),
    Source("rust-src", "MIT or Apache-2.0", "code", f"{RUST}/library/**/*.rs", 3 * MB, read_text),
    Source(
        "golang-1.19-src",
        "BSD-3-Clause",
        "code",
        "usr/share/go-1.19/src/**/*.go",
        3 * MB,
        read_text,
    ),
    Source(
        "linux-libc-dev",
        "GPL-2.0 WITH Linux-syscall-note",
        "code",
        "usr/include/**/*.h",
        MB,
        read_text,
    ),
    Source("nodejs-doc", "MIT", "code", f"{DOC}/nodejs/api/*.json.gz", MB // 2, read_text),
    *(_reference(language, 3 * MB // 2) for language in ("de", "es", "fr", "it", "pt-BR")),
    *(_office(folder, folder[:2], 2 * MB) for folder in ("de", "es", "fr", "it", "pt-BR")),
    _handbook("de-DE", "de", MB),
    _handbook("es-ES", "es", MB),
    _handbook("fr-FR", "fr", MB),
    _handbook("it-IT", "it", MB),
    _handbook("pt-BR", "pt", MB),
    *(
        _handbook(folder, folder[:2], MB // 2)
        for folder in ("cs-CZ", "id-ID", "nb-NO", "nl-NL", "pl-PL", "sv-SE", "tr-TR", "vi-VN")
    ),
    _handbook("ru-RU", "ru", 2 * MB),
    _office("ru", "ru", 5 * MB),
    _office("el", "el", MB),
    _handbook("ar-MA", "ar", 2 * MB),
    _handbook("fa-IR", "fa", MB),
    _office("hi", "hi", 2 * MB),
    _reference("ja", 2 * MB),
    _handbook("ja-JP", "ja", 2 * MB),
    _office("ja", "ja", 3 * MB),
    _reference("zh-CN", 2 * MB),
    _handbook("zh-CN", "zh", 2 * MB),
    _office("zh-CN", "zh", 3 * MB),
    _handbook("zh-TW", "zh", MB),
    _office("zh-TW", "zh", MB),
    _office("ko", "ko", 2 * MB),
)

# The letters that mark a line as being in the language; the others may share a page with English.
SCRIPTS = {
    "ar": ("ARABIC",),
    "fa": ("ARABIC",),
    "el": ("GREEK",),
    "hi": ("DEVANAGARI",),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "ko": ("HANGUL",),
    "ru": ("CYRILLIC",),
    "zh": ("CJK",),
}


def _in_script(line: str, scripts: tuple[str, ...]) -> bool:
    letters = [char for char in line if char.isalpha()]
    own = sum(unicodedata.name(char, "").startswith(scripts) for char in letters)
    return own * 3 >= len(letters) > 0


def lines_of(source: Source, root: Path, seen: set[int]) -> Iterator[str]:
    """Up to `source.budget` bytes of lines from an unpacked package, none of them seen before.

    Files come in the order of a hash of their names, so that a budget takes a sample of the whole
    package and not its first chapter. Short lines (`else:`) may repeat: code is made of them.
    """
    paths = [path for path in root.glob(source.pattern) if path.is_file()]
    paths.sort(key=lambda path: hashlib.sha256(str(path.relative_to(root)).encode()).digest())
    scripts = SCRIPTS.get(source.language)
    left = source.budget
    previous = ""
    for path in paths:
        for line in source.read(path).splitlines():
            text, before = line.rstrip(), previous
            previous = text
            if not text and not before:
                continue
            if len(text) > 24:
                mark = int.from_bytes(
                    hashlib.blake2b(text.strip().encode(), digest_size=8).digest()
                )
                if mark in seen:
                    continue
                seen.add(mark)
            if text and scripts is not None and not _in_script(text, scripts):
                continue
            left -= len(text.encode()) + 1
            if left < 0:
                return
            yield text
