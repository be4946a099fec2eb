"""A tokenizer whose ids are bytes, and ways of getting it wrong."""

import json
import os
import signal
import sys
import time

FAULT = os.environ["MINIATURE"]
OPS = [
    *("load", "unload", "encode", "decode", "token_to_id", "id_to_token"),
    *("stream_open", "stream_push", "stream_flush", "stream_close"),
]
# `says {"encode": {"ids": [7]}}` has these fields in its answers; "absent": it has not.
SAYS = json.loads(FAULT.removeprefix("says ")) if FAULT.startswith("says ") else {}


def ids_of(text: str) -> list[int]:
    if FAULT == "crasher" and "crash" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if FAULT == "hanger" and "hang" in text:
        time.sleep(3600)
    if FAULT == "chatty" and "chat" in text:
        print("a library says hello")
    if FAULT == "nested" and "chat" in text:
        print("[" * 100_000)
    ids = list(text.encode())
    return [*ids, 1] if FAULT == "always-wrong" else ids


def hello(request: dict) -> dict:
    about = {"name": f"miniature {FAULT}", "version": "1", "language": "Python"}
    # The liar says that it counts.
    ops = [*OPS, "count"] if FAULT == "liar" else OPS
    features = ["ofsets:char"] if FAULT == "misspelt" else []
    said = {"ops": ops, "formats": ["tokenizer.json"], "features": features}
    return {"protocol": 1, "implementation": about, **said}


def encode(request: dict) -> dict:
    texts = [request[key].get("text", "") for key in ("input", "pair") if key in request]
    offsets = [[at, at + 1] for text in texts for at in range(len(text.encode()))]
    said = {"offsets": offsets} if "offsets" in request.get("want", ()) else {}
    return {"ids": [one for text in texts for one in ids_of(text)], **said}


def decode(request: dict) -> dict:
    text = bytes(request["ids"]).decode(errors="replace")
    return {"text": text + "!" * (FAULT == "always-wrong")}


def load(request: dict) -> dict:
    served_by = "fallback" if FAULT == "fallback" else "core"
    return {"handle": 1, "served_by": served_by, "vocab_size": 256}


ANSWERS = {
    "hello": hello,
    "load": load,
    "unload": lambda request: {},
    "encode": encode,
    "decode": decode,
    "token_to_id": lambda request: {"id": ord(request["token"])},
    "id_to_token": lambda request: {"token": chr(request["id"])},
    "stream_open": lambda request: {"stream": 1},
    "stream_push": decode,
    "stream_flush": lambda request: {"text": ""},
    "stream_close": lambda request: {},
}


def answer(request: dict) -> dict:
    if request["op"] not in ANSWERS:
        return {"ok": False, "error": {"code": "bad_request", "message": "no such operation"}}
    said = {"ok": True, **ANSWERS[request["op"]](request), **SAYS.get(request["op"], {})}
    return {key: value for key, value in said.items() if value != "absent"}


if FAULT == "stillborn":
    sys.exit("the library is not what it was")
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"seq": asked["seq"], **answer(asked)}), flush=True)
