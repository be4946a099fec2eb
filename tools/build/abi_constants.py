"""Writes the numbers of both ABIs (wasm-core/abi and template) to all files that need them.

python -m tools.build.abi_constants            write the constants and the tables of docs/abi.md
python -m tools.build.abi_constants --check    exit 1 when one of them differs from the table
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tools.build import template_constants

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "wasm-core/abi/abi.toml"
RUST = ROOT / "wasm-core/abi/src/constants.rs"
PYTHON = ROOT / "pywasmtok/_host/wasm/abi.py"
DOCS = ROOT / "docs/abi.md"
HOSTS = ROOT / "hosts"
JAVASCRIPT = HOSTS / "js/abi.mjs"
GO = HOSTS / "go/abi.go"
JAVA = HOSTS / "java/src/main/java/pywasmtok/Abi.java"
JAVA_KINDS = JAVA.with_name("Kind.java")
TEMPLATE_TABLE = ROOT / "wasm-core/template/abi.toml"
TEMPLATE_RUST = ROOT / "wasm-core/template/src/abi/constants.rs"
TEMPLATE_PYTHON = ROOT / "pywasmtok/_host/template/abi.py"
TEMPLATE_JAVASCRIPT = HOSTS / "js/template_abi.mjs"

Table = dict[str, Any]
LIMITS = ("input_padding", "max_sessions", "max_tokenizers", "max_panic_text")
GROUPS = (
    ("encode_flags", "ENCODE"),
    ("decode_flags", "DECODE"),
    ("truncate_outcomes", "TRUNCATE"),
    ("step_flags", "STEP"),
    ("vocab_flags", "VOCAB"),
    ("error_kinds", "ERROR"),
)


def numbers(table: Table) -> Iterator[tuple[str, int]]:
    """Every constant but the answers, by its name in both languages."""
    yield "ABI_VERSION", table["version"]
    for name in LIMITS:
        yield name.upper(), table[name]
    yield "SESSION_WORDS", len(table["session"])
    for index, name in enumerate(table["session"]):
        yield f"FIELD_{name.upper()}", index
    for group, prefix in GROUPS:
        for name, (value, _) in table[group].items():
            yield f"{prefix}_{name.upper()}", value


def answers(table: Table) -> Iterator[tuple[str, int]]:
    for name, (value, _) in table["answers"].items():
        yield f"ANSWER_{name.upper()}", value


def rust(table: Table) -> str:
    lines = [
        "//! The numbers of the ABI. Written by tools/build/abi_constants.py from abi.toml: change that.",
        "",
    ]
    # Indexes and lengths are sizes in Rust; what crosses the ABI is 32 bits wide. The kinds of
    # errors are the engine's own enumeration; a test compares them with the table.
    for name, value in numbers(table):
        if name.startswith("ERROR_"):
            continue
        sizes = ("SESSION_", "FIELD_", "MAX_", "INPUT_")
        kind = "usize" if name.startswith(sizes) else "u32"
        lines.append(f"pub const {name}: {kind} = {value};")
    lines += [f"pub const {name}: i32 = {value};" for name, value in answers(table)]
    kinds = [f'    ("{name}", {value}),' for name, (value, _) in table["error_kinds"].items()]
    lines += ["", "/// Names and numbers of the error kinds, for the test that compares them."]
    lines += ["#[cfg(test)]", f"pub const ERROR_KINDS: [(&str, u32); {len(kinds)}] = [", *kinds]
    lines += ["];", ""]
    return "\n".join(lines)


def python(table: Table) -> str:
    lines = [
        '"""The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
    ]
    lines += [f"{name}: Final = {value}" for name, value in (*numbers(table), *answers(table))]
    lines += ["", "ERROR_KINDS: Final[dict[int, str]] = {"]
    lines += [f'    {value}: "{name}",' for name, (value, _) in table["error_kinds"].items()]
    lines += [
        "}",
        "",
        "# Name of each function: how many i32 it takes, how many it answers.",
        "FUNCTIONS: Final[dict[str, tuple[int, int]]] = {",
    ]
    for function in table["functions"]:
        shape = (len(function["params"]), int(bool(function["answers"])))
        lines.append(f'    "{function["name"]}": {shape},')
    lines += ["}", ""]
    return "\n".join(lines)


WRITTEN_BY = "The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead."


def javascript(table: Table) -> str:
    lines = [f"// {WRITTEN_BY}", ""]
    lines += [f"export const {name} = {value};" for name, value in _all(table)]
    lines += ["", "export const ERROR_KINDS = {"]
    lines += [f'  {value}: "{name}",' for name, (value, _) in table["error_kinds"].items()]
    return "\n".join([*lines, "};", ""])


def go(table: Table) -> str:
    named = list(_all(table))
    width = max(len(_camel(name)) for name, _ in named)
    lines = [f"// {WRITTEN_BY}", "", "package pywasmtok", "", "const ("]
    lines += [f"\t{_lower(_camel(name)):{width}} = {value}" for name, value in named]
    kinds = [(f"Kind{_camel(name)}", name, value) for name, (value, _) in table["error_kinds"].items()]
    width = max(len(constant) for constant, _, _ in kinds)
    lines += [")", "", "// What an error may be; docs/abi.md says what each means.", "const ("]
    lines += [f'\t{constant:{width}} Kind = "{name}"' for constant, name, _ in kinds]
    lines += [")", "", "var errorKinds = map[uint32]Kind{"]
    # gofmt lines the values up behind the longest key.
    wide = max(len(str(value)) for _, _, value in kinds)
    for constant, _, value in kinds:
        lines.append(f'\t{value}:{" " * (wide - len(str(value)))} {constant},')
    return "\n".join([*lines, "}", ""])


def java(table: Table) -> str:
    lines = ["package pywasmtok;", "", "import java.util.Map;", "", f"/** {WRITTEN_BY} */"]
    lines += ["final class Abi {", "    private Abi() {}", ""]
    lines += [f"    static final int {name} = {value};" for name, value in _all(table)]
    lines += ["", "    static final Map<Integer, Kind> ERROR_KINDS = Map.ofEntries("]
    kinds = table["error_kinds"].items()
    entries = [f"            Map.entry({value}, Kind.{name.upper()})" for name, (value, _) in kinds]
    return "\n".join([*lines, ",\n".join(entries) + ");", "}", ""])


def java_kinds(table: Table) -> str:
    own = {
        "host": "a module that this host cannot work with",
        "trap": "a call that ended in a trap: its tokenizer is lost",
    }
    kinds = {name: text for name, (_, text) in table["error_kinds"].items()} | own
    lines = ["package pywasmtok;", "", "/** What an error may be. Written by tools/build/abi_constants.py. */"]
    lines += ["public enum Kind {"]
    entries = [f"    /** {_sentence(text)} */\n    {name.upper()}" for name, text in kinds.items()]
    return "\n".join([*lines, ",\n".join(entries), "}", ""])


def _all(table: Table) -> Iterator[tuple[str, int]]:
    yield from numbers(table)
    yield from answers(table)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.lower().split("_"))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


def markdown(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def docs_tables(table: Table) -> dict[str, str]:
    def functions() -> Iterator[tuple[str, str, str]]:
        for function in table["functions"]:
            call = f"`{function['name']}({', '.join(function['params'])})`"
            yield call, function["does"], function["answers"]

    def group(name: str) -> str:
        rows = ((f"`{key}`", value, text) for key, (value, text) in table[name].items())
        return markdown(("name", "value", "meaning"), rows)

    fields = (
        (index, 4 * index, f"`{name}`", text)
        for index, (name, text) in enumerate(table["session"].items())
    )
    limits = ((f"`{name}`", table[name]) for name in ("version", *LIMITS))
    return {
        "functions": markdown(("function", "does", "answers"), functions()),
        "session": markdown(("index", "byte", "field", "meaning"), fields),
        "limits": markdown(("name", "value"), limits),
        **{name: group(name) for name in ("answers", *(name for name, _ in GROUPS))},
    }


def docs(tables: dict[str, str], text: str) -> str:
    """The page with each table between its markers replaced."""
    for name, content in tables.items():
        begin, end = f"<!-- table: {name} -->", f"<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{DOCS.name}: needs one pair of markers {begin} {end}")
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n{content}\n{end}{after}"
    return text


def outputs() -> dict[Path, str]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    template = tomllib.loads(TEMPLATE_TABLE.read_text(encoding="utf-8"))
    page = DOCS.read_text(encoding="utf-8")
    rows = template_constants.docs_rows(template).items()
    tables = docs_tables(table) | {name: markdown(*one) for name, one in rows}
    return {
        RUST: rust(table),
        PYTHON: python(table),
        DOCS: docs(tables, page),
        JAVASCRIPT: javascript(table),
        GO: go(table),
        JAVA: java(table),
        JAVA_KINDS: java_kinds(table),
        TEMPLATE_RUST: template_constants.rust(template),
        TEMPLATE_PYTHON: template_constants.python(template),
        TEMPLATE_JAVASCRIPT: template_constants.javascript(template),
    }


def stale() -> list[Path]:
    """The files that differ from what the table says."""
    return [
        path
        for path, text in outputs().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(argv)
    drifted = stale()
    if options.check:
        for path in drifted:
            print(f"{path.relative_to(ROOT)} differs from abi.toml: python -m tools.build.abi_constants")
        return 1 if drifted else 0
    for path in drifted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(outputs()[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
