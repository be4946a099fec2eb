"""Differential fuzzing: two adapters, one tokenizer, the smallest text on which they differ.

Texts are lists of atoms that have broken tokenizers before. Hypothesis makes and shrinks them; the
adapters may be written in any language. A difference becomes a case of the area `regressions` at
level `may`, until a maintainer has judged which answer is right.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .playing import protocol
from .playing.play import Session
from .playing.process import AdapterFailureError, AdapterProcess
from .run import LOAD_SECONDS, OP_SECONDS, why_unavailable
from .suite import Suite, SuiteError

Message = dict[str, Any]

# One a part, between the bars of each line.
_WORDS = (
    "a|b|the| the|The|don|'s|'S|'re|\u2019s|'\u017f|\u0130|ß|\ufb01",
    " |  |   |\t|\n|\r\n|\r|\n\n|\u00a0|\u2003|\u3000|\u0085|\u2028|\ufeff|\x00|\x7f|\u200b|\u200d",
    "0|1|12|1234|\u0663|\u2167|²|½|.|,|!|?|/|//|_|-|=|…",
    "é|e\u0301|\u0301|\u00c5\u00c4|你|好|日本|か|か\u3099|カ|한|글|\u1112|\u044f|\u042f",
    "\u0634|\u0647|\u0915|\u094d|\u0e44|\U0001d4b3|🌶|👩\u200d👩\u200d👧|🇩🇪|❤\ufe0f",
    "\ue000|\U0010fffd|\ufffd|▁|Ġ|Ċ|##|<0x0A>|</w>|<|>|[|]",
)
ATOMS = (*(atom for words in _WORDS for atom in words.split("|")), "|", "<|", "|>")


@dataclass
class Difference:
    text: str
    expected: Message
    got: Message


def add_commands(command: Callable[[str, object, str], argparse.ArgumentParser]) -> None:
    fuzzing = command("fuzz", _fuzz, "find the smallest text on which two adapters differ")
    fuzzing.add_argument("-i", "--implementation", required=True)
    fuzzing.add_argument("--against", required=True, metavar="ADAPTER", help="the reference")
    fuzzing.add_argument("--tokenizer", action="append", required=True)
    fuzzing.add_argument("--examples", type=int, default=500)
    fuzzing.add_argument("--seed", type=int, default=0)
    fuzzing.add_argument("--add-special", action="store_true")
    fuzzing.add_argument("--record", action="store_true", help="write a case of what is found")

    shrinking = command("shrink", _shrink, "make a text on which two adapters differ smaller")
    shrinking.add_argument("-i", "--implementation", required=True)
    shrinking.add_argument("--against", required=True, metavar="ADAPTER")
    shrinking.add_argument("--tokenizer", required=True)
    shrinking.add_argument("--add-special", action="store_true")
    shrinking.add_argument("text", type=Path, help="a file, or - for standard input")


class Pair:
    """Two sessions with the same tokenizer."""

    def __init__(self, suite: Suite, names: tuple[str, str], tokenizer: str, special: bool) -> None:
        self._suite = suite
        self._names = names
        self._special = special
        file = suite.tokenizers.get(tokenizer)
        if file is None or file.path is None:
            raise SuiteError(f"the tokenizer {tokenizer} is not here")
        self._path = file.path
        self._sessions = [self._session(name) for name in names]

    def close(self) -> None:
        for session in self._sessions:
            session.process.close()

    def difference(self, text: str) -> Difference | None:
        expected, got = (self._ids(n, text) for n in range(2))
        if "error" in expected and "error" in got:
            return None  # The kind of error may differ.
        # A crash or a timeout is found, whatever the other one does.
        same = expected == got and "outcome" not in got
        return None if same else Difference(text, expected, got)

    def tokens(self, limit: int = 64) -> list[str]:
        """Added tokens and others of the tokenizer itself, as further atoms."""
        session = self._sessions[1]
        if not session.serves("id_to_token") or not session.serves("info"):
            return []
        handle = self._handle(1)
        size = session.ask("info", handle=handle).get("vocab_size", 0)
        ends = [*range(min(size, 8)), *range(max(0, size - limit), size)]
        found = (session.ask("id_to_token", handle=handle, id=n).get("token") for n in ends)
        return [token for token in found if token]

    def _ids(self, place: int, text: str) -> Message:
        """The ids, the error, or that the process crashed or hung."""
        options = {"add_special": self._special}
        try:
            answer = self._sessions[place].ask(
                "encode", handle=self._handle(place), input={"text": text}, options=options
            )
        except AdapterFailureError as failure:
            self._sessions[place].process.kill()
            self._sessions[place] = self._session(self._names[place])
            return {"outcome": failure.outcome}
        return {"ids": answer["ids"]} if answer["ok"] else {"error": answer["error"]["code"]}

    def _handle(self, place: int) -> int:
        answer = self._sessions[place].load(self._path, {"fallback": "forbid"})
        if not answer["ok"]:
            raise SuiteError(f"{self._names[place]} does not serve it: {answer['error']}")
        return int(answer["handle"])

    def _session(self, name: str) -> Session:
        adapter = self._suite.adapters().get(name)
        if adapter is None:
            raise SuiteError(f"there is no adapter {name}")
        reason = why_unavailable(adapter)
        if reason:
            raise SuiteError(f"{name} is unavailable: {reason}")
        factor = adapter.timeout_factor
        session = Session(
            AdapterProcess(adapter), self._suite.texts, OP_SECONDS * factor, LOAD_SECONDS * factor
        )
        session.greet(self._suite.version)
        return session


def smallest(pair: Pair, examples: int, seed: int) -> Difference | None:
    """Hypothesis makes texts and shrinks the first on which the two differ."""
    try:
        import hypothesis
        from hypothesis import strategies
    except ImportError as error:
        raise SuiteError(f"{error}: pip install './conformance/runner[fuzz]'") from None

    atoms = strategies.sampled_from([*ATOMS, *pair.tokens()]) | strategies.characters(
        exclude_categories=["Cs"]
    )
    found: list[Difference] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.lists(atoms, max_size=8))
    def agree(parts: list[str]) -> None:
        difference = pair.difference("".join(parts))
        if difference is not None:
            found.append(difference)
        assert difference is None

    try:
        agree()
    except AssertionError:
        # The last failing text is the smallest: Hypothesis replays it at the end.
        return found[-1]
    return None


def shrunk(pair: Pair, text: str) -> Difference | None:
    """The same by cutting a given text: halves first, single characters last."""
    best = pair.difference(text)
    if best is None:
        return None
    size = max(1, len(text) // 2)
    while size:
        start = 0
        while start < len(best.text):
            shorter = best.text[:start] + best.text[start + size :]
            difference = pair.difference(shorter)
            if difference is None:
                start += size
            else:
                best = difference
        size //= 2
    return best


def record(
    suite: Suite, names: tuple[str, str], tokenizer: str, difference: Difference, special: bool
) -> Path:
    """A case that waits for a judgement."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    group = f"{day}-{names[1]}-{tokenizer}".lower().replace(":", "-").replace(".", "-")
    path = suite.root / "cases" / "regressions" / f"{group}.json"
    document = {
        "area": "regressions",
        "group": group,
        "about": f"Found by fuzzing {names[1]} against {names[0]}; not judged yet.",
        "tokenizer": tokenizer,
        "spec": ["E-1"],
        "level": "may",
        "origin": {"oracle": names[0], "by": "tokconf fuzz"},
        "cases": [],
    }
    if path.is_file():
        document = json.loads(path.read_text())
    number = len(document["cases"]) + 1
    expect = {"ids": difference.expected["ids"]} if "ids" in difference.expected else None
    if expect is None:
        raise SuiteError(f"{names[0]} gives no ids for it: {difference.expected}")
    document["cases"].append(  # type: ignore[attr-defined]
        {
            "id": f"regressions/{group}/n{number}",
            "since": suite.version,
            "why": f"{names[1]} answers {str(difference.got)[:120]}",
            "op": "encode",
            "input": {"text": difference.text},
            "options": {"add_special": special},
            "expect": expect,
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    return path


@contextmanager
def _pair(options: argparse.Namespace, tokenizer: str) -> Iterator[tuple[Suite, Pair]]:
    suite = Suite.found(options.suite)
    protocol.use(suite.root / "schemas")
    names = (options.against, options.implementation)
    pair = Pair(suite, names, tokenizer, options.add_special)
    try:
        yield suite, pair
    finally:
        pair.close()


def _fuzz(options: argparse.Namespace) -> int:
    differs = False
    for tokenizer in options.tokenizer:
        with _pair(options, tokenizer) as (suite, pair):
            difference = smallest(pair, options.examples, options.seed)
            if difference is None:
                print(f"{tokenizer}: no difference in {options.examples} texts")
                continue
            differs = True
            _show(tokenizer, difference)
            if options.record:
                names = (options.against, options.implementation)
                path = record(suite, names, tokenizer, difference, options.add_special)
                print(f"  written to {path}")
    return 1 if differs else 0


def _shrink(options: argparse.Namespace) -> int:
    from_stdin = str(options.text) == "-"
    text = sys.stdin.read() if from_stdin else options.text.read_text(encoding="utf-8")
    with _pair(options, options.tokenizer) as (_, pair):
        difference = shrunk(pair, text)
        if difference is None:
            print("they agree")
            return 0
        _show(options.tokenizer, difference)
    return 1


def _show(tokenizer: str, difference: Difference) -> None:
    print(f"{tokenizer}: {difference.text!r}")
    print(f"  expected {difference.expected}")
    print(f"  got      {difference.got}")
