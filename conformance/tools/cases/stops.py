"""Stops: the oracle decodes everything and then searches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product, takewhile
from typing import Any, Protocol

from ..other_files import byte_alphabet
from ..references import GgufLlama3, Ids, Reference, subject
from . import Case, Group
from .streams import Bytes

RULE = {"oracle": "derived: decode everything, then find the stop that ends first"}
NAME = "bpe-gpt2"
SCENARIOS = 160
SINCE = "1.3"
# Byte fallback, Metaspace, WordPiece, SentencePiece, and added tokens with flags.
OTHERS = ("bpe-gemma", "unigram-metaspace", "wordpiece-uncased", "spm-bpe-bytes", "added-flags")


class Said(Protocol):
    """What ids say: for certain, whatever follows, and if nothing follows."""

    def settled(self, ids: Ids) -> str: ...

    def whole(self, ids: Ids) -> str: ...


class ByteText:
    """Each token has bytes of its own."""

    def __init__(self, names: dict[int, bytes]) -> None:
        self.names = names

    def settled(self, ids: Ids) -> str:
        return _settled(b"".join(self.names[n] for n in ids))

    def whole(self, ids: Ids) -> str:
        return b"".join(self.names[n] for n in ids).decode(errors="replace")


class Continued:
    """By the reference: certain is what the ids and all their continuations have in common."""

    def __init__(self, reference: Reference, tails: list[Ids]) -> None:
        self.reference = reference
        self.tails = tails

    def settled(self, ids: Ids) -> str:
        texts = [self.whole(ids), *(self.whole([*ids, *tail]) for tail in self.tails)]
        first, last = min(texts), max(texts)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
        return "".join(char for char, _ in same)

    def whole(self, ids: Ids) -> str:
        return self.reference.decode(ids, skip_special=False) or ""


class Oracle:
    """One token a step. Slow and obvious."""

    def __init__(self, config: dict[str, Any], said: Said, special: set[int]) -> None:
        self.config = config
        self.said = said
        self.special = special
        self.hidden = list(config.get("stop_sequences", ()))
        self.visible = list(config.get("visible_stop_sequences", ()))

    def play(self, ids: Ids, *, skip: bool = True, prompt: Ids | None = None) -> list[Case]:
        """The steps with what they answer, and a flush at the end."""
        done: list[Case] = []
        kept, released, stopped, ends = list(prompt or ()), "", False, [0]
        # What is certain of the prompt is no part of the text.
        before = len(self.said.settled(kept))
        for place, identity in enumerate(ids):
            if stopped:
                done.append(_step(identity, "stopped", "", None))
                continue
            token_stop = self._token_stop(identity, place)
            if token_stop:
                visible = token_stop == "visible"
                settled = self.said.whole(kept)[before:]
                found = self._find(settled, [*ends, len(settled)])
                if found is not None:
                    text, match = self._cut(settled, found)
                else:
                    text = self.said.whole([*kept, identity])[before:] if visible else settled
                    match = {
                        "kind": "token",
                        "id": identity,
                        "visible": visible,
                        "token_index": place,
                        "start": len(settled.encode()),
                        "end": len(text.encode()),
                    }
            else:
                if not (skip and identity in self.special):
                    kept.append(identity)
                settled = self.said.settled(kept)[before:]
                ends.append(len(settled))
                found = self._find(settled, ends)
                if found is None:
                    text = settled[: len(settled) - self._held(settled)]
                    new = text[len(released) :]
                    released = text
                    done.append(_step(identity, "text" if new else "held", new, None))
                    continue
                text, match = self._cut(settled, found)
            new = text[len(released) :]
            stopped = True
            done.append(_step(identity, "stopped_with_text" if new else "stopped", new, match))
        if not stopped:
            text = self.said.whole(kept)[before:]
            found = self._find(text, [*(ends[:-1] or ends), len(text)])
            expect: Case = {}
            if found is not None:
                text, expect["match"] = self._cut(text, found)
                expect["match"]["token_index"] = min(found[-1], len(ids) - 1)
            new = text[len(released) :]
            kinds = ("held", "text") if found is None else ("stopped", "stopped_with_text")
            done.append(
                {"flush": True, "expect": {"kind": kinds[bool(new)], "text": new, **expect}}
            )
        return done

    def _token_stop(self, identity: int, place: int) -> str:
        config = self.config
        if place < config.get("min_tokens", 0):
            return ""
        if identity in config.get("stop_tokens", ()):
            return "hidden"
        if identity in config.get("visible_stop_tokens", ()):
            return "visible"
        ends = () if config.get("ignore_eos") else config.get("eos_tokens", ())
        return "hidden" if identity in ends else ""

    def _find(self, text: str, ends: list[int]) -> tuple[int, int, str, bool, int] | None:
        """(start, end, stop, visible, token): the earliest end, then the longest, then hidden."""
        best: tuple[int, int, int, str, bool, int] | None = None
        for visible, stops in ((False, self.hidden), (True, self.visible)):
            for stop in stops:
                start = text.find(stop)
                while start >= 0:
                    end = start + len(stop)
                    token = next(n for n, at in enumerate(ends[1:]) if at >= end)
                    if token >= self.config.get("min_tokens", 0):
                        key = (end, -len(stop), int(visible), stop, visible, token)
                        best = key if best is None or key < best else best
                        break
                    start = text.find(stop, start + 1)
        if best is None:
            return None
        end, length, _, stop, visible, token = best
        return end + length, end, stop, visible, token

    def _cut(self, text: str, found: tuple[int, int, str, bool, int]) -> tuple[str, Case]:
        start, end, stop, visible, token = found
        match = {
            "kind": "string",
            "string": stop,
            "visible": visible,
            "token_index": token,
            "start": len(text[:start].encode()),
            "end": len(text[:end].encode()),
        }
        return text[: end if visible else start], match

    def _held(self, text: str) -> int:
        stops = [*self.hidden, *self.visible]
        longest = max(map(len, stops), default=1)
        return next(
            (
                size
                for size in range(min(longest - 1, len(text)), 0, -1)
                if any(len(s) > size and s.startswith(text[-size:]) for s in stops)
            ),
            0,
        )


def _settled(data: bytes) -> str:
    """The text of bytes without a character that is not complete yet."""
    for back in range(min(3, len(data)) + 1):
        kept = data[: len(data) - back]
        rest = data[len(data) - back :]
        if back and not _unfinished(rest):
            continue
        if not back and any(_unfinished(data[-n:]) for n in (1, 2, 3) if n <= len(data)):
            continue
        return kept.decode(errors="replace")
    return data.decode(errors="replace")


def _unfinished(tail: bytes) -> bool:
    """Whether more bytes could make one character of it."""
    if not 0xC2 <= tail[0] <= 0xF4:
        return False
    size = 2 if tail[0] < 0xE0 else 3 if tail[0] < 0xF0 else 4
    if len(tail) >= size:
        return False
    filled = next(
        (
            tail + bytes(more)
            for first in range(0x80, 0xC0)
            if _valid(tail + bytes(more := [first, *[0x80] * 3][: size - len(tail)]))
        ),
        None,
    )
    return filled is not None


def _valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _step(identity: int, kind: str, text: str, match: Case | None) -> Case:
    expect: Case = {"kind": kind, "text": text}
    if match is not None:
        expect["match"] = match
    return {"push": [identity], "expect": expect}


def groups() -> Iterator[Group]:
    ids = Bytes(NAME)
    names = {n: data for data, n in ids.ids.items()}
    (end,) = [token["id"] for token in ids.reference.document["added_tokens"]]
    yield _named(ids, names, end)
    yield _prompted(ids)
    yield _random(ids, names, end)
    for other in OTHERS:
        yield _others(other)
    yield _flushed(ids)
    yield _eager()
    yield _cleaned()


def _continued(name: str) -> Continued:
    """Tails: every token, and what may complete a character whose first bytes are there."""
    reference = subject(name).reference
    letters = {byte: letter for letter, byte in byte_alphabet().items()}
    completing = [
        identity
        for byte in (0x80, 0x8C, 0xA0, 0xBF)
        for token in (f"<0x{byte:02X}>", letters[byte])
        if (identity := reference.identity(token)) is not None
    ]
    tails = [list(tail) for length in (2, 3) for tail in product(completing, repeat=length)]
    return Continued(reference, [*([n] for n in range(reference.size() or 0)), *tails])


def _run(name: str, text: str) -> Ids:
    """The byte tokens of a text."""
    reference = subject(name).reference
    return [reference.identity(f"<0x{byte:02X}>") or 0 for byte in text.encode()]


def _flushed(ids: Bytes) -> Group:
    """What waits for the next token is settled by the end, and may complete a stop."""
    about = "Stops that the end of the ids completes."
    group = Group("stop", "flushed", about, ["T-10", "T-11"], RULE)
    run, spaces = "bpe-metaspace-first", "gguf-llama3"
    said: dict[str, Said] = {name: _continued(name) for name in (run, spaces)}
    said[NAME] = ByteText({n: data for data, n in ids.ids.items()})
    letter = subject(run).reference.identity("x") or 0
    cleaned = Bytes(spaces, GgufLlama3())
    for slug, name, prompt, pushed, stop in (
        ("run", run, [], [letter, *_run(run, "\u4f60")], "\u4f60"),
        ("run-behind", run, [], _run(run, "\u00e9\u4f60"), "\u4f60"),
        ("run-prompt", run, [letter, *_run(run, "\u4f60")[:2]], [], "\ufffd"),
        ("character", NAME, [], ids("a", 0xC3), "\ufffd"),
        ("space", spaces, [], cleaned(*"a "), " "),
        ("quote", spaces, [], cleaned(*"a '"), "'"),
    ):
        for kind, early in (("hidden", 0), ("visible", 0), ("early", len(pushed) or 1)):
            key = "visible_stop_sequences" if kind == "visible" else "stop_sequences"
            config = {key: [stop], "min_tokens": early}
            steps = Oracle(config, said[name], set()).play(pushed, prompt=prompt)
            if "match" in steps[-1]["expect"]:
                steps.append({"flush": True, "expect": {"kind": "stopped", "text": ""}})
            group.add(
                *(f"{slug}-{kind}", f"{kind}, after {len(pushed)} ids: {stop!a}", "stop"),
                since=SINCE,
                tokenizer=name,
                prompt=prompt,
                config=config,
                steps=steps,
            )
    return group


def _eager() -> Group:
    """A run of byte tokens goes out character by character, and a stop ends within it."""
    name = "bpe-metaspace-first"
    about = "Stops in runs of byte tokens that are not waited for."
    group = Group("stop", "eager", about, ["T-2"], RULE, name, requires=["byte_runs:eager"])
    pushed = _run(name, "\u00e9\u4f60\u00e9")
    said = ByteText(
        {n: bytes([byte]) for n, byte in zip(pushed, "\u00e9\u4f60\u00e9".encode(), strict=True)}
    )
    config = {"stop_sequences": ["\u4f60"]}
    group.add(
        *("inside-run", "a stop that ends before its run does", "stop"),
        since=SINCE,
        options={"byte_runs": "eager"},
        config=config,
        steps=Oracle(config, said, set()).play(pushed),
    )
    return group


def _cleaned() -> Group:
    """The text that stops are found in is the cleaned one."""
    name = "gguf-llama3"
    ids = Bytes(name, GgufLlama3())
    about = "Stops in text whose spaces llama.cpp's clean-up takes out."
    group = Group("stop", "cleaned", about, ["T-2", "T-3"], RULE, name)
    for slug, why, stop, text, said in (
        ("plain", "a stop between words", "STOP", "a STOP b", ("a", "", " ", "", "", "")),
        ("closing", "a stop that the clean-up makes", "b.", "ab .", ("a", "", "", "")),
        ("gone", "a stop with a space that is taken out", "b .", "b .c", ("", "", "b.", "c")),
    ):
        # What comes behind a stop is not asked.
        steps = zip(ids(*text)[: len(said)], said, strict=True)
        pushed = [{"push": [n], "expect": {"text": shown}} for n, shown in steps]
        group.add(slug, why, "stop", since="1.2", config={"stop_sequences": [stop]}, steps=pushed)
    return group


def _named(ids: Bytes, names: dict[int, bytes], special: int) -> Group:
    about = "Stops that have gone wrong elsewhere."
    said = ByteText(names)
    group = Group("stop", "named", about, ["T-1", "T-3"], RULE, NAME)

    def add(
        slug: str,
        why: str,
        clauses: list[str],
        config: dict[str, Any],
        pushed: Ids,
        since: str = "1.0",
    ) -> None:
        group.add(
            *(slug, why, "stop"),
            since=since,
            spec=clauses,
            config=config,
            steps=Oracle(config, said, {special}).play(pushed),
        )

    hidden = lambda *stops: {"stop_sequences": list(stops)}  # noqa: E731
    shown = lambda *stops: {"visible_stop_sequences": list(stops)}  # noqa: E731
    letters = lambda text: ids(*text)  # noqa: E731
    add("none", "no stop at all", ["T-3"], {}, letters("abc"))
    add("spans", "a stop over several tokens", ["T-3", "T-4"], hidden(" zeta"), letters("a zeta b"))
    add("all", "the whole output is the stop", ["T-4"], hidden("DEFG"), letters("DEFG"))
    add(
        "prefixes",
        "a stop that begins like another",
        ["T-1"],
        hidden("...", ".."),
        letters("a...b"),
    )
    add(
        "no-delay",
        "a stop whose beginning does not occur",
        ["T-3"],
        hidden("#" * 30),
        letters("ab c"),
    )
    add(
        "false-start",
        "a beginning that does not go on",
        ["T-3"],
        hidden("abcd"),
        letters("abcabce"),
    )
    add("nested", "a stop inside a longer one", ["T-1"], hidden("bc", "abcd"), letters("xabcd"))
    add("same-end", "two stops that end together", ["T-1"], hidden("bc", "abc"), letters("xabcd"))
    add(
        "self-overlap",
        "a stop that begins again inside itself",
        ["T-3"],
        hidden("aab"),
        letters("aaaab"),
    )
    add("at-start", "the first token completes it", ["T-4"], hidden("a"), letters("ab"))
    add("visible", "a visible stop is shown", ["T-4"], shown("!"), letters("yes! no"))
    add(
        "both-lists",
        "the same stop hidden and visible",
        ["T-1"],
        hidden("X") | shown("X"),
        letters("aXb"),
    )
    add(
        *("multi-byte", "a stop of one character over three tokens", ["T-3"], hidden("\u3002")),
        [*letters("a"), *ids(0xE3, 0x80, 0x82), *letters("b")],
    )
    add(
        *("near-multi-byte", "a character that begins like the stop", ["T-3"], hidden("\u3002")),
        [*letters("a"), *ids(0xE3, 0x80, 0x81), *letters("b")],
    )
    add("held-at-end", "a beginning that the end settles", ["T-10"], hidden("STOP"), letters("aST"))
    add(
        "unfinished-at-end",
        "bytes that the end settles",
        ["T-10"],
        hidden("X"),
        [*letters("a"), *ids(0xC3)],
    )
    token = {"stop_tokens": [special]}
    add("token", "a stop token", ["T-5"], token, [*letters("ab"), special, *letters("c")])
    add("token-first", "a stop token before anything", ["T-5"], token, [special, *letters("c")])
    add(
        *("token-inside-character", "a stop token behind half a character", ["T-5"], token),
        [*letters("a"), *ids(0xE2), special],
    )
    add(
        *("token-releases", "what is held goes out before a stop token", ["T-5"]),
        *(token | hidden("STOP"), [*letters("aST"), special]),
    )
    add(
        *("token-completes", "a sequence that a stop token's settling completes", ["T-5"]),
        *(token | hidden("a\ufffd"), [*letters("xa"), *ids(0xC3), special]),
    )
    add(
        *("visible-token", "a visible special token is shown, although others are left out"),
        *(["T-6"], {"visible_stop_tokens": [special]}, [*letters("hi"), special]),
    )
    add(
        *("token-both", "a token that is hidden and visible", ["T-1"]),
        *(token | {"visible_stop_tokens": [special]}, [*letters("a"), special]),
    )
    add(
        *("eos", "an end of sequence stops", ["T-9"], {"eos_tokens": [special]}),
        [*letters("a"), special, *letters("b")],
    )
    add(
        *("ignored-eos", "an end of sequence that is ignored", ["T-9"]),
        *({"eos_tokens": [special], "ignore_eos": True}, [*letters("a"), special, *letters("b")]),
    )
    add(
        *("ignored-eos-named", "an ignored end of sequence that is a stop token, too", ["T-9"]),
        *({"eos_tokens": [special], "ignore_eos": True} | token, [*letters("a"), special]),
    )
    add(
        *("min-tokens", "a stop token that comes too early, and again", ["T-8"]),
        *(token | {"min_tokens": 2}, [special, *letters("ab"), special]),
    )
    add(
        *("min-tokens-sequence", "a sequence that ends too early, and again", ["T-8"]),
        *(hidden("b") | {"min_tokens": 3}, letters("abab")),
    )
    add(
        *("after-stop", "ids behind the stop", ["T-4"], hidden("b"), letters("abcd")),
    )
    whole = next(
        n for n, data in names.items() if data.isalpha() and len(data) > 2 and n != special
    )
    middle = names[whole].decode()[1]
    add(
        *("inside-token", "what the same token has behind a stop", ["T-4"], hidden(middle)),
        [*letters("a"), whole],
    )
    add(
        *("inside-token-visible", "a visible stop inside a token", ["T-4"], shown(middle)),
        [*letters("a"), whole],
    )
    add(
        *("min-tokens-eos", "an end of sequence that comes too early, and again", ["T-8", "T-9"]),
        *({"eos_tokens": [special], "min_tokens": 2}, [special, *letters("ab"), special]),
        since=SINCE,
    )
    add(
        *("eos-visible", "an end of sequence that is a visible stop token, too", ["T-6", "T-9"]),
        *({"eos_tokens": [special], "visible_stop_tokens": [special]}, [*letters("a"), special]),
        since=SINCE,
    )
    # The last of many, and the end of a long one, decide.
    many, long = [f"{n}#" for n in range(40)], "ab" * 40
    for kind, listed in (("hidden", hidden), ("visible", shown)):
        add(
            *(f"many-{kind}", "the last of forty stops", ["T-1"], listed(*many, "c")),
            *(letters("abcd"), SINCE),
        )
        add(
            *(f"long-{kind}", "a stop of 81 characters", ["T-3"], listed(f"{long}c")),
            *(letters(f"{long}d{long}c"), SINCE),
        )
    return group


def _prompted(ids: Bytes) -> Group:
    about = "The prompt takes no part."
    group = Group("stop", "prompted", about, ["T-7"], RULE, NAME)
    config = {"stop_sequences": ["STOP"]}
    group.add(
        *("half-in-prompt", "the first half of a stop is the prompt's", "stop"),
        prompt=ids(*"xST"),
        config=config,
        steps=[
            {"push": ids("O"), "expect": {"kind": "text", "text": "O"}},
            {"push": ids("P"), "expect": {"kind": "text", "text": "P"}},
            {"flush": True, "expect": {"text": ""}},
        ],
    )
    group.add(
        *("character-in-prompt", "the first byte of the stop's character is the prompt's", "stop"),
        prompt=ids("a", 0xC3),
        config={"stop_sequences": ["\u00e9"]},
        steps=[
            {
                "push": ids(0xA9),
                "expect": {
                    "kind": "stopped",
                    "text": "",
                    "match": {
                        "kind": "string",
                        "string": "\u00e9",
                        "visible": False,
                        "token_index": 0,
                        "start": 0,
                        "end": 2,
                    },
                },
            }
        ],
    )
    return group


def _random(ids: Bytes, names: dict[int, bytes], special: int) -> Group:
    """Few letters, many stops: everything overlaps."""
    about = "Random ids, random stops: the answers do not depend on how tokens cut the text."
    group = Group("stop", "random", about, ["T-1", "T-2", "T-11"], RULE, NAME)
    letters = ids("a", "b", ".", 0xC3, 0xA9, 0xE4, 0xBD, 0xA0)
    short = [n for n, data in names.items() if 1 < len(data) < 4 and set(data) <= set(b"theans. ")]
    pools = ([*letters[:3], *short, special], [*letters, special])
    kinds = ("stop_tokens", "visible_stop_tokens", "eos_tokens", "")
    dice = random.Random("stops")
    _scenarios(group, dice, SCENARIOS, pools, ByteText(names), {special}, kinds)
    return group


def _others(name: str) -> Group:
    """The same of files whose tokens say different things in different places."""
    one = subject(name)
    about = f"Random ids, random stops, by {name}."
    origin = {"oracle": f"{one.reference.oracle}: decode everything, then find the stop"}
    group = Group("stop", f"{name}-random", about, ["T-1", "T-2", "T-11"], origin, name)
    reference = one.reference
    if one.is_hf:
        special = {t["id"] for t in one.hf.document["added_tokens"] if t["special"]}
        kinds: tuple[str, ...] = ("stop_tokens", "visible_stop_tokens", "eos_tokens", "")
    else:
        special, kinds = {1, 2}, ("stop_tokens", "eos_tokens", "")
    dice = random.Random(f"stops {name}")
    texts = ("the cat", "a b.", "\u00e9 \u4f60", "ab")
    pool = [n for text in texts for n in reference.encode(text) or ()]
    pools = ([*pool, max(special)],)
    _scenarios(group, dice, 16, pools, _continued(name), special, kinds, since=SINCE)
    return group


def _scenarios(
    group: Group,
    dice: random.Random,
    count: int,
    pools: tuple[Ids, ...],
    said: Said,
    special: set[int],
    kinds: tuple[str, ...],
    **since: str,
) -> None:
    for number in range(count):
        pool = pools[number % len(pools)]
        pushed = [dice.choice(pool) for _ in range(dice.randrange(1, 14))]
        text = said.whole(pushed)

        def stop(text: str = text) -> str:
            at = dice.randrange(max(1, len(text)))
            cut = text[at : at + dice.randrange(1, 5)]
            return cut or "a"

        config: dict[str, Any] = {
            "stop_sequences": sorted({stop() for _ in range(dice.randrange(3))}),
            "visible_stop_sequences": sorted({stop() for _ in range(dice.randrange(3))}),
            "min_tokens": dice.choice((0, 0, 0, 2)),
        }
        kind = dice.choice(kinds)
        if kind:
            config[kind] = [max(special)]
        # A sequence that names a special token would have to stop at its id.
        names = {said.whole([n]) for n in special} - {""}
        if any(
            name in s
            for name in names
            for s in config["stop_sequences"] + config["visible_stop_sequences"]
        ):
            continue
        group.add(
            *(f"n{number}", "overlapping stops in overlapping tokens", "stop"),
            **since,
            config=config,
            steps=Oracle(config, said, special).play(pushed),
        )
