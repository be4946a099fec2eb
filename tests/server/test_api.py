"""The API answers what the library answers."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable, Iterator
from typing import Any, Final

import nasty
import pytest
import small
from assets import SERVED, Asset, needs_assets, open_tokenizer
from starlette.testclient import TestClient

import pywasmtok
from pywasmtok import DeadlineExceeded, TokenizerError
from pywasmtok._host.calls.deadline import End, until
from pywasmtok.server.api.answers import ids_of
from pywasmtok.server.api.shapes import Encode
from pywasmtok.server.api.texts import _details
from pywasmtok.server.contract import LOCAL
from pywasmtok.server.errors import body_of
from pywasmtok.server.service import Service
from pywasmtok.tenants import TenantLimits

from .calls import client_of, error_of
from .live import service_of

OCTETS = "application/octet-stream"
SPECIAL = ["</s>", "<think>", "<|user|>"]


def open_small(**changes: Any) -> pywasmtok.Tokenizer:
    from streams import open_bytes

    return open_bytes(small.file(**changes)).limited(TenantLimits().calls)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_of({"small": small.file(), "demo": "builtin:demo"}) as made:
        yield made


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[TestClient]:
    with client_of(service) as made:
        yield made


@pytest.fixture(scope="module")
def tok() -> pywasmtok.Tokenizer:
    return open_small()


def ask(client: TestClient, what: str, **body: Any) -> Any:
    response = client.post(f"/tokenizers/{what}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def compare(client: TestClient, name: str, tok: pywasmtok.Tokenizer, texts: list[str]) -> None:
    """Every answer of text and ids, over these texts."""
    for text in texts:
        wanted = tok.encode(text)
        found = ask(
            client,
            f"{name}/encode",
            text=text,
            tokens=True,
            offsets="characters",
            masks=True,
        )
        assert found["ids"] == wanted.ids, text
        assert found["count"] == len(wanted)
        assert found["tokens"] == wanted.tokens
        assert [tuple(one) for one in found["offsets"]] == wanted.offsets
        assert found["type_ids"] == wanted.type_ids
        assert found["special_tokens_mask"] == wanted.special_tokens_mask
        assert found["attention_mask"] == wanted.attention_mask
        in_bytes = ask(client, f"{name}/encode", text=text, special="none", offsets="bytes")
        plain = tok.encode(text, special="none")
        assert in_bytes["ids"] == plain.ids, text
        assert [tuple(one) for one in in_bytes["offsets"]] == plain.byte_offsets
        assert ask(client, f"{name}/decode", ids=wanted.ids)["text"] == tok.decode(wanted)
        whole = ask(client, f"{name}/decode", ids=wanted.ids, skip_special_tokens=False)
        assert whole["text"] == tok.decode(wanted, skip_special_tokens=False)
        limit = len(wanted) // 2 + 2
        assert ask(client, f"{name}/fits", text=text, n=limit)["fits"] == tok.fits(text, limit)
        for side in ("left", "right"):
            part = ask(client, f"{name}/truncate", text=text, n=limit, side=side)
            kept = tok.truncate(text, limit, side)
            assert (part["text"], part["ids"]) == (kept.text, kept.ids), text
            assert (part["truncated"], part["exact"]) == (kept.truncated, kept.exact)
    batch = ask(client, f"{name}/encode", texts=texts, add_special_tokens=False, tokens=True)
    wanted_batch = tok.encode_batch(texts, add_special_tokens=False)
    assert batch["ids"] == wanted_batch.ids
    assert batch["counts"] == [len(one) for one in wanted_batch]
    assert batch["tokens"] == [one.tokens for one in wanted_batch]
    assert ask(client, f"{name}/decode", batch=batch["ids"])["texts"] == texts_of(tok, batch["ids"])
    assert ask(client, f"{name}/count", texts=texts)["counts"] == tok.count_batch(texts)
    assert ask(client, f"{name}/count", text=texts[0])["count"] == tok.count(texts[0])


def texts_of(tok: pywasmtok.Tokenizer, lists: list[list[int]]) -> list[str]:
    return tok.decode_batch(lists)


def test_all_of_it_is_the_library_s(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    compare(client, "small", tok, [*nasty.texts("api", 40, SPECIAL), "", small.TEXT])


@needs_assets
@pytest.mark.parametrize(
    "asset",
    [one for one in SERVED if one.family in ("bert-base-cased", "gpt2", "t5", "llama2", "qwen3")],
    ids=lambda asset: asset.id,
)
def test_real_tokenizers(asset: Asset) -> None:
    whole = open_tokenizer(asset)
    tok = whole.limited(TenantLimits().calls)
    with service_of({"it": asset.read()}) as service, client_of(service) as client:
        added = sorted(whole.added_tokens)[:20]
        compare(client, "it", tok, list(nasty.texts(asset.id, 8, added)))
    whole.close()


def test_pairs(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    for text, pair in (("Hello", "world"), ("", "x"), ("a", "")):
        found = ask(client, "small/encode", text=text, pair=pair, masks=True)
        wanted = tok.encode(text, pair)
        assert (found["ids"], found["type_ids"]) == (wanted.ids, wanted.type_ids)


def test_segments(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    dice = random.Random("segments")
    for text in nasty.texts("segments", 30, SPECIAL):
        cut = dice.randint(0, len(text))
        parts = [(text[:cut], dice.random() < 0.5), (text[cut:], dice.random() < 0.5)]
        sent = [{"text": part, "trusted": trusted} for part, trusted in parts]
        assert (
            ask(client, "small/encode", segments=sent)["ids"] == tok.encode_segments(parts).ids
        ), parts
    parts = [("<think>", False), ("<|user|>", True)]
    sent = [{"text": part, "trusted": trusted} for part, trusted in parts]
    added = ask(client, "small/encode", segments=sent, control="added", add_special_tokens=False)
    assert added["ids"] == tok.encode_segments(parts, False, control="added").ids
    named = ask(client, "small/encode", segments=sent, control=["<think>"])
    assert named["ids"] == tok.encode_segments(parts, control={"<think>"}).ids


def test_policies(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    text = "a <|user|> b </s>"
    for special in ("all", "none", ["</s>"], []):
        names = set(special) if isinstance(special, list) else special
        assert (
            ask(client, "small/encode", text=text, special=special)["ids"]
            == tok.encode(text, special=names).ids
        )
        assert ask(client, "small/count", text=text, special=special)["count"] == tok.count(
            text, special=names
        )
    refused = client.post("/tokenizers/small/encode", json={"text": text, "special": "raise"})
    assert refused.status_code == 400
    said = error_of(refused)
    assert (said["kind"], said["token"], said["offset"]) == ("special_token_in_text", "<|user|>", 2)


def test_unknown_ids(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    ids = [*tok.encode("ok").ids, 999_999]
    for how in (None, "skip", "replace"):
        assert ask(client, "small/decode", ids=ids, unknown_id=how)["text"] == tok.decode(
            ids, unknown_id=how
        )
    refused = client.post("/tokenizers/small/decode", json={"ids": ids, "unknown_id": "error"})
    assert (refused.status_code, error_of(refused)["kind"]) == (400, "invalid_token")


@pytest.mark.parametrize("ids", [[-1], [2**32], [2**80]])
def test_what_is_no_id_is_refused(client: TestClient, ids: list[int]) -> None:
    refused = client.post("/tokenizers/small/decode", json={"ids": ids})
    assert refused.status_code == 400


def test_bytes_in_place_of_json(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    texts = list(nasty.texts("octets", 20, SPECIAL))
    for text in texts:
        found = client.post(
            "/tokenizers/small/encode", json={"text": text}, headers={"accept": OCTETS}
        )
        assert found.headers["content-type"] == OCTETS
        assert found.headers["x-tokenizer"] == ask(client, "small/count", text="")["tokenizer"]
        assert found.content == tok.encode(text).buffer.tobytes()
        back = client.post(
            "/tokenizers/small/decode?skip_special_tokens=false",
            content=found.content,
            headers={"content-type": OCTETS},
        )
        assert back.json()["text"] == tok.decode(tok.encode(text), skip_special_tokens=False)
    batch = client.post(
        "/tokenizers/small/encode", json={"texts": texts}, headers={"accept": OCTETS}
    ).content
    numbers = array("I", batch).tolist()
    wanted = tok.encode_batch(texts)
    counts = [len(one) for one in wanted]
    assert numbers[: len(texts) + 1] == [len(texts), *counts]
    assert numbers[len(texts) + 1 :] == wanted.buffer.tolist()


def test_bytes_that_are_no_ids(client: TestClient) -> None:
    headers = {"content-type": OCTETS}
    odd = client.post("/tokenizers/small/decode", content=b"12345", headers=headers)
    assert (odd.status_code, error_of(odd)["offset"]) == (400, 4)
    for query in ("skip_special_tokens=1", "unknown_id=maybe"):
        refused = client.post(f"/tokenizers/small/decode?{query}", content=b"", headers=headers)
        assert refused.status_code == 400
    asked = {"text": "x", "tokens": True}
    both = client.post("/tokenizers/small/encode", json=asked, headers={"accept": OCTETS})
    assert both.status_code == 400


def test_many_ids_are_the_same_ids(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    """Answers that are long are written in parts."""
    text = "x y" * 30_000
    wanted = tok.encode(text)
    assert len(wanted) > 40_000
    assert ask(client, "small/encode", text=text)["ids"] == wanted.ids
    assert (
        ask(client, "small/encode", texts=[text, "x"])["ids"] == tok.encode_batch([text, "x"]).ids
    )
    found = ask(client, "small/encode", text=text, tokens=True, offsets="bytes")
    assert found["tokens"] == wanted.tokens
    assert found["offsets"] == [list(place) for place in wanted.byte_offsets]


def test_no_texts_have_the_fields_that_are_asked_for(client: TestClient) -> None:
    asked = {"tokens": True, "offsets": "bytes", "masks": True}
    one = ask(client, "small/encode", texts=["x"], **asked)
    none = ask(client, "small/encode", texts=[], **asked)
    assert none == {name: [] for name in one} | {"tokenizer": one["tokenizer"]}


def test_a_long_answer_is_not_written_beyond_the_deadline() -> None:
    ids = memoryview(array("I", range(5000)))
    with until(End(1.0, time.monotonic() - 1)):
        assert ids_of(ids[:10]) == list(range(10))
        with pytest.raises(DeadlineExceeded):
            ids_of(ids)

        class Found:
            tokens: Final = ["a"] * 5000

            @property
            def byte_offsets(self) -> None:
                raise AssertionError("made after the deadline")

        found: Any = Found()
        with pytest.raises(DeadlineExceeded):
            _details(Encode(tokens=True, offsets="bytes"), found)


WRONG: list[tuple[str, dict[str, Any], str | None]] = [
    ("encode", {}, "$"),
    ("encode", {"text": "a", "texts": []}, "$"),
    ("encode", {"text": 1}, "$.text"),
    ("encode", {"texts": ["a", None]}, "$.texts[1]"),
    ("encode", {"text": "a", "nope": 1}, None),
    ("encode", {"texts": ["a"], "pair": "b"}, "$.pair"),
    ("encode", {"text": "a", "control": "added"}, "$.control"),
    ("encode", {"segments": [{"text": "a"}]}, "$.segments[0]"),
    ("encode", {"segments": [], "special": "none"}, "$"),
    ("encode", {"text": "a", "offsets": "words"}, "$.offsets"),
    ("encode", {"text": "a", "special": "some"}, "$.special"),
    ("decode", {"ids": ["1"]}, "$.ids[0]"),
    ("decode", {"ids": [1.5]}, "$.ids[0]"),
    ("decode", {"ids": [1], "unknown_id": "no"}, "$.unknown_id"),
    ("count", {}, "$"),
    ("fits", {"text": "a"}, None),
    ("truncate", {"text": "a", "n": 1, "side": "up"}, "$.side"),
]


@pytest.mark.parametrize(("what", "body", "path"), WRONG, ids=lambda one: str(one)[:40])
def test_what_is_wrong_is_said_with_its_place(
    client: TestClient, what: str, body: dict[str, Any], path: str | None
) -> None:
    refused = client.post(f"/tokenizers/small/{what}", json=body)
    assert refused.status_code == 400, refused.text
    assert error_of(refused).get("path") == path


def test_errors_of_the_library_come_with_its_words(
    client: TestClient, tok: pywasmtok.Tokenizer
) -> None:
    cases: list[tuple[str, dict[str, Any], Any]] = [
        ("fits", {"text": "a", "n": -1}, lambda: tok.fits("a", -1)),
        ("truncate", {"text": "a", "n": 0}, lambda: tok.truncate("a", 0)),
        (
            "encode",
            {"text": "a", "special": ["some"]},
            lambda: tok.encode("a", special={"some"}),
        ),
        ("encode", {"texts": ["a"] * 1025}, lambda: tok.encode_batch(["a"] * 1025)),
        ("encode", {"text": "a" * (5 << 20)}, lambda: tok.encode("a" * (5 << 20))),
    ]
    for what, body, call in cases:
        with pytest.raises(TokenizerError) as caught:
            call()
        refused = client.post(f"/tokenizers/small/{what}", json=body)
        said = error_of(refused)
        assert (said["kind"], said["message"]) == (caught.value.kind, caught.value.message)
        assert refused.status_code == (413 if said["kind"] == "input_too_large" else 400)


RAISE = "An operator can raise it: the limit "
HINTS: list[tuple[Callable[[pywasmtok.Tokenizer], object], str | None]] = [
    (lambda tok: tok.limited(max_text_bytes=1).encode("ab"), f"{RAISE}`calls.max_text_bytes`"),
    (lambda tok: tok.limited(max_tokens=1).encode("a b c"), f"{RAISE}`calls.max_tokens`"),
    (lambda tok: tok.limited(max_tokens=1).decode([1, 2]), f"{RAISE}`calls.max_tokens`"),
    (
        lambda tok: tok.limited(max_batch_items=1).encode_batch(["a", "b"]),
        f"{RAISE}`calls.max_batch_items`",
    ),
    (lambda tok: tok.limited(memory=1 << 20).encode("a"), f"{RAISE}`calls.memory`"),
    (
        lambda tok: End(1.0, time.monotonic() - 1).check(),
        f"{RAISE}`calls.deadline`, or `load_deadline` for a file",
    ),
    (
        lambda tok: tok.apply_chat_template([{"role": "user", "content": "a"}]),
        "`chat_template` of the request can be one, if the limit `templates` allows it",
    ),
    (
        lambda tok: tok.encode("</s>", special="raise"),
        '`"special": "none"` takes such names as text',
    ),
    (lambda tok: tok.encode("a", special={"some"}), None),
    (
        lambda tok: tok.truncate("a", 0),
        '`"add_special_tokens": false` leaves out those of the post-processor',
    ),
]


@pytest.mark.parametrize(("call", "hint"), HINTS, ids=range(len(HINTS)))
def test_hints_of_the_library_are_those_of_a_client(
    call: Callable[[pywasmtok.Tokenizer], object], hint: str | None
) -> None:
    with pytest.raises(TokenizerError) as caught:
        call(open_small())
    assert caught.value.hint is not None
    assert body_of(caught.value)["error"].get("hint") == hint


@pytest.mark.parametrize(
    "body",
    [
        {"text": "a", "x" * 200_000: 1},
        {"text": "a", "special": ["x" * 200_000]},
        {"text": "a", "offsets": "x" * 200_000},
        {"segments": [{"text": "a", "trusted": True}], "control": ["x" * 200_000]},
    ],
    ids=["field", "special", "word", "control"],
)
def test_an_error_shows_a_part_of_a_long_name(client: TestClient, body: dict[str, Any]) -> None:
    found = client.post("/tokenizers/small/encode", json=body)
    assert found.status_code == 400
    assert 100 < len(found.content) < 2000
    assert "xxx...xxx" in error_of(found)["message"]


def test_what_is_done_is_counted(client: TestClient, service: Service) -> None:
    done: list[tuple[str, dict[str, Any], int]] = [
        ("encode", {"text": "héllo", "pair": "x"}, 7),
        ("decode", {"batch": [[1, 2], [3]]}, 12),
        ("count", {"texts": ["ab", "ü"]}, 4),
    ]
    for what, body, cost in done:
        before = service.usage(LOCAL)
        ask(client, f"small/{what}", **body)
        after = service.usage(LOCAL)
        assert after.requests - before.requests == 1
        assert after.text_bytes - before.text_bytes == cost


def test_a_tokenizer_that_is_not_there(client: TestClient) -> None:
    refused = client.post("/tokenizers/nope/encode", json={"text": "x"})
    assert (refused.status_code, error_of(refused)["kind"]) == (404, "unknown_tokenizer")


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("encode", {"text": "a", "special": ["</s>"] * 4097}, "$.special"),
        ("encode", {"segments": [{"text": "", "trusted": True}] * 16385}, "$.segments"),
        ("encode", {"segments": [], "control": ["</s>"] * 4097}, "$.control"),
        ("count", {"text": "a", "special": ["</s>"] * 4097}, "$.special"),
        ("stream", {"ids": [], "stops": {"sequences": ["a"] * 4097}}, "$.stops.sequences"),
        ("stream", {"ids": [], "stops": {"tokens": [1] * 4097}}, "$.stops.tokens"),
        ("chat/encode", {"messages": [], "control": ["</s>"] * 4097}, "$.control"),
    ],
)
def test_what_is_not_counted_as_text_is_bounded(
    client: TestClient, service: Service, path: str, body: dict[str, Any], where: str
) -> None:
    """It would be work that no rate knows of, on the event loop where the text is short."""
    before = service.usage(LOCAL)
    refused = client.post(f"/tokenizers/small/{path}", json=body)
    assert refused.status_code == 400
    assert error_of(refused)["path"] == where
    assert service.usage(LOCAL) == before
