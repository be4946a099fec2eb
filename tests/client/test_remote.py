"""A tokenizer of a server answers what the same tokenizer answers here."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from client.live import local_tokenizer
from pywasmtok import (
    Encoding,
    EncodingBatch,
    InvalidArgument,
    InvalidText,
    Limits,
    SpecialTokenInText,
    StopSequenceConfig,
    Tokenizer,
    TokenizerClosed,
    Unsupported,
    create_tokenizer,
)
from pywasmtok.backends import Complete
from pywasmtok.client import Client, RemoteTimeout, RemoteTokenizer
from pywasmtok.client.remote import RemoteBackend
from pywasmtok.tenants.errors import UnknownTokenizer

TEXTS = ["", "Hello world", "naïve 🌶 text, Привет, 世界!", "<|endoftext|> x" * 3]


@pytest.fixture(scope="module")
def here() -> Iterator[Tokenizer]:
    with local_tokenizer() as tok:
        yield tok


@pytest.fixture(scope="module")
def there(url: str) -> Iterator[Tokenizer]:
    with create_tokenizer(f"{url}/demo") as tok:
        yield tok


def test_it_is_a_tokenizer(here: Tokenizer, there: Tokenizer, url: str) -> None:
    assert type(there) is type(here) is Tokenizer
    assert there.name == RemoteTokenizer(there.client, "demo").name == "demo"
    for name in ("client", "name", "served"):
        assert not hasattr(here, name)
    assert there.source == f"{url}/demo"
    assert there.backend.encoder == there.stream_backend == "remote"
    assert repr(there) == f"<RemoteTokenizer {url}/demo>"


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("special", ["all", "none"])
def test_encode(here: Tokenizer, there: Tokenizer, text: str, special: str) -> None:
    mine, theirs = here.encode(text, special=special), there.encode(text, special=special)
    assert isinstance(theirs, Encoding)
    assert (theirs.ids, theirs.hash, theirs.served_by) == (mine.ids, mine.hash, "remote")
    for name in ("tokens", "offsets", "byte_offsets", "type_ids", "special_tokens_mask"):
        assert getattr(theirs, name) == getattr(mine, name), name
    assert theirs.attention_mask == mine.attention_mask


def test_pairs(here: Tokenizer, there: Tokenizer) -> None:
    mine, theirs = here.encode("naïve", "Привет"), there.encode("naïve", "Привет")
    assert (theirs.ids, theirs.offsets) == (mine.ids, mine.offsets)
    assert theirs.byte_offsets == mine.byte_offsets
    batch: list[str | tuple[str, str]] = ["a", ("b", "c")]
    assert there.encode_batch(batch).ids == here.encode_batch(batch).ids


def test_batches(here: Tokenizer, there: Tokenizer) -> None:
    mine, theirs = here.encode_batch(TEXTS), there.encode_batch(TEXTS)
    assert isinstance(theirs, EncodingBatch)
    assert theirs == mine
    assert theirs[2].tokens == mine[2].tokens
    assert there.encode_batch([]).ids == []
    assert there.decode_batch(list(theirs)) == here.decode_batch(list(mine))


def test_segments(here: Tokenizer, there: Tokenizer) -> None:
    parts = [("<|endoftext|>", True), ("<|endoftext|>", False)]
    assert there.encode_segments(parts).ids == here.encode_segments(parts).ids
    assert there.encode_segments(parts, control="added") == here.encode_segments(parts)
    with pytest.raises(Unsupported, match="details"):
        there.encode_segments(parts).tokens  # noqa: B018


def test_counting(here: Tokenizer, there: Tokenizer) -> None:
    text = TEXTS[2]
    count = here.count(text)
    assert there.count(text) == count
    assert there.count_batch(TEXTS) == here.count_batch(TEXTS)
    assert [there.fits(text, n) for n in (count - 1, count)] == [False, True]
    for side in ("left", "right"):
        mine, theirs = here.truncate(text, 4, side), there.truncate(text, 4, side)
        assert (theirs.text, theirs.ids, theirs.truncated) == (mine.text, mine.ids, True)
        assert (theirs.exact, theirs.encoding.tokens) == (mine.exact, mine.encoding.tokens)


def test_decode(here: Tokenizer, there: Tokenizer) -> None:
    ids = here.encode(TEXTS[3]).ids
    for skip in (True, False):
        assert there.decode(ids, skip) == here.decode(ids, skip)
    assert there.decode([*ids, 9_999_999]) == here.decode([*ids, 9_999_999])
    assert there.decode([9_999_999], unknown_id="replace") == "\N{REPLACEMENT CHARACTER}"


def test_streams_add_up(here: Tokenizer, there: Tokenizer) -> None:
    ids = here.encode(TEXTS[2]).ids
    mine, theirs = here.decode_stream(), there.decode_stream(history=True)
    assert [theirs.step(one) for one in ids] == [mine.step(one) for one in ids]
    assert theirs.flush() == mine.flush()
    assert (theirs.text, theirs.tokens) == (here.decode(ids), ids)


def test_streams_go_back_and_go_on_elsewhere(here: Tokenizer, there: Tokenizer) -> None:
    from pywasmtok import DecodeStream

    ids = here.encode(TEXTS[2]).ids
    stream = there.decode_stream(ids[:2])
    first = stream.step_batch(ids[2:5])
    mark = stream.checkpoint()
    rest = stream.copy().step_batch(ids[5:])
    again = DecodeStream.from_state(there, stream.state())
    assert again.step_batch(ids[5:]) == rest
    stream.rollback(mark)
    assert stream.step_batch(ids[5:]) == rest
    mine = here.decode_stream(ids[:2])
    assert mine.step_batch(ids[2:5]) + mine.step_batch(ids[5:]) == first + rest
    assert there.sequence(ids).text == here.sequence(ids).text


def test_stops(here: Tokenizer, there: Tokenizer) -> None:
    ids = here.encode("Well, yes! And no, <|endoftext|> never").ids
    token = here.encode("<|endoftext|>").ids[0]
    for config in (
        StopSequenceConfig(stop_sequences=("no,",)),
        StopSequenceConfig(visible_stop_sequences=("x", "yes!")),
        StopSequenceConfig(stop_tokens=(token,)),
        StopSequenceConfig(stop_sequences=("nowhere",), ignore_eos=True),
    ):
        mine, theirs = here.stop_decoder(config), there.stop_decoder(config)
        assert [theirs.process_token(one) for one in ids] == [
            mine.process_token(one) for one in ids
        ]
        assert (theirs.matched, theirs.flush()) == (mine.matched, mine.flush())
        at_once = there.stop_decoder(config)
        mine = here.stop_decoder(config)
        split = len(ids) // 2
        for part in (ids[:split], ids[split:]):
            assert at_once.process_tokens(part) == mine.process_tokens(part)
        at_once.reset()
        assert (
            at_once.process_token(ids[0]).text
            == here.stop_decoder(config).process_token(ids[0]).text
        )


def test_chats(here: Tokenizer, there: Tokenizer) -> None:
    chat = [{"role": "user", "content": "Hi <|endoftext|>"}]
    how: dict[str, Any] = {"add_generation_prompt": True}
    text = here.apply_chat_template(chat, tokenize=False, **how)
    assert there.apply_chat_template(chat, tokenize=False, **how) == text
    assert there.apply_chat_template([chat, chat], tokenize=False, **how) == [text, text]
    ids = here.apply_chat_template(chat, return_dict=False, **how)
    assert there.apply_chat_template(chat, return_dict=False, **how) == ids
    mine, theirs = here.encode_chat(chat, **how), there.encode_chat(chat, **how)
    assert (theirs.ids, theirs.text, theirs.defused) == (mine.ids, mine.text, 1)
    assert len(theirs.template_mask) == len(theirs) == len(mine)
    with pytest.raises(Unsupported, match="masks"):
        there.apply_chat_template(chat)
    with pytest.raises(Unsupported, match="padding"):
        there.apply_chat_template(chat, return_dict=False, padding=True)
    with pytest.raises(InvalidArgument, match="minijinja"):
        there.apply_chat_template(chat, tokenize=False, renderer="minijinja")
    for tok in (here, there):
        with pytest.raises(TypeError, match="apply_chat_template"):
            tok.apply_chat_template(chat, *range(30))


def test_errors_are_those_of_the_library(here: Tokenizer, there: Tokenizer) -> None:
    text = "é <|endoftext|>"
    with pytest.raises(SpecialTokenInText) as mine:
        here.encode(text, special="raise")
    with pytest.raises(SpecialTokenInText) as theirs:
        there.encode(text, special="raise")
    assert theirs.value.token == mine.value.token == "<|endoftext|>"
    assert theirs.value.offset == mine.value.offset == 3
    with pytest.raises(InvalidText, match="surrogate"):
        there.encode("\ud800")
    with pytest.raises(InvalidArgument):
        there.encode(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        there.decode(["x"])  # type: ignore[list-item]
    with pytest.raises(InvalidArgument, match="no added token"):
        there.encode(text, special={"<nothing>"})


def test_every_member_is_remote_or_says_that_it_cannot_be(there: Tokenizer) -> None:
    """Nothing that needs a file is inherited by accident."""
    # They check or list what is given, or say that nothing is done otherwise.
    shared = {"quick", "encode_instead", "listed", "ids_given", "as_one", "bounded", "core"}
    shared |= {"refused", "encode_within_bounds"}
    members = {name for one in Complete.__mro__[:-2] for name in vars(one) if name[0] != "_"}
    assert len(members) > 30
    assert members - set(vars(RemoteBackend)) == shared
    for name, value in inspect.getmembers(Tokenizer):
        if isinstance(value, property):
            feature = "remote:"
            try:
                getattr(there, name)
            except Unsupported as error:
                feature = error.feature or ""
            assert feature.startswith("remote:"), name


@pytest.mark.parametrize(
    "call",
    [
        lambda tok: tok.token_to_id("a"),
        lambda tok: tok.id_to_token(1),
        lambda tok: tok.get_vocab(),
        lambda tok: tok.get_vocab_size(False),
        lambda tok: tok.decode_bytes([1]),
        lambda tok: tok.token_spans([1]),
        lambda tok: tok.chat_session(),
        lambda tok: tok.get_chat_template(),
        lambda tok: tok.set_chat_template("x"),
        lambda tok: tok.encode("a", threads=2),
        lambda tok: tok.limited(max_tokens=3),
        lambda tok: tok.fingerprint,
    ],
)
def test_what_cannot_be_remote_is_named(there: Tokenizer, call: object) -> None:
    assert callable(call)
    with pytest.raises(Unsupported) as caught:
        call(there)
    assert (caught.value.feature or "").startswith("remote:")


def test_what_the_server_says_of_it(here: Tokenizer, there: Tokenizer) -> None:
    assert (there.format, there.vocab_size) == (here.format, here.vocab_size)
    assert there.served.name == "demo"
    with create_tokenizer(f"{there.client.url}/{there.served.digest}") as by_digest:
        assert by_digest.encode("Hello").ids == here.encode("Hello").ids


def test_a_name_that_there_is_not(url: str) -> None:
    with pytest.raises(UnknownTokenizer):
        create_tokenizer(f"{url}/nothing")


def test_closing_and_copying(url: str, here: Tokenizer) -> None:
    tok = create_tokenizer(f"{url}/demo", key="")
    with pytest.raises(Unsupported, match="does not travel"):
        pickle.dumps(tok)
    tok.close()
    tok.close()
    with pytest.raises(TokenizerClosed):
        tok.encode("a")
    with create_tokenizer(f"{url}/demo") as first:
        for other in (pickle.loads(pickle.dumps(first)), copy.copy(first)):
            with other:
                assert other.encode("Hello").ids == here.encode("Hello").ids
        encoding = pickle.loads(pickle.dumps(first.encode("Hello")))
    assert encoding.tokens == here.encode("Hello").tokens


def test_one_client_has_many_tokenizers(url: str) -> None:
    with Client(url) as client:
        with client.tokenizer("demo") as one:
            ids = one.encode("a").ids
        assert one.closed
        assert client.tokenizer("demo").encode("a").ids == ids
    with pytest.raises(TokenizerClosed):
        client.usage()


def test_a_deadline_is_the_only_bound_from_here(url: str) -> None:
    with create_tokenizer(f"{url}/demo", limits=Limits(deadline=60)) as tok:
        assert tok.limits == Limits(deadline=60)
        assert tok.encode("a").ids
        with pytest.raises(RemoteTimeout) as caught:
            tok.limited(deadline=1e-9).encode("a")
        assert caught.value.limit == 1e-9
    with pytest.raises(Unsupported, match="its own bounds"):
        create_tokenizer(f"{url}/demo", limits=Limits(max_tokens=3))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("http://127.0.0.1:1", "no name of a tokenizer"),
        ("http://someone:secret@127.0.0.1/demo", "ends up in logs"),
        ("http:///demo", "has a host"),
        ("http://127.0.0.1:99999/demo", "no URL"),
        ("http://127.0.0.1/../demo", "no name of a tokenizer"),
    ],
)
def test_addresses_that_are_none(source: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said) as caught:
        create_tokenizer(source)
    assert "secret" not in str(caught.value)


def test_options_for_files_are_refused(url: str) -> None:
    with pytest.raises(InvalidArgument, match="encoding="):
        create_tokenizer(f"{url}/demo", encoding="cl100k_base")
    with pytest.raises(InvalidArgument, match="key is for"):
        create_tokenizer("builtin:demo", key="x")
