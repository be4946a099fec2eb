"""Defects of other routers and tokenizers, each as the behaviour that is right.

F are those of SGLang's router layer, D those of Dynamo's hybrid. Those of streams (S1 to S10) and
of stops (T1 to T16) are in test_stream.py and test_stop.py under these names, and with them D3, D4,
D5, F19 and F20.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
from base64 import b64encode
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import small
import streams
import tokenizers
from assets import ROOT, Asset, needs_assets

import pywasmtok
from pywasmtok import _host
from pywasmtok.backends.hf import HFBackend
from pywasmtok.loading.choice import choose_encoder
from pywasmtok.loading.sources.sidecars import read_sidecars


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    return tmp_path


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """A rank file of 257 tokens."""
    tokens = [*(bytes((byte,)) for byte in range(256)), b"ab"]
    lines = [f"{b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    path = tmp_path / "my.tiktoken"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("name", ["test", "mock", "gpt-4", "builtin:demo"])
def test_f1_a_folder_of_any_name_can_be_opened(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "tokenizer.json").write_bytes(small.file())
    monkeypatch.chdir(tmp_path)
    assert pywasmtok.create_tokenizer(Path(name)).format == "tokenizer.json"
    if ":" not in name:
        assert pywasmtok.create_tokenizer(name).format == "tokenizer.json"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"model_type": "llama", "architectures": ["X"]}, "config.json"),
        ({"tokenizer_class": "X", "chat_template": "y"}, "tokenizer_config.json"),
        ({"bos_token": "<s>", "eos_token": "</s>"}, "special_tokens_map.json"),
        ({chr(n): n for n in range(97, 120)}, "merges.txt"),
    ],
)
def test_f2_json_is_not_trusted_by_its_name(
    content: dict[str, object], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    with pytest.raises(pywasmtok.NotATokenizer) as caught:
        pywasmtok.create_tokenizer(path)
    assert says in str(caught.value)
    assert "pass the folder" in str(caught.value)


@needs_assets
def test_f3_sentencepiece_is_told_by_its_records() -> None:
    with pytest.raises(pywasmtok.UnknownFormat):
        _host.detect(b"A text about <s> and </s> and <unk>, and nothing else.\n")
    for family, name in (("mistral-v3", "tokenizer.model"), ("xlnet", "spiece.model")):
        data = Asset(family, name).read()
        assert _host.detect(data)["format"] == "sentencepiece"


def test_f4_a_chat_template_that_was_given_is_never_dropped(folder: Path) -> None:
    with pytest.raises(pywasmtok.SourceNotFound, match=r"x\.jinja"):
        pywasmtok.create_tokenizer_with_chat_template(folder, folder / "x.jinja")
    (folder / "x.jinja").write_text("{{ given }}")
    tok = pywasmtok.create_tokenizer_with_chat_template(folder, folder / "x.jinja")
    assert tok.chat_template == "{{ given }}"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="paths are text there")
def test_f5_a_path_need_not_be_utf8(folder: Path) -> None:
    path = os.path.join(os.fsencode(folder), b"\xff\xfe.json")
    Path(os.fsdecode(path)).write_bytes(small.file())
    tok = pywasmtok.create_tokenizer(path)
    assert tok.backend.encoder == "core"


@needs_assets
def test_f6_every_format_is_described(folder: Path, ranks: Path) -> None:
    ranks.rename(folder.parent / "my.tiktoken")
    gguf = ROOT / "gguf-llamacpp" / "ggml-vocab-llama-spm.gguf"
    for source, name in ((folder / "tokenizer.json", "tokenizer.json"), (gguf, "gguf")):
        info = pywasmtok.get_tokenizer_info(source)
        assert (info.format, info.encoder) == (name, "core")
        assert info.reason
    described = pywasmtok.get_tokenizer_info(folder.parent / "my.tiktoken", pattern=r"\s+|\S+")
    assert described.format == "tiktoken"


def test_f7_an_unknown_rank_file_has_no_pattern(ranks: Path) -> None:
    with pytest.raises(pywasmtok.AmbiguousPattern) as caught:
        pywasmtok.create_tokenizer(ranks)
    assert "pattern" in str(caught.value)
    assert "encoding" in str(caught.value)


def test_f8_a_name_alone_reaches_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("somebody connects")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    for name in ("gpt-nonsense", "no-such-model", "/no/such/file.json"):
        with pytest.raises(pywasmtok.TokenizerError):
            pywasmtok.create_tokenizer(name)


def test_f9_templates_are_taken_in_a_fixed_order(folder: Path) -> None:
    for name in ("b.jinja", "a.jinja"):
        (folder / name).write_text(name)
    assert read_sidecars(os.fsencode(folder)).templates == {}
    (folder / "chat_template.jinja").write_text("this one")
    assert read_sidecars(os.fsencode(folder)).templates == {"default": "this one"}


def test_f10_a_template_is_taken_as_it_is(folder: Path) -> None:
    text = "  {{ x }}\\n literally, and a line\n\n"
    (folder / "chat_template.jinja").write_text(text)
    assert read_sidecars(os.fsencode(folder)).templates["default"] == text


def test_f11_a_list_of_templates_is_read(folder: Path) -> None:
    stated = [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": stated}))
    assert read_sidecars(os.fsencode(folder)).templates == {"default": "a", "tool_use": "b"}


USER = [{"role": "user", "content": "hi "}]


def rendered(template: str, **arguments: Any) -> str:
    tok = pywasmtok.create_tokenizer_with_chat_template("builtin:demo", template)
    text: str = tok.apply_chat_template(USER, tokenize=False, **arguments)
    return text


def test_f12_tools_and_documents_are_none_where_there_are_none() -> None:
    template = "{{ tools is defined }} {{ tools is none }} {{ documents is none }}"
    assert rendered(template) == "True True True"


def test_f13_every_special_token_of_the_map_reaches_the_template(folder: Path) -> None:
    names = {"bos_token": "<s>", "sep_token": "<sep>", "mask_token": "<mask>", "cls_token": "<cls>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(names))
    template = "".join(f"{{{{ {name} }}}}" for name in names)
    tok = pywasmtok.create_tokenizer_with_chat_template(folder, template)
    assert tok.apply_chat_template(USER, tokenize=False) == "<s><sep><mask><cls>"


def test_f14_a_template_has_a_clock_masks_and_messages_to_go_on_with() -> None:
    now = datetime(2025, 1, 2, 3, 4, 5)
    assert rendered("{{ strftime_now('%d %b %Y') }}", now=now) == "02 Jan 2025"
    tok = pywasmtok.create_tokenizer_with_chat_template(
        "builtin:demo",
        "{% for m in messages %}<{{ m.role }}>\n{% generation %}{{ m.content }}"
        "{% endgeneration %}\n{% endfor %}",
    )
    answer = tok.apply_chat_template(USER, return_assistant_tokens_mask=True)
    told = [
        token_id
        for token_id, inside in zip(answer["input_ids"], answer["assistant_masks"], strict=True)
        if inside
    ]
    assert tok.decode(told).split() == ["hi"]
    goes_on = tok.apply_chat_template(USER, tokenize=False, continue_final_message=True)
    assert goes_on == "<user>\nhi "


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("{% generation %}", "a  bc"),
        ("{%- generation %}", "a bc"),
        ("{%generation-%}", "a bc"),
        ("{%-generation-%}", "abc"),
    ],
)
def test_d7_a_generation_block_may_be_spelled_in_any_way(tag: str, text: str) -> None:
    assert rendered("a " + tag + " b {%- endgeneration -%} c") == text


def test_f15_nothing_is_guessed_from_names() -> None:
    tokens = [{**token, "content": f"<|endoftext|>{n}"} for n, token in enumerate(_added())]
    tokens[0]["content"] = "<|endoftext|>"
    tok = streams.open_bytes(small.file(added_tokens=tokens, post_processor=None))
    assert (tok.special_tokens.eos, tok.special_tokens.eos_token_ids) == (None, ())


def _added() -> list[dict[str, object]]:
    added: list[dict[str, object]] = small.definition()["added_tokens"]
    return added


def test_f16_rank_files_have_policies_names_and_bytes(ranks: Path) -> None:
    special = {"<|end|>": 300}
    tok = pywasmtok.create_tokenizer(
        ranks, pattern=r"\s+|\S+", special_tokens=special, decoder="core"
    )
    assert tok.encode("ab<|end|>").ids == [256, 300]
    as_text = tok.encode("ab<|end|>", special="none").ids
    assert 300 not in as_text
    assert bytes(b for n in as_text for b in tok.decode_bytes([n])) == b"ab<|end|>"
    assert tok.decode([256, 300]) == "ab"
    assert tok.decode([256, 300], skip_special_tokens=False) == "ab<|end|>"
    assert tok.token_to_id("<|end|>") == 300
    for token_id in range(256):
        assert tok.decode_bytes([token_id]) == bytes((token_id,))
        token = tok.id_to_token(token_id)
        assert token is not None
        assert tok.token_to_id(token) == token_id


def test_f17_sizes_are_counts_of_one_kind() -> None:
    tok = streams.open_bytes(small.file())
    assert tok.get_vocab_size(with_added_tokens=False) == len(tok.get_vocab(False))
    assert tok.get_vocab_size() == tok.vocab_size == len(tok.get_vocab())
    assert tok.vocab_size - tok.get_vocab_size(False) == len(_added())


def test_f18_a_hash_is_the_same_in_every_process() -> None:
    code = (
        "import pywasmtok\n"
        "tok = pywasmtok.create_tokenizer('builtin:demo', decoder='core')\n"
        "e = tok.encode('Hello world')\n"
        "print(e.hash, e.block_hashes(1, salt=tok.fingerprint), tok.fingerprint)"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(answers) == 1


def test_f21_a_fingerprint_sees_all_of_the_file() -> None:
    """Elsewhere it is a sample of the vocabulary, without merges and normalizer."""
    whole = small.definition()
    merges = whole["model"]["merges"]
    swapped = {**whole["model"], "merges": [merges[1], merges[0], *merges[2:]]}
    files = (
        small.file(),
        small.file(model=swapped),
        small.file(normalizer={"type": "Lowercase"}),
        small.file(pre_tokenizer=None),
    )
    assert len({streams.open_bytes(data).fingerprint for data in files}) == len(files)


def test_d1_a_call_that_the_core_refuses_is_served() -> None:
    pads: dict[str, object] = {
        **{"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None},
        **{"pad_id": 0, "pad_type_id": 0, "pad_token": "!"},
    }
    data = small.file(padding=pads)
    tok = streams.open_bytes(data, "auto", "hf")
    expected = tokenizers.Tokenizer.from_buffer(data).encode_batch(["a", "bb"])
    assert tok.encode_batch(["a", "bb"]).ids == [one.ids for one in expected]
    assert tok.fallbacks == {"padding:batch": 1}
    assert tok.backend.reason == "padding:batch"


def test_d2_a_file_is_not_loaded_twice() -> None:
    tok = streams.open_bytes(small.file(), "auto", "hf")
    tok.encode("Hello")
    decoder = tok.hybrid.decoder
    assert isinstance(decoder, HFBackend)
    assert not decoder.loaded
    tok.decode([0])
    assert decoder.loaded


@pytest.mark.parametrize(
    "value", ["fastokens", "fasttokens", "fast", "default", "huggingface", "hf", "slow", "nonsense"]
)
def test_d8_every_name_of_a_backend_is_understood_or_named(
    value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("PYWASMTOK_ENCODER", raising=False)
    monkeypatch.setenv("DYN_TOKENIZER", value)
    with caplog.at_level(logging.WARNING, logger="pywasmtok"):
        assert choose_encoder(None) in ("auto", "default")
    assert (value in caplog.text) == (value not in ("fastokens", "default"))


@pytest.mark.parametrize("decoder", ["core", "hf"])
def test_d9_no_decoder_joins_with_spaces(decoder: str) -> None:
    data = streams.llama(decoder=None)
    ids = [300, *range(256, 262)]
    expected = tokenizers.Tokenizer.from_buffer(data).decode(ids)
    assert " " in expected
    tok = streams.open_bytes(data, "core", decoder)
    assert tok.decode(ids) == expected
    stream = tok.decode_stream()
    assert "".join(map(stream.step, ids)) + stream.flush() == expected
