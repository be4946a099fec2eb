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
        kept = theirs.decode(encoding.ids, True, clean_up_tokenization_spaces=False)
        assert ours.decode(encoding.ids, skip_special_tokens=True) == kept, text
    with_ids = {token.content: number for number, token in added.items()}
    assert {token: ours.token_to_id(token) for token in with_ids} == with_ids
    assert ours.vocab_size == len(theirs)
    special = {token.content for token in added.values() if token.special}
    assert {name for name, token in ours.added_tokens.items() if token.special} == special
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
    "standard names among the extra tokens": {
        "tokenizer_config": {"pad_token": "<x>", "extra_special_tokens": {"bos_token": "<new>"}},
    },
    "an object that does not say what it is": {
        "tokenizer_config": {"x_token": {"content": "<x>", **FLAGS}, "y_token": "<y>"},
    },
    "an empty name": {"tokenizer_config": {"x_token": "", "y_token": "<y>"}},
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
    "named tokens as objects, which the file has with other flags": {
        "tokenizer_config": {
            "pad_token": {"__type": "AddedToken", **token("<think>", rstrip=True)},
            "extra_special_tokens": ["<s>", {"__type": "AddedToken", **token("<new>")}],
        },
        "special_tokens_map": {
            "bos_token": {"content": "<s>", **FLAGS, "normalized": True},
            "x_token": {"content": "<|user|>", **FLAGS, "lstrip": True},
            "extra_special_tokens": [{"content": "<x>", **FLAGS, "rstrip": True}],
        },
    },
    "named tokens as objects, which the list has not": {
        "tokenizer_config": {
            "added_tokens_decoder": {},
            "pad_token": {"__type": "AddedToken", **token("<think>", rstrip=True)},
            "bos_token": {"__type": "AddedToken", **token("<new>", rstrip=True)},
            "x_token": "<|user|>",
        },
    },
    "a new token that is mentioned again": {
        "tokenizer_config": {
            "pad_token": {"__type": "AddedToken", **token("<new>", rstrip=True)},
            "bos_token": {"__type": "AddedToken", **token("<x>", special=True, lstrip=True)},
            "eos_token": "<z>",
            "x_token": {"__type": "AddedToken", **token("<z>", special=True, lstrip=True)},
            "extra_special_tokens": [
                "<x>",
                {"__type": "AddedToken", **token("<new>", lstrip=True)},
                {"__type": "AddedToken", **token("<new>", rstrip=True)},
                "<z>",
            ],
        },
    },
    "extra tokens that the file has": {
        "tokenizer_config": {"extra_special_tokens": ["<think>", "</s>"]}
    },
    "extra tokens that the list has": {
        "tokenizer_config": {
            "added_tokens_decoder": {
                str(TAKEN + 3): token("<think>"),
                str(TAKEN + 4): token("<x>"),
            },
            "extra_special_tokens": ["<think>", "<x>", "<z>"],
        }
    },
    "added tokens without flags, and extra tokens": {
        "tokenizer_config": {"extra_special_tokens": ["<z>", "<think>"]},
        "added_tokens": {"<z>": TAKEN + 5, "<new>": TAKEN + 4, "<think>": TAKEN + 3},
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
    names = "{{ x_token is defined }}" + "".join(
        f"{{{{ {one}_token }}}}|" for one in ("bos", "eos", "pad", "image", "x", "y")
    )
    for template in (names + "{{ messages[0].content }}", "{{ y }}{{ '<' ~ 'new>' }}<x>"):
        for text in TEXTS:
            chat = [{"role": "user", "content": text}]
            asked: dict[str, Any] = {"chat_template": template, "return_dict": False}
            expected = theirs.apply_chat_template(chat, tokenize=False, **asked)
            assert ours.apply_chat_template(chat, tokenize=False, **asked) == expected
            expected = theirs.apply_chat_template(chat, tokenize=True, **asked)
            assert ours.apply_chat_template(chat, tokenize=True, **asked) == expected


def write(folder: Path, **files: object) -> None:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.mark.parametrize("of_model", [None, "llama", "mistral", "phi3", "gemma"])
@pytest.mark.parametrize(
    "name",
    ["PreTrainedTokenizerFast", "LlamaTokenizer", "GemmaTokenizer", "CodeLlamaTokenizerFast"],
)
def test_the_class_says_on_which_side_batches_are_padded(
    name: str, of_model: str | None, tmp_path: Path
) -> None:
    config = {} if of_model is None else {"config": {"model_type": of_model}}
    for number, more in enumerate(
        ({}, {"normalizer": None, "pre_tokenizer": None, "decoder": None})
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder, tokenizer=small.definition(**more), **config)
        for side in (None, "left", "right"):
            stated = {} if side is None else {"padding_side": side}
            write(folder, tokenizer_config={"tokenizer_class": name, **stated})
            theirs = transformers.AutoTokenizer.from_pretrained(str(folder))
            ours = pywasmtok.create_tokenizer(folder)
            assert ours.chat_templates.settings.padding_side == theirs.padding_side


def test_the_file_says_on_which_side_texts_are_padded_and_cut(tmp_path: Path) -> None:
    padding = {
        "strategy": "BatchLongest",
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 266,
        "pad_type_id": 0,
        "pad_token": "<s>",
    }
    truncation = {
        "direction": "Left",
        "max_length": 4,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    write(tmp_path, tokenizer=small.definition(padding=padding, truncation=truncation))
    for config in ({}, {"padding_side": "right"}, {"truncation_side": "right"}):
        write(tmp_path, tokenizer_config={"pad_token": "<s>", **config})
        theirs, ours = reference(tmp_path, apply="tokens"), pywasmtok.create_tokenizer(tmp_path)
        chats = [[{"role": "user", "content": text}] for text in ("he", "hello world")]
        for asked in ({"padding": True}, {"truncation": True, "max_length": 3}):
            how: dict[str, Any] = {"chat_template": "{{ messages[0].content }}", **asked}
            expected = theirs.apply_chat_template(chats, return_dict=True, **how)
            assert dict(ours.apply_chat_template(chats, **how)) == dict(expected)


def test_a_pad_token_of_the_configuration_alone(tmp_path: Path) -> None:
    write(tmp_path, tokenizer=small.definition(), tokenizer_config={"pad_token": "<pad>"})
    theirs, ours = reference(tmp_path, apply="tokens"), pywasmtok.create_tokenizer(tmp_path)
    chats = [[{"role": "user", "content": text}] for text in ("he", "hello world")]
    for padding in (True, transformers.utils.PaddingStrategy.LONGEST, "longest"):
        how: dict[str, Any] = {
            "chat_template": "{{ messages[0].content }}",
            "padding": padding,
            "truncation": None,
        }
        expected = theirs.apply_chat_template(chats, return_dict=True, **how)
        assert dict(ours.apply_chat_template(chats, **how)) == dict(expected)


def test_tokens_of_the_configuration_cost_a_call_nothing(tmp_path: Path) -> None:
    tokens = [f"<t{number}>" for number in range(50)]
    write(
        tmp_path,
        tokenizer=small.definition(),
        tokenizer_config={"extra_special_tokens": tokens},
    )
    tok = pywasmtok.create_tokenizer(tmp_path)
    few = tok.limited(max_tokens=20, max_batch_items=20, max_text_bytes=20)
    chat = [{"role": "user", "content": "a<t7>"}]
    how: dict[str, Any] = {"chat_template": "{{ messages[0].content }}", "return_dict": False}
    theirs = reference(tmp_path, apply="tokens")
    assert few.apply_chat_template(chat, **how) == theirs.apply_chat_template(chat, **how)


def test_words_without_an_unknown_token(tmp_path: Path) -> None:
    """The model has no ids for the names of tokens that are still to be added."""
    words = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "[UNK]"}
    definition = small.definition(
        model=words, normalizer=None, pre_tokenizer={"type": "Whitespace"}, added_tokens=[]
    )
    write(tmp_path, tokenizer=definition, tokenizer_config={"eos_token": "</s>"})
    tok = pywasmtok.create_tokenizer(tmp_path)
    chat = [{"role": "user", "content": "a b"}]
    template = "{{ messages[0].content }}{{ eos_token }}"
    ids = tok.apply_chat_template(chat, chat_template=template, return_dict=False)
    theirs = reference(tmp_path, apply="tokens")
    expected = theirs.apply_chat_template(chat, chat_template=template, return_dict=False)
    assert ids == expected == [0, 1, 2]


def test_by_default_ids_follow_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    alone = pywasmtok.create_tokenizer(tmp_path)
    config = CONFIGS["tokens that stand only there"]["tokenizer_config"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**config, "add_bos_token": False}))
    tok = pywasmtok.create_tokenizer(tmp_path)
    assert [tok.encode(text) for text in TEXTS] == [alone.encode(text) for text in TEXTS]
    assert tok.get_vocab() == alone.get_vocab()


@pytest.mark.parametrize("apply", ["yes", 2, 1, 0.0, None])
def test_other_values_are_refused(apply: Any, tmp_path: Path) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="apply_config"):
        pywasmtok.create_tokenizer(tmp_path, apply_config=apply)
