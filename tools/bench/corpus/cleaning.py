"""From a file of a package to its text."""

from __future__ import annotations

import email
import email.policy
import gettext
import gzip
import html.parser
import io
import json
import lzma
import re
from collections.abc import Callable

__all__ = ["cleaned"]


def cleaned(path: str, data: bytes, way: str | None = None) -> str:
    """The text of a file by its name, or by the way that the recipe names. A file that is no
    UTF-8 has none."""
    try:
        if path.endswith(".gz"):
            path, data = path[:-3], gzip.decompress(data)
        elif path.endswith(".xz"):
            path, data = path[:-3], lzma.decompress(data)
        if path.endswith(".mo"):
            return messages(data)
        if path.endswith(".eml"):
            return mail(data)
        text = data.decode().replace("\r\n", "\n").replace("\0", "")
    except (UnicodeError, OSError, LookupError, lzma.LZMAError):
        return ""
    suffix = path.rpartition(".")[2]
    if way is None and suffix in ("html", "page"):
        return page(text)
    if way is None and "/man/" in path:
        return manual(text)
    return WAYS[way](text) if way else text


# Macros of pages for man whose words are no text.
UNSAID = frozenset({"TH", "so", "ds", "if", "ie", "el", "de", "nr", "tr", "hw", "ft", "in", "sp"})


class Page(html.parser.HTMLParser):
    SKIPPED = frozenset({"script", "style", "head", "nav", "info", "svg"})
    BLOCKS = frozenset({"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "tr"})
    BLOCKS |= {"table", "section", "title", "item", "note", "pre"}

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.depth = self.verbatim = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.depth += tag in self.SKIPPED
        self.verbatim += tag == "pre"
        self.handle_data("", block=tag in self.BLOCKS)

    def handle_endtag(self, tag: str) -> None:
        self.depth = max(0, self.depth - (tag in self.SKIPPED))
        self.verbatim = max(0, self.verbatim - (tag == "pre"))
        self.handle_data("", block=tag in self.BLOCKS)

    def handle_data(self, data: str, *, block: bool = False) -> None:
        if block:
            self.parts.append("\n\n")
        elif not self.depth:
            self.parts.append(data if self.verbatim else re.sub(r"\s+", " ", data))


def page(text: str) -> str:
    """HTML, and the pages of GNOME's help."""
    reader = Page()
    reader.feed(text)
    return re.sub(r"[ \t]*\n[ \t]*\n\s*", "\n\n", "".join(reader.parts))


def manual(text: str) -> str:
    """The words of a page for man."""
    text = re.sub(r"\\f(\[\w*\]|\(..|.)|\\s[-+]?\d|\\[&|^/,:%]|\\\*(\(..|.)", "", text)
    text = text.replace("\\(em", "\u2014").replace("\\(aq", "'").replace("\\-", "-")
    text = re.sub(r"\\\(..|\\\[\w+\]", "", text).replace("\\e", "\\")
    lines = []
    for line in text.split("\n"):
        macro = re.match(r"[.'][ \t]*(\w*)[ \t]*(.*)", line)
        if macro is None:
            lines.append(line)
            continue
        name, words = macro.groups()
        if name in ("SH", "SS", "PP", "P", "LP", "TP", "IP", "sp", "Sh", "Ss", "Pp"):
            lines.append("")
        if not words.startswith("\\") and name not in UNSAID:
            lines.append(words.replace('"', ""))
    return "\n".join(lines)


def messages(data: bytes) -> str:
    """The translations of a catalogue."""
    catalogue = gettext.GNUTranslations(io.BytesIO(data))
    entries: dict[str, str] = catalogue._catalog  # type: ignore[attr-defined]
    return "\n\n".join(text for source, text in entries.items() if source and text != source)


def mail(data: bytes) -> str:
    """Who wrote when about what, and the plain text."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    body = message.get_body(("plain",))
    if body is None:
        return ""
    heads = [f"{name}: {message[name]}" for name in ("From", "To", "Date", "Subject")]
    return "\n".join(heads) + "\n\n" + str(body.get_content())


def conversations(text: str) -> str:
    """A question to an agent a line, as the body of a request; each tool once."""
    known, lines = set[str](), []
    for line in text.split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # some files are one document
        if not isinstance(entry, dict) or not isinstance(entry.get("question"), list):
            continue
        given = entry.get("function", [])
        given = given if isinstance(given, list) else [given]
        tools = [json.dumps(tool, ensure_ascii=False) for tool in given]
        fresh = [json.loads(tool) for tool in dict.fromkeys(tools) if tool not in known]
        known.update(tools)
        for turn in entry["question"]:
            body = {"model": "demo", "messages": turn, "tools": fresh}
            lines.append(json.dumps(body, ensure_ascii=False, indent=2 if len(turn) > 1 else None))
            fresh = []
    return "\n\n".join(lines)


def quoted(text: str) -> str:
    """What stands between backticks: the dialogues of a game."""
    return "\n\n".join(text.split("`")[1::2])


def untouched(text: str) -> str:
    return text


WAYS: dict[str, Callable[[str], str]] = {
    "conversations": conversations,
    "quoted": quoted,
    "text": untouched,
}
