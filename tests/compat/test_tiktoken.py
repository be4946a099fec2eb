"""`pywasmtok.compat.tiktoken` beside tiktoken: answers, exceptions, messages."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import nasty
import numpy as np
import pytest
from assets import ROOT, needs_assets

from pywasmtok.compat import tiktoken as ours
from pywasmtok.errors import InvalidArgument, LimitExceeded, Unsupported

pytestmark = needs_assets

tiktoken = pytest.importorskip("tiktoken", reason="tiktoken, the reference, is not installed")

NAMES = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base"]
COUNT = 120


@pytest.fixture(autouse=True, scope="module")
def _files() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(ROOT / "tiktoken-cache"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module", params=[*NAMES, "o200k_harmony"])
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return tiktoken.get_encoding(request.param), ours.get_encoding(request.param)


def outcome(call: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
    """What a call answers, or the kind and the text of its exception."""
    try:
        return call(*arguments, **how)
    except Exception as error:
        return type(error), str(error)


def texts(name: str, encoding: Any) -> list[str]:
    dice = random.Random(name)
    special = sorted(encoding.special_tokens_set)[:12]
    made = list(nasty.texts(name, COUNT, special))
    for place in range(0, COUNT, 9):
        cut = dice.randrange(len(made[place]) + 1)
        half = dice.choice(["\ud83c", "\udf36", "\ud83c\udf36"])
        made[place] = made[place][:cut] + half + made[place][cut:]
    return ["", *made, *special]


def ways(encoding: Any, dice: random.Random) -> dict[str, Any]:
    """Arguments about special tokens."""
    special = sorted(encoding.special_tokens_set)
    some = set(dice.sample(special, dice.randrange(min(len(special), 12) + 1))) | {"no token"}
    rest = frozenset(dice.sample(special, dice.randrange(min(len(special), 12) + 1)))
    choices: list[dict[str, Any]] = [
        {},
        {"allowed_special": "all"},
        {"allowed_special": some},
        {"allowed_special": frozenset(some), "disallowed_special": ()},
        {"disallowed_special": ()},
        {"disallowed_special": rest},
        {"allowed_special": some, "disallowed_special": list(rest)},
    ]
    return dice.choice(choices)


def test_what_it_is(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    for name in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(mine, name) == getattr(theirs, name)
    assert repr(mine) == repr(theirs)
    assert mine.token_byte_values() == theirs.token_byte_values()
    assert mine._mergeable_ranks == theirs._mergeable_ranks
    assert mine._special_tokens == theirs._special_tokens
    for token in (0, theirs.eot_token, theirs.n_vocab):
        assert mine.is_special_token(token) == theirs.is_special_token(token)


def test_encoding(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    dice = random.Random(theirs.name)
    refused = 0
    for text in texts(theirs.name, theirs):
        how = ways(theirs, dice)
        expected = outcome(theirs.encode, text, **how)
        found = outcome(mine.encode, text, **how)
        assert found == expected, (text, how)
        assert type(found) is type(expected)
        assert mine.encode_ordinary(text) == theirs.encode_ordinary(text)
        wanted = outcome(numbers, theirs, text, how)
        assert outcome(numbers, mine, text, how) == wanted, (text, how)
        refused += isinstance(expected, tuple)
    assert refused > 3
    array = mine.encode_to_numpy("a text")
    assert array.dtype == np.uint32
    assert not array.flags.writeable


def test_batches(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    batch = texts(theirs.name, theirs)
    assert mine.encode_ordinary_batch(batch) == theirs.encode_ordinary_batch(batch)
    every = {"allowed_special": "all", "num_threads": 2}
    assert mine.encode_batch(batch, **every) == theirs.encode_batch(batch, **every)
    for how in ({}, {"disallowed_special": ()}):
        expected = outcome(theirs.encode_batch, batch, **how)
        assert outcome(mine.encode_batch, batch, **how) == expected
    ids = mine.encode_ordinary_batch(batch)
    assert mine.decode_batch(ids) == theirs.decode_batch(ids)
    assert mine.decode_bytes_batch(ids) == theirs.decode_bytes_batch(ids)


def test_decoding(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    dice = random.Random(theirs.name)
    broken = [rank for token, rank in theirs._mergeable_ranks.items() if max(token) > 0x7F]
    # One has two names in o200k_harmony, and tiktoken decodes it to either.
    all_ids = [*range(theirs.n_vocab + 2)]
    ids = [n for n in all_ids if n != 200018]
    for number in range(COUNT):
        size = dice.choice([2, 5, 9, 9, 600])
        some = dice.choices(broken if number % 2 else ids, k=dice.randrange(size))
        for errors in ("replace", "strict", "ignore", "backslashreplace"):
            expected = outcome(theirs.decode, some, errors)
            assert outcome(mine.decode, some, errors=errors) == expected
        for name in ("decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
            expected = outcome(getattr(theirs, name), some)
            assert outcome(getattr(mine, name), some) == expected, (name, some)
    good = theirs.encode_ordinary("naïve 🌶 日本語 \r\n ok" * 3)
    assert mine.decode_with_offsets(good) == theirs.decode_with_offsets(good)
    assert mine.decode(np.array(good)) == theirs.decode(np.array(good))


def test_bytes_that_are_no_text(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    dice = random.Random(theirs.name)
    parts = [
        b" \xec\x8b\xa4\xed",
        b"hello ",
        "é🌶".encode(),
        b"\xff",
        b"  ",
        b"\n",
        b"a",
        b"\xf0\x9f",
    ]
    for _ in range(COUNT):
        some = b"".join(dice.choices(parts, k=dice.randrange(6)))
        assert mine._encode_bytes(some) == theirs._encode_bytes(some), some


def test_single_tokens(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    dice = random.Random(theirs.name)
    known = [*theirs._mergeable_ranks, *theirs.special_tokens_set]
    for token in [*dice.sample(known, COUNT), "no token", b"\xff\xfe\xff", "", "\ud800"]:
        expected = outcome(theirs.encode_single_token, token)
        assert outcome(mine.encode_single_token, token) == expected
    for number in [*dice.sample(range(theirs.n_vocab), COUNT), theirs.n_vocab, -1, 2**32]:
        if number != 200018:
            expected = outcome(theirs.decode_single_token_bytes, number)
            assert outcome(mine.decode_single_token_bytes, number) == expected


class Index:
    def __index__(self) -> int:
        return 5


ENDS = [
    "hello fanta",
    "a ",
    "a  \n",
    "\n\n",
    "  ",
    "a\n \n",
    "a\xa0",
    "x\t\n ",
    "日本",
    "1 23",
    "é",
    " \n \u2003",
    "!\n\u202f",
    "\x1c\n \u2003",
    "a\x1c",
    " \x1c  ",
]


def test_unstable(both: tuple[Any, Any]) -> None:
    theirs, mine = both
    dice = random.Random(theirs.name)
    found = 0
    for text in [*texts(theirs.name, theirs)[: COUNT // 6], *ENDS]:
        how = ways(theirs, dice)
        start = text[: dice.choice([6, 12, 24])]
        expected = outcome(unstable, theirs, start, how)
        answer = outcome(unstable, mine, start, how)
        assert answer == expected, (start, how)
        found += isinstance(answer[1], list) and len(answer[1]) > 1
    assert found > 10


def numbers(encoding: Any, text: str, how: dict[str, Any]) -> Any:
    return encoding.encode_to_numpy(text, **how).tolist()


def unstable(encoding: Any, text: str, how: dict[str, Any]) -> Any:
    """tiktoken gives the completions in no order."""
    stable, completions = encoding.encode_with_unstable(text, **how)
    assert all(isinstance(one, list) for one in completions)
    return stable, sorted(completions)


@pytest.mark.parametrize(
    "call",
    [
        lambda enc: enc.encode("ab", disallowed_special="b"),
        lambda enc: enc.encode("ab", disallowed_special={""}),
        lambda enc: enc.encode("ab", disallowed_special=None),
        lambda enc: enc.encode("ab", allowed_special=["a"]),
        lambda enc: enc.encode("ab", allowed_special=["a"], disallowed_special=()),
        lambda enc: enc.encode_batch([], allowed_special=["a"]),
        lambda enc: enc.encode_batch(["a", "<|endoftext|>", 5]),
        lambda enc: enc.encode_batch([]),
        lambda enc: enc.encode_batch(["a"], disallowed_special=None),
        lambda enc: enc.encode_ordinary_batch("ab"),
        lambda enc: enc.encode_ordinary(5),
        lambda enc: enc.encode(5, disallowed_special=()),
        lambda enc: enc.encode_single_token(5),
        lambda enc: enc.decode([1.5]),
        lambda enc: enc.decode([1.0, 2.0]),
        lambda enc: enc.decode([1] * 300 + [1.0]),
        lambda enc: enc.decode([np.float64(1)]),
        lambda enc: enc.decode({1, 2}),
        lambda enc: enc.decode({1: 2}),
        lambda enc: enc.decode(number for number in (1, 2)),
        lambda enc: enc.decode([Index(), np.int64(1), True]),
        lambda enc: [enc.decode(kind((1, 2))) for kind in (tuple, bytes, np.array, deque)],
        lambda enc: enc.decode_tokens_bytes([1.0]),
        lambda enc: enc.decode([-1]),
        lambda enc: enc.decode([5, 2**32]),
        lambda enc: enc.decode([5, 100262, -1]),
        lambda enc: enc.decode_batch([[5], [100262]]),
        lambda enc: enc.decode_batch([[5], [3490, 223]], errors="strict"),
        lambda enc: enc.decode_single_token_bytes(1.0),
        lambda enc: enc.decode_single_token_bytes(1.5),
        lambda enc: enc.decode_single_token_bytes(Index()),
        lambda enc: enc.encode_batch(["a"], num_threads=0),
        lambda enc: enc.encode_batch(["a"], num_threads="2"),
        lambda enc: enc.encode_ordinary_batch(["a"], num_threads=1.5),
        lambda enc: enc.decode_batch([[5]], num_threads=True),
        lambda enc: enc.decode_batch([[5]], num_threads="2"),
        lambda enc: enc.decode_bytes_batch([[5]], num_threads=None),
        lambda enc: enc.decode_with_offsets([]),
        lambda enc: enc.is_special_token("a"),
    ],
)
def test_odd_arguments(call: Callable[[Any], Any]) -> None:
    expected = outcome(call, tiktoken.get_encoding("cl100k_base"))
    assert outcome(call, ours.get_encoding("cl100k_base")) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda enc: enc.encode(5),
        lambda enc: enc.encode(b"ab"),
        lambda enc: enc.encode_batch(["a", 5]),
        lambda enc: enc.decode(5),
        lambda enc: enc.decode(""),
        lambda enc: enc.decode("ab"),
        lambda enc: enc.decode(["a"]),
        lambda enc: enc.decode_single_token_bytes("a"),
    ],
)
def test_exceptions_of_the_same_kind(call: Callable[[Any], Any]) -> None:
    expected, _ = outcome(call, tiktoken.get_encoding("cl100k_base"))
    found, _ = outcome(call, ours.get_encoding("cl100k_base"))
    assert issubclass(found, expected)


def test_names() -> None:
    assert ours.list_encoding_names() == tiktoken.list_encoding_names()
    assert ours.get_encoding("gpt2") is ours.get_encoding("gpt2")
    assert ours.encoding_for_model("gpt-4o-mini") is ours.get_encoding("o200k_base")
    models = ("gpt-4", "gpt-4-32k", "gpt-5.1", "ft:gpt-4o:x", "gpt-2", "turbo", "codex", "gpt-4o*")
    for model in (*models, "", "text-davinci-edit-001", "my-davinci-edit-1"):
        expected = outcome(tiktoken.encoding_name_for_model, model)
        assert outcome(ours.encoding_name_for_model, model) == expected, model
    for name in ("gpt-4", 5):
        kind, message = outcome(tiktoken.get_encoding, name)
        mine = outcome(ours.get_encoding, name)
        assert mine[0] is kind
        assert mine[1].splitlines()[0] == message.splitlines()[0]


def test_copies() -> None:
    enc = ours.get_encoding("gpt2")
    assert pickle.loads(pickle.dumps(enc)) is enc
    assert copy.deepcopy(enc) is enc
    own = pickle.loads(pickle.dumps(Own(ours).make()))
    assert own.encode("hi <s>", allowed_special="all") == [104, 105, 32, 300]
    assert repr(own) == "<Encoding 'own'>"
    ranks = Own(ours).ranks
    mine = Derived("own", pat_str=r"\s+", mergeable_ranks=ranks, special_tokens={})
    for again in (copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert type(again) is Derived
        assert again.encode("ab") == mine.encode("ab")


class Derived(ours.Encoding):
    """The class of a program."""


class Own:
    """An encoding of the bytes and a few tokens, one of which no merges lead to."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.ranks = {bytes([byte]): byte for byte in range(256)}
        self.ranks |= {b"ab": 256, b"bc": 257, b"  ": 258, b"xyz": 290}

    def make(self, pat_str: str = r"\p{L}+|\s+", **given: Any) -> Any:
        arguments = {"mergeable_ranks": self.ranks, "special_tokens": {"<s>": 300}} | given
        return self.module.Encoding("own", pat_str=pat_str, **arguments)


@pytest.mark.parametrize("pattern", [r"\p{L}+|\s+", r"\p{L}{2}|\d", r" ?\p{L}++|[^\p{L}]"])
@pytest.mark.parametrize("special", [{"<s>": 300}, {"<s>": 300, "ab": 299}], ids=["", "a rank"])
def test_an_encoding_of_ones_own(pattern: str, special: dict[str, int]) -> None:
    """Also where a special token has the name of a rank."""
    own = Own(tiktoken), Own(ours)
    theirs, mine = (one.make(pattern, special_tokens=special) for one in own)
    assert mine.n_vocab == theirs.n_vocab == 301
    texts = [
        "",
        "abc abc",
        "xyz,  abcbc-<s>ab",
        "  ",
        "<s>",
        "a1b2",
        "<s>ab 12<s>-ab",
        "abc,,",
        ",ab",
    ]
    for text in texts:
        for how in ({"allowed_special": "all"}, {"disallowed_special": ()}, {}):
            expected = outcome(theirs.encode, text, **how)
            assert outcome(mine.encode, text, **how) == expected, (text, how)
            expected = outcome(unstable, theirs, text, how)
            found = outcome(unstable, mine, text, how)
            assert found == expected, (text, how)
    with pytest.raises(KeyError):
        _ = mine.eot_token


def test_one_encoding_made_of_another() -> None:
    """As the page of tiktoken tells its users to do."""
    made = []
    for module in (tiktoken, ours):
        base = module.get_encoding("cl100k_base")
        special = {**base._special_tokens, "<|im_start|>": 100264}
        given = {"mergeable_ranks": base._mergeable_ranks, "special_tokens": special}
        made.append(module.Encoding("more", pat_str=base._pat_str, **given))
    text = "<|im_start|>user\nIt's  naïve\n\n <|endoftext|>"
    assert made[1].encode(text, allowed_special="all") == made[0].encode(
        text, allowed_special="all"
    )


@pytest.mark.parametrize(
    "given",
    [
        {"pat_str": "("},
        {"pat_str": None},
        {"pat_str": 3},
        {"mergeable_ranks": {**Own(ours).ranks, b"new": 400.5}},
        {"mergeable_ranks": {**Own(ours).ranks, b"new": 400.0}},
        {"mergeable_ranks": {**Own(ours).ranks, b"new": -1}},
        {"mergeable_ranks": {**Own(ours).ranks, b"new": 2**32}},
        {"special_tokens": None},
        {"special_tokens": []},
        {"special_tokens": {"<s>": -1}},
        {"special_tokens": {"<s>": 2**32}},
        {"special_tokens": {"<s>": 300.0}},
        {"special_tokens": {"<s>": "300"}},
        {"special_tokens": {3: 300}},
        {"mergeable_ranks": {}},
        {"explicit_n_vocab": 5},
        {"mergeable_ranks": {**Own(ours).ranks, b"new": 400}, "explicit_n_vocab": 262},
    ],
)
def test_arguments_that_make_no_encoding(given: dict[str, Any]) -> None:
    expected, _ = outcome(Own(tiktoken).make, **given)
    found, _ = outcome(Own(ours).make, **given)
    assert issubclass(found, expected)


def test_what_is_refused_here_alone() -> None:
    """docs/compat-tiktoken.md has the list."""
    with pytest.raises(Unsupported, match="not served exactly"):
        Own(ours).make(r"\w+|\W")
    with pytest.raises(ValueError, match="the byte 0x63 is no token"):
        Own(ours).make(mergeable_ranks={bytes([b]): b for b in range(256) if b != 0x63})
    with pytest.raises(LimitExceeded, match="largest that is served"):
        Own(ours).make(special_tokens={"<s>": 1 << 24})
    with pytest.raises(InvalidArgument, match="has the id 5 of a rank"):
        Own(ours).make(special_tokens={"<s>": 5})


def test_explicit_n_vocab() -> None:
    given: dict[str, Any] = {"special_tokens": {"<s>": 256}, "explicit_n_vocab": 257}
    ranks = {bytes([byte]): byte for byte in range(256)}
    assert Own(ours).make(mergeable_ranks=ranks, **given).n_vocab == 257


def test_tiktoken_is_not_imported() -> None:
    code = (
        "import sys; from pywasmtok.compat import tiktoken; "
        "tiktoken.get_encoding('gpt2').encode('a'); print('tiktoken' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "False\n", run.stderr


def test_a_patch_reaches_libraries_that_import_tiktoken() -> None:
    theirs = tiktoken.get_encoding("o200k_base")
    with ours.patch_tiktoken() as patch:
        found = tiktoken.encoding_for_model("gpt-4o")
        assert tiktoken.get_encoding("o200k_base") is found
        assert isinstance(found, ours.Encoding)
        assert isinstance(found, tiktoken.Encoding)
        assert pickle.loads(pickle.dumps(found)) is copy.copy(found) is found
        assert found.encode("naïve 🌶") == theirs.encode("naïve 🌶")
        with ours.patch_tiktoken():
            pass
        assert tiktoken.get_encoding("o200k_base") is found
        with pytest.raises(ValueError, match="Plugins found"):
            tiktoken.get_encoding("no such")
        patch.undo()
        assert tiktoken.get_encoding("o200k_base") is theirs
    ours.patch_tiktoken()
    ours.unpatch_tiktoken()
    assert tiktoken.encoding_for_model("gpt-4o") is theirs


def test_the_end_of_a_patch_keeps_what_others_put_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = tiktoken.get_encoding("o200k_base")
    patch = ours.patch_tiktoken()
    patched = tiktoken.get_encoding
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: patched(name))  # noqa: PLW0108
    wrapper = tiktoken.get_encoding
    patch.undo()
    assert tiktoken.get_encoding is wrapper
    assert wrapper("o200k_base") is theirs
    assert tiktoken.encoding_for_model("gpt-4o") is theirs
    # What monkeypatch puts back is then the library's own.
    monkeypatch.undo()
    tiktoken.get_encoding = tiktoken.registry.get_encoding


def test_it_has_the_version_of_tiktoken() -> None:
    assert ours.__version__ == tiktoken.__version__
