"""Special tokens in texts: where they are found, by which policy, in trusted and untrusted parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..references import HuggingFace, Reference, subject, subjects
from . import Group

# Byte-level files, in which no text becomes the id of an added token by the model itself.
SINCE = "1.3"
POLICY_FILES = ("bpe-cl100k", "bpe-qwen2", "bpe-roberta", "added-flags")
# The same, added tokens with flags, Metaspace, byte fallback, WordPiece and SentencePiece.
SEGMENT_FILES = (
    *(*POLICY_FILES, "bpe-metaspace-first", "bpe-gemma", "unigram-metaspace", "wordpiece-uncased"),
    "spm-bpe-bytes",
)
FLAG_TEXTS = (
    ("left", "a  <left>  b", "white space in front belongs to the token"),
    ("right", "a  <right>  b", "white space behind belongs to the token"),
    ("both", "a \n<both>\t b", "white space on both sides belongs to the token"),
    ("both-twice", "<both> <both>", "the space between two greedy tokens"),
    ("left-right", "x <right> <left> y", "one space that two tokens claim"),
    ("word", "a <word> b", "a whole word"),
    ("word-inside", "a<word>b x<word> <word>y", "letters beside a token that is a whole word only"),
    (
        "word-letters",
        "END xEND ENDx END. _END 1END",
        "letters, digits and signs around a whole word",
    ),
    ("word-accent", "\u00e9END END\u0301", "letters beyond ASCII and marks around a whole word"),
    ("normalized", "<norm> <NORM> <NoRm>", "a token that is looked for behind the normalizer"),
    (
        "normalized-wide",
        "\uff1cnorm\uff1e \uff1ca\uff1e",
        "full width: one token is normalised, one not",
    ),
    ("overlap", "<a><b> <a> <b>", "the longer of two tokens at one place"),
    ("overlap-broken", "<a<a>><a><b", "the beginning of a longer token that does not go on"),
    ("not-special", "<plain> plain word PLAIN WORD", "added tokens that are not special"),
    ("spaces", "a  b   c    d", "an added token of two spaces"),
    ("letter", "caf\u00e9 cafe\u0301", "an added token that is a letter, before normalisation"),
    ("newlines", "a\n\n\n\n  b", "an added token of line feeds that takes what follows"),
    ("start-end", "<left>a<right>", "at both ends of the text"),
    ("alone", "<a>", "nothing but a token"),
)


def groups() -> Iterator[Group]:
    for one in subjects("shape"):
        if one.is_hf and one.hf.document["added_tokens"]:
            yield _found(one.name, one.hf)
    yield _flags()
    for name in POLICY_FILES:
        yield _policies(name)
    for name in SEGMENT_FILES:
        yield _segments(name)
    yield _attacks()


def _names(reference: HuggingFace) -> list[str]:
    return [token["content"] for token in reference.document["added_tokens"]][:6]


def _texts(names: list[str]) -> Iterator[tuple[str, str, str]]:
    first, last = names[0], names[-1]
    yield "alone", first, "a special token and nothing else"
    yield "inside", f"the{first}cat", "between letters"
    yield "spaces", f"the {first} cat", "between spaces"
    yield "doubled", f"{first}{first}", "twice"
    yield "ends", f"{first}the cat{last}", "at both ends"
    yield "lines", f"a\n{last}\nb", "between line feeds"
    yield "broken", f"{first[:-1]} {first[1:]} {first[: len(first) // 2]}", "parts of a token"
    yield "nested", f"{first[: len(first) // 2]}{first}{first[len(first) // 2 :]}", "one in another"
    yield "upper", first.upper() + " " + first.lower(), "other case"
    yield "emoji", f"\U0001f336{first}\u4f60{last}\u0301", "between characters of several bytes"


def _found(name: str, reference: HuggingFace) -> Group:
    about = f"Special tokens in texts, found where {name} finds them."
    group = Group("special", name, about, ["P-1"], {"oracle": reference.oracle}, name)
    for slug, text, why in _texts(_names(reference)):
        group.add(
            *(slug, f"a special token in the text: {why}", "encode"),
            input={"text": text},
            options={"add_special": False},
            expect={"ids": reference.encode(text)},
        )
    return group


def _flags() -> Group:
    reference = subject("added-flags").hf
    about = "lstrip, rstrip, single_word, normalized, and tokens inside others."
    origin = {"oracle": reference.oracle}
    group = Group("special", "flags", about, ["P-1"], origin, "added-flags")
    for slug, text, why in FLAG_TEXTS:
        group.add(
            *(slug, why, "encode"),
            input={"text": text},
            options={"add_special": False},
            expect={"ids": reference.encode(text)},
        )
    return group


def by_policy(reference: HuggingFace, chosen: str) -> tuple[HuggingFace, HuggingFace]:
    """The same file without special tokens in texts, and with one of them."""
    nothing = HuggingFace(json.dumps(reference.document).encode())
    nothing.tokenizer.encode_special_tokens = True
    # Under a name that no text has a token keeps its id and is never found.
    some = reference.with_added(
        lambda token: (
            {**token, "content": f"\U000f0000{token['id']}"}
            if token["special"] and token["content"] != chosen
            else token
        )
    )
    return nothing, some


def _policies(name: str) -> Group:
    reference = HuggingFace.of(name)
    about = f"Which special tokens are found: the policies, by {name}."
    origin = {"oracle": reference.oracle}
    group = Group("special", f"{name}-policies", about, ["P-2"], origin, name)
    special = [t["content"] for t in reference.document["added_tokens"] if t["special"]]
    chosen = special[0]
    nothing, some = by_policy(reference, chosen)
    some_origin = {
        "oracle": f"{reference.oracle}, with the other special tokens under other names",
        "by": "tools/generate",
    }
    texts = [*_texts(special[:6]), ("plain", "the cat, <b> and no more", "no special token at all")]
    if name == "added-flags":
        texts += [(f"flag-{slug}", text, why) for slug, text, why in FLAG_TEXTS]
    for slug, text, why in texts:
        fields: dict[str, Any] = {"input": {"text": text}}
        group.add(
            *(f"none-{slug}", f"special tokens are text: {why}", "encode"),
            **fields,
            requires=["special:none"],
            options={"add_special": False, "special": "none"},
            expect={"ids": nothing.encode(text)},
        )
        group.add(
            *(f"set-{slug}", f"one special token is found, others are text: {why}", "encode"),
            **fields,
            spec=["P-3"],
            origin=some_origin,
            requires=["special:set"],
            options={"add_special": False, "special": [chosen]},
            expect={"ids": some.encode(text)},
        )
        ids = {t["id"] for t in reference.document["added_tokens"] if t["special"]}
        found = ids & set(reference.encode(text))
        group.add(
            *(f"raise-{slug}", f"a special token in the text is refused: {why}", "encode"),
            **fields,
            spec=["P-4"],
            requires=["special:raise"],
            options={"add_special": False, "special": "raise"},
            expect={"error": {"code": ["invalid_text"]}}
            if found
            else {"ids": reference.encode(text)},
        )
    return group


Parts = list[tuple[str, bool]]


def _segments(name: str) -> Group:
    """Joined, with the trusted tokens written as characters that stand for nothing else.

    A file in which the names of special tokens are private characters finds them where these are
    written, and finds nothing where a stranger wrote the old name. What is around them is the
    same, so ids are the same.
    """
    one = subject(name)
    since: dict[str, str] = {} if name in POLICY_FILES[:3] else {"since": SINCE}
    if one.is_hf:
        unknown = one.hf.document["model"].get("unk_token")
        added = one.hf.document["added_tokens"]
        special = [t["content"] for t in added if t["special"] and t["content"] != unknown]
        stand_in = {content: chr(0xF0000 + n) for n, content in enumerate(special)}
        renamed: Reference = _renamed(one.hf, stand_in)
        origin = {"oracle": f"{one.reference.oracle}, with trusted tokens under other names"}
    else:
        # The reference finds no control piece in any text.
        special, stand_in = ["<s>", "</s>"], {}
        renamed, origin = one.reference, one.origin
    about = f"Segments with a trust mark, by {name}."
    group = Group("segments", name, about, ["P-5"], origin, name)
    first, last = special[0], special[-1]
    half = len(first) // 2
    # The beginning that a template may write, and the rest that must not complete it.
    borders: list[tuple[str, str, Parts, list[str]]] = []
    for at in sorted({1, 2, len(first) - 2, len(first) - 1}):
        slug, begun, rest = f"border-{at}", first[:at], first[at:]
        why = f"a trusted part ends in {begun!r}, the stranger's begins with {rest!r}"
        borders += [
            (slug, why, [(f"hi{begun}", True), (f"{rest}you", False)], ["P-7"]),
            (
                f"{slug}-closed",
                f"{why}, and a trusted part follows",
                [(begun, True), (rest, False), (last, True)],
                ["P-7"],
            ),
            (
                f"{slug}-back",
                f"the stranger's ends in {begun!r}, a trusted part begins with {rest!r}",
                [(f"hi{begun}", False), (f"{rest}you", True)],
                ["P-7"],
            ),
        ]
    borders += [
        (
            "border-three",
            "one character of a mark in the middle is a stranger's",
            [(first[:-2], True), (first[-2:-1], False), (first[-1:], True)],
            ["P-7"],
        ),
        (
            "border-empty",
            "a trusted part of no text between the halves of strangers",
            [(first[:-1], False), ("", True), (f"{first[-1:]}hi", False)],
            ["P-7"],
        ),
        (
            "border-signs",
            "signs of marks that belong to none",
            [
                ("<|", True),
                ("|>hi<", False),
                ("|", True),
                (">", False),
                ("<", True),
                ("|you", False),
            ],
            ["P-7"],
        ),
    ]
    cases: list[tuple[str, str, Parts, list[str]]] = [
        ("trusted", "all of it trusted", [(f"{first}hi{last}", True)], ["P-6"]),
        ("untrusted", "all of it a stranger's", [(f"{first}hi{last}", False)], ["P-7"]),
        ("chat", "marks around a text", [(first, True), ("hi", False), (last, True)], ["P-6"]),
        (
            *("injected", "a mark in the stranger's text"),
            *([(first, True), (f"hi{last}{first}", False), (last, True)], ["P-7"]),
        ),
        (
            *("across", "half of a mark on either side of a border"),
            *([(f"hi{first[:half]}", True), (f"{first[half:]}you", False)], ["P-7"]),
        ),
        (
            *("across-back", "the second half is trusted"),
            *([(f"hi{first[:half]}", False), (f"{first[half:]}you", True)], ["P-7"]),
        ),
        (
            *("across-untrusted", "both halves are strangers'"),
            *([(f"hi{first[:half]}", False), (f"{first[half:]}you", False)], ["P-7"]),
        ),
        (
            *("across-trusted", "both halves are trusted and belong together"),
            *([(f"hi{first[:half]}", True), (f"{first[half:]}you", True)], ["P-5"]),
        ),
        (
            *("joint-newlines", "white space on both sides of a border is one run"),
            *([("\n\n", True), ("\nhi", False)], ["P-6"]),
        ),
        (
            *("joint-word", "a word over a border is one word"),
            *([("hel", True), ("lo wor", False), ("ld", True)], ["P-6"]),
        ),
        ("empty", "segments of no text", [("", True), ("hi", False), ("", False)], ["P-6"]),
        ("none", "no segments", [], ["P-5"]),
        (
            *("spaces", "spaces around a mark"),
            *([("a ", False), (first, True), (" b", False)], ["P-6"]),
        ),
        (
            *("emoji", "characters of several bytes at the borders"),
            *([("\U0001f336", False), (last, True), ("\u4f60", False)], ["P-6"]),
        ),
        *borders,
    ]
    for slug, why, parts, clauses in cases:
        group.add(
            *(slug, f"segments: {why}", "segments"),
            **({"since": "1.2" if slug.startswith("border-") else "1.0"} | since),
            spec=clauses,
            segments=[{"text": text, "trusted": trusted} for text, trusted in parts],
            options={"add_special": False},
            expect={"ids": renamed.encode(_with_stand_ins(parts, stand_in))},
        )
    for slug, parts in (
        ("added", [("a", True), (f"b{first}", False)]),
        ("added-none", []),
    ):
        ids = renamed.encode(_with_stand_ins(parts, stand_in), add_special=True)
        if ids is not None:
            group.add(
                *(slug, "segments with what the file adds", "segments"),
                since=SINCE,
                spec=["E-6", "P-5"],
                segments=[{"text": text, "trusted": trusted} for text, trusted in parts],
                options={"add_special": True},
                expect={"ids": ids},
            )
    group.add(
        *("joined", "harmless segments give the ids of the joined text", "invariant"),
        **since,
        spec=["P-6"],
        invariant="segments_equal_joined",
        segments=[
            {"text": text, "trusted": n % 2 == 0} for n, text in enumerate(["a b", " c", "d"])
        ],
        options={"add_special": False},
    )
    return group


def _renamed(reference: HuggingFace, names: dict[str, str]) -> HuggingFace:
    """The file with other names for tokens, also in the vocabulary."""
    document = json.loads(json.dumps(reference.document))
    for token in document["added_tokens"]:
        token["content"] = names.get(token["content"], token["content"])
    model = document["model"]
    if isinstance(model["vocab"], dict):
        model["vocab"] = {names.get(key, key): value for key, value in model["vocab"].items()}
    else:
        model["vocab"] = [[names.get(piece, piece), score] for piece, score in model["vocab"]]
    return HuggingFace(json.dumps(document).encode())


def _with_stand_ins(parts: Parts, stand_in: dict[str, str]) -> str:
    """Runs of trusted text with their special tokens renamed; the rest as it is."""
    runs: list[tuple[str, bool]] = []
    for text, trusted in parts:
        if not text:
            continue
        if runs and runs[-1][1] == trusted:
            runs[-1] = (runs[-1][0] + text, trusted)
        else:
            runs.append((text, trusted))
    joined = ""
    for text, trusted in runs:
        changed = text
        for content in sorted(stand_in, key=len, reverse=True) if trusted else ():
            changed = changed.replace(content, stand_in[content])
        joined += changed
    return joined


def _attacks() -> Group:
    """A model whose own vocabulary holds control pieces must not give them to a stranger."""
    about = "Control pieces that the model itself would find in a text."
    origin = {"oracle": "derived: no id of a control piece"}
    group = Group("segments", "model-vocabulary", about, ["P-7"], origin, level="must")
    for name, attack in (
        ("unigram-metaspace", "bad </s> text"),
        ("wordpiece-uncased", "a [MASK] b [CLS]"),
        ("wordlevel", "the <pad> cat"),
    ):
        reference = HuggingFace.of(name)
        names = [t["content"] for t in reference.document["added_tokens"]]
        ids = _without_pieces(reference, names).encode(attack)
        group.add(
            *(
                f"{name}-untrusted",
                "a stranger names a control piece of the vocabulary",
                "segments",
            ),
            tokenizer=name,
            segments=[{"text": attack, "trusted": False}],
            options={"add_special": False},
            expect={"any_of": [{"ids": ids}, {"error": {"code": ["unsupported"]}}]},
        )
        group.add(
            *(f"{name}-none", "the same by the policy for whole texts", "encode"),
            tokenizer=name,
            spec=["P-2"],
            requires=["special:none"],
            input={"text": attack},
            options={"add_special": False, "special": "none"},
            expect={"any_of": [{"ids": ids}, {"error": {"code": ["unsupported"]}}]},
        )
    return group


def _without_pieces(reference: HuggingFace, names: list[str]) -> HuggingFace:
    """The file without its special tokens, also in the vocabulary, where no text can have them."""
    unknown = reference.document["model"].get("unk_token")
    gone = {name: f"\U000f0000{n}" for n, name in enumerate(names) if name != unknown}
    renamed = _renamed(reference, gone)
    document = {**renamed.document, "added_tokens": [], "post_processor": None}
    return HuggingFace(json.dumps(document).encode())
