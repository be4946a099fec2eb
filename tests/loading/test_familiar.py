"""Names that users of other tokenizer layers type: they make the one class `Tokenizer`."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path

import gguf_files
import pytest
import small
from assets import ROOT, needs_assets

import pywasmtok
from pywasmtok import DecodeStream, StopSequenceConfig, StopSequenceDecoder

CACHE = ROOT / "tiktoken-cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small.write(tmp_path)


def test_the_mock() -> None:
    tok = pywasmtok.MockTokenizer()
    assert type(tok) is pywasmtok.Tokenizer
    assert (tok.source, tok.vocab_size) == ("mock://", 8)
    assert tok.encode("Hello world").ids == [1, 2]


def test_a_tokenizer_json(path: Path) -> None:
    for tok in (
        pywasmtok.HuggingFaceTokenizer(path),
        pywasmtok.HuggingFaceTokenizer(str(path.parent)),
        pywasmtok.HuggingFaceTokenizer.from_file(str(path), decoder="core"),
        pywasmtok.Tokenizer.from_file(path, encoder="core"),
    ):
        assert type(tok) is pywasmtok.Tokenizer
        assert tok.encode("Hello").tokens == ["<s>", "Hello"]
    made = pywasmtok.HuggingFaceTokenizer.from_file_with_chat_template(path, "{{ 'hi' }}")
    messages = [{"role": "user", "content": "Hello"}]
    assert made.apply_chat_template(messages, tokenize=False) == "hi"


def test_another_format_is_not_taken_for_one(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(gguf_files.gguf(gguf_files.byte_level()))
    with pytest.raises(pywasmtok.InvalidArgument, match=r"no tokenizer\.json file, but gguf"):
        pywasmtok.HuggingFaceTokenizer(file)
    with pytest.raises(pywasmtok.InvalidArgument, match="no tiktoken file, but gguf"):
        pywasmtok.TiktokenTokenizer(file)
    # A path, and never the name of a repository.
    with pytest.raises(pywasmtok.SourceNotFound, match="no such file"):
        pywasmtok.HuggingFaceTokenizer("bert-base-uncased")


@needs_assets
def test_encodings_of_tiktoken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(CACHE))
    for tok in (
        pywasmtok.TiktokenTokenizer("gpt-4"),
        pywasmtok.TiktokenTokenizer.from_model_name("turbo", decoder="core"),
        pywasmtok.TiktokenTokenizer("mine", model_map={"mine": "cl100k_base"}),
    ):
        assert tok.encode("Hello, world!").ids == [9906, 11, 1917, 0]
    with pytest.raises(pywasmtok.SourceNotFound, match="no known name of a model"):
        pywasmtok.TiktokenTokenizer("bert-base-uncased")


@needs_assets
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("r50k_base", (50256,)),
        ("p50k_edit", (50256,)),
        ("cl100k_base", (100257,)),
        ("o200k_base", (199999,)),
        ("o200k_harmony", (199999, 200002, 200012)),
    ],
)
@pytest.mark.parametrize("encoder", ["core", "hf"])
def test_the_end_of_a_text(
    name: str, ends: tuple[int, ...], encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(CACHE))
    tiktoken = pytest.importorskip("tiktoken")
    tok = pywasmtok.create_tokenizer(name, encoder=encoder)
    special = tok.special_tokens
    assert (special.eos, special.bos) == ("<|endoftext|>", None)
    assert special.ids["<|endoftext|>"] == ends[0] == tiktoken.get_encoding(name).eot_token
    assert special.eos_token_ids == ends
    assert len(list(special)) == len(set(special)) == len(tok.special_tokens.ids)
    told = pywasmtok.get_tokenizer_info(name).special_tokens
    assert (told.eos, told.more, told.eos_token_ids) == (special.eos, special.more, ends)
    for end in ends:
        decoder = StopSequenceDecoder(tok, StopSequenceConfig())
        out = decoder.process_tokens([*tok.encode("Hello"), end, *tok.encode(" world")])
        assert (out.output.text, decoder.is_stopped) == ("Hello", True)


@needs_assets
def test_the_end_of_a_text_in_a_rank_file(tmp_path: Path) -> None:
    file = tmp_path / "cl100k.tiktoken"
    file.write_bytes((CACHE / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").read_bytes())
    assert pywasmtok.create_tokenizer(file).special_tokens.eos_token_ids == (100257,)
    # The name alone says nothing about other vocabularies.
    tok = pywasmtok.create_tokenizer(
        file, pattern=r"\S+|\s+", special_tokens={"<|endoftext|>": 100300}
    )
    assert tok.special_tokens.eos is None


def test_a_stream_of_a_tokenizer(path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path)
    ids = tok.encode("Hello wörld").ids
    for options in ({}, {"byte_runs": "eager", "unknown_id": "skip", "history": True}):
        mine = DecodeStream(tok, ids[:2], False, **options)  # type: ignore[arg-type]
        theirs = tok.decode_stream(ids[:2], False, **options)  # type: ignore[arg-type]
        assert mine.step_batch(ids[2:]) == theirs.step_batch(ids[2:]) != ""
        assert mine.state() == theirs.state()
        assert mine.copy().flush() == theirs.flush()
    assert DecodeStream(tok).step(ids[0]) == ""
    assert DecodeStream(tok, (), False).step(ids[0]) == "<s>"
    assert DecodeStream.from_state(tok, mine.state()).flush() == ""


def test_a_stop_decoder_of_a_tokenizer(path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path)
    config = StopSequenceConfig(stop_sequences=("END",))
    ids = tok.encode("Hello END world").ids
    for skip in (True, False):
        mine = StopSequenceDecoder(tok, config, skip)
        theirs = tok.stop_decoder(config, (), skip)
        assert mine.process_tokens(ids) == theirs.process_tokens(ids)
        assert mine.matched == theirs.matched is not None
        mine.reset()
        assert mine.copy().process_tokens(ids).output.text == ("" if skip else "<s>") + "Hello "
    stopped = StopSequenceDecoder(tok, eos_token_ids=(ids[1],), prompt_ids=ids[:1])
    assert stopped.process_token(ids[1]) == pywasmtok.Stopped()
    again = StopSequenceDecoder.from_state(tok, config, mine.state())
    assert again.state() == mine.state()


def test_constructors_take_what_the_methods_take() -> None:
    for made, method in (
        (DecodeStream, pywasmtok.Tokenizer.decode_stream),
        (StopSequenceDecoder, pywasmtok.Tokenizer.stop_decoder),
    ):
        ours = inspect.signature(made).parameters
        theirs = inspect.signature(method).parameters
        assert set(ours) - {"tokenizer"} == set(theirs) - {"self"}


class Doubling:
    """What another library has in the place of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        return [2 * ord(character) for character in text]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]


def count(encoder: pywasmtok.Encoder, text: str) -> int:
    return len(encoder.encode(text))


def text_of(decoder: pywasmtok.Decoder, ids: Sequence[int]) -> str:
    return decoder.decode(ids, True)


def test_protocols() -> None:
    tok = pywasmtok.MockTokenizer()
    assert isinstance(tok, pywasmtok.Encoder)
    assert isinstance(tok, pywasmtok.Decoder)
    assert isinstance(Doubling(), pywasmtok.Encoder)
    assert not isinstance(Doubling(), pywasmtok.Decoder)
    assert not isinstance("text", pywasmtok.Decoder)
    assert (count(tok, "Hello world"), count(Doubling(), "ab")) == (2, 2)
    assert text_of(tok, tok.encode("Hello world")) == "Hello world"


def test_a_template_or_none(path: Path) -> None:
    (path.parent / "chat_template.jinja").write_text("{{ messages[0].content }}!")
    messages: list[pywasmtok.ChatMessage] = [{"role": "user", "content": "hi"}]
    for template, expected in ((None, "hi!"), ("{{ messages[0].role }}", "user")):
        tok = pywasmtok.create_tokenizer_with_chat_template(path, template)
        assert tok.apply_chat_template(messages, tokenize=False) == expected
    given = pywasmtok.ChatMessage(role="user", content="hi")
    assert tok.apply_chat_template([given], tokenize=False) == "user"


def test_a_file_of_no_known_format_is_told_what_there_is(tmp_path: Path) -> None:
    file = tmp_path / "random.bin"
    file.write_bytes(b"\x01\x02\x03 nothing")
    with pytest.raises(pywasmtok.UnknownFormat) as caught:
        pywasmtok.create_tokenizer(file)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        for name in ("tokenizer.json", "tiktoken", "tekken.json", ".model", "GGUF", "vocab.txt"):
            assert name in str(error)
