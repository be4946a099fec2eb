"""Text that people wrote, out of packages: what is cleaned, what comes once, what is warned of."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tomllib
from pathlib import Path

import pytest

from tools.bench.corpus import __main__ as corpus
from tools.bench.corpus.cleaning import cleaned

RECIPE = """\
[sha256]
en = ""

[kinds]
en = [
    { npm = "a", version = "", files = ["package/*.txt", "package/*.html"] },
    { npm = "b", version = "2.0", files = ["*.gz"] },
]
"""
LICENCE = "Permission is hereby granted, free of charge, to all who read this.\n"
ESSAY = "A sentence that is long enough to be counted as a paragraph.\n"


def pack(folder: Path, name: str, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{name}.tgz", "w:gz") as archive:
        for path, data in files.items():
            one = tarfile.TarInfo(f"package/{path}")
            one.size = len(data)
            archive.addfile(one, io.BytesIO(data))


def test_a_recipe_gives_the_same_text_each_time_and_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.replace('version = ""', 'version = "1.0"'), encoding="utf-8")
    monkeypatch.setattr(corpus, "RECIPE", recipe)
    store = tmp_path / "out" / "packages"
    page = (
        b"<head><title>no</title></head><p>A page with &lt;signs&gt; and a good many more words</p>"
    )
    first = {"x.txt": f"{LICENCE}\n{ESSAY}".encode(), "skipped.md": b"not this", "y.html": page * 3}
    other = gzip.compress(f"{LICENCE}\nOther words of b, and not too few of them.\n".encode())
    pack(store, "a-1.0", first)
    pack(store, "b-2.0", {"z.txt.gz": other})

    def run(*more: str) -> tuple[int, str, str]:
        status = corpus.main([str(tmp_path / "out"), *more])
        text = (tmp_path / "out" / "en.txt").read_text(encoding="utf-8")
        return status, text, capsys.readouterr().err

    status, text, said = run("en")
    assert status == 0
    assert text.count(LICENCE) == text.count(ESSAY) == 1
    assert text.count("A page with <signs> and a good many more words") == 1
    assert "Other words of b" in text
    assert "not this" not in text
    assert "warning: en: the recipe is of other text" in said
    assert run("--update")[1] == text
    assert "warning" not in run()[2]
    (store / "b-2.0.tgz").unlink()
    pack(store, "b-2.0", {"z.txt": b"nothing that the recipe names"})
    status, _, said = run()
    assert status == 1
    assert "b-2.0.tgz has no text where the recipe looks" in said


def test_the_recipe_names_versions_and_hashes() -> None:
    recipe = tomllib.loads(corpus.RECIPE.read_text(encoding="utf-8"))
    assert recipe["sha256"].keys() == recipe["kinds"].keys()
    assert all(len(digest) == 64 for digest in recipe["sha256"].values())
    for packages in recipe["kinds"].values():
        assert all(corpus.package_name(one) and one["version"] and one["files"] for one in packages)


def test_what_is_no_text_is_left_out() -> None:
    assert cleaned("a.txt", b"\xff\xfe") == ""
    page = b'.\\" no\n.SH NAME\n\\fBls\\fR \\- list\n.so x'
    assert cleaned("usr/share/man/man1/a.1", page) == "\nNAME\nls - list"
    mail = "From: A <a@b.c>\nSubject: Hi\nX-No: no\n\nHello.\n"
    assert cleaned("a.eml", mail.encode()).endswith("Subject: Hi\n\nHello.\n")
    assert cleaned("a.txt", b"x `one` y `two` z", "quoted") == "one\n\ntwo"


def test_a_tool_of_an_agent_comes_once() -> None:
    entry = {"question": [[{"role": "user", "content": "go"}]], "function": [{"name": "f"}]}
    lines = "\n".join([json.dumps(entry), "no JSON", json.dumps(entry)])
    bodies = cleaned("a.json", lines.encode(), "conversations").split("\n\n")
    assert [json.loads(body)["tools"] for body in bodies] == [[{"name": "f"}], []]
