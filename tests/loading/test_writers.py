"""Tokenizers as files of other formats: exactly the same when read back, or refused by name."""

from __future__ import annotations

import base64
import errno
import json
import os
import random
import stat
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf_files
import nasty
import pytest
import sentencepiece
import small
import tiktoken
import tokenizers
from assets import SERVED, Asset, each_kind, needs_assets
from random_files import Maker
from sidebyside import difference, facts

import pywasmtok
from pywasmtok import _host
from pywasmtok.cli.main import main
from pywasmtok.loading.writers.plain import plain

DOCS = Path(__file__).parents[2] / "docs" / "formats.md"


def opened(path: Path, read_with: Mapping[str, Any]) -> pywasmtok.Tokenizer:
    return pywasmtok.create_tokenizer(path, encoder="core", decoder="core", **read_with)


def check_same(
    one: pywasmtok.Tokenizer, other: pywasmtok.Tokenizer, texts: list[str], end: int
) -> None:
    for text in texts:
        for special in (True, False):
            before, after = (tok.encode(text, "a pair", special) for tok in (one, other))
            assert difference(after, before) == {}, ascii(text)
            before, after = (tok.encode(text, add_special_tokens=special) for tok in (one, other))
            assert difference(after, before) == {}, ascii(text)
    for ids in nasty.id_lists("writers", 100, end):
        for skip in (True, False):
            assert other.decode(ids, skip, unknown_id="skip") == one.decode(
                ids, skip, unknown_id="skip"
            )


def texts_of(tok: pywasmtok.Tokenizer, count: int = 60) -> list[str]:
    return list(nasty.texts("writers", count, sorted(tok.special_tokens)[:20]))


def written(
    tmp_path: Path, data: bytes, to: str, name: str = "source", **options: Any
) -> tuple[pywasmtok.Tokenizer, Path, Mapping[str, Any]]:
    """Writes a file, and compares it with what it was made of."""
    source, out = tmp_path / name, tmp_path / f"out.{to}"
    source.write_bytes(data)
    done = pywasmtok.convert_tokenizer(source, out, **options)
    assert (done.format, done.differences, done.bytes) == (to, (), out.stat().st_size)
    assert done.read_with is not None
    one, other = opened(source, options), opened(out, done.read_with)
    check_same(one, other, texts_of(one), one.vocab_size + 50)
    return other, out, done.read_with


def refusal(tmp_path: Path, data: bytes, to: str, **options: Any) -> str:
    source, out = tmp_path / "source", tmp_path / f"out.{to}"
    source.write_bytes(data)
    out.write_bytes(b"there before")
    with pytest.raises(pywasmtok.Unsupported) as caught:
        pywasmtok.convert_tokenizer(source, out, **options)
    assert out.read_bytes() == b"there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, "source"]
    assert caught.value.source
    feature = caught.value.feature
    assert feature is not None
    assert feature.startswith(f"convert:{to}:")
    return feature.removeprefix(f"convert:{to}:")


# One form of a tokenizer.json for all that mean the same.


def said(tok: pywasmtok.Tokenizer, text: str, pair: str | None = None) -> Any:
    """All of an encoding, or the failure: random files fail on some texts."""
    try:
        return facts(tok.encode(text, pair))
    except pywasmtok.TokenizerError as failure:
        return failure.message


# HuggingFace is no judge here: of two added tokens that normalize to one text it takes any.
@pytest.mark.parametrize("seed", range(80))
def test_the_plain_form_means_the_same(seed: int, tmp_path: Path) -> None:
    data = Maker(seed).file()
    document = json.loads(_host.convert(data)[0])
    source, form = tmp_path / "tokenizer.json", tmp_path / "plain.json"
    source.write_bytes(data)
    try:
        one = opened(source, {})
    except pywasmtok.Unsupported:
        return
    # The effective ids, which stay what they are when the model's vocabulary grows.
    for token in document["added_tokens"]:
        token["id"] = one.token_to_id(token["content"])
    made = plain(document)
    form.write_bytes(encoded(made))
    other = opened(form, {})
    for text, pair in pairwise(nasty.texts(f"plain {seed}", 60, [])):
        assert said(other, text) == said(one, text), ascii(text)
        assert said(other, text, pair) == said(one, text, pair), ascii((text, pair))
    for ids in nasty.id_lists("plain", 50, one.vocab_size + 20):
        assert other.decode(ids, False) == one.decode(ids, False)
    assert plain(made) == made


def ranked(**changes: Any) -> dict[str, Any]:
    """Byte-level BPE as a rank file can say it: special tokens alone, no template."""
    whole = small.definition(post_processor=None)
    whole["added_tokens"] = [token for token in whole["added_tokens"] if token["special"]]
    return {**whole, **changes}


def encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize("seed", range(60))
def test_merges_that_can_be_used_are_kept(seed: int, tmp_path: Path) -> None:
    """Any list of merges: every way to put random tokens together, in any order."""
    dice = random.Random(seed)
    tokens = {"".join(dice.choices("abc", k=dice.randint(2, 5))) for _ in range(30)}
    vocab = {token: number for number, token in enumerate(["a", "b", "c", *sorted(tokens)])}
    splits = [(token[:at], token[at:]) for token in tokens for at in range(1, len(token))]
    merges = sorted(" ".join(pair) for pair in splits if vocab.keys() >= set(pair))
    dice.shuffle(merges)
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": seed % 2 == 0}
    source, form = tmp_path / "tokenizer.json", tmp_path / "plain.json"
    source.write_bytes(encoded(ranked(model=model, added_tokens=[], pre_tokenizer=None)))
    made = plain(json.loads(_host.convert(source.read_bytes())[0]))
    form.write_bytes(encoded(made))
    one, other = opened(source, {}), opened(form, {})
    assert len(made["model"]["merges"]) <= len(merges)
    for text in ("".join(dice.choices("abc", k=dice.randint(1, 30))) for _ in range(200)):
        assert other.encode(text).ids == one.encode(text).ids, text
    for token in vocab:
        assert other.encode(token).ids == one.encode(token).ids, token


def test_merges_that_are_never_used_are_left_out() -> None:
    whole = ranked()
    whole["model"]["vocab"] = {c: n for n, c in enumerate("abc")} | {"ab": 3, "bc": 4, "abc": 5}
    whole["model"]["merges"] = ["a b", "b c", "a bc", "ab c"]
    whole["added_tokens"] = []
    model = plain(json.loads(_host.convert(encoded(whole))[0]))["model"]
    assert model["merges"] == [["a", "b"], ["b", "c"], ["ab", "c"]]
    # Every token is merged from its own letters, so looking it up changes nothing.
    assert model["ignore_merges"]
    whole["model"]["merges"] = ["a b", "b c", "a bc"]
    model = plain(json.loads(_host.convert(encoded(whole))[0]))["model"]
    assert model["merges"] == [["a", "b"], ["b", "c"]]
    assert not model["ignore_merges"]


# Rank files.

IDLE = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}


def test_a_rank_file(tmp_path: Path) -> None:
    whole = ranked()
    tok, out, read_with = written(tmp_path, encoded(whole), "tiktoken")
    assert set(read_with) == {"pattern", "special_tokens"}
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in map(bytes.split, out.read_bytes().splitlines())
    }
    theirs = tiktoken.Encoding(
        "written",
        pat_str=read_with["pattern"],
        mergeable_ranks=ranks,
        special_tokens=dict(read_with["special_tokens"]),
    )
    for text in texts_of(tok):
        assert tok.encode(text).ids == theirs.encode(text, allowed_special="all"), ascii(text)


def test_a_step_that_does_nothing_is_no_obstacle(tmp_path: Path) -> None:
    written(tmp_path, encoded(ranked(post_processor=IDLE)), "tiktoken")


def nfkc() -> dict[str, Any]:
    return ranked(normalizer={"type": "NFKC"})


def templated() -> dict[str, Any]:
    return ranked(post_processor=small.definition()["post_processor"])


def with_added(**flags: Any) -> dict[str, Any]:
    whole = ranked()
    whole["added_tokens"][0] |= flags
    return whole


def out_of_order() -> dict[str, Any]:
    whole = ranked()
    whole["model"]["merges"].reverse()
    return whole


def digits() -> dict[str, Any]:
    return ranked(
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            ],
        }
    )


def own_pattern() -> dict[str, Any]:
    """Isolated matches, which the library of rank files would drop the rest of."""
    split = {"type": "Split", "pattern": {"Regex": r"\d"}, "behavior": "Isolated"}
    spell = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    return ranked(
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{**split, "invert": False}, spell]}
    )


def prefixed() -> dict[str, Any]:
    return ranked(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": True, "use_regex": True})


def padded() -> dict[str, Any]:
    return ranked(
        padding={
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "<s>",
        }
    )


def word_pieces() -> dict[str, Any]:
    vocab = {"[UNK]": 0, "a": 1, "##b": 2}
    model: dict[str, Any] = {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]"}
    model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    return ranked(model=model, added_tokens=[])


def no_unknown() -> dict[str, Any]:
    """The model has no ids for the name of a special token."""
    added = [{**token, "id": 2} for token in ranked()["added_tokens"][:1]]
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "[UNK]"}
    return ranked(model=model, added_tokens=added)


def a_byte_less() -> dict[str, Any]:
    whole = ranked()
    del whole["model"]["vocab"]["~"]
    return whole


@pytest.mark.parametrize(
    ("document", "part"),
    [
        (nfkc(), "normalizer"),
        (templated(), "post_processor"),
        (with_added(lstrip=True), "added_tokens"),
        (with_added(special=False), "added_tokens"),
        (out_of_order(), "model:merges"),
        (digits(), "pre_tokenizer"),
        (own_pattern(), "pre_tokenizer"),
        (prefixed(), "pre_tokenizer"),
        (padded(), "padding"),
        (word_pieces(), "model"),
        (no_unknown(), "model"),
        (a_byte_less(), "vocab"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_rank_file_cannot_say(tmp_path: Path, document: dict[str, Any], part: str) -> None:
    assert refusal(tmp_path, encoded(document), "tiktoken") == part


# GGUF.


def templated_twice() -> dict[str, Any]:
    """With the same token in front of the second text, as GGUF has it."""
    whole = templated()
    pair = whole["post_processor"]["pair"]
    pair[2] = {"SpecialToken": {"id": "<s>", "type_id": 1}}
    return whole


@pytest.mark.parametrize(
    "document",
    [ranked(), templated_twice(), with_added(special=False), digits(), out_of_order()],
    ids=["plain", "templated", "added", "digits", "merges"],
)
def test_a_gguf_file(tmp_path: Path, document: dict[str, Any]) -> None:
    _, _, read_with = written(tmp_path, encoded(document), "gguf")
    assert read_with == {"gguf_compat": "hf"}


def pieces(**changes: Any) -> dict[str, Any]:
    """BPE over `▁`, with pieces for bytes and for the unknown."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += ["▁", "a", "b", "ab", "▁a", "▁ab", "e"]
    mark = {"String": "▁"}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    whole = ranked(
        added_tokens=[
            {"id": n, "content": name, "special": True, **flags} for n, name in enumerate(names[:3])
        ],
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        pre_tokenizer=None,
        decoder={
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": mark, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        model={
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {name: n for n, name in enumerate(names)},
            "merges": ["a b", "▁ a", "▁ ab", "▁a b"],
        },
    )
    return {**whole, **changes}


def test_a_gguf_file_of_scores(tmp_path: Path) -> None:
    tok, _, _ = written(tmp_path, encoded(pieces()), "gguf")
    assert tok.encode("ab é").tokens == ["▁ab", "▁", "<0xC3>", "<0xA9>"]


def gap() -> dict[str, Any]:
    whole = ranked()
    vocab = whole["model"]["vocab"]
    vocab["Hello"] = len(vocab) + 100
    return whole


@pytest.mark.parametrize(
    ("document", "part"),
    [
        (nfkc(), "normalizer"),
        (prefixed(), "pre_tokenizer"),
        (templated(), "post_processor"),
        (with_added(rstrip=True), "added_tokens"),
        (padded(), "padding"),
        (word_pieces(), "model"),
        (no_unknown(), "model"),
        (gap(), "vocab"),
        (a_byte_less(), "vocab"),
        (pieces(decoder=None), "decoder"),
        (pieces(pre_tokenizer={"type": "Whitespace"}), "pre_tokenizer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_gguf_file_cannot_say(tmp_path: Path, document: dict[str, Any], part: str) -> None:
    assert refusal(tmp_path, encoded(document), "gguf") == part


def test_roles_and_chat_templates_go_along(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(encoded(ranked()))
    templates = {"default": "one", "tool_use": "two"}
    named = [{"name": name, "template": text} for name, text in templates.items()]
    config = {"eos_token": "</s>", "chat_template": named}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    out = tmp_path / "out.gguf"
    done = pywasmtok.convert_tokenizer(folder, out)
    tok = opened(out, done.read_with or {})
    assert tok.special_tokens.eos == "</s>"
    info = pywasmtok.get_tokenizer_info(out, gguf_compat="hf")
    assert info.chat_templates == {"default": 3, "tool_use": 3}


def test_only_the_vocabulary_of_a_gguf_file_is_copied(tmp_path: Path) -> None:
    pairs = gguf_files.byte_level([("l", "l")], [("<s>", gguf_files.CONTROL)])
    whole = gguf_files.gguf(pairs)
    behind = whole[:8] + b"\x02" + whole[9:] + b"tensors"
    _, out, read_with = written(tmp_path, behind, "gguf")
    assert (out.read_bytes(), read_with) == (whole, {})


# SentencePiece.


def trained(tmp_path: Path, model_type: str, **more: Any) -> bytes:
    texts = tmp_path / "texts"
    texts.write_text("\n".join(f"hello world {n} and héllo {n * n}" for n in range(300)))
    prefix = str(tmp_path / model_type)
    sentencepiece.SentencePieceTrainer.train(
        input=str(texts),
        model_prefix=prefix,
        vocab_size=70,
        model_type=model_type,
        minloglevel=2,
        **more,
    )
    return Path(f"{prefix}.model").read_bytes()


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_a_sentencepiece_model_is_written_from_one_alone(tmp_path: Path, model_type: str) -> None:
    data = trained(tmp_path, model_type)
    work = tmp_path / "work"
    work.mkdir()
    tok, out, read_with = written(work, data, "model")
    assert (out.read_bytes(), read_with) == (data, {})
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(out))
    for text in texts_of(tok):
        if "\0" not in text:
            assert tok.encode(text).ids == theirs.encode(text), ascii(text)
    out.unlink()
    for to in ("gguf", "tiktoken"):
        refusal(work, data, to)
        (work / f"out.{to}").unlink()


def test_what_stands_for_a_space_goes_at_the_end_of_a_text(tmp_path: Path) -> None:
    model = sentencepiece.SentencePieceProcessor(model_proto=trained(tmp_path, "bpe"))
    out = tmp_path / "tokenizer.json"
    pywasmtok.convert_tokenizer(tmp_path / "bpe.model", out)
    theirs = tokenizers.Tokenizer.from_file(str(out))
    for text in ("world▁", "▁", " ▁ ", "world ▁▁ ", "▁world ▁ world"):
        assert theirs.encode(text).ids == model.encode(text), text


def test_a_sentencepiece_model_of_characters_has_a_tokenizer_json(tmp_path: Path) -> None:
    path, out = tmp_path / "char.model", tmp_path / "char.json"
    path.write_bytes(trained(tmp_path, "char", hard_vocab_limit=False))
    pywasmtok.convert_tokenizer(path, out)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    made = tokenizers.Tokenizer.from_file(str(out))
    for text in ("hello 12 world", "héllo  q"):
        assert made.encode(text, add_special_tokens=False).ids == theirs.encode(text)


@pytest.mark.parametrize(
    ("model_type", "suffix", "feature"),
    [("word", False, "model:word"), ("char", True, "normalizer:suffix")],
)
def test_sentencepiece_models_without_a_tokenizer_json(
    tmp_path: Path, model_type: str, suffix: bool, feature: str
) -> None:
    path = tmp_path / "some.model"
    more = {"hard_vocab_limit": False, "treat_whitespace_as_suffix": suffix}
    path.write_bytes(trained(tmp_path, model_type, **more))
    with pytest.raises(pywasmtok.Unsupported) as caught:
        pywasmtok.convert_tokenizer(path, tmp_path / "some.json")
    assert caught.value.feature == f"convert:{feature}"


@pytest.mark.parametrize(
    ("document", "part"),
    [
        (templated(), "post_processor"),
        (ranked(post_processor=IDLE), "added_tokens"),
        (ranked(added_tokens=[]), "model"),
    ],
)
def test_what_a_sentencepiece_model_cannot_say(
    tmp_path: Path, document: dict[str, Any], part: str
) -> None:
    assert refusal(tmp_path, encoded(document), "model") == part


# The command.


def test_the_ending_names_the_format_unless_it_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "tokenizer.json"
    source.write_bytes(encoded(ranked()))
    for out, more, format_ in (
        ("x.gguf", [], "gguf"),
        ("x.GGUF", [], "gguf"),
        ("x.tiktoken", [], "tiktoken"),
        ("x.gguf", ["--to", "json"], "json"),
        ("x.model", ["--to", "tiktoken"], "tiktoken"),
        ("x.bin", ["--to", "gguf"], "gguf"),
        ("x.bin", [], "json"),
        (".", ["--to", "gguf"], "gguf"),
    ):
        assert main(["convert", str(source), str(tmp_path / out), "--json", *more]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["format"] == format_
        data = Path(report["out"]).read_bytes()
        assert report["bytes"] == len(data)
        assert _host.detect(data)["format"] == {"json": "tokenizer.json"}.get(format_, format_)
    assert (tmp_path / "tokenizer.gguf").is_file()
    assert main(["convert", str(source), str(tmp_path / "x.gguf")]) == 0
    assert "read it with: gguf_compat='hf'" in capsys.readouterr().out
    assert main(["convert", str(source), str(tmp_path / "x.txt")]) == 2
    assert "Written are json, gguf, model, tiktoken" in capsys.readouterr().err
    with pytest.raises(pywasmtok.InvalidArgument, match="none of json"):
        pywasmtok.convert_tokenizer(source, tmp_path / "x", to="onnx")


def test_a_file_that_was_there_stays_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out, link = (tmp_path / name for name in ("in.json", "out.json", "link.json"))
    source.write_bytes(small.file())
    out.write_bytes(b"there before")
    out.chmod(0o640)
    link.symlink_to(out)
    pywasmtok.convert_tokenizer(source, link)
    assert link.is_symlink()
    assert json.loads(out.read_bytes())["model"]["type"] == "BPE"
    assert out.stat().st_mode & 0o777 == 0o640

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out.write_bytes(b"there before")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(pywasmtok.LoadError, match="cannot be written: No space left"):
        pywasmtok.convert_tokenizer(source, out)
    assert out.read_bytes() == b"there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "link.json", "out.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_written_to(tmp_path: Path) -> None:
    pywasmtok.convert_tokenizer("builtin:demo", "/dev/null")
    with pytest.raises(pywasmtok.LoadError, match="cannot be written: No space left"):
        pywasmtok.convert_tokenizer("builtin:demo", "/dev/full")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_paths_of_a_file_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = os.fsencode(tmp_path / "out.json")
    assert pywasmtok.convert_tokenizer("builtin:demo", out).out == os.fsdecode(out)
    odd: Any
    for odd in ("a\0b", "a\ud800.json", "", 5, None):
        with pytest.raises(pywasmtok.InvalidArgument):
            pywasmtok.convert_tokenizer("builtin:demo", odd)
    assert main(["convert", "builtin:demo", "-"]) == 2
    assert "convert writes a file" in capsys.readouterr().err


def test_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.tiktoken"
    source = small.write(tmp_path)
    assert main(["convert", str(source), str(out)]) == 2
    assert "adds no tokens to a text" in capsys.readouterr().err
    assert not out.exists()


def test_what_a_configuration_adds_is_no_part_of_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    pairs = gguf_files.byte_level([("l", "l")], [("<s>", gguf_files.CONTROL)])
    (folder / "x.gguf").write_bytes(gguf_files.gguf(pairs))
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<new>"}')
    with pytest.raises(pywasmtok.Unsupported) as caught:
        pywasmtok.convert_tokenizer(folder, tmp_path / "out.gguf", apply_config=True)
    assert caught.value.feature == "convert:gguf:config"


# Real files.


def stated() -> dict[str, tuple[str, str]]:
    """The table of docs/formats.md: what becomes of each file."""
    table = DOCS.read_text().partition("| tokenizer.json of |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {name: (ranks, gguf) for names, ranks, gguf in rows for name in names.split(", ")}


@needs_assets
@pytest.mark.parametrize("asset", each_kind(SERVED), ids=lambda asset: asset.id)
def test_real_files(asset: Asset, tmp_path: Path) -> None:
    for to, outcome in zip(("tiktoken", "gguf"), stated()[asset.id], strict=True):
        if outcome == "exact":
            written(tmp_path, asset.read(), to, "tokenizer.json")
        else:
            assert outcome == f"`{refusal(tmp_path, asset.read(), to)}`"
        for path in tmp_path.iterdir():
            path.unlink()
    assert refusal(tmp_path, asset.read(), "model")


@needs_assets
@pytest.mark.parametrize(
    ("source", "published", "read_with"),
    [
        (Asset("gpt2", "tokenizer.json"), Asset("tiktoken-openai", "r50k_base.tiktoken"), False),
        (Asset("llama3", "tokenizer.json"), Asset("llama3", "tokenizer.model"), True),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_published_rank_files_come_out_to_the_byte(
    source: Asset, published: Asset, read_with: bool, tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(source.read())
    out = tmp_path / "out.tiktoken"
    done = pywasmtok.convert_tokenizer(tmp_path, out)
    assert out.read_bytes() == published.read()
    # The same ranks go with other special tokens by default.
    assert bool(done.read_with) == read_with


@needs_assets
@pytest.mark.parametrize("name", ["cl100k_base", "p50k_base"])
def test_rank_files_come_back_through_a_tokenizer_json(name: str, tmp_path: Path) -> None:
    source = tmp_path / f"{name}.tiktoken"
    source.write_bytes(Asset("tiktoken-openai", source.name).read())
    between, out = tmp_path / "tokenizer.json", tmp_path / "out.tiktoken"
    pywasmtok.convert_tokenizer(source, between)
    done = pywasmtok.convert_tokenizer(between, out)
    assert (out.read_bytes(), done.read_with) == (source.read_bytes(), {})


@needs_assets
@pytest.mark.parametrize(
    ("asset", "options", "to", "outcome"),
    [
        (Asset("tiktoken-openai", "r50k_base.tiktoken"), {}, "gguf", None),
        (Asset("tiktoken-openai", "cl100k_base.tiktoken"), {}, "gguf", "vocab"),
        (Asset("llama3", "tokenizer.model"), {}, "gguf", None),
        (Asset("qwen1", "qwen.tiktoken"), {}, "gguf", "normalizer"),
        (Asset("mistral-common", "tekken_240911.json"), {}, "tiktoken", "added_tokens:in_text"),
        (Asset("llama2", "tokenizer.model"), {}, "gguf", "model:ties"),
        (Asset("spm-misc", "nai-t5.model"), {}, "gguf", "normalizer:charsmap"),
        (Asset("rwkv", "rwkv_vocab_v20230424.txt"), {}, "gguf", "model:Greedy"),
        (
            Asset("gguf-llamacpp", "ggml-vocab-gpt-2.gguf"),
            {"gguf_compat": "hf"},
            "tiktoken",
            None,
        ),
        (
            Asset("gguf-llamacpp", "ggml-vocab-gpt-2.gguf"),
            {},
            "tiktoken",
            "added_tokens:longest_first",
        ),
        (
            Asset("gguf-llamacpp", "ggml-vocab-llama-spm.gguf"),
            {"gguf_compat": "hf"},
            "model",
            "model:ties",
        ),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_real_files_of_other_formats(
    asset: Asset, options: dict[str, Any], to: str, outcome: str | None, tmp_path: Path
) -> None:
    if outcome is None:
        written(tmp_path, asset.read(), to, **options)
    else:
        assert refusal(tmp_path, asset.read(), to, **options) == outcome
