"""One case as requests to an adapter, and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..suite import Case
from . import invariants
from .inputs import unfold
from .judge import (
    RefusedError,
    accepts_errors,
    byte_to_char,
    differences,
    refuse_unsupported,
)
from .process import AdapterFailureError, AdapterProcess
from .protocol import check

Message = dict[str, Any]

# What operations of the protocol a scripted case is made of.
SCRIPTS = {
    "stream": ("stream_open", "stream_push", "stream_flush"),
    "stop": ("stop_open", "stop_push", "stop_flush"),
}


@dataclass
class Verdict:
    outcome: str
    reason: str = ""
    sent: Any = None
    expected: Any = None
    got: Any = None
    ms: float = 0.0


@dataclass
class Session:
    """A running adapter, its answer to `hello`, and the tokenizers that it has loaded."""

    process: AdapterProcess
    texts: Path
    op_timeout: float
    load_timeout: float
    hello: Message = field(default_factory=dict)
    handles: dict[str, Message] = field(default_factory=dict)

    def greet(self, suite: str) -> Message:
        answer = self.process.ask("hello", self.load_timeout, protocol=[1], suite=suite)
        check("hello", answer)
        if not answer["ok"]:
            raise AdapterFailureError("protocol_violation", f"hello failed: {answer['error']}")
        self.hello = answer
        return answer

    def ask(self, op: str, **fields: Any) -> Message:
        timeout = self.load_timeout if op == "load" else self.op_timeout
        answer = self.process.ask(op, timeout, **fields)
        check(op, answer)
        return answer

    def load(self, path: Path, options: Message) -> Message:
        """The answer to a load, remembered: a tokenizer is loaded once."""
        key = f"{path} {sorted(options.items())}"
        if key not in self.handles:
            answer = self.ask("load", path=str(path), options=options)
            if answer["ok"]:
                self._unload_others()
            self.handles[key] = answer
        return self.handles[key]

    def serves(self, op: str) -> bool:
        return op in self.hello["ops"]

    def has(self, feature: str) -> bool:
        return feature in self.hello["features"]

    def _unload_others(self) -> None:
        for answer in self.handles.values():
            if answer["ok"] and self.serves("unload"):
                self.ask("unload", handle=answer["handle"])
        self.handles.clear()


def missing(session: Session, case: Case, file_format: str) -> str:
    """Why this adapter does not take the case; empty: it takes it."""
    needed: tuple[str, ...] = SCRIPTS.get(case.op) or (case.op,)
    if case.op == "invariant":
        needed = invariants.OPERATIONS[case.data["invariant"]]
    lacking = [op for op in needed if not session.serves(op)]
    if lacking:
        return f"does not declare {', '.join(lacking)}"
    if file_format and file_format not in session.hello["formats"]:
        return f"does not read {file_format}"
    features = list(case.requires)
    wanted = case.data.get("want", ())
    lacking = [feature for feature in features if not session.has(feature)]
    if "offsets" in wanted or case.data.get("invariant") == "offsets_slice_text":
        lacking += [] if session.has("offsets:char") or session.has("offsets:byte") else ["offsets"]
    for one in ("tokens", "type_ids", "attention_mask", "generation"):
        if one in wanted and not session.has(one):
            lacking.append(one)
    if "pair" in case.data and not session.has("pair"):
        lacking.append("pair")
    return f"does not declare {', '.join(lacking)}" if lacking else ""


def play(session: Session, case: Case, path: Path | None) -> Verdict:
    started = time.perf_counter()
    try:
        verdict = _played(session, case, path)
    except RefusedError as refusal:
        verdict = Verdict("skip", str(refusal))
    verdict.ms = (time.perf_counter() - started) * 1000
    return verdict


def _played(session: Session, case: Case, path: Path | None) -> Verdict:
    if path is None:
        request = _request(session, case)
        return _verdict(request, case.data["expect"], session.ask(case.op, **request))
    if case.op == "load":
        return _load(session, case, path)
    loaded = session.load(path, case.load_options)
    _require_served(loaded, case)
    handle = loaded["handle"]
    if case.op == "invariant":
        return _invariant(session, case, handle)
    if case.op in SCRIPTS:
        return _script(session, case, handle)
    request = _request(session, case)
    answer = session.ask(case.op, handle=handle, **request)
    _to_chars(session, case, request, answer)
    return _verdict(request, case.data["expect"], answer)


def _load(session: Session, case: Case, path: Path) -> Verdict:
    request = {"path": str(path), "options": case.load_options}
    answer = session.ask("load", **request)
    if answer["ok"] and session.serves("unload"):
        session.ask("unload", handle=answer["handle"])
    request["path"] = path.name
    return _verdict(request, case.data["expect"], answer)


def _require_served(loaded: Message, case: Case) -> None:
    if not loaded["ok"]:
        refuse_unsupported(loaded)
        raise LoadFailedError(f"the tokenizer was refused as {loaded['error']['code']}")
    if loaded["served_by"] == "fallback" and case.load_options.get("fallback") != "allow":
        raise LoadFailedError("served by a fallback, which was forbidden")


class LoadFailedError(Exception):
    """The tokenizer should have been served, and was not."""


_AS_IT_IS = (
    *("ids", "lists", "segments", "token", "options", "want"),
    *("messages", "tools", "documents"),
)


def _request(session: Session, case: Case) -> Message:
    data = case.data
    request: Message = {}
    for key in ("input", "pair", "template"):
        if key in data:
            request[key] = unfold(data[key], session.texts)
    if "inputs" in data:
        request["inputs"] = [unfold(one, session.texts) for one in data["inputs"]]
    for key in _AS_IT_IS:
        if key in data:
            request[key] = data[key]
    if "token_id" in data:
        request["id"] = data["token_id"]
    if case.op not in ("info", "token_to_id", "id_to_token"):
        request.setdefault("options", {})
    return request


def _to_chars(session: Session, case: Case, request: Message, answer: Message) -> None:
    if "offsets" in answer and not session.has("offsets:char"):
        answer["offsets"] = byte_to_char(request["input"]["text"], answer["offsets"])


def _script(session: Session, case: Case, handle: int) -> Verdict:
    data, kind = case.data, case.op
    fields = {
        "handle": handle,
        "prompt": data.get("prompt", []),
        "options": data.get("options", {}),
    }
    if kind == "stop":
        fields["config"] = data["config"]
    opened = session.ask(f"{kind}_open", **fields)
    if not opened["ok"]:
        return _verdict(fields, data.get("expect", {"text": ""}), opened)
    which = {kind: opened[kind]}
    done: list[Message] = []
    verdict = Verdict("pass")
    for step in data["steps"]:
        answer: Message
        if step.get("flush"):
            answer = session.ask(f"{kind}_flush", **which)
        elif kind == "stream":
            answer = session.ask("stream_push", **which, ids=step["push"])
        else:
            (pushed,) = step["push"]
            answer = session.ask("stop_push", **which, id=pushed)
        done.append(answer)
        expect = step.get("expect")
        if expect is None:
            continue
        if not session.has("stop:match"):
            expect = {key: value for key, value in expect.items() if key != "match"}
        wrong = differences(expect, answer)
        if wrong:
            if not accepts_errors(expect):
                refuse_unsupported(answer)
            reason = f"step {len(done)}: {'; '.join(wrong)}"
            verdict = Verdict("fail", reason, _short(data["steps"][: len(done)]), expect, answer)
            break
    if session.serves(f"{kind}_close"):
        session.ask(f"{kind}_close", **which)
    if verdict.outcome == "pass" and "expect" in data:
        # What all steps together have to say.
        said = {"ok": True, "text": "".join(answer.get("text", "") for answer in done)}
        return _verdict({**fields, "steps": data["steps"]}, data["expect"], said)
    return verdict


def _invariant(session: Session, case: Case, handle: int) -> Verdict:
    request = _request(session, case)
    problem = invariants.CHECKS[case.data["invariant"]](session, handle, request)
    if problem is None:
        return Verdict("pass")
    reason, expected, got = problem
    return Verdict("fail", reason, _short(request), _short(expected), _short(got))


def _verdict(request: Message, expect: Message, answer: Message) -> Verdict:
    wrong = differences(expect, answer)
    if not wrong:
        return Verdict("pass")
    if not accepts_errors(expect):
        refuse_unsupported(answer)
    return Verdict("fail", "; ".join(wrong), _short(request), _short(expect), _short(answer))


def _short(value: Any) -> Any:
    """A value as a report shows it: long texts and lists are cut, and marked as cut."""
    if isinstance(value, str) and len(value) > 2000:
        return value[:1000] + f" …({len(value) - 1000} more characters)"
    if isinstance(value, list):
        shown = [_short(one) for one in value[:400]]
        return [*shown, f"…({len(value) - 400} more)"] if len(value) > 400 else shown
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return value
