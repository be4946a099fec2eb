"""A tokenizer whose ids are bytes, and eight ways of getting it wrong."""

import json
import os
import signal
import sys
import time

FAULT = os.environ["MINIATURE"]
OPS = ["load", "unload", "encode", "decode"]


def ids_of(text: str) -> list[int]:
    if FAULT == "crasher" and "crash" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if FAULT == "hanger" and "hang" in text:
        time.sleep(3600)
    if FAULT == "chatty" and "chat" in text:
        print("a library says hello")
    ids = list(text.encode())
    return [*ids, 1] if FAULT == "always-wrong" else ids


def answer(request: dict) -> dict:
    match request["op"]:
        case "hello":
            about = {"name": f"miniature {FAULT}", "version": "1", "language": "Python"}
            # The liar says that it counts.
            ops = [*OPS, "count"] if FAULT == "liar" else OPS
            features = ["ofsets:char"] if FAULT == "misspelt" else []
            said = {"ops": ops, "formats": ["tokenizer.json"], "features": features}
            return {"ok": True, "protocol": 1, "implementation": about, **said}
        case "load":
            served_by = "fallback" if FAULT == "fallback" else "core"
            return {"ok": True, "handle": 1, "served_by": served_by, "vocab_size": 256}
        case "unload":
            return {"ok": True}
        case "encode":
            return {"ok": True, "ids": ids_of(request["input"]["text"])}
        case "decode":
            text = bytes(request["ids"]).decode(errors="replace")
            return {"ok": True, "text": text + "!" * (FAULT == "always-wrong")}
    return {"ok": False, "error": {"code": "bad_request", "message": "no such operation"}}


if FAULT == "stillborn":
    sys.exit("the library is not what it was")
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"seq": asked["seq"], **answer(asked)}), flush=True)
