"""The drop-in for `tokenizers`, side by side with it."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import charsmap
import pytest
import random_files
import small
import tokenizers
from assets import Asset, needs_assets
from hub_server import serving
from signals import StopError, arrive, handled
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from versions import IS_0_22

import pywasmtok
from pywasmtok.compat.tokenizers import AddedToken, DecodeStream, Encoding, Tokenizer
from pywasmtok.compat.tokenizers.engine import Engine

from .twins import TEXTS, Twins, batch, compare, outcome, paddings, set_up, texts, truncations

FAMILIES = ("bert-base-cased", "clip", "gpt2", "gte", "llama2", "llama3", "phi-3", "t5", "xlnet")


@pytest.fixture
def twins() -> Twins:
    return Twins.of(small.file())


@needs_assets
@pytest.mark.parametrize("family", FAMILIES)
def test_real_files(family: str) -> None:
    twins = Twins.of(Asset(family, "tokenizer.json").read())
    assert twins.ours.core is not None
    assert twins.ours.truncation == twins.theirs.truncation
    assert twins.ours.padding == twins.theirs.padding
    for special in (True, False):
        for text in TEXTS:
            twins.same("encode", text, add_special_tokens=special)
            twins.same("encode", text, "and this", False, special)
        pairs = [*TEXTS, ("a b", "c")]
        twins.same("encode_batch", pairs, add_special_tokens=special)
        twins.same("encode_batch_fast", pairs, False, special)
    truncation = {"max_length": 6, "stride": 1, "strategy": "longest_first", "direction": "left"}
    padding = {"direction": "left", "pad_to_multiple_of": 4, "pad_id": 1, "pad_token": "p"}
    for tokenizer in twins:
        set_up(tokenizer, truncation, padding)
    twins.both(lambda tok: tok.encode_batch([*TEXTS]))
    twins.both(lambda tok: tok.encode_batch([("a b c d e f", "g h i"), "j"]))
    twins.both(lambda tok: tok.encode(["some", "words", "naïve"], is_pretokenized=True))
    for tokenizer in twins:
        set_up(tokenizer, None, None)
    ids = [twins.theirs.encode(text).ids for text in TEXTS]
    for skip in (True, False):
        twins.same("decode_batch", ids, skip)
        for one in ids:
            twins.same("decode", one, skip_special_tokens=skip)
    twins.both(lambda tok: tok.get_vocab())
    twins.both(lambda tok: tok.get_vocab(with_added_tokens=False))
    twins.both(lambda tok: (tok.get_vocab_size(), tok.get_vocab_size(False)))
    twins.both(lambda tok: [tok.id_to_token(number) for number in range(0, 300_000, 997)])
    twins.both(lambda tok: tok.to_str(pretty=True))


@pytest.mark.parametrize("seed", range(30))
def test_random_files_and_settings(seed: int) -> None:
    dice = random.Random(seed)
    maker = random_files.Maker(seed)
    data = maker.file()
    theirs = outcome(lambda: tokenizers.Tokenizer.from_buffer(data))
    if isinstance(theirs, str):
        assert outcome(lambda: Tokenizer.from_buffer(data)) == theirs
        return
    twins = Twins(Tokenizer.from_buffer(data), theirs)
    if twins.ours.core is None:
        pytest.skip("the library serves both, and of such files it makes other ids in each load")
    # With smaller bounds the library makes thousands of parts of a pair.
    some_truncations = [one for one in truncations() if one is None or one["max_length"] > 4]
    some_paddings = list(paddings())
    for _ in range(6):
        settings = dice.choice(some_truncations), dice.choice(some_paddings)
        done = [outcome(partial(set_up, tok, *settings)) for tok in twins]
        assert done[0] == done[1]
        assert twins.ours.truncation == twins.theirs.truncation
        assert twins.ours.padding == twins.theirs.padding
        names_are_text = dice.random() < 0.2
        for tokenizer in twins:
            tokenizer.encode_special_tokens = names_are_text
        items, special = batch(dice), dice.random() < 0.5
        twins.same("encode_batch", items, add_special_tokens=special)
        twins.same("encode_batch_fast", items, add_special_tokens=special)
        text = random_files.text(dice)[:40]
        twins.same("encode", text, add_special_tokens=special)
        twins.same("encode", text, "ab", add_special_tokens=special)
        words = [texts(dice, 3), (texts(dice, 2), texts(dice, 1))]
        twins.same("encode_batch", words, True, special)


@pytest.mark.parametrize("truncation", list(truncations())[:15], ids=str)
def test_all_paddings_with_a_truncation(twins: Twins, truncation: dict[str, Any] | None) -> None:
    for padding in paddings():
        for tokenizer in twins:
            outcome(partial(set_up, tokenizer, truncation, padding))
        twins.both(lambda tok: tok.encode_batch([small.TEXT, "ab", ""]))
        twins.both(lambda tok: tok.encode(small.TEXT, "a b c"))


MISTAKES: list[Callable[[Any], Any]] = [
    lambda tok: tok.encode(5),
    lambda tok: tok.encode("a", 5),
    lambda tok: tok.encode(None),
    lambda tok: tok.encode(["a", "b"]),
    lambda tok: tok.encode("a", is_pretokenized=True),
    lambda tok: tok.encode("\ud800"),
    lambda tok: tok.encode_batch("ab"),
    lambda tok: tok.encode_batch(["a", 5]),
    lambda tok: tok.encode_batch([("a", "b", "c")]),
    lambda tok: tok.encode_batch(text for text in "ab"),
    lambda tok: tok.decode("ab"),
    lambda tok: tok.decode([-1]),
    lambda tok: tok.decode([1 << 32]),
    lambda tok: tok.decode([1 << 31]),
    lambda tok: tok.decode(["a"]),
    lambda tok: tok.decode_batch([1]),
    lambda tok: tok.decode({5}),
    lambda tok: tok.decode(iter([5])),
    lambda tok: tok.decode(range(3, 6)),
    lambda tok: tok.decode_batch([{5: 1}]),
    lambda tok: tok.decode_batch(iter([[5]])),
    lambda tok: [tok.decode([5], flag) for flag in (True, 1)],
    lambda tok: tok.decode_batch([[5]], None),
    lambda tok: tok.encode("a", add_special_tokens=None),
    lambda tok: tok.encode("a", is_pretokenized=0),
    lambda tok: tok.encode_batch(["a"], add_special_tokens="x"),
    lambda tok: tok.encode_batch_fast(["a"], None),
    lambda tok: tok.get_vocab(0),
    lambda tok: tok.get_vocab_size("x"),
    lambda tok: tok.post_process(5),
    lambda tok: tok.post_process(tok.encode("a"), 5),
    lambda tok: type(tok.encode("a")).merge([5]),
    lambda tok: type(tok.encode("a")).merge([tok.encode("a")], 0),
    lambda tok: setattr(tok.encode("a"), "note", 5),
    lambda tok: tok.id_to_token(-1),
    lambda tok: tok.id_to_token(1 << 40),
    lambda tok: tok.id_to_token(1 << 31),
    lambda tok: tok.id_to_token("a"),
    lambda tok: tok.token_to_id(5),
    lambda tok: tok.token_to_id("no such token"),
    lambda tok: tok.enable_truncation(),
    lambda tok: tok.enable_truncation(-1),
    lambda tok: tok.enable_truncation(4, strategy="none"),
    lambda tok: tok.enable_truncation(4, direction="up"),
    lambda tok: tok.enable_truncation(4, stride=4),
    lambda tok: tok.enable_padding(direction="up"),
    lambda tok: tok.enable_padding(length="a"),
    lambda tok: tok.enable_padding(pad_id=-1),
    lambda tok: tok.add_tokens("abc"),
    lambda tok: tok.add_tokens([5]),
    lambda tok: tok.add_special_tokens(None),
    lambda tok: tok.save("no/such/folder/file.json"),
    lambda tok: type(tok).from_str("{"),
    lambda tok: type(tok).from_str(5),
    lambda tok: type(tok).from_str("\ud800"),
    lambda tok: setattr(tok, "encode_special_tokens", 5),
    lambda tok: type(tok).from_buffer(b"{}"),
    lambda tok: type(tok).from_buffer("text"),
    lambda tok: type(tok).from_file("no/such/file.json"),
    lambda tok: type(tok)(5),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(twins: Twins, number: int) -> None:
    twins.both(MISTAKES[number])
    twins.both(lambda tok: tok.encode("still ab"))


def test_plain_calls_do_not_build_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small.file()
    wanted = tokenizers.Tokenizer.from_buffer(data)
    wanted.enable_truncation(6)
    wanted.enable_padding(pad_to_multiple_of=4)
    tok = Tokenizer.from_buffer(data)
    monkeypatch.setattr("pywasmtok.compat.tokenizers.engine.Engine._build", refuse)
    tok.enable_truncation(6)
    tok.enable_padding(pad_to_multiple_of=4)
    names = "ids", "type_ids", "attention_mask", "special_tokens_mask", "tokens", "offsets"
    for special in (True, False):
        made = [tok.encode(small.TEXT, add_special_tokens=special)]
        made += tok.encode_batch([small.TEXT, "a"], add_special_tokens=special)
        other = [wanted.encode(small.TEXT, add_special_tokens=special)]
        other += wanted.encode_batch([small.TEXT, "a"], add_special_tokens=special)
        for one, theirs in zip(made, other, strict=True):
            assert [getattr(one, name) for name in names] == [
                getattr(theirs, name) for name in names
            ]
    assert tok.decode(tok.encode("ab", add_special_tokens=False).ids)
    with pytest.raises(AssertionError, match="was built"):
        _ = made[0].word_ids


def refuse(_: object) -> None:
    raise AssertionError("the reference was built")


@pytest.mark.parametrize("pair", ["AB", "BA", "A", "B"])
def test_a_template_may_leave_out_a_text_of_a_pair(pair: str) -> None:
    tok = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1}, "a"))
    tok.post_processor = processors.TemplateProcessing("$A", "$A $B", [])
    said = json.loads(tok.to_str())
    said["post_processor"]["pair"] = [{"Sequence": {"id": one, "type_id": 1}} for one in pair]
    twins = Twins.of(json.dumps(said).encode())
    for added in (True, False):
        for one in (("a", "b"), ("a", ""), ("", "b"), ("", "")):
            twins.same("encode", *one, add_special_tokens=added)


def test_tokens_where_the_post_processors_fail() -> None:
    tok = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1, "[X]": 2}, []))
    around = processors.TemplateProcessing("[X] $A [X]", "[X] $A $B", [("[X]", 2)])
    tok.post_processor = processors.Sequence([around, around])
    twins = Twins.of(tok.to_str().encode())
    twins.both(lambda tok: tok.encode("ab", add_special_tokens=False).word_ids)
    twins.both(lambda tok: tok.encode("ab", add_special_tokens=False).tokens)


def test_encodings_change_like_those_of_the_library(twins: Twins) -> None:
    def changed(tok: Any) -> Any:
        made = [tok.encode(small.TEXT, "ab c") for _ in range(3)]
        made[0].pad(60, direction="left", pad_id=7, pad_type_id=2, pad_token="x")
        made[1].truncate(5, stride=2, direction="left")
        made[2].pad(3)
        return made

    twins.both(changed)
    for tokenizer in twins:
        moved = tokenizer.encode("ab", add_special_tokens=False)
        moved.set_sequence_id(4)
        assert moved.n_sequences == 2
    for growing in (True, False):
        ours = Encoding.merge([twins.ours.encode("ab"), twins.ours.encode("c d")], growing)
        theirs = tokenizers.Encoding.merge(
            [twins.theirs.encode("ab"), twins.theirs.encode("c d")], growing
        )
        compare(ours, theirs)
    compare(Encoding(), tokenizers.Encoding())
    ids = twins.ours.encode("ab c").ids
    made = twins.ours.encode("ab c")
    made.ids.append(5)
    assert made.ids == ids
    for one in (twins.ours.encode(small.TEXT), made):
        compare(pickle.loads(pickle.dumps(one)), pickle.loads(pickle.dumps(one._full())))
        compare(copy.deepcopy(one), one._full())


def test_post_processing(twins: Twins) -> None:
    for tokenizer in twins:
        tokenizer.enable_truncation(6, stride=1)
        tokenizer.enable_padding(length=9)

    def processed(tok: Any) -> Any:
        first = tok.encode("ab", add_special_tokens=False)
        return [
            tok.post_process(first),
            tok.post_process(first, first),
            tok.post_process(first, first, False),
        ]

    twins.both(processed)


def test_added_tokens(twins: Twins) -> None:
    text = "ab <new> <x>  Mask c"
    old = twins.ours.encode(text)
    before = twins.theirs.encode(text)
    tokens = ["<new>", AddedToken("mask", normalized=True, lstrip=True), AddedToken("a b")]
    twins.both(lambda tok: tok.add_tokens(tokens))
    twins.both(lambda tok: tok.add_special_tokens(["<x>", AddedToken("<y>", rstrip=True)]))
    twins.both(lambda tok: tok.add_tokens(["<new>"]))
    twins.both(lambda tok: tok.get_vocab())
    twins.both(lambda tok: (tok.token_to_id("<y>"), tok.token_to_id("<new>")))
    twins.both(lambda tok: repr(sorted(tok.get_added_tokens_decoder().items())))
    assert twins.ours.core is not None
    twins.both(lambda tok: tok.encode(text))
    twins.both(lambda tok: tok.encode_batch([text, "a b<y> c"]))
    twins.both(lambda tok: tok.decode(tok.encode(text).ids))
    twins.both(lambda tok: tok.get_vocab_size())
    twins.both(lambda tok: [tok.num_special_tokens_to_add(pair) for pair in (True, False)])
    # What was made before is completed as it was then.
    compare(old, before)


@pytest.mark.parametrize(
    "adds",
    [
        # One that was special stays out of texts, also if the flags are those of the file again.
        [[AddedToken("<x>", special=True)], [AddedToken("<x>", special=False)]],
        [[AddedToken("mask")], [AddedToken("mask", special=True), AddedToken("mask")]],
        # One that was normalized keeps its normal form.
        [[AddedToken("<X>", normalized=True)], [AddedToken("<X>", normalized=False)]],
    ],
)
def test_what_the_library_remembers_of_added_tokens(twins: Twins, adds: list[Any]) -> None:
    name = adds[0][0].content

    def check(both: Twins) -> None:
        number = both.theirs.token_to_id(name)
        both.both(lambda tok: tok.encode(f"ab {name} c"))
        both.both(lambda tok: [tok.decode([0, number, 1], skip) for skip in (True, False)])
        both.both(lambda tok: tok.id_to_token(number))

    for tokenizer in twins:
        tokenizer.normalizer = normalizers.Lowercase()
    for tokens in adds:
        twins.same("add_tokens", tokens)
    check(twins)
    # It is not written down.
    check(Twins(copy.deepcopy(twins.ours), copy.deepcopy(twins.theirs)))
    again = [pickle.loads(pickle.dumps(tokenizer)) for tokenizer in twins]
    check(Twins(*again))


def test_what_adds_nothing_changes_nothing(twins: Twins) -> None:
    core = twins.ours.core
    present = [*twins.ours.get_added_tokens_decoder().values()]
    assert present
    assert twins.ours.add_tokens(present) == 0
    assert twins.ours.core is core


def test_components_are_assigned(twins: Twins) -> None:
    template = processors.TemplateProcessing(
        single="a $A b", pair="a $A b $B:1", special_tokens=[("a", 1), ("b", 2)]
    )
    for tokenizer in twins:
        assert tokenizer.encode("AB c").ids
        tokenizer.post_processor = template
        tokenizer.normalizer = normalizers.Lowercase()
    assert twins.ours.core is not None
    twins.both(lambda tok: tok.encode("AB c", "d"))
    twins.both(lambda tok: tok.encode_batch(["AB c"]))
    for name in ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder"):
        assert type(getattr(twins.ours, name)) is type(getattr(twins.theirs, name))
    twins.both(lambda tok: setattr(tok, "decoder", 5))


def test_a_tokenizer_from_a_model(twins: Twins) -> None:
    model = {"a": 0, "b": 1, "[UNK]": 2}
    both = Twins(
        Tokenizer(models.WordLevel(model, unk_token="[UNK]")),
        tokenizers.Tokenizer(models.WordLevel(model, unk_token="[UNK]")),
    )
    both.both(lambda tok: tok.encode("a"))
    both.both(lambda tok: tok.encode_batch(["b", "c"]))


def test_what_the_core_refuses_is_done_by_the_reference() -> None:
    data = small.file(normalizer={"type": "Nmt"}, pre_tokenizer={"type": "UnicodeScripts"})
    twins = Twins.of(data)
    twins.both(lambda tok: tok.encode("ab 中"))

    class Custom:
        def normalize(self, text: Any) -> None:
            text.lowercase()

    for tokenizer in twins:
        tokenizer.normalizer = normalizers.Normalizer.custom(Custom())
    assert twins.ours.core is None
    twins.both(lambda tok: tok.encode_batch(["AB c", "b"]))
    twins.both(lambda tok: tok.decode([1, 2]))
    for tokenizer in twins:
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.normalizer = normalizers.Lowercase()
    assert twins.ours.core is not None
    twins.both(lambda tok: tok.encode_batch(["AB c", "b"]))


@pytest.mark.parametrize(
    "parts",
    [
        {"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "_"}},
        {"decoder": {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}},
        {"normalizer": charsmap.normalizer({"a": "b"})},
    ],
    ids=lambda parts: json.dumps(parts)[:40],
)
def test_parts_that_the_library_cannot_copy(parts: dict[str, Any]) -> None:
    twins = Twins.of(small.file(**parts))
    twins.both(lambda tok: tok.encode("a b").ids)
    twins.both(lambda tok: repr((tok.normalizer, tok.decoder)))


def test_a_part_that_is_read_is_a_copy() -> None:
    data = small.file(normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "_"})
    tok = Tokenizer.from_buffer(data)
    ids, text = tok.encode("a b").ids, repr(tok.normalizer)
    tok.normalizer.content = "a"
    assert (repr(tok.normalizer), tok.encode("a b").ids) == (text, ids)


def test_training_names_the_library(twins: Twins) -> None:
    for train in (twins.ours.train, twins.ours.train_from_iterator):
        with pytest.raises(pywasmtok.Unsupported, match=r"tokenizers\.Tokenizer"):
            train(["a"])


def test_files_and_copies(twins: Twins, tmp_path: Path) -> None:
    for tokenizer in twins:
        tokenizer.enable_truncation(7, stride=1, direction="left")
        tokenizer.enable_padding(pad_id=4, pad_token="a")
    twins.both(lambda tok: tok.to_str())
    twins.both(lambda tok: tok.add_tokens(["<new>"]))
    twins.both(lambda tok: (tok.to_str(), tok.to_str(pretty=True)))
    for pretty in (True, False):
        twins.ours.save(str(tmp_path / "0.json"), pretty)
        twins.theirs.save(str(tmp_path / "1.json"), pretty)
        assert (tmp_path / "0.json").read_bytes() == (tmp_path / "1.json").read_bytes()
    loaded = Tokenizer.from_file(str(tmp_path / "0.json"))
    copies = [
        loaded,
        Tokenizer.from_str(twins.ours.to_str()),
        pickle.loads(pickle.dumps(twins.ours)),
        copy.deepcopy(twins.ours),
        copy.copy(twins.ours),
    ]
    for one in copies:
        Twins(one, twins.theirs).both(lambda tok: tok.encode_batch([small.TEXT, "ab <new>"]))
        assert one.to_str() == twins.theirs.to_str()
    # Copies do not change with each other.
    copies[3].add_tokens(["<more>"])
    copies[3].no_truncation()
    for one in (twins.ours, copies[4]):
        Twins(one, twins.theirs).both(lambda tok: tok.encode("ab <more> <new>"))
        assert one.to_str() == twins.theirs.to_str()
    assert copies[3].encode("<more>", add_special_tokens=False).tokens[-1] == "<more>"


def test_equal_files_have_equal_pickles(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        path.write_bytes(small.file())
    first, second = (pickle.dumps(Tokenizer.from_file(path)) for path in paths)
    assert first == second


def test_async_forms(twins: Twins) -> None:
    async def all_of(tok: Any) -> list[Any]:
        return [
            await tok.async_encode("ab c", "d", add_special_tokens=False),
            *await tok.async_encode_batch(["ab", ("a", "b")]),
            *await tok.async_encode_batch_fast([["ab", "c", "d"]], is_pretokenized=True),
        ]

    twins.both(lambda tok: asyncio.run(all_of(tok)))

    async def text(tok: Any) -> Any:
        return await tok.async_decode_batch([[1, 2], [3]], skip_special_tokens=False)

    twins.both(lambda tok: asyncio.run(text(tok)))


def test_threads_with_settings_of_their_own(twins: Twins) -> None:
    """Copies share the tables and the reference, whose settings belong to its object."""
    words = ["Hello", "world", "again"]
    copies = [copy.copy(twins.ours) for _ in range(4)]
    wanted = []
    for size, tok in enumerate(copies, 3):
        tok.enable_truncation(size)
        tok.enable_padding(length=size + 2)
        twins.theirs.enable_truncation(size)
        twins.theirs.enable_padding(length=size + 2)
        first = twins.theirs.encode(small.TEXT)
        second = twins.theirs.encode(words, is_pretokenized=True)
        wanted.append((first.ids, first.word_ids, second.ids))

    def work(tok: Tokenizer) -> list[object]:
        found: list[object] = []
        for _ in range(50):
            first, second = tok.encode(small.TEXT), tok.encode(words, is_pretokenized=True)
            found.append((first.ids, first.word_ids, second.ids))
        return found

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, copies)) == [[one] * 50 for one in wanted]


def test_all_names_are_there() -> None:
    for ours, theirs in ((Tokenizer, tokenizers.Tokenizer), (Encoding, tokenizers.Encoding)):
        public = {name for name in dir(theirs) if not name.startswith("_")}
        assert public - set(dir(ours)) == set()


def test_a_repository_of_the_hub(twins: Twins, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    program = (
        "from pywasmtok.compat.tokenizers import Tokenizer\n"
        "print(Tokenizer.from_pretrained('org/model').encode('ab c').ids)"
    )
    with serving({"org/model": {"tokenizer.json": small.file()}}) as hub:
        # huggingface_hub reads its settings once.
        environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(twins.theirs.encode("ab c").ids)


def test_a_stream_of_the_library(twins: Twins) -> None:
    for skip in (True, False):
        ours, theirs = DecodeStream([], skip), decoders.DecodeStream([], skip)
        ids = twins.theirs.encode("naïve café 🌶️ abc").ids
        for number in ids[:4]:
            assert ours.step(twins.ours, number) == theirs.step(twins.theirs, number)
        if IS_0_22:
            continue  # It has no copies of streams.
        copies = [(copy.copy(ours), copy.copy(theirs)), (copy.deepcopy(ours), theirs)]
        for mine, other in copies:
            assert mine.step(twins.ours, ids[4:]) == other.step(twins.theirs, ids[4:])
        assert ours.step(twins.theirs, ids[4:]) is not None


def test_texts_of_objects(twins: Twins) -> None:
    for tokenizer in twins:
        tokenizer.enable_truncation(3)
    twins.both(repr)
    twins.both(str)
    encoding = pickle.loads(pickle.dumps(twins.ours.encode("a b c d e")))
    compare(encoding, twins.theirs.encode("a b c d e"))


def test_several_post_processors_make_a_second_sequence(twins: Twins) -> None:
    template = processors.TemplateProcessing("x:0 $A:0", "$A $B", [("x", 3)])
    for tokenizer in twins:
        tokenizer.post_processor = processors.Sequence([template, processors.ByteLevel()])
    for text in ("", "a b"):
        twins.same("encode", text)
    assert twins.ours.encode("a b").n_sequences == 2


def test_type_ids_of_several_post_processors(twins: Twins) -> None:
    template = processors.TemplateProcessing("x:0 $A:1", "$A $B", [("x", 3)])
    for tokenizer in twins:
        tokenizer.post_processor = processors.Sequence([template, processors.ByteLevel()])
    for special in (True, False):
        twins.same("encode", "a b", add_special_tokens=special)
    for tokenizer in twins:
        tokenizer.enable_truncation(3, direction="left")
    twins.same("encode", "a b c d e")


@pytest.mark.parametrize("unknown", [None, "?"])
def test_tokens_with_the_reference_loaded(unknown: str | None) -> None:
    """Those of the vocabulary, of an unknown character, and of added tokens with their spaces."""
    model = models.BPE({"?": 0, "a": 1, "b": 2, "ab": 3, " ": 4}, [("a", "b")], unk_token=unknown)
    library = tokenizers.Tokenizer(model)
    library.add_tokens([AddedToken("<x>", lstrip=True, rstrip=True), AddedToken("b")])
    single = processors.TemplateProcessing("a:0 $A", None, [("a", 1)])
    for post_processor in (None, single):
        if post_processor is not None:
            library.post_processor = post_processor
        pair = Twins.of(library.to_str().encode())
        assert pair.ours.core is not None
        pair.ours.num_special_tokens_to_add(False)
        for text in ("ab a", "abc", "a <x> b", "b", "", "ab" * 50):
            for add in (True, False):
                pair.same("encode", text, add_special_tokens=add)
        pair.ours.enable_truncation(3)
        pair.theirs.enable_truncation(3)
        pair.same("encode", "ab a ab a")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("added", [[], ["<x>"]])
def test_a_fork_during_a_call_with_settings_of_its_own(added: list[str]) -> None:
    """A call of another thread, which the child does not have: its settings are not the child's,
    and nothing waits for it."""
    ours = Tokenizer.from_buffer(small.file())
    ours.add_tokens(added)
    cut = copy.deepcopy(ours)
    cut._engine = ours._engine
    cut.enable_truncation(2)
    words = ["he", "llo", *added, "world"]
    expected = ours.encode(words, is_pretokenized=True).ids
    assert len(expected) > 2
    inside, ended = threading.Event(), threading.Event()

    def call() -> None:
        with cut._engine.reference(cut._settings):
            inside.set()
            ended.wait()

    thread = threading.Thread(target=call)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        found = None
        try:
            found = ours.encode(words, is_pretokenized=True).ids
        finally:
            os._exit(found != expected)
    ended.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ours.encode(words, is_pretokenized=True).ids == expected


def test_changes_of_several_threads_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    change = Engine.change

    def slow(self: Engine, *args: Any, **how: Any) -> Any:
        answer = change(self, *args, **how)
        time.sleep(0.02)
        return answer

    monkeypatch.setattr(Engine, "change", slow)
    ours = Tokenizer.from_buffer(small.file())
    size = ours.get_vocab_size()
    with ThreadPoolExecutor(4) as executor:
        names = [f"<new{number}>" for number in range(4)]
        assert list(executor.map(lambda name: ours.add_tokens([name]), names)) == [1] * 4
    assert {ours.token_to_id(name) for name in names} == {*range(size, size + 4)}


def test_an_exception_of_a_signal_handler_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Tokenizer.from_buffer(small.file())
    ours.add_tokens(["<new>"])
    with handled(), monkeypatch.context() as patched:
        patched.setattr(Engine, "data", arrive)
        with pytest.raises(StopError):
            assert ours.core
    assert ours.core is not None


PARTS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")

QUESTIONS: list[Callable[[Any], Any]] = [
    lambda tok: tok.encode("you hello").ids,
    lambda tok: tok.encode("you", "hello").tokens,
    lambda tok: tok.encode(["you", "hello"], is_pretokenized=True).ids,
    lambda tok: [one.ids for one in tok.encode_batch(["you", "hello"])],
    lambda tok: [one.ids for one in tok.encode_batch_fast(["you", "hello"])],
    lambda tok: tok.post_process(tok.encode("hello")).ids,
    lambda tok: tok.decode([0, 2]),
    lambda tok: tok.decode_batch([[0], [1]]),
    lambda tok: (tok.token_to_id("hello"), tok.id_to_token(0)),
    lambda tok: (tok.get_vocab(), tok.get_vocab_size()),
    lambda tok: tok.get_added_tokens_decoder(),
    lambda tok: tok.num_special_tokens_to_add(False),
    lambda tok: (tok.truncation, tok.padding, tok.encode_special_tokens),
    lambda tok: [type(getattr(tok, name)) for name in PARTS],
    lambda tok: tok.to_str(),
    lambda tok: tok.save("no/such/folder/file.json"),
    repr,
    str,
]


def from_a_component(library: Any, ask: Callable[[Any], Any], call: Callable[[Any], Any]) -> Any:
    """The answers to a call, and to what a component in Python asks inside of it."""
    tok = library(models.WordLevel({"hello": 0, "[UNK]": 1, "you": 2}, "[UNK]"))
    asking = threading.Lock()
    asked = []

    class Splits:
        def pre_tokenize(self, text: Any) -> None:
            if asking.acquire(blocking=False):
                asked.append(ask(tok))
                asking.release()
            text.split(lambda number, one: one.split(" ", "isolated"))

    tok.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Splits())
    answers: list[Any] = []
    # It must not keep the tests waiting for ever.
    thread = threading.Thread(target=lambda: answers.append(call(tok)), daemon=True)
    thread.start()
    thread.join(60)
    assert answers, "a call waits for the one around it"
    return answers, asked


@pytest.mark.parametrize(
    "call",
    [
        lambda tok: tok.encode("hello you").ids,
        lambda tok: tok.encode(["hello", "you"], is_pretokenized=True).ids,
        # Threads of the library run the component.
        lambda tok: [one.ids for one in tok.encode_batch(["hello you"] * 8)],
    ],
)
@pytest.mark.parametrize("with_settings", [False, True])
def test_a_component_in_python_may_ask_the_tokenizer(
    call: Callable[[Any], Any], with_settings: bool
) -> None:
    def set_and_call(tok: Any) -> Any:
        if with_settings:
            tok.enable_truncation(2)
            tok.enable_padding(length=5)
        return call(tok)

    def ask(tok: Any) -> list[Any]:
        return [outcome(partial(question, tok)) for question in QUESTIONS]

    answers, asked = from_a_component(Tokenizer, ask, set_and_call)
    expected, (first, *_) = from_a_component(tokenizers.Tokenizer, ask, set_and_call)
    assert answers == expected
    # How often it is asked depends on the threads.
    assert asked == [first] * len(asked)


@pytest.mark.parametrize(
    "change",
    [
        lambda tok: tok.add_tokens(["<x>"]),
        lambda tok: setattr(tok, "normalizer", None),
        lambda tok: (tok.enable_truncation(5, stride=1), tok.encode("a")),
    ],
)
def test_a_component_in_python_may_not_change_the_tokenizer(change: Callable[[Any], Any]) -> None:
    """In the library, such a call waits for ever."""

    def ask(tok: Any) -> None:
        with pytest.raises(pywasmtok.Unsupported, match="a component in Python"):
            change(tok)

    _, asked = from_a_component(Tokenizer, ask, lambda tok: tok.encode("hello").ids)
    assert asked


def test_a_component_in_python_asks_while_another_thread_loads_the_core() -> None:
    threads = []

    def ask(tok: Any) -> list[int]:
        other = threading.Thread(target=lambda: tok.core, daemon=True)
        other.start()
        threads.append(other)
        while not tok._engine._core_lock._lock.locked():
            time.sleep(0.001)
        ids: list[int] = tok.encode("hello").ids
        return ids

    words = ["hello", "you"]
    answers, asked = from_a_component(
        Tokenizer, ask, lambda tok: tok.encode(words, is_pretokenized=True).ids
    )
    threads[0].join()
    assert (answers, asked[0]) == ([[0, 2]], [0])


def test_a_stride_stays_with_another_post_processor(twins: Twins, tmp_path: Path) -> None:
    for tokenizer in twins:
        tokenizer.enable_truncation(4, stride=3)
        tokenizer.post_processor = processors.TemplateProcessing("x:0 $A x:0", None, [("x", 3)])
    for special in (True, False):
        twins.same("encode", "a b c d e f", add_special_tokens=special)
    assert json.loads(twins.ours.to_str()) == json.loads(twins.theirs.to_str())
    twins.ours.save(str(tmp_path / "tokenizer.json"))
    assert repr(twins.ours) == repr(twins.theirs)


def test_one_text_is_one_sequence_without_encoding_it_again(twins: Twins) -> None:
    """transformers asks for it with each text."""
    for tokenizer in twins:
        tokenizer.enable_truncation(2)
    twins.both(lambda tok: tok.encode("hello world").n_sequences)
    assert twins.ours._engine.loaded is None


@pytest.mark.parametrize(
    "call",
    [
        lambda tok: tok.from_buffer(10**12),
        lambda tok: tok.from_file(None),
        lambda tok: tok.from_pretrained(None),
        lambda tok: tok.from_buffer(small.file()).token_to_id("\ud800"),
    ],
)
def test_wrong_arguments_have_the_library_s_types_of_errors(call: Callable[[Any], Any]) -> None:
    kinds = []
    for library in (Tokenizer, tokenizers.Tokenizer):
        with pytest.raises(Exception) as error:  # noqa: PT011
            call(library)
        kinds.append(error.type)
    assert kinds[0] is kinds[1]
