"""Templates grown from a grammar of what real ones use."""

from __future__ import annotations

import random
from collections.abc import Callable

NAMES = """
messages message content tools tool x y ns ns.found ns.items loop.index loop.first loop.last
loop.index0 loop.previtem loop.nextitem message.content message['content'] message.role
message['role'] messages[0] messages[-1] messages[0].content message.tool_calls missing
missing.attribute bos_token eos_token add_generation_prompt enable_thinking tools[0].function
message.reasoning_content x.a x['items'] x.items documents date_string loop.length caller
""".split()
LITERALS = [
    "''",
    "'a'",
    '"it\'s"',
    "'<|im_start|>'",
    "'\\n'",
    "'\\n\\n'",
    "'{{'",
    "'%}'",
    "'{'",
    "'a' 'b'",
    "'\\u00e4\\x41'",
    "'</think>'",
    "0",
    "1",
    "-1",
    "10",
    "1_000",
    "0x1F",
    "2.5",
    "1e3",
    "1.0",
    "none",
    "None",
    "true",
    "True",
    "false",
    "[]",
    "{}",
    "()",
]
FILTERS = """
trim length string tojson lower upper first last list join join(',') join('\\n') safe items dictsort
default('') default('x',true) default([]) replace('a','b') replace('\\n','',1) indent indent(4)
indent(2,true) capitalize title reverse int float sum max min abs round unique sort count e d('z')
map('upper')|list map(attribute='role')|list map(attribute='content')|join('-') map('trim')|join
selectattr('role','equalto','user')|list selectattr('content','defined')|list map('string')|join
rejectattr('role','equalto','system')|list tojson(indent=2) tojson(ensure_ascii=false) wordcount
tojson(separators=(',',':')) selectattr('tool_calls')|list|length reject('none')|list truncate(5)
select('string')|join batch(2)|list slice(2)|list groupby('role')|list center(8) format(x) select
urlencode xmlattr striptags escape forceescape tojson(indent=4)|indent(2) map('int')
""".split()
TESTS = """
defined undefined none string mapping iterable sequence number integer boolean true false callable
float odd even equalto('a') in(['a',1]) divisibleby(2) sameas(none) lower upper eq(1) gt(0)
""".split()
METHODS = """
strip() lstrip() rstrip('\\n') strip('a\\x20') split('</think>') split('\\n') split() upper() lower()
startswith('<') startswith(('a','<')) endswith('\\n') replace('a','b') items() keys() values()
get('role') get('content','') get('x',none) title() format('a',b=1) format(x) find('a') count('a')
splitlines() join(['a','b']) removeprefix('<') partition('a') rsplit('a',1) isdigit() isspace()
split('</think>')[0].strip('\\n') split('</think>')[-1].lstrip('\\n') capitalize() zfill(4) copy()
append(1) pop() update({'a':1}) encode() index('a') rfind('a') isupper() swapcase() ljust(5) sort()
""".split()
BINARY = ["+", "~", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in"]
CONSTANTS = [
    "'abcd'",
    "[1, 2, 3]",
    "(1, 2, 3)",
    "none",
    "5",
    "{}",
    "('a' ~ 'bc')",
    "'ab'|upper",
    "''",
]
SLICES = ["1:", ":-1", "::2", "::-1", "-2:", ":", "1:2:1", "none:2", "'a':", "::0", "true:"]
CALM = [
    "x",
    "y",
    "z",
    "1",
    "2",
    "'v'",
    "messages|length",
    "true",
    "x is defined",
    "y == 1",
    "loop_",
    "loop",
]
DATA = [
    "<|im_start|>",
    "\n",
    "\n\n",
    " ",
    "   ",
    "text",
    "  \n  ",
    "\t",
    "{",
    "}",
    "\r\n",
    "%",
    "# no comment\n",
    "{ %",
    "\u00a0",
    "\x1c",
    "äö",
    "",
]


class Grower:
    """One template: depth bounds it, dice decide."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.calm = dice.random() < 0.5
        """Only values that raise nothing, so that scopes are seen and not errors."""
        self.loops = 0
        """Around what is being grown, up to the next function."""
        self.namespace = False

    def template(self) -> str:
        head = self.dice.choice(
            ["", "", "{% set ns = namespace(found=false, items=[]) %}", "{{- bos_token }}\n"]
        )
        if self.calm:
            head = self.dice.choice(["", "{% set ns = namespace(found=false, items=[]) %}"])
        self.namespace = "namespace" in head
        return head + self.body(3)

    def body(self, depth: int) -> str:
        return "".join(self.statement(depth) for _ in range(self.dice.randint(1, 4)))

    def tag(self, inside: str) -> str:
        before = self.dice.choice(["", "", "-", "-", "+"])
        after = self.dice.choice(["", "", "-", "-", "+"])
        space = self.dice.choice([" ", " ", " ", "", "\n  "])
        if not space and inside[0].isalnum():
            space = " "
        return f"{{%{before}{space}{inside}{space or ' '}{after}%}}"

    def statement(self, depth: int) -> str:
        if depth == 0:
            return self.output()
        if self.calm:
            calm: list[Callable[[int], str]] = [
                self.loop,
                self.assign,
                self.scope,
                self.scope,
                self.branch,
                lambda _: self.output(),
            ]
            return self.dice.choice(calm)(depth - 1)
        kinds: list[Callable[[int], str]] = [
            lambda _: self.data(),
            lambda _: self.output(),
            lambda _: self.output(),
            self.loop,
            self.branch,
            self.assign,
            self.rare,
        ]
        return self.dice.choice(kinds)(depth - 1)

    def data(self) -> str:
        return "".join(self.dice.choice(DATA) for _ in range(self.dice.randint(1, 3)))

    def output(self) -> str:
        before = self.dice.choice(["", "", "", "-", "+"])
        after = self.dice.choice(["", "", "", "-"])
        return f"{{{{{before} {self.expression(3)} {after}}}}}{self.dice.choice(DATA)}"

    def loop(self, depth: int) -> str:
        over = self.dice.choice(
            ["messages", "messages", "messages[1:]", "tools", "message.content", "x", "x.items()"]
        )
        if self.dice.random() < 0.3:
            over = self.expression(2)
        if self.calm:
            over = self.dice.choice(["[1, 2]", "[1, 2, 3]", "[]", "messages"])
        target = self.dice.choice(["message", "message", "x", "y", "x, y", "content"])
        extra = self.dice.choice(["", "", "", f" if {self.expression(1)}", " recursive"])
        otherwise = ""
        if self.dice.random() < 0.2:
            left = self.left() if self.loops and self.dice.random() < 0.3 else ""
            otherwise = self.tag("else") + left + self.body(depth)
        self.loops += 1
        leave = self.left() if self.dice.random() < 0.15 else ""
        if "recursive" in extra and self.dice.random() < 0.7:
            leave += self.recursion(target)
        if self.dice.random() < 0.15:
            leave += self.tag("set z = loop") + "{{ z.index }}{{ z.depth }}{{ z.last }}"
        body = self.body(depth)
        self.loops -= 1
        return (
            self.tag(f"for {target} in {over}{extra}")
            + leave
            + body
            + otherwise
            + self.tag("endfor")
        )

    def left(self) -> str:
        """The loop around is left, from wherever this stands."""
        stop = self.dice.choice(["break", "continue"])
        return self.tag(f"if {self.expression(1)}") + self.tag(stop) + self.tag("endif")

    def recursion(self, target: str) -> str:
        items = self.dice.choice(
            [target.split(",", maxsplit=1)[0], "[]", "[1, 2]", "messages[1:]", "x.items()"]
        )
        return (
            "{{ loop.depth }}{{ loop.depth0 }}"
            + self.tag(f"if loop.depth < {self.dice.choice([2, 3])}")
            + f"{{{{ loop({items}) }}}}"
            + self.tag("endif")
        )

    def branch(self, depth: int) -> str:
        middle = ""
        if self.dice.random() < 0.3:
            middle += self.tag(f"elif {self.expression(2)}") + self.body(depth)
        if self.dice.random() < 0.4:
            middle += self.tag("else") + self.body(depth)
        return self.tag(f"if {self.expression(3)}") + self.body(depth) + middle + self.tag("endif")

    def assign(self, depth: int) -> str:
        target = self.dice.choice(["x", "y", "content", "message", "ns.found", "ns.items", "loop_"])
        if self.calm and not self.namespace:
            target = self.dice.choice(["x", "y", "z"])
        if self.dice.random() < 0.15:
            name = target.replace("ns.", "")
            filtered = self.dice.choice(["", " | trim", " | upper", " | tojson"])
            return self.tag(f"set {name}{filtered}") + self.body(depth) + self.tag("endset")
        return self.tag(f"set {target} = {self.expression(3)}")

    def rare(self, depth: int) -> str:
        if self.dice.random() < 0.4:
            return self.scope(depth)
        inside = self.body(depth)
        choices: list[Callable[[], str]] = [
            lambda: self.tag("generation") + inside + self.tag("endgeneration"),
            lambda: self.tag("macro m(a, b='z')") + inside + self.tag("endmacro") + self.called(),
            lambda: self.tag("filter trim") + inside + self.tag("endfilter"),
            lambda: self.tag(f"with x = {self.expression(2)}") + inside + self.tag("endwith"),
            lambda: self.tag("raw") + self.data() + "{{ x }}{% if" + self.tag("endraw"),
            lambda: f"{{# {self.data()} #}}",
            lambda: "{#- c -#}\n",
            lambda: (
                self.tag(f"if {self.expression(1)}")
                + f"{{{{ raise_exception({self.expression(1)}) }}}}"
                + self.tag("endif")
            ),
            lambda: (
                self.tag("macro m(a)")
                + "<{{ caller(a) }}>"
                + self.tag("endmacro")
                + self.tag(f"call(x) m({self.expression(1)})")
                + inside
                + self.tag("endcall")
            ),
        ]
        return self.dice.choice(choices)()

    def scope(self, depth: int) -> str:
        """What has names of its own: macros, call blocks, blocks that are filtered or kept."""
        name = self.dice.choice(["x", "y", "z"])
        first = self.dice.choice(
            [
                "",
                f"{{{{ {name} }}}}",
                self.tag(f"set {name} = {self.expression(1)}"),
                self.tag(f"set ns.found = {self.expression(1)}"),
                self.tag("if x") + self.tag(f"set {name} = 1") + self.tag("endif"),
                "{{ varargs }}",
                "{{ kwargs }}",
                "{{ varargs|length }}{{ kwargs|tojson }}",
                "{{ caller() }}",
                "{{ caller(1, x) }}",
                "{{ loop.index if loop is defined }}",
            ]
        )
        left = self.left() if self.loops and self.dice.random() < 0.3 else ""
        loops, self.loops = self.loops, 0
        of_a_function = first + self.body(depth)
        self.loops = loops
        filters = self.dice.choice(
            ["upper", "length", "trim", "list", "first", "trim|length", "safe"]
        )
        arguments = self.dice.choice(
            ["", "@", "@, @", "b=@", "@, @, @", "c=@", "@, z=@", "*[@, @]"]
        )
        arguments = "".join(self.expression(1) if c == "@" else c for c in arguments)
        parameters = self.dice.choice(["", "a", "a, b", "a, b='z'", "a=y"])
        after = self.tag(f"set {name} = {self.dice.choice(['1', 'x', 'loop.index', repr('v')])}")
        after = self.dice.choice(["", "", after, after + "{{ m() }}"])
        macro = self.tag(f"macro m({parameters})") + of_a_function + self.tag("endmacro")
        forms = [
            f"{macro}{{{{ m({arguments}) }}}}{after}",
            f"{macro}{{{{ m({arguments}) }}}}{{{{ m.name }}}}{{{{ m.arguments }}}}",
            self.tag("macro w()")
            + self.dice.choice(["{{ caller() }}", "{{ caller(x) }}{{ caller(1, 2) }}"])
            + self.tag("endmacro")
            + self.tag(f"call{self.dice.choice(['', '(a)', '(a, b=1)'])} w()")
            + of_a_function
            + self.tag("endcall")
            + after,
            f"{macro}" + self.tag(f"call m({arguments})") + "<{{ x }}>" + self.tag("endcall"),
            self.tag(f"filter {filters}") + left + self.body(depth) + self.tag("endfilter"),
            self.tag(f"set {name}") + left + self.body(depth) + self.tag("endset") + after,
            self.tag(f"with {name} = {self.expression(1)}")
            + left
            + self.body(depth)
            + self.tag("endwith"),
        ]
        return self.dice.choice(forms)

    def called(self) -> str:
        arguments = self.dice.choice(["", "@", "@, @", "b=@", "a=@, b=@", "@, @, @", "c=@"])
        while "@" in arguments:
            arguments = arguments.replace("@", self.expression(1), 1)
        return f"{{{{ m({arguments}) }}}}"

    def expression(self, depth: int) -> str:
        if self.calm:
            return self.dice.choice(CALM)
        roll = self.dice.random()
        if depth == 0 or roll < 0.25:
            return self.dice.choice(NAMES if self.dice.random() < 0.65 else LITERALS)
        inner = self.expression(depth - 1)
        if roll < 0.45:
            return f"{inner} {self.dice.choice(BINARY)} {self.expression(depth - 1)}"
        if roll < 0.60:
            return f"{inner}|{self.dice.choice(FILTERS)}"
        if roll < 0.70:
            return f"{inner}.{self.dice.choice(METHODS)}"
        if roll < 0.78:
            negated = self.dice.choice(["", "", "not "])
            return f"{inner} is {negated}{self.dice.choice(TESTS)}"
        return self.composed(inner, depth - 1)

    def composed(self, inner: str, depth: int) -> str:
        other = self.expression(depth)
        forms = [
            f"({inner})",
            f"({inner})|{self.dice.choice(FILTERS)}",
            f"{inner} and {other}",
            f"{inner} or {other}",
            f"not {inner}",
            f"-{inner}",
            f"{inner} if {other} else {self.expression(depth)}",
            f"({inner} if {other})",
            f"[{inner}, {other}]",
            f"{{'a': {inner}, 'b': {other}}}",
            f"({inner}, {other})",
            f"dict(a={inner})",
            f"{inner}[{self.dice.choice(['0', '-1', '1:', ':-1', '::-1', '1:3', repr('a')])}]",
            f"({inner})[{other}]",
            f"range({self.dice.choice(['3', '1, 4', '4, 0, -2'])})|list",
            f"'%s-%s' % ({inner}, {other})",
            f"'{{}}|{{}}'.format({inner}, {other})",
            f"'%s'|format({inner})",
            f"strftime_now({self.dice.choice(['%Y', '%d %b %Y', '%-d', '%A', '%j%%'])!r})",
            f"{inner} < {other} < 9",
            f"({inner}) ~ ({other})",
            f"({inner})|length < range(3)|length <= ({other})|length",
            f"{self.dice.choice(['0', inner])} < m({other})|length < 9 != {other}",
            f"{self.dice.choice(CONSTANTS)}[{self.dice.choice(SLICES)}]",
            f"({self.dice.choice(CONSTANTS)}[{self.dice.choice(SLICES)}], {inner})",
        ]
        return self.dice.choice(forms)


def grow(dice: random.Random) -> str:
    return Grower(dice).template()
