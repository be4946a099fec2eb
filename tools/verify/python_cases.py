"""Writes random questions and Python's own answers, for the algorithms of the chat templates.

    python -m tools.verify.python_cases 100000 | cargo run --release --example python_cases

One line a question: operation, arguments, answer, apart by tabs (`examples/python_cases.rs` says
how they are written).
"""

from __future__ import annotations

import html
import math
import random
import re
import struct
import sys
import textwrap
from collections.abc import Callable
from urllib.parse import quote_from_bytes

PREDICATES = [
    *["isalpha", "isalnum", "isdecimal", "isdigit", "isnumeric", "isspace", "isprintable"],
    *["isidentifier", "islower", "isupper", "istitle"],
]
PLAIN = ["upper", "lower", "title", "capitalize", "swapcase", "casefold"]
SPACES = "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u2003\u2028\u2029\u3000\u200b"
PIECES = [
    *["a", "B", "ab", "-", "--", "it's", "AB", "x-y", "Zz", "1", "٣", "½", "²", "Ⅷ", "_", "<b>"],
    *["<!-- -->", "&amp;", "&", "&#39;", "'", '"', "\\", "ß", "ŉ", "Σ", "ΑΣ", "ǆ", "ǅ", "ﬁ", "İ"],
    *[
        "\u0131",
        "\u0345",
        "\u0301",
        "ʰ",
        "\u00ad",
        "é",
        "中",
        "😀",
        "\x00",
        "\x7f",
        "%",
        "{",
        "}",
        "/",
    ],
    *["aaa", "\r\n", ".", "+", "é́", "\uff21", "\u13a0", "ꭰ", "Ა", "ა", "\U0001e900", "?", "~"],
]
SPEC = ["", "<", ">", "^", "=", "*<", "0", "+", " ", "-", "z", "#", "5", "12", "012", ",", "_"]
SPEC += [
    ".0",
    ".3",
    ".10",
    "d",
    "e",
    "f",
    "g",
    "E",
    "F",
    "G",
    "s",
    "x",
    "X",
    "b",
    "o",
    "c",
    "%",
    "k",
]
FLAGS = ["", "-", "+", " ", "#", "0", "-0", "+#", "0#"]


def word(r: random.Random, most: int = 6) -> str:
    parts = []
    for _ in range(r.randint(0, most)):
        kind = r.random()
        if kind < 0.6:
            parts.append(r.choice(PIECES))
        elif kind < 0.85:
            parts.append(r.choice(SPACES))
        else:
            code = r.choice([r.randrange(0x250), r.randrange(0x3000), r.randrange(0x110000)])
            parts.append(chr(code) if not 0xD800 <= code < 0xE000 else "?")
    return "".join(parts)


def number(r: random.Random) -> int:
    return r.choice([r.randint(-12, 12), r.randint(-3, 3), r.randint(-(10**6), 10**6)])


def big(r: random.Random) -> int:
    return r.choice([number(r), r.randint(-(2**70), 2**70), r.randint(-(2**200), 2**200)])


def real(r: random.Random) -> float:
    kind = r.random()
    if kind < 0.3:
        return round(r.uniform(-1000, 1000), r.randint(0, 4))
    if kind < 0.4:
        return r.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 1e16, 1e-5, 0.5, 2.5, 5e-324])
    if kind < 0.5:
        return r.randint(-40, 40) / r.choice([1, 2, 4, 8])
    if kind < 0.6:
        return float(f"{r.randint(-9, 9)}e{r.randint(-8, 20)}")
    if kind < 0.8:
        return r.uniform(-1, 1) * 10.0 ** r.randint(-20, 22)
    value: float = struct.unpack("<d", r.randbytes(8))[0]
    return value


def striptags(text: str) -> str:
    text = re.sub(r"<!--.*?-->|<(?!!--)[^>]*>", "", text, flags=re.DOTALL)
    return html.unescape(" ".join(text.split()))


def title_words(text: str) -> str:
    parts = re.split(r"([-\s({\[<]+)", text)
    return "".join(part[0].upper() + part[1:].lower() for part in parts if part)


def url(text: str, query: int) -> str:
    quoted = quote_from_bytes(text.encode(), b"" if query else b"/")
    return quoted.replace("%20", "+") if query else quoted


def wrapped(text: str, width: int, long_words: int, hyphens: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=bool(long_words),
        break_on_hyphens=bool(hyphens),
    )


def random_spec(r: random.Random) -> str:
    picked = sorted(r.sample(range(len(SPEC)), r.randint(0, 4)))
    return "".join(SPEC[at] for at in picked)


def random_number_text(r: random.Random) -> str:
    parts = ["1", "0", "9", "12", "_", "0x", "0b", "0o", "f", "z", "-", "+", ".", "e", "e5", "٣"]
    parts += [" ", "\x1c", "\xa0", "inf", "nan", "Infinity", "E-3", "00"]
    return "".join(r.choice(parts) for _ in range(r.randint(1, 4)))


Question = tuple[str, list[object], Callable[[], object]]


def escaped(text: str) -> str:
    return html.escape(text).replace("&quot;", "&#34;").replace("x27", "39")


def piece(r: random.Random, text: str) -> str:
    if r.random() < 0.7:
        return text[r.randint(0, len(text)) :][: r.randint(0, 2)]
    return word(r, 1)


SIMPLE: dict[str, Callable[[str], object]] = {
    **{name: getattr(str, name) for name in PREDICATES + PLAIN},
    "title_words": title_words,
    "repr": repr,
    "ascii": ascii,
    "escape": escaped,
    "striptags": striptags,
}


def asked(name: str, text: str, *arguments: object) -> Question:
    """A method of `str` with these arguments."""
    return name, [text, *arguments], lambda: getattr(text, name)(*arguments)


def about_a_text(r: random.Random) -> Question:
    text, name = word(r), r.choice([*SIMPLE])
    return name, [text], lambda: SIMPLE[name](text)


def about_ends(r: random.Random) -> Question:
    text = word(r)
    if r.random() < 0.5:
        given = r.choice([None, piece(r, text), word(r, 2)])
        return asked(r.choice(["strip", "lstrip", "rstrip"]), text, given)
    names = ["removeprefix", "removesuffix", "partition", "rpartition"]
    return asked(r.choice(names), text, piece(r, text))


def about_parts(r: random.Random) -> Question:
    text, keep = word(r), r.randint(0, 1)
    if r.random() < 0.3:
        return asked("splitlines", text, keep)
    given = r.choice([None, piece(r, text), word(r, 2)])
    return asked(r.choice(["split", "rsplit"]), text, given, r.randint(-2, 4))


def about_places(r: random.Random) -> Question:
    text = word(r)
    if r.random() < 0.3:
        return asked("replace", text, piece(r, text), word(r, 2), r.randint(-2, 4))
    bounds = [r.choice([None, number(r)]) for _ in range(2)]
    names = ["find", "rfind", "count", "startswith", "endswith"]
    return asked(r.choice(names), text, piece(r, text), *bounds)


def about_widths(r: random.Random) -> Question:
    width = r.randint(-2, 20)
    if r.random() < 0.5:
        signed = r.choice(["", "+", "-"]) + word(r)
        return asked(r.choice(["zfill", "expandtabs"]), signed, width)
    fill = r.choice([" ", "*", "é", "😀", "", "ab"])
    return asked(r.choice(["center", "ljust", "rjust"]), word(r), width, fill)


def about_lines(r: random.Random) -> Question:
    if r.random() < 0.3:
        text, query = word(r), r.randint(0, 1)
        return "url", [text, query], lambda: url(text, query)
    line, width, b, c = word(r, 14), r.randint(0, 12), r.randint(0, 1), r.randint(0, 1)
    return "wrap", [line, width, b, c], lambda: wrapped(line, width, b, c)


def about_reading(r: random.Random) -> Question:
    digits = random_number_text(r)
    if r.random() < 0.5:
        return "float", [digits], lambda: float(digits)
    base = r.choice([0, 2, 8, 10, 16, 36, 7, 1, 37, -1])
    return "int", [digits, base], lambda: str(int(digits, base))


def about_floats(r: random.Random) -> Question:
    value, spec, places = real(r), random_spec(r), r.randint(-6, 8)
    if r.random() < 0.5:
        return "format_float", [value, spec], lambda: format(value, spec)
    if r.random() < 0.5 or not math.isfinite(value):
        return "float_repr", [value], lambda: repr(value)
    return "round", [value, places], lambda: round(value, places)


def about_formats(r: random.Random) -> Question:
    text, whole, spec = word(r), big(r), random_spec(r)
    if r.random() < 0.3:
        return "format_str", [text, spec], lambda: format(text, spec)
    return "format_int", [whole, spec], lambda: format(whole, spec)


def about_percents(r: random.Random) -> Question:
    letter = r.choice("sdiuxXoeEfFgG")
    layout = r.choice(FLAGS) + r.choice(["", "3", "12"]) + r.choice(["", ".", ".0", ".3", ".12"])
    shown = r.choice(["", "a"]) + "%" + layout + letter + r.choice(["", "%%", " b"])
    argument: object = word(r) if letter == "s" else real(r) if letter in "eEfFgG" else big(r)
    return "percent", [shown, argument], lambda: shown % (argument,)


QUESTIONS: list[Callable[[random.Random], Question]] = [
    *[about_a_text, about_ends, about_parts, about_places, about_widths, about_lines],
    *[about_reading, about_floats, about_formats, about_percents],
]


def written(value: object) -> str:
    if value is None:
        return "n"
    if isinstance(value, str):
        return "s:" + value.encode().hex()
    if isinstance(value, list | tuple):
        return "l:" + ",".join(part.encode().hex() for part in value)
    if isinstance(value, float):
        return f"f:{value!r}"
    return f"i:{int(value)}"  # type: ignore[call-overload]


def answered(ask: Callable[[], object]) -> str:
    try:
        value = ask()
        if isinstance(value, float):
            if math.isnan(value):
                value = math.copysign(math.nan, 1.0)
            return "f:" + struct.pack(">d", value).hex()
        return written(value)
    except (ValueError, TypeError, OverflowError) as error:
        return f"e:{type(error).__name__}"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    r = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for _ in range(count):
        name, arguments, ask = r.choice(QUESTIONS)(r)
        print("\t".join([name, *map(written, arguments), answered(ask)]))


if __name__ == "__main__":
    main()
