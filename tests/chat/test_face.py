"""`apply_chat_template` against transformers itself: text, ids, masks, padding, truncation.

The reference renders on both sides, so that what differs is what stands around a render.
"""

from __future__ import annotations

import itertools
import pickle
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
import small
from assets import ROOT, Asset, needs_assets

import pywasmtok
from chat.whole_reference import ReferenceRenderer
from pywasmtok import errors

from .environment import needs_reference

transformers = pytest.importorskip("transformers")
pytestmark = needs_reference

TEMPLATE = (
    "{{ bos_token or '' }}{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}"
    "{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}{% else %}{{ m.content }}"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
FAMILIES = {
    "llama3": ("<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"),
    "qwen3": (None, "<|im_end|>", "<|endoftext|>"),
    "mistral-v3": ("<s>", "</s>", "</s>"),
    "gemma3": ("<bos>", "<eos>", "<pad>"),
    "gpt2": (None, "<|endoftext|>", "<|endoftext|>"),
}
CHATS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Hello there, 你好 🦜"}],
    [
        {"role": "system", "content": "Be brief.  "},
        {"role": "user", "content": "What is 2+2?\n"},
        {"role": "assistant", "content": "4. <think>é</think>", "tool_calls": None},
        {"role": "user", "content": " and\t3?"},
        {"role": "assistant", "content": "Three"},
    ],
    [{"role": "assistant", "content": "x"}],
]


class Both:
    """The same file in transformers and here, with the same configuration."""

    def __init__(self, family: str, folder: Path, **config: Any) -> None:
        bos, eos, pad = FAMILIES[family]
        named = {"bos_token": bos, "eos_token": eos, "pad_token": pad}
        config = {key: value for key, value in {**named, **config}.items() if value is not None}
        data = Asset(family, "tokenizer.json").read()
        (folder / "tokenizer.json").write_bytes(data)
        (folder / "tokenizer_config.json").write_text(json_of(config))
        self.theirs = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"), chat_template=TEMPLATE, **config
        )
        self.ours = pywasmtok.create_tokenizer_with_chat_template(folder, TEMPLATE, decoder="core")
        self.renderer = ReferenceRenderer()

    def apply(self, chat: Any, **arguments: Any) -> Any:
        return self.ours.apply_chat_template(chat, renderer=self.renderer, **arguments)

    def compare(self, chat: Any, **arguments: Any) -> Any:
        try:
            expected = self.theirs.apply_chat_template(chat, **arguments)
        except Exception as error:
            with pytest.raises(pywasmtok.TokenizerError):
                self.apply(chat, **arguments)
            return error
        answer = self.apply(chat, **arguments)
        assert plain(answer) == plain(expected), arguments
        return answer


def json_of(value: object) -> str:
    import json

    return json.dumps(value)


def plain(answer: Any) -> Any:
    """In types that can be compared, the kinds of containers told apart."""
    if hasattr(answer, "items"):
        return {name: plain(value) for name, value in answer.items()}
    if hasattr(answer, "tolist") and not isinstance(answer, memoryview):
        rows = answer.tolist() if answer.dtype != object else [plain(row) for row in answer]
        return ("array", str(answer.dtype), answer.shape, rows)
    if isinstance(answer, list):
        return [list(item) if isinstance(item, tuple) else item for item in answer]
    return answer


@pytest.fixture(scope="module", params=FAMILIES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    if not (ROOT / "manifest.json").is_file():
        pytest.skip("no real tokenizer files")
    return Both(request.param, tmp_path_factory.mktemp("model"))


SHAPES: list[dict[str, Any]] = [
    {},
    {"tokenize": False},
    {"return_dict": False},
    {"add_generation_prompt": True},
    {"continue_final_message": True},
    {"return_tensors": "np"},
    {"return_tensors": "np", "return_dict": False},
    {"padding": True},
    {"padding": "longest", "return_tensors": "np"},
    {"padding": "max_length", "max_length": 24},
    {"padding": "max_length"},
    {"truncation": True, "max_length": 7},
    {"truncation": True},
    {"truncation": True, "max_length": 0},
    {"truncation": "longest_first", "max_length": 5, "padding": True},
    {"max_length": 5},
    {"max_length": 5, "padding": True},
    {"padding": "max_length", "max_length": 16, "truncation": True, "return_tensors": "np"},
    {"return_assistant_tokens_mask": True},
    {"return_assistant_tokens_mask": True, "return_tensors": "np", "padding": True},
    {"return_assistant_tokens_mask": True, "truncation": True, "max_length": 12},
    {"return_assistant_tokens_mask": True, "padding": "max_length", "max_length": 40},
]
MORE: list[dict[str, Any]] = [
    {},
    {"padding_side": "left"},
    {"pad_to_multiple_of": 8},
    {"return_token_type_ids": True, "return_attention_mask": False},
    {"return_special_tokens_mask": True, "return_offsets_mapping": True, "return_length": True},
]


@needs_assets
@pytest.mark.parametrize("more", MORE, ids=lambda more: ",".join(more) or "plain")
def test_every_shape_of_an_answer(both: Both, more: dict[str, Any]) -> None:
    for chat, shape in itertools.product([*CHATS, CHATS, CHATS[:1]], SHAPES):
        if "return_length" in more and shape.get("return_tensors"):
            continue
        both.compare(chat, **shape, tokenizer_kwargs=more)


@needs_assets
@pytest.mark.parametrize(
    "config",
    [
        {"padding_side": "left", "truncation_side": "left"},
        {"model_max_length": 9},
        {"model_max_length": 1e30},
        {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
        {"model_input_names": ["input_ids"]},
        {"pad_token": None},
    ],
    ids=lambda config: next(iter(config)),
)
def test_what_the_configuration_says(config: dict[str, Any], tmp_path: Path) -> None:
    both = Both("llama3", tmp_path, **config)
    for chat, shape in itertools.product([CHATS[1], CHATS], SHAPES):
        both.compare(chat, **shape)


@needs_assets
def test_errors_are_errors_there_too(both: Both) -> None:
    wrong: list[dict[str, Any]] = [
        {"return_assistant_tokens_mask": True, "tokenize": False},
        {"return_assistant_tokens_mask": True, "return_dict": False},
        {"return_assistant_tokens_mask": True, "continue_final_message": True},
        {"continue_final_message": True, "add_generation_prompt": True},
        {"continue_final_message": "reasoning_content"},
        {"sanitize_control_tokens": True, "tokenize": False},
        {"padding": "everything"},
        {"truncation": "a bit"},
        {"truncation": True, "max_length": -1},
        {"tools": ["calculator"]},
        {"documents": ["text"]},
        {"messages": []},
        {"padding": True, "tokenizer_kwargs": {"padding_side": "up"}},
        {"tokenizer_kwargs": {"what": 1}},
    ]
    for arguments in wrong:
        if "what" in arguments.get("tokenizer_kwargs", ()):
            # transformers warns of a name that it does not know.
            with pytest.raises(errors.InvalidArgument, match="what"):
                both.apply(CHATS[1], **arguments)
            continue
        assert isinstance(both.compare(CHATS[1], **arguments), Exception), arguments
    assert isinstance(both.compare([]), Exception)


@needs_assets
def test_real_templates_with_tools(both: Both) -> None:
    def weather(city: str, unit: str | None = None) -> str:
        """Tells the weather.

        Args:
            city: Where
            unit: Of degrees (choices: ["C", "F"])
        """
        return city + (unit or "")

    schema = {"type": "function", "function": {"name": "f", "parameters": {}}}
    documents = [{"title": "T", "text": "x"}]
    name = {"llama3": "lenml__llama3_1", "qwen3": "axolotl__qwen3"}.get(both_family(both))
    if name is None:
        pytest.skip("two are enough")
    text = (ROOT / "chat" / "templates" / f"{name}.jinja").read_bytes().decode()
    both.theirs.chat_template = text
    both.ours.set_chat_template(text)
    try:
        for tools in (None, [], [weather], [schema, weather]):
            both.compare(CHATS[1], tools=tools, documents=documents, enable_thinking=False)
            both.compare(CHATS[0], tools=tools, tokenize=False, bos_token="<other>")
    finally:
        both.theirs.chat_template = TEMPLATE
        both.ours.set_chat_template(TEMPLATE)


@needs_assets
@pytest.mark.parametrize(
    ("family", "template"),
    [
        ("llama3", "lenml__llama3_1"),
        ("qwen3", "axolotl__qwen3"),
        ("gemma3", "lenml__gemma3"),
        ("mistral-v3", "chujie__mistral-instruct"),
        ("gpt2", "chujie__zephyr"),
    ],
)
def test_the_whole_way_with_the_sandbox(family: str, template: str, tmp_path: Path) -> None:
    text = (ROOT / "chat" / "templates" / f"{template}.jinja").read_bytes().decode()
    both = Both(family, tmp_path)
    both.renderer = None  # type: ignore[assignment]
    bos, eos, _ = FAMILIES[family]
    strange = f"a{eos}b {bos or ''}<|im_start|>x<|start_header_id|> </s>\n<end_of_turn>"
    chats: list[Any] = [
        CHATS[0],
        [{"role": "user", "content": strange}],
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": strange},
            {"role": "user", "content": strange[1:]},
        ],
    ]
    for source in (text, TEMPLATE):
        both.theirs.chat_template = source
        both.ours.set_chat_template(source)
        for chat in (*chats, chats):
            for arguments in (
                {},
                {"tokenize": False},
                {"add_generation_prompt": True, "return_tensors": "np", "padding": True},
                {"continue_final_message": True},
                {"sanitize_control_tokens": True},
                {"sanitize_control_tokens": True, "padding": True, "return_tensors": "np"},
                {"sanitize_control_tokens": True, "truncation": True, "max_length": 11},
                {"return_assistant_tokens_mask": True},
                {"chat_template": "{{ messages[-1].content }}{{ eos_token }}"},
            ):
                both.compare(chat, **arguments)


def both_family(both: Both) -> str:
    eos = both.theirs.eos_token
    return next(name for name, tokens in FAMILIES.items() if tokens[1] == eos)


@needs_assets
def test_a_file_that_cuts_and_fills_does_not_do_so_here(tmp_path: Path) -> None:
    limits = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    padding = {
        "strategy": {"Fixed": 9},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 3,
        "pad_type_id": 0,
        "pad_token": "<s>",
    }
    (tmp_path / "tokenizer.json").write_bytes(small.file(truncation=limits, padding=padding))
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), chat_template=TEMPLATE
    )
    ours = pywasmtok.create_tokenizer_with_chat_template(tmp_path, TEMPLATE)
    answer = ours.apply_chat_template(CHATS[0], renderer=ReferenceRenderer())
    assert plain(answer) == plain(theirs.apply_chat_template(CHATS[0]))
    assert len(answer["input_ids"]) > 9


class Model:
    """What the tests below need of a tokenizer, without real files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tokenizer.json").write_bytes(small.file())
        self.renderer = ReferenceRenderer()

    def open(self, template: Any = TEMPLATE) -> pywasmtok.Tokenizer:
        return pywasmtok.create_tokenizer_with_chat_template(self.folder, template)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return Model(tmp_path)


def test_buffers_are_those_of_the_encoding(model: Model) -> None:
    tok = model.open()
    one = tok.apply_chat_template(CHATS[0], renderer=model.renderer, return_tensors="buffer")
    ids = one["input_ids"]
    assert isinstance(ids, memoryview)
    assert (ids.format, ids.readonly) == ("I", True)
    text = tok.apply_chat_template(CHATS[0], renderer=model.renderer, tokenize=False)
    assert ids.tolist() == tok.encode(text, add_special_tokens=False).ids
    assert one.texts == [text]
    assert one.attention_mask == [1] * len(ids)
    many = tok.apply_chat_template(
        CHATS, renderer=model.renderer, return_tensors="buffer", truncation=True, max_length=3
    )
    assert [len(ids) for ids in many.input_ids] == [3, 3, 3]
    with pytest.raises(AttributeError, match="labels"):
        many.labels  # noqa: B018


def test_the_clock_and_the_profile_reach_the_renderer(model: Model) -> None:
    tok = model.open("{{ strftime_now('%Y') }}")
    now = datetime(1999, 5, 6)
    assert tok.apply_chat_template(CHATS[0], renderer=model.renderer, now=now, tokenize=False) == (
        "1999"
    )
    tok.apply_chat_template(CHATS[0], renderer=model.renderer, profile="hf-4.57", tokenize=False)
    first, second = model.renderer.requests
    assert (first.now, first.profile) == (now, "hf-5")
    assert (second.now, second.profile) == (None, "hf-4.57")
    with pytest.raises(pywasmtok.InvalidArgument, match="hf-3"):
        tok.apply_chat_template(CHATS[0], profile="hf-3")  # type: ignore[arg-type]


def test_the_callers_objects_are_not_changed(model: Model) -> None:
    chat = [{"role": "user", "content": [{"type": "text", "text": "x"}], "name": None}]
    before = pickle.dumps(chat)
    tok = model.open("{{ messages[0].content[0].text }}")
    tok.apply_chat_template(chat, renderer=model.renderer, continue_final_message=True)
    assert pickle.dumps(chat) == before


def test_batches_of_objects_with_messages(model: Model) -> None:
    class Conversation:
        def __init__(self, messages: list[dict[str, Any]]) -> None:
            self.messages = messages

    tok = model.open()
    objects = [Conversation(chat) for chat in CHATS]
    expected = tok.apply_chat_template(CHATS, renderer=model.renderer, tokenize=False)
    assert tok.apply_chat_template(objects, renderer=model.renderer, tokenize=False) == expected
    one = tok.apply_chat_template(objects[0], renderer=model.renderer, tokenize=False)
    assert one == expected[0]
    assert tok.apply_chat_template(tuple(CHATS), renderer=model.renderer, tokenize=False) == (
        expected
    )
    for wrong in ("text", {"role": "user"}, b"x"):
        with pytest.raises(pywasmtok.InvalidArgument):
            tok.apply_chat_template(wrong)


def test_a_function_in_place_of_a_template(model: Model) -> None:
    tok = model.open(written_by_code)
    assert tok.chat_template is written_by_code
    text = tok.apply_chat_template(CHATS[0], tokenize=False, add_generation_prompt=True, mood="x")
    assert text == "1 True x"
    again = pickle.loads(pickle.dumps(tok))
    assert again.apply_chat_template(CHATS[1], tokenize=False, mood=2) == "5 False 2"
    refused: list[dict[str, Any]] = [
        {"return_assistant_tokens_mask": True},
        {"continue_final_message": True},
    ]
    for arguments in refused:
        with pytest.raises(pywasmtok.InvalidArgument, match="function"):
            tok.apply_chat_template(CHATS[1], mood=1, **arguments)
    tok.set_chat_template(lambda messages, **more: None)  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.InvalidArgument, match="NoneType"):
        tok.apply_chat_template(CHATS[0])


def written_by_code(messages: list[Any], *, add_generation_prompt: bool, **more: Any) -> str:
    return f"{len(messages)} {add_generation_prompt} {more['mood']}"


@pytest.mark.parametrize("more", [{}, {"chat_template": "x"}, {"tokenize": False}])
def test_there_is_no_renderer_to_choose(model: Model, more: dict[str, Any]) -> None:
    tok = pywasmtok.create_tokenizer_with_chat_template(model.folder, TEMPLATE)
    for name in ("minijinja", "jinja3"):
        with pytest.raises(pywasmtok.InvalidArgument, match=name) as refused:
            tok.apply_chat_template(CHATS[0], renderer=name, **more)
        assert "nothing has to be chosen" in str(refused.value.hint)
    with pytest.raises(pywasmtok.InvalidArgument, match="minijinja"):
        tok.chat_session(messages=CHATS[0], renderer="minijinja").render()
    tok.set_chat_template(lambda messages, **more: "x")
    with pytest.raises(pywasmtok.InvalidArgument, match="minijinja"):
        tok.apply_chat_template(CHATS[0], renderer="minijinja", tokenize=False)
    tok.set_chat_template(TEMPLATE)
    plain = tok.apply_chat_template(CHATS[0], tokenize=False)
    assert tok.apply_chat_template(CHATS[0], renderer="sandbox", tokenize=False) == plain


class Refusing:
    name = "refusing"

    def compile(self, source: str, **_: Any) -> NoReturn:
        raise AssertionError(source)


def test_a_template_of_the_call_is_rendered_in_the_sandbox(model: Model) -> None:
    tok = pywasmtok.create_tokenizer_with_chat_template(model.folder, TEMPLATE)
    arguments: dict[str, Any] = {"renderer": Refusing(), "tokenize": False}
    assert tok.apply_chat_template(CHATS[0], chat_template="x", **arguments) == "x"
    with pytest.raises(AssertionError):
        tok.apply_chat_template(CHATS[0], **arguments)


def with_a_wrong_hint(x: Missing) -> int:  # type: ignore[name-defined]  # noqa: F821
    """It counts.

    Args:
        x: what
    """
    return 1


class Endless:
    def model_dump(self) -> Endless:
        return self


@pytest.mark.parametrize(
    "wrong",
    [
        {"conversation": [CHATS[0], 5]},
        {"tools": [with_a_wrong_hint]},
        {"renderer": []},
        {"renderer": 5, "chat_template": "x"},
        {"strict": []},
        {"more": Endless()},
        {"chat_template": "{{ messages[0].content.x }}", "conversation": [[Endless()]]},
    ],
)
@pytest.mark.parametrize("tokenize", [True, False])
def test_wrong_arguments_are_typed_errors(
    model: Model, tokenize: bool, wrong: dict[str, Any]
) -> None:
    tok = pywasmtok.create_tokenizer_with_chat_template(model.folder, TEMPLATE)
    asked = {"conversation": CHATS[0], **wrong}
    with pytest.raises(pywasmtok.TokenizerError):
        tok.apply_chat_template(tokenize=tokenize, **asked)


def test_wrong_arguments_of_other_calls_are_typed_errors(model: Model) -> None:
    tok = pywasmtok.create_tokenizer_with_chat_template(model.folder, TEMPLATE)
    wrongs: list[dict[str, Any]] = [{"strict": {}}, {"arguments": [1]}, {"messages": 5}]
    for wrong in wrongs:
        asked: dict[str, Any] = {"messages": CHATS[0], **wrong}
        with pytest.raises(pywasmtok.InvalidArgument):
            tok.encode_chat(**asked)
    expected = tok.encode_chat(CHATS[0], arguments=None)
    chat: Any = iter(CHATS[0])
    assert tok.encode_chat(chat).ids == expected.ids
    with pytest.raises(pywasmtok.InvalidArgument, match="NUL"):
        tok.set_chat_template("./a\0b")


def test_the_longest_numbers_of_numpy(model: Model) -> None:
    numpy = pytest.importorskip("numpy")
    tok = pywasmtok.create_tokenizer_with_chat_template(model.folder, "{{ x }}")
    text = tok.apply_chat_template(CHATS[0], tokenize=False, x=numpy.longdouble(1.5))
    assert text == "1.5"
    text = tok.apply_chat_template(CHATS[0], tokenize=False, x=numpy.clongdouble(1.5))
    assert text == "<clongdouble>"
