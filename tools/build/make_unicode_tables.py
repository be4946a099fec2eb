"""Measure the reference's Unicode tables and write `tables.rs` and `script_tables.rs` into
`wasm-core/engine/src/unicode`.

The reference mixes several Unicode versions (Oniguruma's, an old decomposition table, Rust's own),
so nothing here is taken from a Unicode database: every set is what the installed `tokenizers` does
with each of the 1,112,064 scalar values. Where the recorded measurements of an earlier version are
at hand, both must agree.

    python tools/build/make_unicode_tables.py            # write the files
    python tools/build/make_unicode_tables.py --check    # fail if a committed file is stale
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer

ROOT = Path(__file__).resolve().parents[2]
UNICODE = ROOT / "wasm-core/engine/src/unicode"
RECORDED = ROOT.parent / "shared/assets/unicode/hf_tables.json"

CODE_POINTS = 0x110000
PAGE = 256
SCALARS = [chr(c) for c in range(CODE_POINTS) if not 0xD800 <= c < 0xE000]
EVERY_SCALAR = "".join(SCALARS)

# fmt: off
CATEGORIES = [
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn",
]
# fmt: on

# Sets that Oniguruma knows, by the name of the flag.
REGEX_SETS = {
    "SPACE": r"\s",
    "WORD": r"\w",
    "BRACKET_WORD": r"[\w]",
    "ALPHABETIC": r"\p{Alphabetic}",
    "UPPERCASE": r"\p{Uppercase}",
    "LOWERCASE": r"\p{Lowercase}",
    "HAN": r"\p{Han}",
    "HIRAGANA": r"\p{Hiragana}",
    "KATAKANA": r"\p{Katakana}",
    "HANGUL": r"\p{Hangul}",
}

FLAG_COMMENTS = {
    "LETTER": r"`\p{L}`",
    "MARK": r"`\p{M}`",
    "NUMBER": r"`\p{N}`",
    "PUNCTUATION": r"`\p{P}`",
    "SYMBOL": r"`\p{S}`",
    "SPACE": r"`\s`; also `char::is_whitespace`",
    "WORD": r"`\w` and `\p{Word}`, outside brackets",
    "BRACKET_WORD": r"`\w` inside brackets and `[[:word:]]`: six code points fewer",
    "ALPHABETIC": r"`\p{Alphabetic}`",
    "UPPERCASE": r"`\p{Uppercase}`",
    "LOWERCASE": r"`\p{Lowercase}`",
    "HAN": r"`\p{Han}`",
    "HIRAGANA": r"`\p{Hiragana}`",
    "KATAKANA": r"`\p{Katakana}`",
    "HANGUL": r"`\p{Hangul}`",
    "UPPER_RUN": r"`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`",
    "LOWER_RUN": r"`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`",
    "RUST_WORD": r"`\w` of the `Whitespace` step and of whole-word added tokens",
    "NUMERIC": "what the `Digits` step calls a digit",
    "DELIMITER": "what the `Punctuation` and `Bert` steps call punctuation",
    "ACCENT": "removed by `StripAccents`",
    "BERT_ACCENT": "removed by the `Bert` normalizer's accent stripping, after decomposition",
    "BERT_CONTROL": "removed by the `Bert` normalizer's cleaning",
    "BERT_CJK": "padded with spaces by the `Bert` normalizer",
    "NMT_CONTROL": "removed by `Nmt`",
    "NMT_SPACE": "turned into a space by `Nmt`",
    "LOWERED": "changed by `Lowercase`",
    "NFC_ACTIVE": "may change in NFC, or may change what is before it",
    "NFD_ACTIVE": "the same for NFD",
    "NFKC_ACTIVE": "the same for NFKC",
    "NFKD_ACTIVE": "the same for NFKD",
}


class MismatchError(Exception):
    """The reference contradicts itself, or what was recorded of it."""


@dataclass(frozen=True)
class Measured:
    category: list[str]
    sets: dict[str, set[int]]
    lowercase: dict[int, str]
    nonstarters: set[int]
    scripts: dict[int, int]


def removed(pieces: Iterable[tuple[str, tuple[int, int]]], text: str) -> Iterator[int]:
    """The positions of the text that no piece covers."""
    covered_until = 0
    for _, (start, end) in pieces:
        yield from range(covered_until, start)
        covered_until = end
    yield from range(covered_until, len(text))


def matched_by(step: PreTokenizer) -> set[int]:
    """The characters that a step which removes its delimiters takes for a delimiter."""
    return {ord(SCALARS[i]) for i in removed(step.pre_tokenize_str(EVERY_SCALAR), EVERY_SCALAR)}


def regex_set(pattern: str) -> set[int]:
    return matched_by(pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed"))


def normalized(
    step: Normalizer,
    separator: str,
    wrap: Callable[[str], str] = lambda c: c,
) -> dict[int, str]:
    """What becomes of each character but the separator, which must be inert."""
    characters = [c for c in SCALARS if c != separator]
    results = step.normalize_str(separator.join(map(wrap, characters))).split(separator)
    if len(results) != len(characters):
        raise MismatchError(f"{separator!r} separates nothing in {step}")
    return {ord(c): result for c, result in zip(characters, results, strict=True)}


def measure_categories() -> list[str]:
    category = ["Cs"] * CODE_POINTS
    seen: set[int] = set()
    for name in CATEGORIES:
        if name == "Cs":
            continue
        members = regex_set(rf"\p{{{name}}}")
        if seen & members:
            raise MismatchError(f"category {name} overlaps another one")
        seen |= members
        for c in members:
            category[c] = name
    if len(seen) != len(SCALARS):
        raise MismatchError(f"{len(SCALARS) - len(seen)} scalar values have no category")
    return category


def measure_rust_classes() -> tuple[set[int], set[int]]:
    r"""`\w` and `\s` of the Rust regex behind the `Whitespace` step: `\w+|[^\w\s]+`."""
    text = "".join(f"a{c} " for c in SCALARS)
    words, others = set(), set()
    for _, (start, end) in pre_tokenizers.Whitespace().pre_tokenize_str(text):
        place, within = divmod(start, 3)
        if within == 1:
            others.add(ord(SCALARS[place]))
        elif end - start == 2:
            words.add(ord(SCALARS[place]))
    return words, {ord(c) for c in SCALARS} - words - others


def measure_numeric() -> set[int]:
    text = "".join(f"a{c}" for c in SCALARS)
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(text)
    return {ord(piece) for piece, (start, end) in pieces if start % 2 and end - start == 1}


def measure_normal_forms() -> tuple[dict[str, set[int]], set[int]]:
    """The characters that a run of inert text may not contain, by form; and the non-starters.

    A character is inert if it stays itself, is a starter, never joins what is before it, and its
    decomposition does not begin with one that would. Any text may be cut before an inert
    character, and a text of nothing else is its own normal form.
    """
    separator = "\ue000"
    forms = {
        name: normalized(getattr(normalizers, name)(), separator)
        for name in ("NFC", "NFD", "NFKC", "NFKD")
    }
    # The classes used lie at both ends: nothing is above 240 (U+0345), little is 1 (U+0334).
    above = normalized(normalizers.NFD(), separator, lambda c: f"a\u0345{c}")
    below = normalized(normalizers.NFD(), separator, lambda c: f"a{c}\u0334")
    canonical = forms["NFD"]
    nonstarters = {
        c
        for c, parts in canonical.items()
        if parts == chr(c) and (above[c] != f"a\u0345{parts}" or below[c] != f"a{parts}\u0334")
    }
    seconds = {ord(part) for parts in canonical.values() for part in parts[1:]}
    joining = nonstarters | seconds
    active = {}
    for name, results in forms.items():
        parts_of = forms["NFKD"] if "K" in name else canonical
        active[name] = {
            c
            for c, result in results.items()
            if result != chr(c)
            or c in nonstarters
            or ord(parts_of[c][0]) in nonstarters
            or (name.endswith("C") and (c in joining or ord(parts_of[c][0]) in joining))
        }
    return active, nonstarters


def measure_scripts() -> dict[int, int]:
    """The script of each character, as numbers: only which characters share one can be seen.

    A character without a script never starts a piece; of two that meet, the second one starts a
    piece unless both have the same script.
    """
    step = pre_tokenizers.UnicodeScripts()

    def starting_behind(character: str, others: list[str]) -> set[str]:
        pieces = step.pre_tokenize_str("".join(character + other for other in others))
        return {others[start // 2] for _, (start, _) in pieces if start % 2}

    latin, cyrillic = starting_behind("a", SCALARS), starting_behind("\u0436", SCALARS)
    left = [c for c in SCALARS if c in latin or c in cyrillic]
    members: list[list[str]] = []
    while left:
        # The one in the middle is mostly of a large script, which leaves fewer for the next rounds.
        others = starting_behind(left[len(left) // 2], left)
        members.append([c for c in left if c not in others])
        left = [c for c in left if c in others]
    # Numbered by their first characters.
    return {ord(c): number for number, script in enumerate(sorted(members)) for c in script}


def measure() -> Measured:
    category = measure_categories()

    def of(*names: str) -> set[int]:
        return {c for c in range(CODE_POINTS) if category[c] in names}

    marks = of("Mn", "Mc", "Me")
    sets = {
        "LETTER": of("Lu", "Ll", "Lt", "Lm", "Lo"),
        "MARK": marks,
        "NUMBER": of("Nd", "Nl", "No"),
        "PUNCTUATION": of("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
        "SYMBOL": of("Sm", "Sc", "Sk", "So"),
        "UPPER_RUN": of("Lu", "Lt", "Lm", "Lo") | marks,
        "LOWER_RUN": of("Ll", "Lm", "Lo") | marks,
    }
    for name, pattern in REGEX_SETS.items():
        sets[name] = regex_set(pattern)
    for name, pattern in {
        "LETTER": r"\p{L}",
        "MARK": r"\p{M}",
        "NUMBER": r"\p{N}",
        "PUNCTUATION": r"\p{P}",
        "SYMBOL": r"\p{S}",
    }.items():
        expect_equal(f"regex {pattern}", regex_set(pattern), sets[name])

    sets["RUST_WORD"], rust_space = measure_rust_classes()
    expect_equal(r"Rust's \s", rust_space, sets["SPACE"])
    expect_equal("WhitespaceSplit", matched_by(pre_tokenizers.WhitespaceSplit()), sets["SPACE"])
    stripped = {ord(c) for c in SCALARS if not normalizers.Strip().normalize_str(c)}
    expect_equal("Strip", stripped, sets["SPACE"])
    sets["NUMERIC"] = measure_numeric()
    sets["DELIMITER"] = matched_by(pre_tokenizers.Punctuation("removed"))

    def vanishing(step: Normalizer) -> set[int]:
        return {c for c, result in normalized(step, "|").items() if not result}

    def bert(*, clean: bool = False, cjk: bool = False, accents: bool = False) -> Normalizer:
        return normalizers.BertNormalizer(clean, cjk, accents, False)

    sets["ACCENT"] = vanishing(normalizers.StripAccents())
    sets["BERT_ACCENT"] = vanishing(bert(accents=True))
    cleaned = normalized(bert(clean=True), "|")
    sets["BERT_CONTROL"] = {c for c, result in cleaned.items() if not result}
    turned_to_space = {c for c, result in cleaned.items() if result == " "}
    expect_equal(
        "white space of BertNormalizer", turned_to_space, sets["SPACE"] - sets["BERT_CONTROL"]
    )
    padded = normalized(bert(cjk=True), "|")
    sets["BERT_CJK"] = {c for c, result in padded.items() if result == f" {chr(c)} "}

    changed = normalized(normalizers.Nmt(), "|")
    sets["NMT_CONTROL"] = {c for c, result in changed.items() if not result}
    sets["NMT_SPACE"] = {c for c, result in changed.items() if result == " " != chr(c)}

    active, nonstarters = measure_normal_forms()
    for form, members in active.items():
        sets[f"{form}_ACTIVE"] = members
    lowered = normalized(normalizers.Lowercase(), "|")
    lowercase = {c: result for c, result in lowered.items() if result != chr(c)}
    sets["LOWERED"] = set(lowercase)
    return Measured(
        category=category,
        sets={name: sets[name] for name in FLAG_COMMENTS},
        lowercase=lowercase,
        nonstarters=nonstarters,
        scripts=measure_scripts(),
    )


def expect_equal(what: str, measured: set[int], expected: set[int]) -> None:
    if different := sorted(measured ^ expected):
        some = ", ".join(f"U+{c:04X}" for c in different[:10])
        raise MismatchError(f"{what}: {len(different)} code points differ: {some}")


def verify_against_recorded(measured: Measured, path: Path) -> None:
    recorded = json.loads(path.read_text(encoding="utf-8"))
    tables = {
        name: {c for first, last in ranges for c in range(first, last + 1)}
        for name, ranges in recorded["tables"].items()
    }
    sets = measured.sets
    ours = {
        "onig:L": sets["LETTER"],
        "onig:M": sets["MARK"],
        "onig:N": sets["NUMBER"],
        "onig:P": sets["PUNCTUATION"],
        "onig:S": sets["SYMBOL"],
        "onig:Han": sets["HAN"],
        "onig:Hiragana": sets["HIRAGANA"],
        "onig:Katakana": sets["KATAKANA"],
        "onig:space": sets["SPACE"],
        "onig:word": sets["WORD"],
        "Digits": sets["NUMERIC"],
        "Punctuation": sets["DELIMITER"],
        "BertPreTokenizer_break": sets["DELIMITER"] | sets["SPACE"],
        "WhitespaceSplit": sets["SPACE"],
        "BertNormalizer_clean_removed": sets["BERT_CONTROL"],
        "BertNormalizer_clean_space": sets["SPACE"] - sets["BERT_CONTROL"] - {ord(" ")},
        "BertNormalizer_clean_padded": sets["BERT_CJK"],
        "StripAccents_removed": sets["ACCENT"],
        "BertNormalizer_strip_accents_removed": sets["BERT_ACCENT"],
        "Nmt_removed": sets["NMT_CONTROL"],
        "Nmt_space": sets["NMT_SPACE"],
    }
    for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No"):
        ours[f"onig:{name}"] = {c for c, own in enumerate(measured.category) if own == name}
    ours["onig:digit"] = ours["onig:Nd"]
    for name, members in ours.items():
        expect_equal(f"{path.name}, {name}", members, tables[name])
    if unread := set(tables) - set(ours):
        raise MismatchError(
            f"{path.name} has tables that nothing is compared with: {sorted(unread)}"
        )
    newer = recorded["normalization_quirks"][
        "combining_class_treated_as_0_by_HF_but_nonzero_in_unicode18"
    ]
    newer_marks = {c for first, last in newer for c in range(first, last + 1)}
    expect_equal(f"{path.name}, new marks", measured.nonstarters & newer_marks, set())
    lowercase = {f"{c:X}": [ord(x) for x in low] for c, low in measured.lowercase.items()}
    if lowercase != recorded["lowercase_map"]:
        raise MismatchError(f"{path.name}: lowercase_map differs")


@dataclass(frozen=True)
class LowercaseRun:
    """Every `step`-th code point from `first` to `last` becomes the one `delta` further on."""

    first: int
    last: int
    step: int
    delta: int


def lowercase_runs(lowercase: dict[int, str]) -> list[LowercaseRun]:
    runs: list[LowercaseRun] = []
    for c in sorted(c for c, low in lowercase.items() if len(low) == 1):
        delta = ord(lowercase[c]) - c
        if runs and runs[-1].delta == delta:
            last = runs[-1]
            step = c - last.last
            if step in (1, 2) and (last.first == last.last or step == last.step):
                runs[-1] = LowercaseRun(last.first, c, step, delta)
                continue
        runs.append(LowercaseRun(c, c, 1, delta))
    return runs


HEADER = (
    "//! Generated by `tools/build/make_unicode_tables.py` from what `tokenizers` "
    f"{tokenizers.__version__} does; do not edit."
)


def render_scripts(scripts: dict[int, int]) -> str:
    runs: list[tuple[int, int, int]] = []
    for c in sorted(scripts):
        if runs and runs[-1][1:] == (c - 1, scripts[c]):
            runs[-1] = (runs[-1][0], c, scripts[c])
        else:
            runs.append((c, c, scripts[c]))
    if max(scripts.values()) > 255:
        raise MismatchError("scripts no longer fit into a byte")
    lines = [
        HEADER,
        "",
        "/// (first, last, script), ascending. What is in no run has no script.",
        f"pub static SCRIPT_RUNS: [(u32, u32, u8); {len(runs)}] = [",
        *wrap([f"({first},{last},{script})" for first, last, script in runs], ","),
        "];",
        "",
    ]
    return "\n".join(lines)


def render(measured: Measured) -> str:
    flag_names = list(measured.sets)
    flags = [0] * CODE_POINTS
    for bit, name in enumerate(flag_names):
        for c in measured.sets[name]:
            flags[c] |= 1 << bit
    kinds = [(CATEGORIES.index(measured.category[c]), flags[c]) for c in range(CODE_POINTS)]
    classes = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    pages: dict[bytes, int] = {}
    index = []
    for start in range(0, CODE_POINTS, PAGE):
        page = bytes(classes[kind] for kind in kinds[start : start + PAGE])
        index.append(pages.setdefault(page, len(pages)))
    if len(classes) > 256 or len(pages) > 256:
        raise MismatchError("classes or pages no longer fit into a byte")
    runs = [run for page in pages for run in run_lengths(page)]
    single = {c: low for c, low in measured.lowercase.items() if len(low) == 1}
    longer = {c: low for c, low in measured.lowercase.items() if len(low) > 1}
    if longer != {0x130: "i\u0307"}:
        raise MismatchError("more than U+0130 has a lowercase of several characters")
    low_runs = lowercase_runs(single)

    lines = [
        HEADER,
        "",
        "/// General categories, in the order of the numbers in [`CATEGORY_OF_CLASS`].",
        f"pub const CATEGORIES: [&str; {len(CATEGORIES)}] = [",
        *wrap([f'"{name}"' for name in CATEGORIES]),
        "];",
        "",
    ]
    for bit, name in enumerate(flag_names):
        lines += [f"/// {FLAG_COMMENTS[name]}", f"pub const {name}: u32 = 1 << {bit};"]
    lines += [
        "",
        f"pub const CLASS_COUNT: usize = {len(classes)};",
        "",
        "pub const CATEGORY_OF_CLASS: [u8; CLASS_COUNT] = [",
        *wrap([str(category) for category, _ in classes]),
        "];",
        "",
        "pub const FLAGS_OF_CLASS: [u32; CLASS_COUNT] = [",
        *wrap([f"0x{bits:x}" for _, bits in classes]),
        "];",
        "",
        f"/// The page of each {PAGE} code points.",
        f"pub static PAGE_OF: [u8; {len(index)}] = [",
        *wrap([str(page) for page in index]),
        "];",
        "",
        f"pub const PAGE_COUNT: usize = {len(pages)};",
        "",
        f"/// The classes of every page, {PAGE} each, as runs: (length - 1, class).",
        f"pub const RUNS: [(u8, u8); {len(runs)}] = [",
        *wrap([f"({length - 1},{number})" for length, number in runs], ","),
        "];",
        "",
        "/// Simple lowercase: every `step`-th code point from `first` to `last` moves by `delta`.",
        "/// (first, last, step, delta). U+0130, which becomes two characters, is not in it.",
        f"pub static LOWERCASE_RUNS: [(u32, u32, u32, i32); {len(low_runs)}] = [",
        *wrap([f"({run.first},{run.last},{run.step},{run.delta})" for run in low_runs], ","),
        "];",
        "",
    ]
    return "\n".join(lines)


def run_lengths(page: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    for at in range(1, len(page) + 1):
        if at == len(page) or page[at] != page[start]:
            yield at - start, page[start]
            start = at


def wrap(items: list[str], separator: str = ", ") -> Iterator[str]:
    line = "    "
    for item in items:
        if len(line) + len(item) + 1 > 98:
            yield line.rstrip()
            line = "    "
        line += item + separator
    yield line.rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if stale")
    parser.add_argument("--recorded", type=Path, default=RECORDED, help="earlier measurements")
    options = parser.parse_args()
    try:
        measured = measure()
        if options.recorded.exists():
            verify_against_recorded(measured, options.recorded)
        else:
            print(f"not compared: {options.recorded} does not exist", file=sys.stderr)
        texts = {
            "tables.rs": render(measured),
            "script_tables.rs": render_scripts(measured.scripts),
        }
    except MismatchError as problem:
        print(problem, file=sys.stderr)
        return 1
    stale = []
    for name, text in texts.items():
        target = UNICODE / name
        if not options.check:
            target.write_text(text, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        print(f"{stale} stale: run {Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
