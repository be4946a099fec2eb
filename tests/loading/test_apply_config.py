"""`apply_config=`: what transformers adds to a tokenizer.json, held against transformers itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small
from assets import Asset, needs_assets
from chat.environment import needs_reference

import pywasmtok

# Live: without it, only what needs no reference is tested.
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytestmark = needs_reference

FAMILIES = ("deepseek-v3", "gemma", "llama3", "mistral-nemo", "phi-2", "phi-3", "qwen2.5")
TEXTS = ("Hello world", "", " two  spaces\n", "<s>a</s> <|user|>b<think> <new>c <pad>", "<x> y <z>")


def reference(folder: Path, apply: bool | str) -> Any:
    """As transformers reads the folder. Beside a tokenizer.json it hears of `add_bos_token` and
    `add_eos_token` only as arguments; until its version 5 the configuration sufficed."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    names = ("add_bos_token", "add_eos_token") if apply is True else ()
    given = {name: config[name] for name in names if config.get(name) is not None}
    return transformers.PreTrainedTokenizerFast.from_pretrained(str(folder), **given)


def compare(folder: Path, apply: bool | str, texts: tuple[str, ...] = TEXTS) -> None:
    theirs = reference(folder, apply)
    ours = pywasmtok.create_tokenizer(folder, encoder="core", decoder="core", apply_config=apply)
    added = theirs.added_tokens_decoder
    texts = (*texts, *(f"x{token.content}  y" for token in list(added.values())[:40]))
    for text in texts:
        expected = theirs(text, return_token_type_ids=True)
        encoding = ours.encode(text)
        assert encoding.ids == expected["input_ids"], text
        assert (
            ours.encode(text, add_special_tokens=False).ids
            == (theirs(text, add_special_tokens=False)["input_ids"])
        ), text
        pair = theirs(text, "second", return_token_type_ids=True)
        assert ours.encode(text, "second").ids == pair["input_ids"], text
        assert ours.encode(text, "second").type_ids == pair["token_type_ids"], text
        kept = theirs.decode(encoding.ids, clean_up_tokenization_spaces=False)
        assert ours.decode(encoding.ids, skip_special_tokens=False) == kept, text
    with_ids = {token.content: number for number, token in added.items()}
    assert {token: ours.token_to_id(token) for token in with_ids} == with_ids
    assert ours.vocab_size == len(theirs)
    special = {token.content for token in added.values() if token.special}
    assert set(ours.special_tokens.ids) >= special
    for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"):
        token = getattr(theirs, f"{role}_token")
        if token is not None:
            assert getattr(ours.special_tokens, role) == token


@needs_assets
@pytest.mark.parametrize("apply", [True, "tokens"])
@pytest.mark.parametrize("family", FAMILIES)
def test_real_folders(family: str, apply: bool | str, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes(Asset(family, name).read())
    compare(tmp_path, apply)


FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
TAKEN = len(small.definition()["model"]["vocab"])


def token(content: str, *, special: bool = False, **flags: bool) -> dict[str, Any]:
    return {"content": content, **FLAGS, "special": special, **flags}


CONFIGS: dict[str, dict[str, dict[str, Any]]] = {
    "nothing": {},
    "an empty one": {"tokenizer_config": {}},
    "bos and eos": {
        "tokenizer_config": {
            "bos_token": "<s>",
            "eos_token": "</s>",
            "add_bos_token": True,
            "add_eos_token": True,
        }
    },
    "neither": {"tokenizer_config": {"add_bos_token": False, "bos_token": "<s>"}},
    "a bos that is not named": {"tokenizer_config": {"add_bos_token": True}},
    "tokens that stand only there": {
        "tokenizer_config": {
            "added_tokens_decoder": {
                str(TAKEN + 5): token("<new>", special=True),
                str(TAKEN + 4): token("<x>", rstrip=True),
                str(TAKEN + 9): token("<z>", lstrip=True),
            }
        }
    },
    "other flags for tokens that are there": {
        "tokenizer_config": {
            "added_tokens_decoder": {
                str(TAKEN): token("<s>", special=True, rstrip=True),
                str(TAKEN + 3): token("<think>", special=True, lstrip=True),
            }
        }
    },
    "tokens of the model": {"tokenizer_config": {"bos_token": "world", "eos_token": "he"}},
    "roles that are new": {
        "tokenizer_config": {
            "pad_token": "<pad>",
            "image_token": "<x>",
            "extra_special_tokens": ["<new>", "<|user|>"],
        }
    },
    "extra tokens by name": {"tokenizer_config": {"extra_special_tokens": {"x_token": "<x>"}}},
    "a name that is stated twice": {
        "tokenizer_config": {
            "x_token": {"__type": "AddedToken", **token("<x>", special=True, rstrip=True)},
            "bos_token": "<y>",
            "extra_special_tokens": {"x_token": "<z>", "bos_token": "<new>", "y": "YY"},
        },
    },
    "both files": {
        "tokenizer_config": {"x_token": "<x>", "extra_special_tokens": {"y_token": "<y>"}},
        "special_tokens_map": {"x_token": "<new>", "y_token": {"content": "<z>", **FLAGS}},
    },
    "extra tokens in both files": {
        "tokenizer_config": {"x_token": "<x>", "extra_special_tokens": ["<z>"]},
        "special_tokens_map": {"extra_special_tokens": ["<new>", "<z>"]},
    },
    "extra tokens by name, and a list": {
        "tokenizer_config": {"extra_special_tokens": {"x_token": "<x>"}},
        "special_tokens_map": {"extra_special_tokens": ["<new>"]},
    },
    "the older list": {"tokenizer_config": {"additional_special_tokens": ["<z>", "<think>"]}},
    "a map": {
        "tokenizer_config": {},
        "special_tokens_map": {
            "eos_token": {"content": "<z>", **FLAGS},
            "pad_token": "<pad>",
            "bos_token": "<s>",
        },
    },
    "a map beside a list": {
        "tokenizer_config": {
            "added_tokens_decoder": {str(TAKEN + 4): token("<x>")},
            "eos_token": "</s>",
        },
        "special_tokens_map": {"eos_token": "<z>"},
    },
    "added tokens without flags": {
        "tokenizer_config": {"eos_token": "<z>"},
        "added_tokens": {"<z>": TAKEN + 5, "<new>": TAKEN + 4, "<think>": TAKEN + 3},
    },
}


@pytest.mark.parametrize("apply", [True, "tokens"])
@pytest.mark.parametrize("name", CONFIGS)
def test_made_up_folders(name: str, apply: bool | str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    for file, content in CONFIGS[name].items():
        (tmp_path / f"{file}.json").write_text(json.dumps(content))
    compare(tmp_path, apply)


@pytest.mark.parametrize("name", CONFIGS)
def test_chats_of_made_up_folders(name: str, tmp_path: Path) -> None:
    """The tokens' names, and what is found in the text of any template."""
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    for file, content in CONFIGS[name].items():
        (tmp_path / f"{file}.json").write_text(json.dumps(content))
    theirs = reference(tmp_path, apply="tokens")
    ours = pywasmtok.create_tokenizer(tmp_path)
    names = "".join(f"{{{{ {one}_token }}}}|" for one in ("bos", "eos", "pad", "image", "x", "y"))
    for template in (names + "{{ messages[0].content }}", "{{ y }}{{ '<' ~ 'new>' }}<x>"):
        for text in TEXTS:
            chat = [{"role": "user", "content": text}]
            asked: dict[str, Any] = {"chat_template": template, "return_dict": False}
            expected = theirs.apply_chat_template(chat, tokenize=False, **asked)
            assert ours.apply_chat_template(chat, tokenize=False, **asked) == expected
            expected = theirs.apply_chat_template(chat, tokenize=True, **asked)
            assert ours.apply_chat_template(chat, tokenize=True, **asked) == expected


def test_by_default_ids_follow_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    alone = pywasmtok.create_tokenizer(tmp_path)
    config = CONFIGS["tokens that stand only there"]["tokenizer_config"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**config, "add_bos_token": False}))
    tok = pywasmtok.create_tokenizer(tmp_path)
    assert [tok.encode(text) for text in TEXTS] == [alone.encode(text) for text in TEXTS]
    assert tok.get_vocab() == alone.get_vocab()


@pytest.mark.parametrize("apply", ["yes", 2, None])
def test_other_values_are_refused(apply: Any, tmp_path: Path) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="apply_config"):
        pywasmtok.create_tokenizer(tmp_path, apply_config=apply)
