"""Names of models and encodings: a table that a user may extend, and the cache of tiktoken."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import small
from assets import ROOT, needs_assets
from hub_server import serving_files

import pywasmtok
from pywasmtok.loading.sources import Request
from pywasmtok.loading.sources.names import builtin_table, find_rule
from pywasmtok.loading.sources.ranks.encodings import ENCODINGS, ENDPOINT

CACHE = ROOT / "tiktoken-cache"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The cache that comes with the real files; and a current folder without a pyproject.toml."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(CACHE))
    monkeypatch.chdir(tmp_path)


def source_of(name: str, **request: object) -> str | None:
    rule = find_rule(name, Request(**request))  # type: ignore[arg-type]
    return None if rule is None else rule.source


OF_OTHERS = ("turbo", "codex", "edit", "*-davinci-edit-*", "code-davinci-*", "code-cushman-*")


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("turbo", "cl100k_base"),
        ("gpt-3.5-turbo-16k", "cl100k_base"),
        ("codex", "p50k_base"),
        ("code-davinci-003", "p50k_base"),
        ("code-cushman-003", "p50k_base"),
        ("edit", "p50k_edit"),
        ("text-davinci-edit-002", "p50k_edit"),
        ("code-davinci-edit-002", "p50k_edit"),
        ("text-davinci-003", "p50k_base"),
        ("davinci", "r50k_base"),
    ],
)
def test_names_that_other_routers_take(name: str, encoding: str) -> None:
    assert source_of(name) == encoding


def test_the_table_says_what_tiktoken_says() -> None:
    model = pytest.importorskip("tiktoken.model")
    table = dict(builtin_table().rules)
    more = {name: source for name, source in table.items() if name in OF_OTHERS}
    assert list(table)[-len(OF_OTHERS) :] == list(more) == list(OF_OTHERS)
    for name in more:
        del table[name]
    exact = {name: table[name] for name in table if "*" not in name}
    assert exact == model.MODEL_TO_ENCODING
    prefixes = {name.removesuffix("*"): table[name] for name in table if "*" in name}
    assert list(prefixes.items()) == list(model.MODEL_PREFIX_TO_ENCODING.items())
    for name in ("gpt-4o-mini", "gpt-4-32k", "ft:gpt-4o:x", "ft:gpt-4:x", "gpt-5.1", "o1-preview"):
        assert source_of(name) == model.encoding_name_for_model(name)


def test_a_user_adds_to_the_table_and_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source_of("mine") is None
    assert source_of("mine", model_map={"mine": "cl100k_base"}) == "cl100k_base"
    # A name that is spelled out counts before a pattern, a pattern before the tables behind.
    both = {"gpt-*": "first", "gpt-4o": "second"}
    assert source_of("gpt-4o", model_map=both) == "second"
    assert source_of("gpt-4", model_map=both) == "first"
    assert source_of("o1", model_map=both) == "o200k_base"
    assert source_of("o1", model_map={**both, "replace": True}) is None

    file = tmp_path / "models.toml"
    file.write_text('[models]\n"gpt-4o" = "from the file"\n')
    assert source_of("gpt-4o", model_map=file) == "from the file"
    monkeypatch.setenv("PYWASMTOK_MODEL_MAP", str(file))
    assert source_of("gpt-4o") == "from the file"
    assert source_of("gpt-4o", model_map=both) == "second"
    monkeypatch.delenv("PYWASMTOK_MODEL_MAP")

    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.pywasmtok.model_map]\n"gpt-4o" = "from the project"\n')
    assert source_of("gpt-4o") == "from the project"
    project.write_text("[tool.other]\n[broken")
    assert source_of("gpt-4o") == "o200k_base"


def test_a_table_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "models.toml"
    for content in ("models = 3", "[models]\nx = 3", "not toml"):
        file.write_text(content)
        with pytest.raises(pywasmtok.TokenizerError, match=r"models\.toml"):
            pywasmtok.create_tokenizer("gpt-4o", model_map=file)
    monkeypatch.setenv("PYWASMTOK_MODEL_MAP", str(tmp_path / "absent.toml"))
    with pytest.raises(pywasmtok.SourceNotFound, match="PYWASMTOK_MODEL_MAP"):
        pywasmtok.create_tokenizer("gpt-4o")


def test_a_rule_may_lead_to_a_path_and_to_another_name(tmp_path: Path) -> None:
    path = small.write(tmp_path)
    table = {"alias": "model", "model": str(path), "loop": "loop", "a": "b", "b": "a"}
    tok = pywasmtok.create_tokenizer("alias", model_map=table)
    assert tok.source == f"alias (model ({path}))"
    assert tok.encode("Hello").tokens == ["<s>", "Hello"]
    for name in ("loop", "a"):
        with pytest.raises(pywasmtok.SourceNotFound):
            pywasmtok.create_tokenizer(name, model_map=table)


def test_what_exists_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "gpt-4o").mkdir()
    (tmp_path / "gpt-4o" / "tokenizer.json").write_bytes(small.file())
    (tmp_path / "gpt2").write_bytes(small.file())
    for name in ("gpt-4o", "gpt2"):
        assert pywasmtok.create_tokenizer(name).vocab_size == 270


def test_names_that_are_close_are_named() -> None:
    with pytest.raises(pywasmtok.SourceNotFound, match="Did you mean gpt-4o"):
        pywasmtok.create_tokenizer("gtp-4o")


PUBLISHED = {
    name: f"/{published.address.split('/', 3)[3]}" for name, published in ENCODINGS.items()
}


def kept_as(name: str) -> str:
    return hashlib.sha1(ENCODINGS[name].address.encode()).hexdigest()


def without_tiktoken(code: str, **environment: str) -> str:
    """What another process prints, in which tiktoken is not installed."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['tiktoken'] = None\n{code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "no_proxy": "127.0.0.1", **environment},
    )
    return done.stdout.strip()


@needs_assets
@pytest.mark.parametrize("name", ENCODINGS)
def test_a_rank_file_is_downloaded_once_and_kept_as_tiktoken_keeps_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "new" / "cache"
    code = (
        "import pywasmtok\n"
        f"tok = pywasmtok.create_tokenizer({name!r}, decoder='core')\n"
        "print(tok.source, *tok.encode('Hello world <|endoftext|>', special='none'))"
    )
    data = (CACHE / kept_as(name)).read_bytes()
    with serving_files({PUBLISHED[name]: data}) as server:
        settings = {ENDPOINT: f"{server.address}/", "TIKTOKEN_CACHE_DIR": str(cache)}
        printed = without_tiktoken(code, **settings)
        assert without_tiktoken(code, **settings) == printed
        assert server.fetched == [PUBLISHED[name]]
    # What has no server any more is in the cache, under the one name that tiktoken looks for.
    assert without_tiktoken(code, **settings) == printed
    assert [path.name for path in cache.iterdir()] == [kept_as(name)]
    tiktoken = pytest.importorskip("tiktoken")
    ids = tiktoken.get_encoding(name).encode_ordinary("Hello world <|endoftext|>")
    assert printed.split() == [name, *map(str, ids)]


@needs_assets
def test_tiktoken_finds_what_was_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = pytest.importorskip("tiktoken.load")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    data = (CACHE / kept_as("cl100k_base")).read_bytes()
    with serving_files({PUBLISHED["cl100k_base"]: data}) as server:
        monkeypatch.setenv(ENDPOINT, server.address)
        pywasmtok.create_tokenizer("gpt-4", encoder="core", decoder="core")
    monkeypatch.setattr(load, "read_file", None)
    published = ENCODINGS["cl100k_base"]
    assert load.read_file_cached(published.address, published.sha256) == data


@needs_assets
@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        ({"TIKTOKEN_CACHE_DIR": "first", "DATA_GYM_CACHE_DIR": "second"}, "first"),
        ({"DATA_GYM_CACHE_DIR": "second"}, "second"),
        ({}, "data-gym-cache"),
        ({"TIKTOKEN_CACHE_DIR": "", "DATA_GYM_CACHE_DIR": "second"}, None),
    ],
)
def test_the_folders_of_the_cache(
    settings: dict[str, str], folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    with serving_files({PUBLISHED["gpt2"]: (CACHE / kept_as("gpt2")).read_bytes()}) as server:
        monkeypatch.setenv(ENDPOINT, server.address)
        assert pywasmtok.create_tokenizer("gpt2").vocab_size == 50257
    written = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert written == ([] if folder is None else [f"{folder}/{kept_as('gpt2')}"])


@needs_assets
def test_a_folder_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving_files({PUBLISHED["gpt2"]: (CACHE / kept_as("gpt2")).read_bytes()}) as server:
        monkeypatch.setenv(ENDPOINT, server.address)
        assert pywasmtok.create_tokenizer("gpt2").vocab_size == 50257
    assert "Cannot keep" in caplog.text


def test_a_file_that_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    where = f"Fetch {ENCODINGS['o200k_base'].address} elsewhere and store it as {tmp_path}"
    for offline, error, says in (
        (True, pywasmtok.SourceNotFound, "switched off"),
        (False, pywasmtok.LoadError, "cannot download http://127.0.0.1:9/encodings/o200k_base"),
    ):
        with pytest.raises(error, match=says) as caught:
            pywasmtok.create_tokenizer("gpt-4o", offline=offline)
        assert f"{where}/{kept_as('o200k_base')}" in str(caught.value)


@pytest.mark.parametrize(
    ("served", "says"),
    [
        ({}, "404"),
        ({PUBLISHED["o200k_base"]: b"IQ== 0\n"}, "is not the published file"),
        ({PUBLISHED["o200k_base"]: b"IQ== 0\n" * (1 << 21)}, "larger than"),
    ],
)
def test_what_is_downloaded_is_not_believed(
    served: dict[str, bytes], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    # A damaged file is none.
    kept = tmp_path / kept_as("o200k_base")
    kept.write_bytes(b"damaged")
    with serving_files(served) as server:
        monkeypatch.setenv(ENDPOINT, server.address)
        with pytest.raises(pywasmtok.LoadError, match=says):
            pywasmtok.create_tokenizer("gpt-4o")
        assert server.fetched == [PUBLISHED["o200k_base"]]
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]
    assert kept.read_bytes() == b"damaged"


def test_a_server_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(pywasmtok.DeadlineExceeded):
            pywasmtok.create_tokenizer("gpt-4o", limits=pywasmtok.Limits(deadline=0.2))


def test_a_mirror_is_an_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(ENDPOINT, "file:///")
    with pytest.raises(pywasmtok.LoadError, match="no address of http"):
        pywasmtok.create_tokenizer("gpt-4o")


@needs_assets
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_is_tiktokens(name: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    theirs = tiktoken.get_encoding(name)
    tok = pywasmtok.create_tokenizer(name, encoder="core", decoder="core", offline=True)
    assert tok.source == name
    assert tok.format == "tiktoken"
    text = "Hello, wörld! 你好 <|endoftext|>\n\n  def f(x): return 1_000_000 'S\u017f"
    assert tok.encode(text, special="none").ids == theirs.encode_ordinary(text)
    assert tok.encode(text).ids == theirs.encode(text, allowed_special="all")
    assert tok.decode(tok.encode(text), skip_special_tokens=False) == text
    ids = [*theirs._mergeable_ranks.values()][::997] + list(theirs._special_tokens.values())[:50]
    for number in ids:
        token = tok.id_to_token(number)
        assert token is not None
        assert tok.token_to_id(token) == number
    assert tok.vocab_size == len(theirs._mergeable_ranks) + len(theirs._special_tokens)
    for special, number in theirs._special_tokens.items():
        assert tok.token_to_id(special) == number
    # The reference knows no id that it does not know.
    with pytest.raises(pywasmtok.InvalidToken):
        tok.decode([0, theirs.n_vocab + 5])
    assert tok.decode([0, theirs.n_vocab + 5], unknown_id="skip") == "!"
    assert tok.decode([0, theirs.n_vocab + 5], unknown_id="replace") == "!\N{REPLACEMENT CHARACTER}"
