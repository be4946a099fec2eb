"""Roles of special tokens and the ends of a text: what files state, and guesses only on request."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
import small
import streams
from assets import Asset, needs_assets, open_tokenizer

import pywasmtok
from pywasmtok import SpecialTokens, StopSequenceConfig

# From the files alone: bos, eos, unk, pad, how many others, the ids that end a text.
REAL = {
    "deepseek-v3": (
        "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", None, "<｜end▁of▁sentence｜>", 802, (1,)
    ),
    "gpt-oss": ("<|startoftext|>", "<|return|>", None, "<|endoftext|>", 18, (200002,)),
    "llama3": ("<|begin_of_text|>", "<|end_of_text|>", None, None, 254, (128001,)),
    "llama3.1": ("<|begin_of_text|>", "<|eot_id|>", None, None, 254, (128009,)),
    "mistral-nemo": ("<s>", "</s>", "<unk>", None, 997, (2,)),
    "phi-2": ("<|endoftext|>", "<|endoftext|>", "<|endoftext|>", None, 0, (50256,)),
    "phi-3": ("<s>", "<|endoftext|>", "<unk>", "<|endoftext|>", 11, (32000,)),
    "qwen3": (None, "<|im_end|>", None, "<|endoftext|>", 12, (151645,)),
    "t5": (None, "</s>", "<unk>", "<pad>", 100, (1,)),
}  # fmt: skip


def unpacked(family: str, folder: Path) -> Path:
    """A folder as a model ships it: the tokenizer, and its configurations beside it."""
    asset = Asset(family, "tokenizer.json")
    (folder / "tokenizer.json").write_bytes(asset.read())
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = asset.path.with_name(name)
        if path.is_file():
            (folder / name).write_bytes(path.read_bytes())
        elif (packed := path.with_name(f"{name}.xz")).is_file():
            (folder / name).write_bytes(lzma.decompress(packed.read_bytes()))
    return folder


@needs_assets
@pytest.mark.parametrize("family", REAL)
def test_real_folders(family: str, tmp_path: Path) -> None:
    folder = unpacked(family, tmp_path)
    tok = pywasmtok.create_tokenizer(folder, decoder="core")
    special = tok.special_tokens
    found = (special.bos, special.eos, special.unk, special.pad, len(special.additional))
    assert (*found, special.eos_token_ids) == REAL[family]
    assert special.guessed == {}
    for token, number in special.ids.items():
        assert tok.token_to_id(token) == number
    # The configuration says the same, read by itself.
    config = json.loads((folder / "tokenizer_config.json").read_bytes())
    eos = config["eos_token"]
    assert special.eos == (eos["content"] if isinstance(eos, dict) else eos)
    assert special.eos_token_ids == (tok.token_to_id(str(special.eos)),)


@needs_assets
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("ggml-vocab-llama-bpe.gguf", (128001, 128009)),
        # `</s>` is an end for llama.cpp, whatever the model.
        ("ggml-vocab-qwen2.gguf", (151643, 151645, 128247)),
        ("ggml-vocab-phi-3.gguf", (32000, 32007, 2)),
    ],
)
def test_a_gguf_file_names_the_end_of_a_turn_too(name: str, ends: tuple[int, ...]) -> None:
    special = open_tokenizer(Asset("gguf-llamacpp", name)).special_tokens
    assert special.eos_token_ids == ends
    assert special.eos is not None
    assert ends[:2] == (special.ids[special.eos], special.ids[special.more["eot"]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    return tmp_path


def write(folder: Path, **files: Any) -> None:
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def test_the_ends_are_a_union_in_order(folder: Path) -> None:
    tok = pywasmtok.create_tokenizer(folder)
    assert tok.special_tokens.eos_token_ids == ()
    start, end, user = (tok.token_to_id(name) for name in ("<s>", "</s>", "<|user|>"))
    write(
        folder,
        tokenizer_config={"eos_token": {"content": "<|user|>"}},
        special_tokens_map={"eos_token": "</s>"},
        generation_config={"eos_token_id": [7, end, 9]},
        config={"eos_token_id": 8, "text_config": {"eos_token_id": [start, 8]}},
    )
    tok = pywasmtok.create_tokenizer(folder)
    assert tok.special_tokens.eos_token_ids == (user, end, 7, 9, 8, start)
    assert pywasmtok.get_tokenizer_info(folder).eos_token_ids == (user, end, 7, 9, 8, start)


def test_what_is_no_id_is_left_out(folder: Path) -> None:
    wrong = [True, -1, 2.5, "3", None, 1 << 32, [4], 5]
    write(folder, config={"eos_token_id": wrong, "text_config": 3}, generation_config={})
    write(folder, tokenizer_config={"eos_token": "<none>"})
    assert pywasmtok.create_tokenizer(folder).special_tokens.eos_token_ids == (5,)


def test_they_stop_a_text_by_default(folder: Path) -> None:
    write(folder, generation_config={"eos_token_id": [ord("!"), ord("?")]})
    tok = pywasmtok.create_tokenizer(folder)
    for end in b"!?":
        decoder = tok.stop_decoder(StopSequenceConfig())
        assert decoder.process_tokens([ord("a"), end, ord("b")]).output.text == "a"
        assert decoder.matched is not None
        assert decoder.matched.id == end
    decoder = tok.stop_decoder(StopSequenceConfig(ignore_eos=True))
    assert decoder.process_tokens([*b"a!b"]).output.text == "a!b"
    decoder = tok.stop_decoder(StopSequenceConfig(), eos_token_ids=())
    assert decoder.process_tokens([*b"a!b"]).output.text == "a!b"


def test_the_mock_ends_too() -> None:
    assert pywasmtok.create_tokenizer("mock://").special_tokens.eos_token_ids == (999,)


class TestGuesses:
    def test_only_on_request(self) -> None:
        """Also defect F15: a name alone says nothing."""
        special = streams.open_bytes(small.file()).special_tokens
        assert (special.bos, special.eos, special.eos_token_ids) == (None, None, ())
        guessed = special.guess()
        assert (guessed.bos, guessed.eos) == ("<s>", "</s>")
        assert guessed.eos_token_ids == (special.ids["</s>"],)
        assert guessed.additional == ("<|user|>",)
        assert guessed.guessed == {"bos": ("<s>",), "eos": ("</s>",), "eos_token_ids": ("</s>",)}
        # And the tokenizer goes on without them.
        assert special.guessed == {}

    def test_what_is_stated_stays(self) -> None:
        names = ("<s>", "</s>", "<|eot_id|>", "<|im_end|>", "<pad>")
        stated = SpecialTokens(
            bos="</s>", pad="<s>", ids={name: n for n, name in enumerate(names)}, eos_token_ids=(2,)
        )
        guessed = stated.guess()
        assert (guessed.bos, guessed.pad, guessed.eos) == ("</s>", "<s>", "</s>")
        assert guessed.eos_token_ids == (2, 1, 3)
        assert guessed.guessed == {"eos": ("</s>",), "eos_token_ids": ("</s>", "<|im_end|>")}

    def test_the_end_of_a_message_is_no_end_where_others_end_the_turn(self) -> None:
        names = ("<|end|>", "<|return|>", "<|call|>")
        for some in (names, names[:2]):
            stated = SpecialTokens(ids={name: n for n, name in enumerate(some)})
            assert stated.guess().eos_token_ids == ((1, 2) if some == names else (0, 1))

    def test_only_special_tokens_are_looked_at(self) -> None:
        added = [{**token, "special": False} for token in small.definition()["added_tokens"]]
        special = streams.open_bytes(small.file(added_tokens=added, post_processor=None))
        assert special.special_tokens.guess().guessed == {}

    @needs_assets
    def test_the_end_of_a_turn_of_llama3(self) -> None:
        special = open_tokenizer(Asset("llama3", "tokenizer.json")).special_tokens
        assert special.eos_token_ids == ()
        assert special.guess().eos_token_ids == (128001, 128009)
