"""Real templates cut into pieces, and put together wrongly: what a careless author might write."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache

from .. import corpus

_PIECE = re.compile(
    r"""\{%[-+]? | [-+]?%\} | \{\{[-+]? | [-]?\}\} | \{\# | \#\}
      | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
      | [^\W\d]\w* | \d+(?:\.\d+)? | \s+ | [=!<>]=|\*\*|// | .""",
    re.DOTALL | re.VERBOSE,
)
_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_OPENED = re.compile(r"\{%[-+]?\s*(for|if|macro|set|generation|call|filter|raw)\b")

# What is put behind an operand, and between two of them.
_BEHIND = (
    """
|trim |length |string |tojson |lower |upper |first |last |list |join |join(',\\x20') |safe |default('x')
|items |dictsort |map('upper') |map(attribute='role')|list |selectattr('role') |replace('a','b')
|indent |indent(2) |capitalize |reverse |int |float |title |unique |sort |e |tojson(indent=2)
|rejectattr('content') |string|trim |default('',true) |sum |max |abs |round |batch(2)|list
.strip() .lstrip('\\n') .rstrip() .split('a') .split() .get('role') .items() .keys() .values()
.content .role .items .upper() .startswith('a') .endswith('b') .replace('a','b') .format(1)
.title() .copy() .append(1) .pop() .update({}) .splitlines() .count('a') .find('a')
[0] [-1] [1:] [:-1] [::-1] ['role'] ['content'] [1:2] [missing] (1) ()
""".split()
    + [
        " is string",
        " is mapping",
        " is iterable",
        " is sequence",
        " is none",
        " is not none",
        " is defined",
        " is undefined",
        " is number",
        " is boolean",
        " is true",
        " is integer",
        " is callable",
        " if messages",
        " if missing else 'no'",
    ]
)
_BETWEEN = (
    " ~ | + | - | * | / | // | % | ** | == | != | < | <= | > | >= | in | not in | and | or |, "
)
_OPERANDS = """
'' 'a' '\\x20b\\n' "it's" 0 1 -1 2.5 1e3 none true false None True [] [1,'a'] {} {'a':1} (1,2) ()
messages messages[0] message message.content message['role'] missing tools loop loop.index
loop.previtem namespace() range(3) bos_token add_generation_prompt loop.nextitem
""".split()
_SPACES = ["", " ", "\n", "\n\n", "\t", " \n ", "\r\n", "\r", "\u00a0", "\x1c", "\u2028", "\n    "]
_OPEN = ["{%", "{%-", "{%+", "{{", "{{-", "{{+"]
_CLOSE = ["%}", "-%}", "+%}", "}}", "-}}"]


def split(source: str) -> list[str]:
    """Pieces that make the source again when they are joined."""
    return _PIECE.findall(source)


def tags(source: str) -> list[str]:
    """The same in larger pieces: whole tags, and what is between them."""
    return [piece for piece in re.split(r"(\{[%{#].*?[%}#]\})", source, flags=re.DOTALL) if piece]


def kind(piece: str) -> str:
    if piece in _OPEN or piece in _CLOSE:
        return "tag"
    if piece.isspace():
        return "space"
    if piece[0] in "'\"":
        return "string"
    if piece[0].isdigit():
        return "number"
    return "name" if piece[0].isalpha() or piece[0] == "_" else "mark"


@lru_cache(maxsize=1)
def pool() -> dict[str, list[str]]:
    """Pieces of all real templates by kind, as often as they occur."""
    found: dict[str, list[str]] = {}
    for source in corpus.templates().values():
        for tag in _TAG.findall(source):
            for piece in split(tag):
                found.setdefault(kind(piece), []).append(piece)
    return found


@lru_cache(maxsize=1)
def fragments() -> Sequence[str]:
    """Blocks out of the middle of real templates: quicker to compile than a whole one."""
    found = set()
    for source in corpus.templates().values():
        for opened in _OPENED.finditer(source):
            name, depth = opened[1], 0
            for tag in re.finditer(
                rf"\{{%[-+]?\s*(end)?{name}\b[^%]*?%\}}", source[opened.start() :]
            ):
                if name == "set" and "=" in tag[0]:
                    break
                depth += -1 if tag[1] else 1
                if depth == 0:
                    found.add(source[opened.start() : opened.start() + tag.end()])
                    break
        found.update(tag[0] for tag in _TAG.finditer(source) if tag[0].startswith("{{"))
    return sorted(text for text in found if len(text) < 1500)


def fragment(dice: random.Random) -> str:
    """A fragment with the variables around it that templates mostly have."""
    body = dice.choice(fragments())
    around = dice.choice(
        [
            "@",
            "{% for message in messages %}@{% endfor %}",
            "{%- for message in messages -%}\n@\n{%- endfor -%}",
            "{% set message = messages[0] %}{% set content = message['content'] %}@",
            "{% set loop_messages = messages %}{% for message in loop_messages %}\n"
            "    {% set content = message.content %}\n    @\n{% endfor %}\n",
            "{% set ns = namespace(found=false, i=0, last=none) %}"
            "{% for tool in tools or [] %}{% set fn = tool.function %}@{% endfor %}",
        ]
    )
    return around.replace("@", body)


def mutate(source: str, dice: random.Random, times: int = 1) -> str:
    pieces = split(source)
    for _ in range(times):
        if not pieces:
            break
        dice.choice(_MUTATIONS)(pieces, dice)
        pieces = [piece for piece in pieces if piece]
    return "".join(pieces)


def _at(pieces: list[str], dice: random.Random, *kinds: str) -> int:
    places = [place for place, piece in enumerate(pieces) if not kinds or kind(piece) in kinds]
    return dice.choice(places) if places else dice.randrange(len(pieces))


def _delete(pieces: list[str], dice: random.Random) -> None:
    del pieces[_at(pieces, dice)]


def _delete_run(pieces: list[str], dice: random.Random) -> None:
    start = _at(pieces, dice)
    del pieces[start : start + dice.randint(2, 12)]


def _repeat(pieces: list[str], dice: random.Random) -> None:
    start = _at(pieces, dice)
    stop = start + dice.choice([1, 1, 2, 5, 20])
    pieces[stop:stop] = pieces[start:stop]


def _swap(pieces: list[str], dice: random.Random) -> None:
    one, other = _at(pieces, dice), _at(pieces, dice)
    pieces[one], pieces[other] = pieces[other], pieces[one]


def _replace(pieces: list[str], dice: random.Random) -> None:
    place = _at(pieces, dice, "name", "string", "number", "mark")
    pieces[place] = dice.choice(pool().get(kind(pieces[place]), pieces))


def _append(pieces: list[str], dice: random.Random) -> None:
    place = _at(pieces, dice, "name", "string", "number")
    pieces.insert(place + 1, dice.choice(_BEHIND))


def _operate(pieces: list[str], dice: random.Random) -> None:
    place = _at(pieces, dice, "name", "string", "number")
    pieces.insert(place + 1, dice.choice(_BETWEEN.split("|")) + dice.choice(_OPERANDS))


def _operand(pieces: list[str], dice: random.Random) -> None:
    pieces[_at(pieces, dice, "name", "string", "number")] = dice.choice(_OPERANDS)


def _space(pieces: list[str], dice: random.Random) -> None:
    if dice.random() < 0.5:
        pieces[_at(pieces, dice, "space")] = dice.choice(_SPACES)
    else:
        place = _at(pieces, dice, "tag")
        pieces.insert(place + dice.randint(0, 1), dice.choice(_SPACES))


def _tag(pieces: list[str], dice: random.Random) -> None:
    place = _at(pieces, dice, "tag")
    piece = pieces[place]
    bare = piece.strip("-+")
    if piece.startswith("{"):
        pieces[place] = bare + dice.choice(["", "-", "+"])
    elif bare in {"%}", "}}"}:
        pieces[place] = dice.choice(["", "-", "+" if bare == "%}" else ""]) + bare


def _splice(pieces: list[str], dice: random.Random) -> None:
    pieces.insert(_at(pieces, dice, "tag"), dice.choice(fragments()))


_MUTATIONS = [
    _delete,
    _delete_run,
    _repeat,
    _swap,
    _replace,
    _replace,
    _append,
    _append,
    _append,
    _operate,
    _operate,
    _operand,
    _operand,
    _space,
    _space,
    _tag,
    _tag,
    _splice,
]
