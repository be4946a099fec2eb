"""The command as it is typed: what it prints, what it writes, how it ends."""

from __future__ import annotations

import gzip
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from bench.fakes import record, row
from pywasmtok._host import builds
from pywasmtok.bench import names
from pywasmtok.bench.groups import GROUPS
from pywasmtok.bench.inputs.texts import CORPORA
from pywasmtok.bench.libraries.chat_libraries import NAMES as CHAT_LIBRARIES
from pywasmtok.bench.libraries.peers import PEERS
from pywasmtok.bench.record import schema
from pywasmtok.cli import bench as command
from pywasmtok.cli.main import main
from pywasmtok.cli.options.tree import whole
from tools.bench import records as bench_records


def test_a_quick_run_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: str(tmp_path / name) for name in ("json", "markdown", "plots")}
    options = ["--quick", "--groups", "encode,latency", "--corpora", "zhja", "--sizes", "200,2000"]
    outputs = [part for name, path in files.items() for part in (f"--{name}", path)]
    status = main(["bench", *options, "--only", "portable,twin,hf", *outputs])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert "demo: encode (1 of 2)" in printed.err
    assert "demo: encode: throughput (MB/s, wall time)" in printed.out
    document = json.loads(Path(files["json"]).read_text(encoding="utf-8"))
    jsonschema.validate(document, schema())
    assert [group["group"] for group in document["groups"]] == ["encode", "latency"]
    assert document["tokenizers"][0]["name"] == "demo"
    keys = {
        (one["library"], one["case"]["bytes"], one["case"].get("state")) for one in document["rows"]
    }
    assert ("hf", 200, "repeated") in keys
    assert ("portable", 2000, "fresh") in keys
    assert "| generated zhja | 2 KB |" in Path(files["markdown"]).read_text(encoding="utf-8")
    drawn = sorted(path.name for path in Path(files["plots"]).iterdir())
    assert drawn == ["demo-latency.svg", "demo-length-buffer.svg", "demo-length-list.svg"]
    for name in drawn:
        ET.parse(Path(files["plots"]) / name)
    assert main(["bench", "--show", files["json"]]) == 0
    assert "demo: encode: throughput (MB/s, wall time)" in capsys.readouterr().out
    assert main(["bench", "--compare", files["json"], files["json"]]) == 0
    assert ", 0 changed by more than noise" in capsys.readouterr().out


def test_text_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    record = str(tmp_path / "record.json")
    options = ["--quick", "--groups", "encode", "--only", "portable", "--sizes", "200"]
    (mine / "short.txt").write_text("too short\n", encoding="utf-8")
    assert main(["bench", *options, "--text", str(mine)]) == 2
    said = capsys.readouterr().err
    assert "10 bytes of text are too few: these groups and sizes need 28000" in said
    (mine / "no-text").write_bytes(b"ab\xff")
    assert main(["bench", *options, "--text", str(mine / "no-text")]) == 2
    assert "no UTF-8 at byte 2" in capsys.readouterr().err
    (mine / "no-text").unlink()
    words = "".join(f"word {number} of mine\n" for number in range(2_000))
    (mine / "code.txt.gz").write_bytes(gzip.compress(words.encode()))
    both = ["--text", str(mine / "code.txt.gz"), f"my kind={mine}", "--json", record]
    assert main(["bench", *options, *both]) == 0
    printed = capsys.readouterr().out
    assert "code     200 B  buffer  fresh" in printed
    assert "my kind  200 B  list    repeated" in printed
    assert "generated" not in printed.replace("`generated`", "")
    document = json.loads(Path(record).read_text(encoding="utf-8"))
    assert [(text["name"], text["bytes"] > 28_000) for text in document["texts"]] == [
        ("code", True),
        ("my kind", True),
    ]


def test_a_run_goes_on_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "record.json"
    options = ["--quick", "--only", "portable", "--json", str(path), "--resume"]
    options += ["--groups", "latency,decode"]
    assert main(["bench", *options]) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    document["groups"][1]["failure"] = "was interrupted"
    document["rows"][0]["samples"] = [17]
    path.write_text(json.dumps(document), encoding="utf-8")
    capsys.readouterr()
    assert main(["bench", *options]) == 0
    said = capsys.readouterr().err
    assert "demo: decode (2 of 2)" in said
    assert "demo: latency" not in said
    resumed = json.loads(path.read_text(encoding="utf-8"))
    assert [(one["group"], one["failure"]) for one in resumed["groups"]] == [
        ("latency", None),
        ("decode", None),
    ]
    assert resumed["rows"][0]["samples"] == [17]
    assert len(resumed["rows"]) == len(document["rows"])
    assert main(["bench", *options, "--seed", "2"]) == 2
    assert "the record is of another run: not the same plan" in capsys.readouterr().err


def test_wrong_ids_of_ours_end_it_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "record.json")
    record([row("portable", 1.0), row("peer", 1.0, ids="wrong")]).write(path)
    assert main(["bench", "--show", path]) == 0
    record([row("portable", 1.0, ids="wrong"), row("hf", 1.0)]).write(path)
    assert main(["bench", "--show", path]) == 1
    assert "not the reference's answers: portable" in capsys.readouterr().err


def test_files_stay_until_the_new_ones_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "record.json", tmp_path / "tables.md"
    record([row("portable", 1.0)]).write(str(path))
    page.write_text("earlier")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        record([row("portable", 2.0)]).write(str(path))
    monkeypatch.setattr("pywasmtok.cli.main.drop", lambda stream: None)
    assert main(["bench", "--show", str(path), "--markdown", str(page)]) == 5
    assert "No space" in capsys.readouterr().err
    assert (path.read_bytes(), page.read_text()) == (before, "earlier")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "options",
    [
        ["--show", "no-such-record.json"],
        ["--quick", "--json", "no/such/folder/record.json"],
        ["--quick", "-t", "no-such-file.json.xz"],
        ["--quick", "-t", "no-such-folder/tokenizer.json"],
    ],
)
def test_errors_are_one_line(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *options]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("pywasmtok: ")
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--groups", "nonsense"],
        ["--groups", ""],
        ["--only", "nonsense"],
        ["--only", "baseline"],
        ["--builds", "", "--only", "twin"],
        ["--builds", "nonsense"],
        ["--rounds", "0"],
        ["--rounds=-3"],
        ["--rounds", "1,2"],
        ["--sizes", "0"],
        ["--corpora", "x"],
        ["--threads", "a"],
        ["--text", "x"],
        ["--text", __file__, __file__],
        ["--resume"],
    ],
)
def test_wrong_usage(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *options]) == 2
    assert capsys.readouterr().err


def test_help_names_every_group(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in GROUPS)
    assert (list(names.GROUPS), list(names.CORPORA)) == (list(GROUPS), list(CORPORA))
    assert set(names.BUILDS) == set(builds())
    assert set(names.LIBRARIES) | {names.TWIN} == {*PEERS, *CHAT_LIBRARIES, "hf-fast"}
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "bench" in capsys.readouterr().out


def test_two_tokenizers_never_share_a_name(tmp_path: Path) -> None:
    files = command._read_all(["builtin:demo", "builtin:demo"], tmp_path)
    assert [file.name for file in files] == ["demo", "demo-2"]


def test_the_records_of_the_project_are_runs_of_this_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def note(arguments: list[str]) -> int:
        commands.append(arguments)
        return 0

    monkeypatch.setattr(bench_records, "bench", note)
    assert bench_records.main(["--quick", "--out", str(tmp_path)]) == 0
    assert len(commands) == len(bench_records.RUNS)
    for arguments in commands:
        options = whole().parse_args(["bench", *arguments])
        assert options.quick
        assert options.tokenizer
        assert options.json.endswith(".json")
        assert not any(Path(source).is_absolute() for source in options.tokenizer)
