"""Tokenizers of transformers with the core inside, side by side with plain ones."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from assets import Asset, needs_assets

from compat.calls import TEXTS, compare
from pywasmtok.compat.tokenizers import Tokenizer

transformers = pytest.importorskip("transformers")

from pywasmtok.compat import sglang  # noqa: E402
from pywasmtok.compat.transformers import (  # noqa: E402
    AutoTokenizer,
    Backend,
    backend_of,
    patch_transformers,
    unpatch_transformers,
    use_core,
)

FAST = transformers.PreTrainedTokenizerFast
CONSTRUCTOR = FAST.__init__

FAMILIES = {
    "bert-base-cased": "BertTokenizer",
    "clip": "CLIPTokenizer",
    "gpt2": "GPT2Tokenizer",
    "llama2": "PreTrainedTokenizerFast",
    "t5": "T5Tokenizer",
    "xlnet": "XLNetTokenizer",
}


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    yield
    unpatch_transformers()
    assert FAST.__init__ is CONSTRUCTOR


def repository(folder: Path, data: bytes, kind: str = "PreTrainedTokenizerFast") -> Path:
    config = {"tokenizer_class": kind, "pad_token": "<extra>", "model_max_length": 64}
    (folder / "tokenizer.json").write_bytes(data)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def words(**how: Any) -> tokenizers.Tokenizer:
    """A small file of which the core knows everything."""
    tok = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, "?"))
    tok.pre_tokenizer = how.get("pre_tokenizer", tokenizers.pre_tokenizers.Whitespace())
    return tok


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return repository(tmp_path, words().to_str().encode())


@needs_assets
@pytest.mark.parametrize("family", FAMILIES)
def test_a_patched_family_is_as_a_plain_one(family: str, tmp_path: Path) -> None:
    folder = repository(tmp_path, Asset(family, "tokenizer.json").read(), FAMILIES[family])
    plain = transformers.AutoTokenizer.from_pretrained(folder)
    with patch_transformers():
        ours = transformers.AutoTokenizer.from_pretrained(folder)
    assert type(ours) is type(plain)
    assert isinstance(ours.backend_tokenizer, Tokenizer)
    compare(ours, plain)
    assert backend_of(ours) == Backend("core")
    copy = pickle.loads(pickle.dumps(ours))
    assert backend_of(copy) == Backend("core")
    assert dict(copy(TEXTS)) == dict(plain(TEXTS))
    saved = [[Path(file).name for file in tok.save_pretrained(tmp_path / name)]
             for name, tok in (("ours", ours), ("plain", plain))]  # fmt: skip
    assert saved[0] == saved[1]
    for file in saved[0]:
        assert (tmp_path / "ours" / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()
    again = AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert isinstance(again.backend_tokenizer, Tokenizer)
    compare(again, plain)


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_it_works_in_other_processes(how: str, small: Path) -> None:
    ours = AutoTokenizer.from_pretrained(small)
    expected = dict(ours(["a b", "b c"]))
    with multiprocessing.get_context(how).Pool(1) as pool:
        # As a DataLoader does it: the tokenizer is part of the task.
        answer, backend = pool.apply(_encode, (ours, ["a b", "b c"]))
    assert answer == expected
    assert backend == Backend("core")


def _encode(tok: Any, texts: list[str]) -> tuple[dict[str, Any], Backend]:
    return dict(tok(texts)), backend_of(tok)


def made_by(path: Path) -> str:
    return type(transformers.AutoTokenizer.from_pretrained(path).backend_tokenizer).__module__


def test_patches_nest_and_end(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = made_by(small)
    with patch_transformers() as outer:
        assert made_by(small).startswith("pywasmtok")
        with patch_transformers():
            assert made_by(small).startswith("pywasmtok")
        assert made_by(small).startswith("pywasmtok")
        outer.undo()
        assert made_by(small) == plain
        inner = patch_transformers()
        outer.undo()
        assert made_by(small).startswith("pywasmtok")
    # The end of an outer patch does not end one that began later.
    assert made_by(small).startswith("pywasmtok")
    inner.undo()
    assert FAST.__init__ is CONSTRUCTOR
    sglang.patch_transformers()
    patch_transformers()
    assert made_by(small).startswith("pywasmtok")
    sglang.unpatch_transformers()
    assert made_by(small) == plain
    assert capfd.readouterr() == ("", "")


def test_what_was_made_outlives_the_patch(small: Path) -> None:
    with patch_transformers():
        ours = transformers.AutoTokenizer.from_pretrained(small)
    assert ours("a b c")["input_ids"] == [0, 1, 2]
    assert backend_of(ours) == Backend("core")


def test_an_exception_ends_the_patch(small: Path) -> None:
    with pytest.raises(ZeroDivisionError), patch_transformers():
        raise ZeroDivisionError
    assert FAST.__init__ is CONSTRUCTOR


def test_it_says_why_the_core_does_not_encode(small: Path) -> None:
    class Cut:
        def pre_tokenize(self, text: Any) -> None:
            text.split(lambda _, part: list(part.split(" ", "removed")))

    custom = FAST(tokenizer_object=words())
    custom.backend_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Cut())
    use_core(custom)
    name, reason = backend_of(custom)
    assert name == "tokenizers"
    assert "Custom" in str(reason)
    assert custom("a b")["input_ids"] == [0, 1]

    plain = transformers.AutoTokenizer.from_pretrained(small)
    assert backend_of(plain).name == "tokenizers"
    assert "patch_transformers" in str(backend_of(plain).reason)
    assert backend_of(use_core(plain)) == Backend("core")
    assert use_core(plain)._tokenizer is use_core(plain)._tokenizer

    slow = transformers.ByT5Tokenizer()
    assert use_core(slow) is slow
    assert backend_of(slow).name == "transformers"
    assert "ByT5Tokenizer" in str(backend_of(slow).reason)


@needs_assets
def test_a_file_that_the_core_refuses_is_served_by_the_reference() -> None:
    # A pattern with a back-reference.
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"(.)\1"), "isolated")
    with patch_transformers():
        ours = FAST(tokenizer_object=words(pre_tokenizer=split))
    plain = FAST(tokenizer_object=words(pre_tokenizer=split))
    name, reason = backend_of(ours)
    assert (name, ours.backend_tokenizer.core) == ("tokenizers", None)
    assert reason
    compare(ours, plain)


CHANGES: list[Callable[[Any], Any]] = [
    lambda inner: setattr(inner.normalizer, "lowercase", True),
    lambda inner: inner.pre_tokenizer.__setitem__(0, tokenizers.pre_tokenizers.Punctuation()),
]


@pytest.mark.parametrize("change", CHANGES)
def test_parts_may_be_changed_in_place_before_the_first_text(change: Callable[..., Any]) -> None:
    """Loaders of transformers do so, such as that of a wrong pattern of Mistral's."""

    def made() -> Any:
        inner = words()
        inner.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
        inner.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
            [tokenizers.pre_tokenizers.Whitespace()]
        )
        return FAST(tokenizer_object=inner)

    ours, plain = use_core(made()), made()
    for tok in (ours, plain):
        change(tok.backend_tokenizer)
    assert backend_of(ours) == Backend("core")
    for text in ("A b", "a,b", "a. B"):
        assert ours(text)["input_ids"] == plain(text)["input_ids"]


def test_training_is_that_of_the_reference(small: Path) -> None:
    with patch_transformers():
        ours = transformers.AutoTokenizer.from_pretrained(small)
        new = ours.train_new_from_iterator(
            [["one two", "two three"]], 10, new_special_tokens=["?"], show_progress=False
        )
    assert backend_of(new) == Backend("core")
    plain = transformers.AutoTokenizer.from_pretrained(small)
    old = plain.train_new_from_iterator(
        [["one two", "two three"]], 10, new_special_tokens=["?"], show_progress=False
    )
    assert new.get_vocab() == old.get_vocab()
    assert dict(new("one three four")) == dict(old("one three four"))


def test_a_batch_of_texts_is_encoded_by_the_core(small: Path) -> None:
    """The reference is not asked for what plain batches need."""
    ours = AutoTokenizer.from_pretrained(small)
    encodings = ours(TEXTS, padding=True, truncation=True, return_token_type_ids=True).encodings
    assert all(one._made is None for one in encodings)


def test_streams_of_transformers_take_what_is_inside(small: Path) -> None:
    """As `transformers serve` and processors of speech models do it."""
    library = tokenizers.decoders.DecodeStream
    with patch_transformers():
        ours = transformers.AutoTokenizer.from_pretrained(small)
        stream = tokenizers.decoders.DecodeStream(skip_special_tokens=True)
        plain = tokenizers.decoders.DecodeStream(skip_special_tokens=True)
        for number in (0, 1):
            expected = plain.step(words(), number)
            assert stream.step(ours._tokenizer, number) == expected
    assert tokenizers.decoders.DecodeStream is library


def test_what_others_wrapped_meanwhile_stays(small: Path) -> None:
    patch = patch_transformers()
    ours = FAST.__init__
    calls = []

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        calls.append(self)
        ours(self, *args, **kwargs)

    FAST.__init__ = wrapped
    try:
        assert made_by(small).startswith("pywasmtok")
        patch.undo()
        assert not made_by(small).startswith("pywasmtok")
        assert len(calls) == 2
    finally:
        FAST.__init__ = CONSTRUCTOR
