"""What `tools/build/abi_constants.py` writes for the renderer of chat templates, from its own table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Table = dict[str, Any]
WRITTEN_BY = "Written by tools/build/abi_constants.py: change template/abi.toml instead."
TITLE = "The numbers of the ABI of the chat template renderer."
LIMITS = ("max_panic_text", "max_templates")
GROUPS = (("flags", "FLAG"), ("error_kinds", "ERROR"))
BLOCKS = (("header", "HEADER"), ("answer", "ANSWER"))


def numbers(table: Table) -> Iterator[tuple[str, int]]:
    yield "ABI_VERSION", table["version"]
    for name in LIMITS:
        yield name.upper(), table[name]
    for block, prefix in BLOCKS:
        yield f"{prefix}_WORDS", len(table[block])
        for index, name in enumerate(table[block]):
            yield f"{prefix}_{name.upper()}", index
    for group, prefix in GROUPS:
        for name, (value, _) in table[group].items():
            yield f"{prefix}_{name.upper()}", value


def rust(table: Table) -> str:
    lines = [f"//! {TITLE} {WRITTEN_BY}", ""]
    for name, value in numbers(table):
        kind = "u32" if name.startswith(("FLAG_", "ERROR_", "ABI_")) else "usize"
        lines.append(f"pub const {name}: {kind} = {value};")
    return "\n".join([*lines, ""])


def result(function: dict[str, Any]) -> str:
    """The type of what a function answers; empty: nothing."""
    answers = function["answers"]
    if not answers:
        return ""
    return "i64" if answers.startswith("packed") else "i32"


def python(table: Table) -> str:
    lines = [
        f'"""{TITLE}',
        "",
        WRITTEN_BY,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        *(f"{name}: Final = {value}" for name, value in numbers(table)),
        "",
        "ERROR_KINDS: Final[dict[int, str]] = {",
        *(f'    {value}: "{name}",' for name, (value, _) in table["error_kinds"].items()),
        "}",
        "",
        "# Name of each function: how many i32 it takes, and the type of what it answers.",
        "FUNCTIONS: Final[dict[str, tuple[int, str]]] = {",
    ]
    for function in table["functions"]:
        shape = f'({len(function["params"])}, "{result(function)}")'
        lines.append(f'    "{function["name"]}": {shape},')
    return "\n".join([*lines, "}", ""])


def javascript(table: Table) -> str:
    lines = [f"// {TITLE} {WRITTEN_BY}", ""]
    lines += [f"export const {name} = {value};" for name, value in numbers(table)]
    lines += ["", "export const ERROR_KINDS = {"]
    lines += [f'  {value}: "{name}",' for name, (value, _) in table["error_kinds"].items()]
    return "\n".join([*lines, "};", ""])


def docs_rows(table: Table) -> dict[str, tuple[tuple[str, ...], list[tuple[object, ...]]]]:
    """Header and rows of each table of the page."""
    functions: list[tuple[object, ...]] = [
        (f"`{one['name']}({', '.join(one['params'])})`", one["does"], one["answers"])
        for one in table["functions"]
    ]
    found: dict[str, tuple[tuple[str, ...], list[tuple[object, ...]]]] = {
        "template functions": (("function", "does", "answers"), functions)
    }
    for block, _ in BLOCKS:
        rows: list[tuple[object, ...]] = [
            (index, 4 * index, f"`{name}`", text)
            for index, (name, text) in enumerate(table[block].items())
        ]
        found[f"template {block}"] = (("index", "byte", "field", "meaning"), rows)
    for group, _ in GROUPS:
        rows = [(f"`{name}`", value, text) for name, (value, text) in table[group].items()]
        found[f"template {group}"] = (("name", "value", "meaning"), rows)
    limits: list[tuple[object, ...]] = [(f"`{one}`", table[one]) for one in ("version", *LIMITS)]
    found["template limits"] = (("name", "value"), limits)
    return found
