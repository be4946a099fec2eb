"""The sandboxed renderer, through its contract: what goes in, what comes out, what is refused."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, UserDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pywasmtok import errors
from pywasmtok.chat.contract import Rendered, RenderRequest, TemplateLimits
from pywasmtok.chat.rendering import plain as plain_module
from pywasmtok.chat.rendering.sandbox import renderer
from pywasmtok.chat.templates.reserved import RESERVED

USER = [{"role": "user", "content": "Hi"}]


def render(source: str, messages: Any = None, /, **request: Any) -> str:
    return rendered(source, messages, **request).text


def rendered(source: str, messages: Any = None, /, **request: Any) -> Rendered:
    messages = USER if messages is None else messages
    return renderer().compile(source).render(RenderRequest(messages, **request))


def value(thing: Any, expression: str = "x") -> str:
    return render("{{ " + expression + " }}", arguments={"x": thing})


def test_a_conversation() -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m['content'] }}\n{% endfor %}{{ bos_token }}"
    chat = [{"role": "user", "content": "Grüße, 世界 🌍"}, {"role": "assistant", "content": "\0\n"}]
    answer = rendered(source, chat, special_tokens={"bos_token": "<s>"})
    assert answer == Rendered("<user>Grüße, 世界 🌍\n<assistant>\0\n\n<s>")


def test_what_a_template_always_has() -> None:
    source = "{{ tools is none }} {{ documents is none }} {{ add_generation_prompt }}"
    assert render(source) == "True True False"
    assert render(source, tools=[], documents=(), add_generation_prompt=True) == "False False True"


def test_compiled_once() -> None:
    one, limits = renderer().compile("x{{ 1 }}"), TemplateLimits(depth=7)
    assert renderer().compile("x{{ 1 }}") is one
    assert renderer().compile("x{{ 1 }}", limits=limits) is not one
    assert one.source == "x{{ 1 }}"
    assert list(one.warnings) == []


def test_arguments_hide_what_the_tokenizer_has() -> None:
    request = {"special_tokens": {"bos_token": "<s>"}, "arguments": {"bos_token": "mine"}}
    assert render("{{ bos_token }}", **request) == "mine"


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_arguments_never_replace_what_is_rendered(name: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=name):
        render("x", arguments={name: 1})


def test_special_tokens_never_replace_messages() -> None:
    assert render("{{ messages|length }}", special_tokens={"messages": "abc"}) == "1"


# Plain copies.


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 7


class Text(str):
    def __str__(self) -> str:
        return "a lie"


class Number(int):
    def __repr__(self) -> str:
        return "a lie"


class Real(float):
    def __repr__(self) -> str:
        return "a lie"


@dataclasses.dataclass
class Point:
    x: int
    label: object


class Model:
    def model_dump(self) -> dict[str, object]:
        return {"made": Point(1, None)}


class Thing:
    pass


PLAIN: list[tuple[Any, str]] = [
    (None, "None"),
    (True, "True"),
    (-5, "-5"),
    (2**31, str(2**31)),
    (-(2**63), str(-(2**63))),
    (10**40, "1" + 40 * "0"),
    (-(10**40), "-1" + 40 * "0"),
    (1e-07, "1e-07"),
    (1e16, "1e+16"),
    (0.1, "0.1"),
    (0.01, "0.01"),
    (-0.0005, "-0.0005"),
    (1.0, "1.0"),
    (-0.0, "-0.0"),
    (float("inf"), "inf"),
    (float("nan"), "nan"),
    ("it's", "it's"),
    (["a", 1], "['a', 1]"),
    (("a", 1), "('a', 1)"),
    (("a",), "('a',)"),
    ({"a": {"b": ()}}, "{'a': {'b': ()}}"),
    ({1: "a", None: "b", 1.5: "c"}, "{1: 'a', None: 'b', 1.5: 'c'}"),
    ({(1, "x"): 2}, "{(1, 'x'): 2}"),
    (Colour.RED, "red"),
    (Size.BIG, "7"),
    ([Colour.RED, Size.BIG], "['red', 7]"),
    (Text("truth"), "truth"),
    (Number(3), "3"),
    (Real(2.5), "2.5"),
    (OrderedDict(b=1, a=2), "{'b': 1, 'a': 2}"),
    (UserDict({"a": 1}), "{'a': 1}"),
    (MappingProxyType({"a": Text("t")}), "{'a': 't'}"),
    (np.int64(5), "5"),
    (np.float32(0.5), "0.5"),
    (np.float64(0.5), "0.5"),
    (np.bool_(False), "False"),
    (np.str_("s"), "s"),
    (np.array([1, 2]), "<ndarray>"),
    (b"bytes", "<bytes>"),
    (bytearray(b"bytes"), "<bytearray>"),
    (memoryview(b"bytes"), "<memoryview>"),
    ({1, 2}, "<set>"),
    (1j, "<complex>"),
    (..., "<ellipsis>"),
    (Thing(), "<Thing>"),
    (Thing, "<type>"),
    (Point, "<type>"),
    (print, "<builtin_function_or_method>"),
    (datetime(2025, 1, 2), "<datetime>"),
    (Point(1, Thing()), "{'x': 1, 'label': '<Thing>'}"),
    ([Model()], "[{'made': {'x': 1, 'label': None}}]"),
]


@pytest.mark.parametrize(("thing", "text"), PLAIN, ids=[text for _, text in PLAIN])
def test_what_a_template_sees(thing: Any, text: str) -> None:
    assert value(thing) == text
    assert render("{{ messages[0].content }}", [{"content": thing}]) == (
        "" if thing is None else text
    )


def test_a_deep_copy_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain requests never go through the slow way, and nothing is changed."""
    chat = [{"role": "user", "content": None, "reasoning": "r"}]
    monkeypatch.setattr(plain_module, "plain", lambda *_: pytest.fail("the slow way"))
    source = "{{ messages[0] }}"
    assert render(source, chat) == (
        "{'thinking': 'r', 'role': 'user', 'reasoning': 'r', 'reasoning_content': 'r'}"
    )
    assert chat == [{"role": "user", "content": None, "reasoning": "r"}]
    assert render(source, tuple(chat)) == render(source, chat)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=150)
def test_plain_data_is_printed_as_python_prints_it(thing: Any) -> None:
    assert value([thing]) == str([thing])


@given(JSON)
@settings(max_examples=50)
def test_the_slow_way_gives_the_same(thing: Any) -> None:
    def holding(extra: object) -> dict[str, object]:
        return {"arguments": {"x": [thing], "y": extra}}

    source = "{{ x }}"
    assert render(source, **holding(Thing())) == render(source, **holding(None))


# Texts that nothing else holds, and things that several places do: each is written its own way.
SHARED = st.lists(
    JSON | st.text(st.characters(codec="ascii"), max_size=400), min_size=1, max_size=6
)


@given(SHARED, st.data())
@settings(max_examples=150)
def test_what_is_held_in_several_places_is_each_time_the_same(things: Any, data: Any) -> None:
    """Against the second version of the format, in which nothing refers to anything."""
    places = data.draw(st.lists(st.sampled_from(range(len(things))), max_size=12))
    holders = [[things[at], {"k": things[at], "again": (things[at],)}] for at in places]
    whole = [*holders, *(holders[at % len(holders)] for at in places)]
    source = "{{ x }}|{% for y in x %}{{ y[1].again[0] == y[0] }}{{ y[1].k }}{% endfor %}"
    template = renderer().compile(source)
    with pytest.MonkeyPatch.context() as patch:
        now = template.render(RenderRequest(USER, arguments={"x": whole})).text
        patch.setattr(plain_module, "_VERSION", 2)
        assert now == template.render(RenderRequest(USER, arguments={"x": whole})).text


def test_sharing_does_not_hide_how_deep_a_value_is() -> None:
    few = TemplateLimits(depth=4)
    template = renderer().compile("{{ x }}", limits=few)
    shared = [1]
    request = RenderRequest([{}], arguments={"x": [shared, [2]]})
    assert template.render(request).text == "[[1], [2]]"
    with pytest.raises(errors.TemplateLimitExceeded) as caught:
        template.render(RenderRequest([{}], arguments={"x": [shared, [shared]]}))
    assert caught.value.feature == "depth"


def test_what_doubles_at_each_level_is_no_more_than_its_levels() -> None:
    """Until somebody prints it."""
    thing: Any = ["x"]
    for _ in range(60):
        thing = [thing, thing]
    assert value(thing, "x[0][1][0]|length") == "2"
    with pytest.raises(errors.TemplateLimitExceeded):
        value(thing)


# What is refused.


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        ({"messages": [{"role": "user", "content": "a\ud800b"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "a\udfff": 1}]}, "messages[0]['a\\udfff']"),
        ({"messages": USER, "arguments": {"x": ["", {"k": "\udc00"}]}}, "arguments.x[1].k"),
        ({"messages": USER, "tools": [{"name": "\ud800"}]}, "tools[0].name"),
        ({"messages": USER, "special_tokens": {"bos": "\ud800"}}, "special.bos"),
    ],
)
def test_halves_of_surrogate_pairs_are_named(request_: Mapping[str, Any], path: str) -> None:
    with pytest.raises(errors.InvalidText) as caught:
        renderer().compile("x").render(RenderRequest(**request_))
    assert caught.value.path == path
    with pytest.raises(errors.InvalidText):
        renderer().compile("\ud800")


def test_errors_have_their_kinds_and_places() -> None:
    with pytest.raises(errors.TemplateSyntaxError) as syntax:
        renderer().compile("a\n{% if %}")
    assert syntax.value.line == 2
    with pytest.raises(errors.TemplateRaised) as raised:
        render("{{ raise_exception('No ' ~ messages[0].role ~ '!') }}")
    assert str(raised.value) == raised.value.message == "No user!"
    with pytest.raises(errors.TemplateRuntimeError):
        render("\n{{ 1 + 'a' }}")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"messages": []}, "empty conversation"),
        ({"messages": ["hi"]}, "should be dicts, dataclasses or pydantic models, but got 'hi'"),
        ({"messages": USER, "tools": ["f"]}, "JSON schema"),
        ({"messages": USER, "documents": ["d"]}, "list of dicts"),
        (
            {"messages": USER, "continue_final_message": True, "add_generation_prompt": True},
            "not compatible",
        ),
        ({"messages": USER, "continue_final_message": True, "generation": True}, "not compatible"),
        ({"messages": USER, "continue_final_message": "thinking"}, 'no "thinking" to continue'),
    ],
)
def test_requests_that_make_no_sense(request_: Mapping[str, Any], words: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=words):
        renderer().compile("{{ messages }}").render(RenderRequest(**request_))


def test_depth() -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    for thing in (deep, [deep, Thing()]):
        with pytest.raises(errors.TemplateLimitExceeded) as caught:
            value(thing)
        assert caught.value.feature == "depth"
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(errors.TemplateLimitExceeded):
        value(circle)
    few = TemplateLimits(depth=3)
    template = renderer().compile("{{ x }}", limits=few)
    # The request itself and `arguments` are levels, too.
    assert template.render(RenderRequest([{}], arguments={"x": [1]})).text == "[1]"
    with pytest.raises(errors.TemplateLimitExceeded):
        template.render(RenderRequest([{}], arguments={"x": [[1]]}))


# The clock.


def test_the_clock() -> None:
    source = "{{ strftime_now('%Y-%m-%d %H:%M:%S|%z|%Z') }}"
    naive = datetime(2025, 1, 2, 3, 4, 5)
    assert render(source, now=naive) == naive.strftime("%Y-%m-%d %H:%M:%S|%z|%Z")
    aware = naive.replace(tzinfo=timezone(-timedelta(hours=3, minutes=30), "Somewhere"))
    assert render(source, now=aware) == aware.strftime("%Y-%m-%d %H:%M:%S|%z|%Z")
    before = datetime.now().replace(microsecond=0)
    told = datetime.strptime(render("{{ strftime_now('%Y-%m-%d %H:%M:%S') }}"), "%Y-%m-%d %H:%M:%S")
    assert before <= told <= datetime.now()


# Continued messages.

CHATML = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
TRIMMED = "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</>{% endfor %}"


@pytest.mark.parametrize("profile", ["hf-5", "hf-4.57"])
def test_continued_messages(profile: Any) -> None:
    chat = [*USER, {"role": "assistant", "content": "So \u0085far "}]
    request = {"continue_final_message": True, "profile": profile}
    assert render(CHATML, chat, **request) == "<user>Hi</><assistant>So \u0085far "
    assert render(TRIMMED, chat, **request) == "<user>Hi</><assistant>So \u0085far"
    blocks = [{"role": "a", "content": [{"text": "x"}, {"type": "image"}]}]
    assert render("{{ messages[0].content[0].text }}</>", blocks, **request) == "x"


def test_a_field_that_is_continued() -> None:
    chat = [{"role": "a", "content": "c", "reasoning": "r "}]
    source = "{{ messages[0].reasoning_content }}</think>{{ messages[0].content }}"
    assert render(source, chat, continue_final_message="reasoning") == "r "
    with pytest.raises(errors.InvalidArgument, match="does not appear"):
        render("{{ messages[0].role }} content", chat, continue_final_message=True)


# Spans.


def test_generation_spans() -> None:
    source = "🌍{% generation %}ab{% endgeneration %}-{% generation %}c{% endgeneration %}"
    answer = rendered(source, generation=True)
    assert answer == Rendered("🌍ab-c", ((1, 3), (4, 5)))
    assert rendered(source) == Rendered("🌍ab-c")


def test_origins() -> None:
    source = "<{{ messages[0].role }}>{{ messages[0].content }}{{ bos_token }}{{ x }}"
    request: dict[str, Any] = {"special_tokens": {"bos_token": "<s>"}, "arguments": {"x": "X"}}
    answer = rendered(source, origins=True, **request)
    assert answer.text == "<user>Hi<s>X"
    paths = {(one.start, one.end, one.path) for one in answer.origins}
    assert paths >= {(6, 8, ("messages", 0, "content"))}
    assert {(start, end) for start, end, path in paths if path[:1] == ("x",)} <= {(11, 12)}


def test_origins_are_cut_with_the_text() -> None:
    chat = [{"role": "a", "content": "c "}]
    answer = rendered(CHATML, chat, origins=True, continue_final_message=True)
    assert answer.text == "<a>c "
    assert max(one.end for one in answer.origins) == 5


def test_every_answer_is_a_copy() -> None:
    keep: list[Callable[[], Rendered]] = []
    for text in ("a" * 10, "b" * 100_000, "c"):
        answer = rendered("{{ messages[0].content }}", [{"content": text}])
        keep.append(lambda answer=answer, text=text: answer == Rendered(text))  # type: ignore[misc]
    assert all(check() for check in keep)
