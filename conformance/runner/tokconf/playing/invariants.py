"""What has to hold of any tokenizer, without a stored answer.

Each check makes its requests and gives None, or what is wrong with what was expected and got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .judge import byte_to_char

if TYPE_CHECKING:
    from .play import Session

Message = dict[str, Any]
Problem = tuple[str, Any, Any] | None
Check = Callable[["Session", int, Message], Problem]


def batch_equals_single(session: Session, handle: int, request: Message) -> Problem:
    options = request["options"]
    batch = session.need("encode_batch", handle=handle, inputs=request["inputs"], options=options)
    single = [
        session.need("encode", handle=handle, input=one, options=options)["ids"]
        for one in request["inputs"]
    ]
    return None if batch["ids"] == single else ("the batch differs", single, batch["ids"])


def count_equals_encode(session: Session, handle: int, request: Message) -> Problem:
    fields = {"handle": handle, "input": request["input"], "options": request["options"]}
    counted = session.need("count", **fields)["count"]
    ids = session.need("encode", **fields)["ids"]
    return None if counted == len(ids) else ("the count differs", len(ids), counted)


def stream_equals_decode(session: Session, handle: int, request: Message) -> Problem:
    """Every id alone, all at once, and in two parts of every size."""
    ids, options = request["ids"], request["options"]
    whole = session.need("decode", handle=handle, ids=ids, options=options)["text"]
    cuts = [[[one] for one in ids], [ids]]
    cuts += [[ids[:at], ids[at:]] for at in range(1, min(len(ids), 24))]
    for parts in cuts:
        fields = {"handle": handle, "prompt": [], "options": options}
        stream = {"stream": session.need("stream_open", **fields)["stream"]}
        said = [session.need("stream_push", **stream, ids=part)["text"] for part in parts]
        said.append(session.need("stream_flush", **stream)["text"])
        if session.serves("stream_close"):
            session.need("stream_close", **stream)
        if "".join(said) != whole:
            return f"the stream differs, in parts of {[len(p) for p in parts]}", whole, said
    return None


def roundtrip(session: Session, handle: int, request: Message) -> Problem:
    options = {"add_special": False, "special": "none"}
    if not session.has("special:none"):
        options.pop("special")
    fields = {"handle": handle, "input": request["input"], "options": options}
    ids = session.need("encode", **fields)["ids"]
    back = session.need("decode", handle=handle, ids=ids, options={"skip_special": False})["text"]
    text = request["input"]["text"]
    return None if back == text else ("the text does not come back", text, back)


def offsets_slice_text(session: Session, handle: int, request: Message) -> Problem:
    """They lie within the text, in order, and do not cut a character."""
    fields = {"handle": handle, "input": request["input"], "options": request["options"]}
    answer = session.need("encode", **fields, want=["offsets"])
    text, offsets = request["input"]["text"], answer.get("offsets")
    if offsets is None or len(offsets) != len(answer["ids"]):
        return "not one offset for each id", len(answer["ids"]), offsets
    if not session.has("offsets:char"):
        offsets = byte_to_char(text, offsets)
    wrong = [pair for pair in offsets if not 0 <= pair[0] <= pair[1] <= len(text)]
    return ("offsets outside of the text", [0, len(text)], wrong[:8]) if wrong else None


def vocabulary_round_trip(session: Session, handle: int, request: Message) -> Problem:
    wrong = []
    for identity in request["ids"]:
        token = session.need("id_to_token", handle=handle, id=identity)["token"]
        if token is None:
            continue
        back = session.need("token_to_id", handle=handle, token=token)["id"]
        # Two ids may have one token: it is the token that has to come back.
        again = None if back is None else session.need("id_to_token", handle=handle, id=back)
        if again is None or again["token"] != token:
            wrong.append([identity, token, back])
    return ("tokens whose id has another token, or is none", [], wrong) if wrong else None


def segments_equal_joined(session: Session, handle: int, request: Message) -> Problem:
    options = request["options"]
    joined = {"text": "".join(part["text"] for part in request["segments"])}
    fields = {"handle": handle, "options": options}
    parts = session.need("segments", **fields, segments=request["segments"])["ids"]
    whole = session.need("encode", **fields, input=joined)["ids"]
    return None if parts == whole else ("segments differ from the joined text", whole, parts)


def no_memory(session: Session, handle: int, request: Message) -> Problem:
    """The same text, after others."""
    first: list[list[int]] = []
    for turn in range(2):
        for place, one in enumerate(request["inputs"]):
            fields = {"handle": handle, "input": one, "options": request["options"]}
            ids = session.need("encode", **fields)["ids"]
            if turn == 0:
                first.append(ids)
            elif ids != first[place]:
                return f"input {place} is encoded otherwise the second time", first[place], ids
    return None


def unknown_handle(session: Session, handle: int, request: Message) -> Problem:
    """An unknown handle is a bad request, and the next request is answered."""
    fields = {"input": request["input"], "options": request["options"]}
    problem = _refused(session, "an unknown handle", "encode", handle=987_654_321, **fields)
    session.need("encode", handle=handle, **fields)
    return problem


def unknown_operation(session: Session, handle: int, request: Message) -> Problem:
    fields = {"input": request["input"], "options": request["options"]}
    problem = _refused(session, "an unknown operation", "encode_twice", handle=handle, **fields)
    session.need("encode", handle=handle, **fields)
    return problem


def unloaded_handle(session: Session, handle: int, request: Message) -> Problem:
    """The handle of a tokenizer that was unloaded; the next case loads it again."""
    for key, loaded in list(session.handles.items()):
        if loaded.get("handle") == handle:
            session.unload(session.handles.pop(key))
    fields = {"input": request["input"], "options": request["options"]}
    again = _refused(session, "a second unload", "unload", handle=handle)
    return again or _refused(session, "an unloaded handle", "encode", handle=handle, **fields)


def closed_stream(session: Session, handle: int, request: Message) -> Problem:
    opened = session.need("stream_open", handle=handle, prompt=[], options=request["options"])
    stream = {"stream": opened["stream"]}
    session.need("stream_close", **stream)
    return _refused(session, "a closed stream", "stream_push", **stream, ids=request["ids"])


def closed_stop(session: Session, handle: int, request: Message) -> Problem:
    fields = {"prompt": [], "config": {}, "options": request["options"]}
    stop = {"stop": session.need("stop_open", handle=handle, **fields)["stop"]}
    session.need("stop_close", **stop)
    return _refused(session, "a closed stop", "stop_push", **stop, id=request["ids"][0])


def _refused(session: Session, what: str, op: str, **fields: Any) -> Problem:
    answer = session.ask(op, **fields)
    if answer["ok"] or answer["error"]["code"] != "bad_request":
        return what, "bad_request", answer
    return None


OPERATIONS: dict[str, tuple[str, ...]] = {
    "batch_equals_single": ("encode", "encode_batch"),
    "count_equals_encode": ("encode", "count"),
    "stream_equals_decode": ("decode", "stream_open", "stream_push", "stream_flush"),
    "roundtrip": ("encode", "decode"),
    "offsets_slice_text": ("encode",),
    "vocabulary_round_trip": ("token_to_id", "id_to_token"),
    "segments_equal_joined": ("encode", "segments"),
    "no_memory": ("encode",),
    "unknown_handle": ("encode",),
    "unknown_operation": ("encode",),
    "unloaded_handle": ("encode", "unload"),
    "closed_stream": ("stream_open", "stream_push", "stream_close"),
    "closed_stop": ("stop_open", "stop_push", "stop_close"),
}


CHECKS: dict[str, Check] = {name: globals()[name] for name in OPERATIONS}
