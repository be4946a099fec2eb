"""What every adapter in Python shares: lines in, lines out, tables of handles.

An adapter is a class with one method for each operation that it has; what is not there is not
declared. Methods take what the request holds and give what the answer holds. `Refusal` is the way
to answer an error; any other exception is an `internal` one.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]

OPERATIONS = (
    *("load", "unload", "info", "encode", "encode_batch", "count", "segments"),
    *("decode", "decode_bytes", "decode_batch", "token_to_id", "id_to_token"),
    *("stream_open", "stream_push", "stream_flush", "stream_close"),
    *("stop_open", "stop_push", "stop_flush", "stop_close", "render", "encode_chat"),
)
# The options of operations, and the keys of a stop's configuration; any other is refused.
OPTIONS = {
    "load": ("fallback", "pattern", "special_tokens"),
    **dict.fromkeys(("encode", "encode_batch", "count", "segments"), ("add_special", "special")),
    **dict.fromkeys(
        ("decode", "decode_bytes", "decode_batch", "stream_open", "stop_open"),
        ("skip_special", "unknown", "byte_runs"),
    ),
    **dict.fromkeys(
        ("render", "encode_chat"),
        ("add_generation_prompt", "continue_final_message", "special_tokens", "kwargs", "now"),
    ),
}
CONFIG = (
    *("stop_tokens", "visible_stop_tokens", "eos_tokens", "min_tokens", "ignore_eos"),
    *("stop_sequences", "visible_stop_sequences"),
)
# Operations whose answer is a new number, and those that speak of one.
TABLES = {"load": "handle", "stream_open": "stream", "stop_open": "stop"}
ENDS = {"unload": "handle", "stream_close": "stream", "stop_close": "stop"}


class Refusal(Exception):  # noqa: N818
    def __init__(self, code: str, message: object = "", **more: object) -> None:
        super().__init__(str(message))
        self.error = {"code": code, "message": str(message)[:500], **more}


class Adapter:
    """Base of all; `tokenizers`, `streams` and `stops` hold what numbers stand for."""

    implementation: Fields = {}
    formats: list[str] = []
    features: list[str] = []
    limits: Fields | None = None


class Loading(Adapter):
    """Base of those whose tokenizers Python frees by itself."""

    def unload(self, handle: Any) -> None:
        pass


def text_of(source: Fields) -> str:
    """The text of an input; bytes that are no UTF-8 are refused here."""
    if "text" in source:
        return str(source["text"])
    try:
        return base64.b64decode(source["b64"]).decode()
    except UnicodeDecodeError as error:
        raise Refusal("invalid_text", error) from None


def serve(adapter: Adapter) -> None:
    # Libraries write to standard output: what they find there from now on is standard error.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    _Server(adapter).run(out)


class _Server:
    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._objects: dict[tuple[str, int], Any] = {}
        self._last = 0

    def run(self, out: Any) -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            answer = self._answer(request)
            out.write(json.dumps({"seq": request.get("seq"), **answer}, ensure_ascii=True) + "\n")
            out.flush()

    def _answer(self, request: Fields) -> Fields:
        try:
            return {"ok": True, **self._done(request)}
        except Refusal as refusal:
            return {"ok": False, "error": refusal.error}
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a library is no Exception
            message = f"{type(error).__name__}: {error}"[:500]
            return {"ok": False, "error": {"code": "internal", "message": message}}

    def _done(self, request: Fields) -> Fields:
        fields = {key: value for key, value in request.items() if key not in ("seq", "op")}
        op = request.get("op")
        if op == "hello":
            return self._hello()
        method: Callable[..., Any] | None = getattr(self._adapter, str(op), None)
        if op not in OPERATIONS or method is None:
            raise Refusal("bad_request", f"no operation {op}")
        for key, known in (("options", OPTIONS.get(op, ())), ("config", CONFIG)):
            for unknown in set(fields.get(key, ())).difference(known):
                raise Refusal("bad_request", f"no {unknown!r} in the {key} of {op}")
        if op in ENDS:
            return self._end(op, fields, method)
        for kind in ("handle", "stream", "stop"):
            if kind in fields:
                fields[kind] = self._object(kind, fields[kind])
        done = method(**fields)
        if op not in TABLES:
            return dict(done)
        made, more = done
        self._last += 1
        self._objects[TABLES[op], self._last] = made
        return {TABLES[op]: self._last, **more}

    def _end(self, op: str, fields: Fields, method: Callable[..., Any]) -> Fields:
        kind = ENDS[op]
        gone = self._object(kind, fields[kind])
        del self._objects[kind, fields[kind]]
        method(gone)
        return {}

    def _object(self, kind: str, number: Any) -> Any:
        try:
            return self._objects[kind, number]
        except (KeyError, TypeError):
            raise Refusal("bad_request", f"there is no {kind} {number}") from None

    def _hello(self) -> Fields:
        adapter = self._adapter
        hello: Fields = {
            "protocol": 1,
            "implementation": {"language": "Python", **adapter.implementation},
            "ops": [op for op in OPERATIONS if hasattr(adapter, op)],
            "formats": adapter.formats,
            "features": adapter.features,
        }
        if adapter.limits is not None:
            hello["limits"] = adapter.limits
        return hello
