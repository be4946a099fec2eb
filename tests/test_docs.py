"""The documentation says what is true: examples run, versions agree, links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pywasmtok.bench.json_text import json_text
from pywasmtok.bench.record import SCHEMA

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
# The folders that people and build machines work in; in brackets, so that this line has none.
MACHINE_PATH = re.compile(r"(?<![\w.$}*])/(?:[o]pt/wt|[w]ork/|[r]oot/|[h]ome/|[U]sers/)")
SKIPPED = {".venv", "target", "node_modules"}


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode != 0:
        # Not a clone: a copy of the sources.
        return [path for path in ROOT.rglob("*.md") if SKIPPED.isdisjoint(path.parts)]
    names = listing.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


FILES = tracked_files()
PAGES = [path for path in FILES if path.suffix == ".md"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def fenced(name: str, language: str) -> list[str]:
    return [body for kind, body in FENCED.findall(read(name)) if kind == language]


def version() -> str:
    return str(tomllib.loads(read("pyproject.toml"))["project"]["version"])


def test_readme_example_runs() -> None:
    (example,) = fenced("README.md", "python")
    run = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "Hello, world!"


def test_the_examples_of_streaming_run() -> None:
    lines = run_examples_of("docs/streaming.md")
    assert lines[0] == "naïve 🌶 text"
    assert lines[1].startswith("Hello world 2 ")
    assert lines[2].startswith("Well, yes!Matched(kind='string', id=None, string='!'")


def test_the_examples_of_chat_run() -> None:
    lines = run_examples_of("docs/chat.md")
    assert lines[0].startswith("a user's word came out bare: as a string yes")
    assert "SessionStats(calls=2, whole=1" in lines[1]


def test_the_examples_for_users_of_other_layers_run() -> None:
    assert run_examples_of("docs/coming-from-other-layers.md") == [
        "True True",
        "['Hello', ' world', ' test', ' token'] ''",
        "Text(text='Hello')",
        "Text(text=' world')",
        "StoppedWithText(text=' ')",
        "Hello, world!",
        "user: Hello;",
    ]


def test_the_examples_for_users_of_tiktoken_run() -> None:
    assert run_examples_of("docs/compat-tiktoken.md") == [
        "[259, 260, 33]",
        "[259, 261]",
        "14",
        "Encountered text corresponding to disallowed special token '<|endoftext|>'.",
        "('hello hello', [0, 5])",
        "([259], [[32, 256], [32, 258], [260]])",
    ]


def test_the_example_of_the_drop_in_for_tokenizers_runs() -> None:
    assert run_examples_of("docs/compat-tokenizers.md") == [
        "6 [1, 1, 1, 1, 0, 0]",
        "[0, 1] True",
        "1 <note>",
        "True",
    ]


def test_the_example_of_the_drop_in_for_transformers_runs() -> None:
    pytest.importorskip("transformers")
    assert run_examples_of("docs/compat-transformers.md") == [
        "Backend(name='core', reason=None)",
        "ndarray 0",
        "core",
        "core Hello, world!",
    ]


def test_the_examples_of_arrow_run() -> None:
    for name in ("pyarrow", "polars", "pandas", "datasets"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install {name}")
    lines = run_examples_of("docs/arrow.md")
    assert lines[:3] == [
        "list<item: uint32> 1",
        "List(UInt32) 1",
        "list<item: uint32>[pyarrow] 1",
    ]
    assert "uint32" in lines[3]
    assert lines[4:] == ["4", "list<item: uint32> uint32 2", "List(UInt32)"]


def run_examples_of(page: str) -> list[str]:
    example = "\n".join(fenced(page, "python"))
    run = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_the_examples_of_special_tokens_say_what_the_page_says() -> None:
    segments, refused = fenced("docs/special-tokens.md", "python")
    for example, shown in ((segments, "2 of 3"), (refused, "True 7 6")):
        run = subprocess.run(
            [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.rstrip() == shown
        assert f"It prints `{shown}`" in read("docs/special-tokens.md")


def test_readme_has_the_two_commands() -> None:
    first, second = fenced("README.md", "sh")
    assert "pip install ." in first
    assert first.rstrip().splitlines()[-1].startswith(".venv/bin/pywasmtok encode ")
    assert "pip install '.[test]'" in second
    assert second.rstrip().endswith("pytest -n auto")


def test_versions_agree() -> None:
    import pywasmtok

    workspace = tomllib.loads(read("wasm-core/Cargo.toml"))["workspace"]
    newest = re.search(r"^## \[([^\]]+)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert newest is not None
    assert {version()} == {
        pywasmtok.__version__,
        workspace["package"]["version"],
        newest[1],
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    targets = [target.partition("#")[0] for target in LINK.findall(text)]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_to_headings_lead_to_headings(page: Path) -> None:
    missing = []
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = link.partition("#")
        if anchor and "://" not in link:
            text = (page.parent / target if target else page).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            missing += [link] if anchor not in anchors else []
    assert missing == []


def test_headings_that_the_pages_quote_exist() -> None:
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        for target, title in re.findall(r"\]\(([\w/.-]+\.md)\), \"([^\"]+)\"", text):
            assert f"# {title}\n" in (page.parent / target).read_text(encoding="utf-8"), title
            found += 1
    assert found


def test_the_steps_that_a_contributor_reads_are_those_of_the_checks() -> None:
    part = read("CONTRIBUTING.md").partition("\n## Sending a fix\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`\w+`.*?) \|", part, re.MULTILINE)
    named = {"prepare"}.union(*(re.findall(r"`(\w+)`", cell) for cell in cells))
    steps = re.search(r"^ALL_STEPS=\(([^)]*)\)", read(".ci/run"), re.MULTILINE)
    assert steps is not None
    assert named == set(steps[1].split())


def test_every_page_is_in_the_index_once() -> None:
    index = read("docs/README.md")
    found = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    pages = {name for name in found if not name.startswith("records/")} - {"README.md"}
    assert {name: index.count(f"({name})") for name in pages} == dict.fromkeys(pages, 1)


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/rationale").glob("*.md")), ids=lambda page: page.stem
)
def test_decisions_are_short_and_complete(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    entries = re.findall(r"^### (.+)\n((?:(?!#).*\n)*)", text, re.MULTILINE)
    assert entries
    lines = {title: len([line for line in body.split("\n") if line]) for title, body in entries}
    assert {title for title, count in lines.items() if count > 12} == set()
    parts = ("- **Choice**: ", "- **Reason**: ", "- **Would change it**: ")
    assert [title for title, body in entries if any(part not in body for part in parts)] == []


def test_the_glossary_names_what_exists() -> None:
    rows = re.findall(r"^\| ([a-z].*?) \| .* \| (.*) \|$", read("docs/glossary.md"), re.MULTILINE)
    terms = [term for term, _ in rows if term != "term"]
    assert 10 < len(terms) <= 30
    assert terms == sorted(terms)
    files = re.findall(r"`([\w./-]+/[\w./-]*)`", read("docs/glossary.md"))
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_folders_that_the_architecture_names_exist() -> None:
    page = read("docs/architecture.md")
    named = re.findall(r"`((?:pywasmtok|wasm-core|conformance|hosts|tools)/[\w./-]*)`", page)
    assert len(named) > 20
    assert [file for file in named if not (ROOT / file).exists()] == []


def test_tools_that_the_docs_name_exist() -> None:
    """The suite has tools of its own, which its pages speak of."""
    found = 0
    # A record names the command of its day.
    for page in (page for page in PAGES if "records" not in page.parts):
        named = set(re.findall(r"python -m (tools(?:\.\w+)+)", page.read_text(encoding="utf-8")))
        root = ROOT / "conformance" if "conformance" in page.parts else ROOT
        paths = [path.relative_to(root) for path in (root / "tools").rglob("*.py")]
        files = {".".join(path.with_suffix("").parts) for path in paths}
        files |= {name.removesuffix(".__main__") for name in files}
        assert named - files == set(), page
        found += len(named)
    assert found


@pytest.mark.parametrize("page", ["docs/differences-from-hf.md", "docs/rationale/host.md"])
def test_tests_that_the_docs_name_exist(page: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)", read(page))
    assert named
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in read(file)]
    assert missing == []


def test_every_difference_names_its_test() -> None:
    rows = re.findall(r"^\| (?!what |---).*\|$", read("docs/differences-from-hf.md"), re.MULTILINE)
    assert len(rows) > 5
    assert [row for row in rows if "::test_" not in row.split(" | ")[-1]] == []


def test_demo_is_what_its_readme_describes() -> None:
    import hashlib
    import lzma

    packed = (ROOT / "pywasmtok/data/demo.tokenizer.json.xz").read_bytes()
    assert hashlib.sha256(lzma.decompress(packed)).hexdigest() in read("pywasmtok/data/README.md")


def test_no_file_names_somebodys_machine() -> None:
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in MACHINE_PATH.finditer(text)]
    assert found == []


def test_records_have_a_line_for_what_fits_into_one() -> None:
    """As the tools write them, and `pywasmtok bench` those with rows."""
    for path in sorted((ROOT / "docs/records").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        record = json.loads(text)
        if record.get("schema") != SCHEMA:
            assert text == json_text(record) + "\n", path.name
