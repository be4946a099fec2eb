"""Fingerprints: equal for files that mean the same, different for every change that can matter."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import assets
import pytest
import small
import streams
import tokenizers
from assets import Asset, needs_assets

import pywasmtok
from pywasmtok import _host
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.fingerprint import Fingerprints, of_unserved
from pywasmtok.tokenizer.tokenizer import Options, Recipe

# The smallest file of each model and of each pipeline: a change is one load of the file.
SMALL = [
    Asset("small-wordlevel", "sqlpilot.json"),
    *(Asset(family, "tokenizer.json") for family in ("gte", "llama2", "t5", "gpt2")),
]

# All of them take minutes.
SLOW = os.environ.get("PYWASMTOK_SLOW") == "1"
SOME = assets.SERVED if SLOW else [*SMALL, Asset("llama3.1", "tokenizer.json")]


def of(data: bytes | dict[str, Any]) -> Fingerprints:
    data = data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode()
    return Fingerprints(*_host.fingerprint(data))


def shuffled(value: Any, dice: random.Random) -> Any:
    """Equal JSON, with every object's keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice) for key in keys}
    return [shuffled(item, dice) for item in value] if isinstance(value, list) else value


class TestFormat:
    def test_it_has_a_version(self) -> None:
        tok = streams.open_bytes(small.file())
        assert re.fullmatch(r"pwt1:[0-9a-f]{64}", tok.fingerprint)
        assert re.fullmatch(r"pwtd1:[0-9a-f]{64}", tok.decoding_fingerprint)

    def test_the_canonical_bytes_are_those_that_are_documented(self) -> None:
        """Written down once more, from docs/hashes.md."""
        whole = small.definition(normalizer={"type": "Lowercase"})
        assert of(whole).encoding == "pwt1:" + sha256(canonical(whole)).hexdigest()

    def test_the_vector_of_the_documents(self) -> None:
        tiny = {
            "added_tokens": [],
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
        }
        found = of(tiny)
        text = (Path(__file__).parents[2] / "docs" / "hashes.md").read_text(encoding="utf-8")
        assert found.encoding in text
        assert found.decoding in text
        # The bytes stand there, too.
        (shown,) = re.findall(r"`((?:[0-9a-f]{2} )+[0-9a-f]{2})`", text)
        assert "pwt1:" + sha256(bytes.fromhex(shown)).hexdigest() == found.encoding


def canonical(whole: dict[str, Any]) -> bytes:
    """docs/hashes.md for what `small` holds: a byte-level BPE with a template."""

    def number(value: int) -> bytes:
        low, rest = value & 0x7F, value >> 7
        return bytes((low | 0x80,)) + number(rest) if rest else bytes((low,))

    def text(value: str) -> bytes:
        return number(len(value.encode())) + value.encode()

    def many(items: list[bytes]) -> bytes:
        return number(len(items)) + b"".join(items)

    def flag(value: bool) -> bytes:
        return bytes((value,))

    vocab, names = whole["model"]["vocab"], whole["post_processor"]["special_tokens"]
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    added = [
        number(token["id"])
        + text(token["content"])
        + b"".join(flag(token[name]) for name in flags)
        + flag(True)
        for token in whole["added_tokens"]
    ]
    merges = [merge.split(" ") for merge in whole["model"]["merges"]]

    def piece(stated: dict[str, Any]) -> bytes:
        if "Sequence" in stated:
            return text(stated["Sequence"]["id"]) + number(stated["Sequence"]["type_id"])
        token = names[stated["SpecialToken"]["id"]]
        ids, tokens = many([*map(number, token["ids"])]), many([*map(text, token["tokens"])])
        return (
            text("special") + flag(True) + ids + tokens + number(stated["SpecialToken"]["type_id"])
        )

    post = whole["post_processor"]
    return b"".join(
        (
            text("pwt1"),
            many(added),
            flag(False),
            many([text("Lowercase")]),
            many([text("ByteLevel") + flag(False) + flag(True)]),
            text("BPE"),
            many([number(i) + text(t) for t, i in sorted(vocab.items(), key=lambda e: e[1])]),
            many([b"".join(number(vocab[t]) for t in (a, b, a + b)) for a, b in merges]),
            flag(False),
            *(flag(False) for _ in ("fuse_unk", "byte_fallback", "ignore_merges")),
            text("") + text(""),
            flag(True),
            many(
                [
                    text("TemplateProcessing")
                    + many([*map(piece, post["single"])])
                    + many([*map(piece, post["pair"])])
                ]
            ),
            flag(False),
            flag(False),
        )
    )


class TestTheSame:
    @needs_assets
    @pytest.mark.parametrize("asset", SOME, ids=lambda asset: asset.id)
    def test_what_the_library_writes_of_a_real_file(self, asset: Asset) -> None:
        """Other layout, other order, merges as pairs, absent keys filled in."""
        data = asset.read()
        found = of(data)
        assert of(tokenizers.Tokenizer.from_buffer(data).to_str().encode()) == found
        other = shuffled(json.loads(data), random.Random(asset.id))
        assert of(json.dumps(other, indent=1).encode()) == found

    def test_whoever_serves(self) -> None:
        data = small.file()
        one = streams.open_bytes(data)
        for encoder, decoder in (("hf", "hf"), ("core", "hf"), ("auto", "core")):
            tok = streams.open_bytes(data, encoder, decoder)
            assert tok.fingerprint == one.fingerprint
            assert tok.decoding_fingerprint == one.decoding_fingerprint
        assert pickle.loads(pickle.dumps(one)).fingerprint == one.fingerprint
        # A pattern that the core reads, and does not run.
        unserved = streams.open_bytes(small.UNSERVED, decoder="hf")
        assert unserved.backend.encoder == "hf"
        assert unserved.fingerprint.startswith("pwt1:")

    def test_every_build(self) -> None:
        data = small.file()
        assert {_host.fingerprint(data, build=name) for name in _host.builds()} == {of(data)}

    def test_a_conversion_that_changes_nothing(self, tmp_path: Path) -> None:
        """Another format with the same definition."""
        whole = small.definition(post_processor=None, decoder=None, added_tokens=[])
        (tmp_path / "vocab.json").write_text(json.dumps(whole["model"]["vocab"]), encoding="utf-8")
        merges = "\n".join(whole["model"]["merges"])
        (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
        tok = pywasmtok.create_tokenizer(tmp_path, encoding="gpt2", special_tokens={})
        assert tok.format == "vocab+merges"
        written, _ = _host.convert(bytes(tok._recipe.data), tok._recipe.load)
        assert of(written).encoding == tok.fingerprint


def changes(whole: dict[str, Any]) -> Iterator[tuple[str, Callable[[dict[str, Any]], None]]]:
    """Every kind of change that a real file allows, by name."""

    def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
        def act(file: dict[str, Any]) -> None:
            place: Any = file
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value(place[path[-1]]) if callable(value) else value

        return act

    for n, token in enumerate(whole["added_tokens"][:2]):
        for name in ("special", "lstrip", "rstrip", "normalized", "single_word"):
            yield f"added_tokens[{n}].{name}", put("added_tokens", n, name, value=not token[name])
        yield f"added_tokens[{n}].content", put("added_tokens", n, "content", value="<other>")
    for step in ("normalizer", "pre_tokenizer", "post_processor"):
        if whole[step] is not None:
            yield step, put(step, value=None)
    yield "normalizer", put("normalizer", value={"type": "Nmt"})
    direction = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
    yield "truncation", put("truncation", value=direction)
    model = whole["model"]
    for name in ("byte_fallback", "fuse_unk", "ignore_merges"):
        if name in model:
            yield f"model.{name}", put("model", name, value=not model[name])
    if "merges" in model:
        yield "merges: one less", put("model", "merges", value=lambda merges: merges[:-1])

        def swap(merges: list[Any]) -> list[Any]:
            return [merges[1], merges[0], *merges[2:]]

        yield "merges: order", put("model", "merges", value=swap)
    if isinstance(model["vocab"], list):
        piece, score = model["vocab"][-1]
        nudged = score * (1 - 2**-50) or 1e-9
        yield "vocab: score", put("model", "vocab", -1, value=[piece, nudged])
        yield "vocab: piece", put("model", "vocab", -1, value=[piece + "x", score])
    else:
        vocab = model["vocab"]
        last = max(vocab, key=lambda token: vocab[token])
        yield "vocab: id", put("model", "vocab", last, value=vocab[last] + 1)
    if "max_input_chars_per_word" in model:
        yield "model.max", put("model", "max_input_chars_per_word", value=7)
    if "continuing_subword_prefix" in model and model.get("type") == "WordPiece":
        yield "model.prefix", put("model", "continuing_subword_prefix", value="@@")


class TestDifferent:
    @needs_assets
    @pytest.mark.parametrize("asset", SMALL, ids=lambda asset: asset.id)
    def test_every_kind_of_change_to_a_real_file(self, asset: Asset) -> None:
        whole = json.loads(asset.read())
        seen = {of(whole).encoding: "nothing"}
        count = 0
        for name, change in changes(whole):
            file = copy.deepcopy(whole)
            change(file)
            try:
                found = of(file).encoding
            except (pywasmtok.LoadError, pywasmtok.Unsupported):
                # Some changes break the file: a merge without its product, a template's token.
                continue
            assert found not in seen, (name, seen[found])
            seen[found] = name
            count += 1
        assert count >= 8

    def test_the_decoder_is_apart(self) -> None:
        one, other = of(small.file()), of(small.file(decoder=None))
        assert one.encoding == other.encoding
        assert one.decoding != other.decoding

    def test_options_that_change_ids_are_in_it(self, tmp_path: Path) -> None:
        tokens = [*(bytes((byte,)) for byte in range(256)), b"ab"]
        lines = [f"{b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
        (tmp_path / "my.tiktoken").write_text("\n".join(lines))
        found = {
            pywasmtok.create_tokenizer(
                tmp_path, pattern=pattern, special_tokens=special
            ).fingerprint
            for pattern in (r"\s+|\S+", r"\s+|\S")
            for special in ({}, {"<s>": 257}, {"<s>": 258})
        }
        assert len(found) == 6

    def test_configurations_that_are_applied_are_in_it(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_bytes(small.file())
        config = {"added_tokens_decoder": {"270": {"content": "<new>", "special": True}}}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        plain = pywasmtok.create_tokenizer(tmp_path)
        applied = pywasmtok.create_tokenizer(tmp_path, apply_config=True)
        assert plain.fingerprint == of(small.file()).encoding != applied.fingerprint

    def test_templates_and_roles_are_not(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_bytes(small.file())
        config = {"chat_template": "x", "eos_token": "</s>"}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        assert pywasmtok.create_tokenizer(tmp_path).fingerprint == of(small.file()).encoding


@needs_assets
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("gguf-llamacpp", "ggml-vocab-llama-spm.gguf"),
        ("gguf-llamacpp", "ggml-vocab-bert-bge.gguf"),
        ("xlnet", "spiece.model"),
        ("mistral-v3", "tokenizer.model"),
    ],
)
def test_other_formats_have_one(folder: str, name: str) -> None:
    data = Asset(folder, name).read()
    one = from_recipe(Recipe(data, name, Options("core", "core", None, False)))
    assert one.fingerprint == of(data).encoding
    assert len({one.fingerprint, one.decoding_fingerprint, of(small.file()).encoding}) == 3


def test_it_is_shown_without_a_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    info = pywasmtok.get_tokenizer_info(tmp_path)
    assert (info.fingerprint, info.decoding_fingerprint) == of(small.file())
    (tmp_path / "tokenizer.json").write_bytes(small.UNSERVED)
    assert pywasmtok.get_tokenizer_info(tmp_path).fingerprint == of(small.UNSERVED).encoding


class TestUnserved:
    """A file that the core does not read."""

    def test_its_content(self) -> None:
        whole = small.definition()
        whole["model"]["dropout"] = 0.5
        data = json.dumps(whole).encode()
        with pytest.raises(pywasmtok.Unsupported):
            of(data)
        tok = streams.open_bytes(data, "auto", "hf")
        assert tok.backend.encoder == "hf"
        assert re.fullmatch(r"hf1:[0-9a-f]{64}", tok.fingerprint)
        assert re.fullmatch(r"hfd1:[0-9a-f]{64}", tok.decoding_fingerprint)
        other = copy.deepcopy(shuffled(whole, random.Random(1)))
        other["model"]["merges"] = [merge.split(" ") for merge in whole["model"]["merges"]]
        del other["version"]
        same = of_unserved(b"\xef\xbb\xbf" + json.dumps(other, indent=2).encode())
        assert same == (tok.fingerprint, tok.decoding_fingerprint)
        other["decoder"] = None
        changed = of_unserved(json.dumps(other).encode())
        assert changed.encoding == same.encoding
        assert changed.decoding != same.decoding
        other["model"]["dropout"] = 0.25
        assert of_unserved(json.dumps(other).encode()).encoding != same.encoding

    def test_the_mock(self) -> None:
        tok = pywasmtok.create_tokenizer("mock://")
        assert tok.fingerprint.startswith("mock1:")
        assert tok.decoding_fingerprint.startswith("mockd1:")


def test_it_is_made_once_and_not_behind_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = streams.open_bytes(small.file())
    first = tok.fingerprint
    monkeypatch.setattr(_host, "fingerprint", None)
    assert (tok.fingerprint, tok.decoding_fingerprint[:6]) == (first, "pwtd1:")
    tok.close()
    assert tok.fingerprint == first
    closed = streams.open_bytes(small.file())
    closed.close()
    with pytest.raises(pywasmtok.TokenizerClosed):
        _ = closed.fingerprint
