"""The plugin has what vLLM's Protocol names. `python -m tools.verify.vllm` runs the
same inside vLLM."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tokenizers

import pywasmtok
from pywasmtok.compat import vllm as plugin
from pywasmtok.compat.tokenizers import Tokenizer
from pywasmtok.compat.vllm.tokenizer import exchange

transformers = pytest.importorskip("transformers")

# Of `TokenizerLike` in vLLM 0.33. `max_token_id` and `max_chars_per_token` are added by vLLM.
PROPERTIES = (
    "all_special_tokens", "all_special_ids", "bos_token_id", "eos_token_id", "pad_token_id",
    "is_fast", "vocab_size", "truncation_side",
)  # fmt: skip
METHODS: dict[str, tuple[str, ...]] = {
    "num_special_tokens_to_add": (),
    "__call__": ("text", "text_pair", "add_special_tokens", "truncation", "max_length"),
    "get_vocab": (),
    "get_added_vocab": (),
    "encode": ("text", "truncation", "max_length", "add_special_tokens"),
    "apply_chat_template": ("tools",),
    "convert_tokens_to_ids": ("tokens",),
    "convert_tokens_to_string": ("tokens",),
    "decode": ("skip_special_tokens",),
    "convert_ids_to_tokens": ("ids", "skip_special_tokens"),
}
ROOT = Path(__file__).resolve().parents[2]
TEXT = "naïve café 🌶️ 中文"
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


def make(data: bytes | None = None) -> Any:
    demo, _ = pywasmtok.create_tokenizer("builtin:demo").made_of
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_buffer(data or bytes(demo)),
        pad_token="<pad>",
        chat_template=TEMPLATE,
    )


@pytest.fixture
def ours() -> Any:
    tokenizer = make()
    assert exchange(tokenizer) is None
    return tokenizer


def test_the_members_of_the_protocol(ours: Any) -> None:
    theirs = make()
    for name in PROPERTIES:
        assert getattr(ours, name) == getattr(theirs, name), name
    for name, parameters in METHODS.items():
        takes = inspect.signature(getattr(ours, name)).parameters
        open_ended = any(one.kind is one.VAR_KEYWORD for one in takes.values())
        assert open_ended or set(parameters) <= set(takes), name
    assert len(ours) == len(theirs)
    assert isinstance(ours.backend_tokenizer, Tokenizer)


def test_it_answers_as_without_the_core(ours: Any) -> None:
    theirs = make()
    ids = theirs.encode(TEXT)
    tokens = theirs.convert_ids_to_tokens(ids)
    chat = [{"role": "user", "content": TEXT}]
    for call in (
        lambda t: dict(t([TEXT, "a"])),
        lambda t: t.encode(TEXT, truncation=True, max_length=3),
        lambda t: [t.decode(ids[:end], skip_special_tokens=True) for end in range(len(ids))],
        lambda t: [t.decode([one]) for one in range(len(t))],
        lambda t: [t.convert_ids_to_tokens(ids), t.convert_tokens_to_ids(tokens)],
        lambda t: t.convert_tokens_to_string(tokens),
        lambda t: [t.get_vocab(), t.get_added_vocab(), t.num_special_tokens_to_add()],
        lambda t: t.apply_chat_template(chat, tokenize=False),
        lambda t: dict(t.apply_chat_template(chat, return_dict=True)),
    ):
        assert call(ours) == call(theirs)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_the_core(ours: Any, again: Any) -> None:
    other = again(ours)
    assert other.backend_tokenizer.core is not None
    assert other.encode(TEXT) == ours.encode(TEXT)


def test_added_tokens_are_seen(ours: Any) -> None:
    # As vLLM does it for the places of embeddings.
    ours.add_special_tokens({"additional_special_tokens": ["<|here|>"]})
    (token_id,) = ours.encode("<|here|>", add_special_tokens=False)
    assert ours.convert_ids_to_tokens(token_id) == "<|here|>"
    assert ours.decode([token_id]) == "<|here|>"


def test_what_the_core_refuses_stays_as_it_is() -> None:
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(dropout=0.5))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    assert exchange(tokenizer) is not None
    assert type(tokenizer.backend_tokenizer) is tokenizers.Tokenizer
    assert exchange(SimpleNamespace()) is not None


class Registry:
    def __init__(self) -> None:
        self.tokenizers = self.renderers = self.made = {}  # type: dict[str, tuple[str, str]]

    def register(self, mode: str, module: str, name: str) -> None:
        assert mode not in self.made
        self.made[mode] = module, name


def module(patch: pytest.MonkeyPatch, name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    patch.setitem(sys.modules, name, made)
    return made


def test_the_entry_point_registers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    entry = EntryPoint("x", stated["vllm.general_plugins"]["pywasmtok"], "y")
    assert entry.load() is plugin.register
    for name in ("vllm", "vllm.renderers", "vllm.tokenizers"):
        module(monkeypatch, name, __path__=[])
    one, other = Registry(), Registry()
    module(monkeypatch, "vllm.renderers.registry", RENDERER_REGISTRY=one)
    module(monkeypatch, "vllm.tokenizers.registry", TokenizerRegistry=other)
    plugin.register()
    plugin.register()
    assert one.made == {"pywasmtok": ("vllm.renderers.hf", "HfRenderer")}
    target, name = other.made["pywasmtok"]
    assert EntryPoint("x", f"{target}:{name}", "y").load().from_pretrained


def test_another_vllm_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module(monkeypatch, "vllm", __path__=[])
    plugin.register()
    assert "--tokenizer-mode pywasmtok is not there" in caplog.text


class Original:
    """vLLM's `FastIncrementalDetokenizer`. The text is that of a stream of `tokenizers`."""

    def __init__(self, tokenizer: Any, request: Any) -> None:
        self.skip_special_tokens = request.skip
        self.tokenizer = tokenizer.backend_tokenizer
        self.stream = tokenizers.decoders.DecodeStream(request.prompt_token_ids, request.skip)

    def _protected_step(self, token_id: int) -> str | None:
        text: str | None = self.stream.step(self.tokenizer, token_id)
        return text


@pytest.fixture
def detokenizers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """vLLM's module of this name, as far as the hook needs it."""
    for name in ("vllm", "vllm.v1"):
        module(monkeypatch, name, __path__=[])
    theirs = module(monkeypatch, "vllm.v1.engine.detokenizer", FastIncrementalDetokenizer=Original)
    theirs.__dict__["SlowIncrementalDetokenizer"] = lambda *given: given
    theirs.__dict__["logger"] = SimpleNamespace(exception=lambda *_: None)
    module(monkeypatch, "vllm.v1.engine", detokenizer=theirs)
    monkeypatch.delitem(sys.modules, "pywasmtok.compat.vllm.detokenizer", raising=False)
    yield theirs
    monkeypatch.delitem(sys.modules, "pywasmtok.compat.vllm.detokenizer", raising=False)


def test_the_detokenizer_is_hooked_and_unhooked(detokenizers: Any, ours: Any) -> None:
    from pywasmtok.compat.vllm.detokenizer import hook, unhook

    hook()
    ids = ours.encode("Hello 🌶!", add_special_tokens=False)
    request = SimpleNamespace(skip=True, prompt_token_ids=ids[:1])
    one = detokenizers.FastIncrementalDetokenizer(ours, request)
    assert isinstance(one, Original)
    assert type(one) is not Original
    assert one._protected_step(-1) is None
    assert type(detokenizers.FastIncrementalDetokenizer(make(), request)) is Original
    unhook()
    assert detokenizers.FastIncrementalDetokenizer is Original
    # A process that was given a tokenizer loads none itself.
    again = pickle.loads(pickle.dumps(ours))
    assert again.backend_tokenizer.decoder is not None
    assert type(again.backend_tokenizer) is type(ours.backend_tokenizer)
    assert detokenizers.FastIncrementalDetokenizer is not Original
    unhook()


def test_a_tokenizer_that_the_core_refuses_later_has_a_detokenizer(
    detokenizers: Any, ours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pywasmtok.compat.vllm.detokenizer import hook

    hook()
    monkeypatch.setattr(type(ours.backend_tokenizer), "core", None)
    request = SimpleNamespace(skip=True, prompt_token_ids=[])
    made = detokenizers.FastIncrementalDetokenizer(ours, request)
    assert made == (ours, request)


# The classes of docs/compat-vllm.md, with their smallest examples: the tokens of the prompt and of
# the output, the text of each id of ours, and of vLLM's.
DIFFERENCES = {
    "the prompt ends inside a character": (
        ["H", "ð", "Ł"], ["Į", "¶", "!"], ["", "🌶", "!"], [None, "H🌶", "!"],
    ),
    "the prompt ends inside a character that stays incomplete": (
        ["H", "ð"], ["!"], ["\ufffd!"], ["H\ufffd!"],
    ),
    "the output ends inside a character": (["H"], ["ĠðŁ"], [" "], [None]),
    "the output ends with a wrong byte": (["H"], ["Į"], ["\ufffd"], [None]),
    # With the stop string " ", vLLM lets the model generate the third token.
    "the stop string is complete one token earlier": (
        ["H"], ["ĠðŁ", "Į", "¶"], [" ", "", "🌶"], [None, None, " 🌶"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_where_the_text_is_not_vllms(detokenizers: Any, kind: str) -> None:
    from pywasmtok.compat.vllm.detokenizer import hook

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = [("ð", "Ł"), ("Ġ", "ðŁ")]
    vocabulary = [*alphabet, *("".join(pair) for pair in merges)]
    inner = tokenizers.Tokenizer(
        tokenizers.models.BPE({token: n for n, token in enumerate(vocabulary)}, merges)
    )
    inner.decoder = tokenizers.decoders.ByteLevel()
    theirs, ours = (make(inner.to_str().encode()) for _ in range(2))
    assert exchange(ours) is None
    hook()
    prompt, output, *expected = DIFFERENCES[kind]
    request = SimpleNamespace(skip=True, prompt_token_ids=ours.convert_tokens_to_ids(prompt))
    for tokenizer, texts in zip((ours, theirs), expected, strict=True):
        one = detokenizers.FastIncrementalDetokenizer(tokenizer, request)
        ids = tokenizer.convert_tokens_to_ids(output)
        assert [one._protected_step(token_id) for token_id in ids] == texts


def test_the_file_is_there_for_what_reads_it(ours: Any) -> None:
    # llguidance and xgrammar build their tables from it, and vLLM looks for the mark of spaces.
    theirs = make().backend_tokenizer
    assert json.loads(ours.backend_tokenizer.to_str()) == json.loads(theirs.to_str())
    assert ours.backend_tokenizer.get_added_tokens_decoder() == theirs.get_added_tokens_decoder()
    assert ours.added_tokens_decoder == make().added_tokens_decoder
