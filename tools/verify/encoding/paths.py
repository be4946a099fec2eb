"""Every way from a text to ids, and where one of them leaves the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pywasmtok
from pywasmtok._host.calls.long_text import LONG_TEXT
from pywasmtok._host.calls.parallel import SHARED
from tools.verify import nasty

from .references import Reference, flat

# One text of so many has its offsets compared: that takes both sides several times as long.
OFFSETS = 16
# Offsets of longer texts are left to the ids.
OFFSETS_UP_TO = 64 * 1024
# So much may be spent on making a counter-example shorter, in calls.
TRIES = 3000


@dataclass
class Difference:
    path: str
    text: str
    alone: bool
    """Whether the text is enough for it. If not, what was encoded before takes part."""


@dataclass
class Findings:
    texts: int = 0
    bytes: int = 0
    ids: int = 0
    refused: int = 0
    """Texts that the reference has no answer for."""
    paths: Counter[str] = field(default_factory=Counter)
    """How many bytes went each way."""
    differences: list[Difference] = field(default_factory=list)


class Comparison:
    def __init__(self, ours: pywasmtok.Tokenizer, reference: Reference) -> None:
        self._ours = ours
        self._reference = reference

    def block(self, texts: Sequence[str]) -> Findings:
        findings = Findings()
        texts, expected = self._expected(texts, findings)
        sizes = [len(text.encode()) for text in texts]
        findings.texts, findings.bytes = len(texts), sum(sizes)
        findings.ids = sum(map(len, expected)) // 4

        for text, size, ids in zip(texts, sizes, expected, strict=True):
            path = "call" if size < LONG_TEXT else "long text in parts"
            findings.paths[path] += size
            self._check(findings, path, text, self._call(text), ids)

        path = "batch over threads" if sum(map(len, texts)) >= SHARED else "batch"
        findings.paths[path] += sum(sizes)
        for text, found, ids in zip(texts, self._batch(texts), expected, strict=True):
            self._check(findings, path, text, found, ids)
        # The calls of a server: a few texts that are not shared.
        few = [number for number, size in enumerate(sizes) if size < SHARED // 8][:7]
        findings.paths["batch"] += sum(sizes[number] for number in few)
        for number, found in zip(few, self._batch([texts[n] for n in few]), strict=True):
            self._check(findings, "batch", texts[number], found, expected[number])

        for text, size in list(zip(texts, sizes, strict=True))[::OFFSETS]:
            if size <= OFFSETS_UP_TO and (theirs := self._reference.offsets(text)) is not None:
                findings.paths["offsets"] += size
                if self._ours.encode(text).offsets != theirs:
                    findings.differences.append(self._shrunk("offsets", text, self._offsets_differ))
        return findings

    def _expected(
        self, texts: Sequence[str], findings: Findings
    ) -> tuple[Sequence[str], list[bytes]]:
        """The reference's ids, and the texts that it has some for."""
        try:
            return texts, [flat(ids) for ids in self._reference.ids(texts)]
        except BaseException as error:
            _reraise(error)
        kept, expected = [], []
        for text in texts:
            try:
                expected.append(self._ids(text))
            except BaseException as error:
                _reraise(error)
                findings.refused += 1
            else:
                kept.append(text)
        return kept, expected

    def _ids(self, text: str) -> bytes:
        (ids,) = self._reference.ids([text])
        return flat(ids)

    def _call(self, text: str) -> bytes:
        return bytes(self._ours.encode(text, add_special_tokens=False).buffer)

    def _batch(self, texts: Sequence[str]) -> list[bytes]:
        answer = self._ours.encode_batch(list(texts), add_special_tokens=False)
        data, bounds = answer.buffer.tobytes(), answer.bounds.tolist()
        return [data[4 * start : 4 * end] for start, end in pairwise(bounds)]

    def _check(
        self, findings: Findings, path: str, text: str, found: bytes, expected: bytes
    ) -> None:
        if found != expected:
            differs = self._batch_differs if path.startswith("batch") else self._call_differs
            findings.differences.append(self._shrunk(path, text, differs))

    def _shrunk(self, path: str, text: str, differs: Callable[[str], bool]) -> Difference:
        tries = 0

        def still(shorter: str) -> bool:
            nonlocal tries
            tries += 1
            return tries < TRIES and differs(shorter)

        if not differs(text):
            return Difference(path, text, alone=False)
        return Difference(path, nasty.shrink(text, still), alone=True)

    def _call_differs(self, text: str) -> bool:
        return self._call(text) != self._ids(text)

    def _batch_differs(self, text: str) -> bool:
        return self._batch([text])[0] != self._ids(text)

    def _offsets_differ(self, text: str) -> bool:
        return self._ours.encode(text).offsets != self._reference.offsets(text)


def _reraise(error: BaseException) -> None:
    """A panic of a library is no `Exception`, and stays an answer."""
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        raise error
