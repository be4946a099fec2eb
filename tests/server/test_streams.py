"""Streams: the text is that of all ids decoded at once, whichever way they came."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from streams import WORDS, any_ids, bytes_of, cut, ids_of, llama, open_bytes

import pywasmtok
from pywasmtok import StopSequenceConfig
from pywasmtok.server.api.streams.state import Seal, Standing
from pywasmtok.server.config import Streams
from pywasmtok.server.contract import LOCAL
from pywasmtok.server.errors import BadRequest
from pywasmtok.server.service import Service
from pywasmtok.tenants import TenantLimits

from .calls import client_of, error_of, events_of, words_of
from .live import service_of

# Words of the small vocabulary, whose bytes wait for the end of their run.
X, A, B = (256 + WORDS.index(word) for word in ("x", "a", "b"))
ST, OP = (256 + WORDS.index(word) for word in ("ST", "OP"))


def made(limits: dict[str, int] | None = None, **streams: Any) -> AbstractContextManager[Service]:
    # A test that would wait for ever waits for a minute.
    bounds = Streams(**{"idle_seconds": 60.0, **streams})
    long = words_of("x" * 60)
    return service_of({"it": llama(), "long": long}, streams=bounds, limits=limits or {})


@pytest.fixture
def service() -> Iterator[Service]:
    with made() as service:
        yield service


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    with client_of(service) as made:
        yield made


@pytest.fixture
def tok() -> pywasmtok.Tokenizer:
    return open_bytes(llama()).limited(TenantLimits().calls)


def post(client: TestClient, **body: Any) -> list[tuple[str, dict[str, Any]]]:
    response = client.post("/tokenizers/it/stream", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return events_of(response.text)


def text_of(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(event["text"] for name, event in events if name == "text")


def state_of(events: list[tuple[str, dict[str, Any]]]) -> str:
    name, event = events[-1]
    assert name == "state"
    state: str = event["state"]
    return state


def connect(client: TestClient, name: str = "it") -> WebSocketTestSession:
    path = f"ws://127.0.0.1/api/v1/tokenizers/{name}/stream"
    return client.websocket_connect(path)


@contextmanager
def connected(**streams: Any) -> Iterator[WebSocketTestSession]:
    """To a server of its own."""
    with made(**streams) as service, client_of(service) as client, connect(client) as socket:
        yield socket


def say(socket: WebSocketTestSession, **message: Any) -> dict[str, Any]:
    socket.send_json(message)
    answer: dict[str, Any] = socket.receive_json()
    return answer


def pools_of(tok: pywasmtok.Tokenizer) -> list[list[int]]:
    return [bytes_of("né 你好 🌶"), list(range(256)), list(range(256, tok.vocab_size)), [999]]


def test_every_cut_gives_the_whole_text(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    dice = random.Random("sse")
    with connect(client) as socket:
        for number in range(40):
            ids, skip = any_ids(dice, pools_of(tok)), dice.random() < 0.5
            whole = tok.decode(ids, skip)
            how: dict[str, Any] = {"skip_special_tokens": skip}
            events = post(client, ids=[], **how)
            name = f"stream {number}"
            over = say(socket, stream=name, open=True, **how)["text"]
            text = text_of(events)
            for part in cut(dice, ids):
                events = post(client, ids=part, state=state_of(events))
                text += text_of(events)
                over += say(socket, stream=name, ids=part)["text"]
            events = post(client, ids=[], state=state_of(events), finish=True)
            assert [name for name, _ in events if name != "text"] == ["ended", "state"]
            last = say(socket, stream=name, finish=True)
            assert last["ended"] is True
            assert (text + text_of(events), over + last["text"]) == (whole, whole), ids


def test_long_lists_come_in_several_events(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    ids = bytes_of("né 你好 🌶 " * 700)
    events = post(client, ids=ids, finish=True)
    assert len([name for name, _ in events if name == "text"]) > 1
    assert text_of(events) == tok.decode(ids)
    assert events[-1][1]["consumed"] == len(ids)


def test_the_prompt_and_how_it_is_decoded(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    prompt, ids = [*ids_of(tok, "Hello"), 0xE4, 0xBD], [0xA0, *ids_of(tok, "▁hi")]
    for runs in ("exact", "eager"):
        stream = tok.decode_stream(prompt, byte_runs=runs)
        wanted = [stream.step(number) for number in ids]
        with connect(client) as socket:
            begun = say(socket, stream="a", open=True, prompt_ids=prompt, byte_runs=runs)
            assert begun == {"stream": "a", "text": ""}
            assert [say(socket, stream="a", ids=[number])["text"] for number in ids] == wanted
        events = post(client, ids=ids, prompt_ids=prompt, byte_runs=runs)
        assert text_of(events) == "".join(wanted)
    with connect(client) as socket:
        refused = say(socket, stream="a", open=True, ids=[999], unknown_id="error")
        assert (refused["error"]["kind"], "ended" in refused) == ("invalid_token", False)
        assert say(socket, stream="a", ids=bytes_of("ok"), finish=True)["text"] == "ok"


STOPS: list[dict[str, Any]] = [
    {"sequences": ["STOP"]},
    {"visible_sequences": ["STOP"]},
    {"tokens": [0x78]},
    {"visible_tokens": [X], "min_tokens": 2},
    {"sequences": ["好", "a b"], "ignore_eos": True},
    {"eos_token_ids": [0x61]},
]


@pytest.mark.parametrize("stops", STOPS, ids=str)
def test_stops_are_the_library_s(
    client: TestClient, tok: pywasmtok.Tokenizer, stops: dict[str, Any]
) -> None:
    dice = random.Random(str(stops))
    config = StopSequenceConfig(
        stop_tokens=stops.get("tokens", ()),
        stop_sequences=stops.get("sequences", ()),
        visible_stop_tokens=stops.get("visible_tokens", ()),
        visible_stop_sequences=stops.get("visible_sequences", ()),
        min_tokens=stops.get("min_tokens", 0),
        ignore_eos=stops.get("ignore_eos", False),
    )
    stopped = 0
    pools = [bytes_of("xa bSTOP 你好"), ids_of(tok, "ST", "OP", "▁b", "a", "x", "</s>")]
    with connect(client) as socket:
        for number in range(25):
            ids = any_ids(dice, pools)
            decoder = tok.stop_decoder(config, eos_token_ids=stops.get("eos_token_ids"))
            wanted = decoder.process_tokens(ids).output.text
            wanted += "" if decoder.is_stopped else decoder.flush().text
            name = str(number)
            answer = say(socket, stream=name, open=True, stops=stops)
            events = post(client, ids=[], stops=stops)
            over, text, matched = answer["text"], text_of(events), None
            for part in cut(dice, ids):
                answer = say(socket, stream=name, ids=part)
                over += answer["text"]
                events = post(client, ids=part, state=state_of(events))
                text += text_of(events)
                assert [event for kind, event in events if kind == "stopped"] == (
                    [{"stopped": answer["stopped"]}] if "stopped" in answer else []
                )
                if "stopped" in answer:
                    break
            if "stopped" not in answer:
                answer = say(socket, stream=name, finish=True)
                over += answer["text"]
                events = post(client, ids=[], state=state_of(events), finish=True)
                text += text_of(events)
            assert (over, text) == (wanted, wanted), ids
            assert answer["ended"] is True
            matched = decoder.matched
            assert ("stopped" in answer) == (matched is not None)
            if matched is not None:
                stopped += 1
                assert answer["stopped"] == {
                    field: getattr(matched, field) for field in matched.__dataclass_fields__
                }
    assert stopped


def test_a_stream_goes_on_over_another_way(client: TestClient, tok: pywasmtok.Tokenizer) -> None:
    ids = bytes_of("né 你好")
    events = post(client, ids=ids[:5])
    with connect(client) as socket:
        answer = say(
            socket, stream="a", open=True, state=state_of(events), ids=ids[5:], finish=True
        )
    assert text_of(events) + answer["text"] == tok.decode(ids)


def test_a_state_is_good_in_any_worker() -> None:
    """With the same secret, which comes from the store that all share."""
    with made() as one, made() as two:
        with client_of(one) as first:
            state = state_of(post(first, ids=[0xE4, 0xBD]))
        with client_of(two) as second:
            refused = second.post("/tokenizers/it/stream", json={"ids": [0xA0], "state": state})
            assert (refused.status_code, error_of(refused)["path"]) == (400, "$.state")
        two.store = one.store
        with client_of(two) as second:
            assert text_of(post(second, ids=[0xA0], state=state, finish=True)) == "你"


def test_a_state_of_somebody_else_is_refused() -> None:
    standing = Standing(1, 10**10, LOCAL, "it", "digest", 0, None, b"")
    seal = Seal(b"secret", seconds=10, most_bytes=1000, now=lambda: 100.0)
    state = seal.closed(standing)
    assert seal.opened(state, LOCAL, "it") == standing
    old = seal.closed(Standing(1, 99, LOCAL, "it", "digest", 0, None, b""))
    for wrong, tenant, name in (
        (state, "other", "it"),
        (state, LOCAL, "that"),
        (old, LOCAL, "it"),
        (state[:-1], LOCAL, "it"),
        (state + "A" * 2000, LOCAL, "it"),
        (state + "=" * (-len(state) % 4 or 4), LOCAL, "it"),
        (state.replace("-", "+").replace("_", "/") + "=", LOCAL, "it"),
        ("", LOCAL, "it"),
        ("é", LOCAL, "it"),
        (base64.urlsafe_b64encode(b"\x90" * 64).decode(), LOCAL, "it"),
    ):
        with pytest.raises(BadRequest):
            seal.opened(wrong, tenant, name)
    with pytest.raises(BadRequest):
        Seal(b"another", seconds=10, most_bytes=1000).opened(state, LOCAL, "it")


def test_no_changed_state_is_taken(client: TestClient) -> None:
    state = state_of(post(client, ids=[0xE4, 0xBD], stops={"sequences": ["x"]}))
    dice = random.Random("bits")
    whole = bytearray(base64.urlsafe_b64decode(state + "=" * (-len(state) % 4)))
    for _ in range(60):
        changed = bytearray(whole)
        changed[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        body = {"ids": [0xA0], "state": base64.urlsafe_b64encode(changed).rstrip(b"=").decode()}
        refused = client.post("/tokenizers/it/stream", json=body)
        assert (refused.status_code, error_of(refused)["kind"]) == (400, "bad_request")


def test_a_state_has_all_that_it_needs(client: TestClient) -> None:
    state = state_of(post(client, ids=[], stops={"sequences": ["STOP"]}))
    both: tuple[dict[str, Any], ...] = ({"prompt_ids": [1]}, {"stops": {}})
    for more in both:
        refused = client.post("/tokenizers/it/stream", json={"ids": [], "state": state, **more})
        assert (refused.status_code, error_of(refused)["path"]) == (400, "$.state")


def test_a_swapped_name_leaves_streams_what_they_began_with(service: Service) -> None:
    import small

    ids = bytes_of("né")
    with client_of(service) as client:
        client.put("/tokenizers/mine", content=llama()).raise_for_status()
        began = client.post("/tokenizers/mine/stream", json={"ids": ids[:2]})
        path = "ws://127.0.0.1/api/v1/tokenizers/mine/stream"
        with client.websocket_connect(path) as socket:
            first = say(socket, stream="a", open=True, ids=ids[:2])
            client.put("/tokenizers/mine", content=small.file()).raise_for_status()
            state = state_of(events_of(began.text))
            body = {"ids": ids[2:], "state": state, "finish": True}
            went_on = client.post("/tokenizers/mine/stream", json=body)
            assert went_on.headers["x-tokenizer"] == began.headers["x-tokenizer"]
            assert text_of(events_of(began.text)) + text_of(events_of(went_on.text)) == "né"
            last = say(socket, stream="a", ids=ids[2:], finish=True)
            assert first["text"] + last["text"] == "né"
        anew = client.post("/tokenizers/mine/stream", json={"ids": []})
        assert anew.headers["x-tokenizer"] != began.headers["x-tokenizer"]


def test_names_of_streams(client: TestClient) -> None:
    with connect(client) as socket:
        assert say(socket, stream="a", ids=[1])["error"]["kind"] == "bad_request"
        say(socket, stream="a", open=True)
        again = say(socket, stream="a", open=True)
        assert (again["error"]["kind"], "ended" in again) == ("conflict", False)
        for wrong in ("", "x" * 129):
            refused = say(socket, stream=wrong, open=True)
            assert (refused["error"]["path"], refused["ended"]) == ("$.stream", True)
        late = say(socket, stream="a", prompt_ids=[1])
        assert (late["error"]["kind"], "ended" in late) == ("bad_request", False)
        assert say(socket, stream="a", ids=bytes_of("ok"), finish=True)["text"] == "ok"
        assert say(socket, stream="a", ids=[1])["ended"] is True


def test_what_is_no_message(client: TestClient) -> None:
    with connect(client) as socket:
        for wrong in ("", "{", "[]", '{"stream": 1}', '{"stream": "a", "nope": 1}', "[" * 200):
            socket.send_text(wrong)
            assert socket.receive_json()["error"]["kind"] == "bad_request"
        socket.send_bytes(b'{"stream": "a", "open": true, "ids": [120], "finish": true}')
        assert socket.receive_json()["text"] == "x"


def test_how_many_and_how_much() -> None:
    with made({"streams": 2, "stream_bytes": 24}) as service, client_of(service) as client:
        with connect(client) as one, connect(client) as two:
            say(one, stream="a", open=True)
            say(two, stream="a", open=True)
            refused = say(one, stream="b", open=True)
            assert (refused["error"]["kind"], refused["error"]["limit"]) == ("too_many_requests", 2)
            say(two, stream="a", finish=True)
            assert "error" not in say(one, stream="b", open=True)
            assert say(one, stream="b", ids=[A, B, A, B])["text"] == "abab"
            refused = say(one, stream="b", ids=[A, B])
            assert (refused["error"]["kind"], refused["error"]["asked"]) == ("quota_exceeded", 28)
            assert say(one, stream="b", finish=True) == {"stream": "b", "text": "", "ended": True}
        with connect(client) as three:
            for name in "ab":
                assert "error" not in say(three, stream=name, open=True)
        state = state_of(post(client, ids=[A, B, A, B]))
        over = client.post("/tokenizers/it/stream", json={"ids": [A, B], "state": state})
        assert (over.status_code, error_of(over)["kind"]) == (413, "quota_exceeded")


def test_the_text_of_a_step_is_bounded_before_it_is_sent() -> None:
    """An id can stand for a long text. A step that is refused changes nothing."""
    with made({"stream_bytes": 100}) as service, client_of(service) as client:
        refused = client.post("/tokenizers/long/stream", json={"ids": [1, 1]})
        assert (refused.status_code, error_of(refused)["asked"]) == (413, 129)
        with connect(client, "long") as socket:
            assert say(socket, stream="a", open=True, ids=[1])["text"] == "x" * 60
            error = say(socket, stream="a", ids=[1])["error"]
            assert (error["kind"], error["limit"]) == ("quota_exceeded", 100)
            assert say(socket, stream="a", ids=[0])["text"] == " [UNK]"
            assert say(socket, stream="a", finish=True)["ended"] is True


def test_a_state_that_grew_too_large_is_not_given_out() -> None:
    with made(state_bytes=200) as service, client_of(service) as client:
        events = post(client, ids=bytes_of("你" * 50))
        name, last = events[-1]
        assert (name, last["ended"], last["error"]["limit"]) == ("ended", True, 200)


def test_an_error_on_the_way_leaves_what_was_good(tok: pywasmtok.Tokenizer) -> None:
    ids = [*[X] * 4096, 999]
    with made() as service, client_of(service) as client:
        events = post(client, ids=ids, unknown_id="error")
        assert [name for name, _ in events] == ["text", "error", "state"]
        assert events[1][1]["error"]["kind"] == "invalid_token"
        assert events[2][1]["consumed"] == 4096
        rest = post(client, ids=[A], state=events[2][1]["state"], finish=True)
        assert text_of(events) + text_of(rest) == "x" * 4096 + "a"


def test_a_message_that_is_too_large() -> None:
    with connected(message_bytes=100) as socket:
        say(socket, stream="a", open=True)
        last = say(socket, stream="a", ids=[1] * 200)
        assert (last["stream"], last["ended"]) == ("a", True)
        assert (last["error"]["kind"], last["error"]["limit"]) == ("input_too_large", 100)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1009


def test_a_message_is_measured_in_bytes() -> None:
    with connected(message_bytes=100) as socket:
        socket.send_text(json.dumps({"stream": "é" * 50}, ensure_ascii=False))
        last = socket.receive_json()
        assert (last["error"]["limit"], last["error"]["asked"]) == (100, 114)


def test_nothing_moves() -> None:
    with connected(idle_seconds=0.05) as socket:
        assert socket.receive_json()["error"]["kind"] == "idle"
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1001


def test_who_sends_too_fast_is_read_no_faster() -> None:
    """All is answered, and none of it lost."""
    with connected(messages_per_second=100) as socket:
        socket.send_json({"stream": "a", "open": True})
        for _ in range(130):
            socket.send_json({"stream": "a", "ids": [X]})
        assert "".join(socket.receive_json()["text"] for _ in range(131)) == "x" * 130


def test_streams_go_on_elsewhere_when_the_server_stops() -> None:
    with made() as one, made() as two:
        two.store = one.store
        with client_of(one) as client, connect(client) as socket:
            say(socket, stream="a", open=True, ids=[0xE4, 0xBD])
            say(socket, stream="b", open=True, stops={"sequences": ["STOP"]}, ids=[X, ST])
            assert client.portal is not None
            client.portal.call(drain, one)
            found = {event["stream"]: event for event in (socket.receive_json() for _ in "ab")}
            with pytest.raises(WebSocketDisconnect) as closed:
                socket.receive_json()
            assert closed.value.code == 1012
            assert client.post("/tokenizers/it/stream", json={"ids": []}).status_code == 503
        assert {event["error"]["kind"] for event in found.values()} == {"draining"}
        assert all(event["ended"] for event in found.values())
        with client_of(two) as client:
            rest = post(client, ids=[0xA0], state=found["a"]["state"], finish=True)
            assert text_of(rest) == "你"
            rest = post(client, ids=[OP], state=found["b"]["state"])
        assert [name for name, _ in rest] == ["stopped"]
        assert rest[0][1]["stopped"]["start"] == 1


async def drain(service: Service) -> None:
    service.lifecycle.drain()


def test_a_tenant_that_is_disabled_gets_no_further(service: Service) -> None:
    with client_of(service) as client, connect(client) as socket:
        assert say(socket, stream="a", open=True, ids=[X])["text"] == "x"
        (local,) = service.store.tenants(LOCAL)
        service.store.put_tenant(replace(local, disabled=True))
        assert say(socket, stream="a", ids=[X])["error"]["kind"] == "not_found"
        assert say(socket, stream="b", open=True)["error"]["kind"] == "not_found"


def test_who_has_left_holds_no_streams() -> None:
    with made({"streams": 3}) as service, client_of(service) as client:
        for _ in range(5):
            with connect(client) as socket:
                for name in "abc":
                    assert "error" not in say(socket, stream=name, open=True)


def test_a_tokenizer_that_is_not_there(client: TestClient) -> None:
    refused = client.post("/tokenizers/nope/stream", json={"ids": []})
    assert refused.status_code == 404
    with pytest.raises(WebSocketDisconnect), connect(client, "nope"):
        pass


def test_sockets_of_a_tenant_are_bounded() -> None:
    """Each takes a connection of the server, also while no stream is open on it."""
    with made({"streams": 2}) as service, client_of(service) as client:
        for _ in range(3):
            with connect(client), connect(client), pytest.raises(WebSocketDisconnect):
                connect(client).__enter__()


def test_large_messages_go_one_by_one_and_in_order(service: Service) -> None:
    with client_of(service) as client, connect(client) as socket:
        assert "error" not in say(socket, stream="a", open=True)
        padding = " " * 100_000
        for number in range(40):
            socket.send_text(f'{{"stream": "a", "ids": [{A if number % 2 else B}]}}{padding}')
        found = [socket.receive_json()["text"] for _ in range(40)]
        assert "".join(found) == "ba" * 20
