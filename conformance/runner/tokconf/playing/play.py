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
    FailedError,
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
        try:
            answer = self.process.ask("hello", self.load_timeout, protocol=[1], suite=suite)
            check("hello", answer)
            if not answer["ok"]:
                raise AdapterFailureError("protocol_violation", f"hello failed: {answer['error']}")
        except AdapterFailureError:
            self.process.kill()
            raise
        self.hello = answer
        return answer

    def ask(self, op: str, **fields: Any) -> Message:
        timeout = self.load_timeout if op == "load" else self.op_timeout
        answer = self.process.ask(op, timeout, **fields)
        check(op, answer)
        return answer

    def need(self, op: str, **fields: Any) -> Message:
        """The answer, where an error can not be right."""
        answer = self.ask(op, **fields)
        if not answer["ok"]:
            refuse_unsupported(answer)
            error = answer["error"]
            reason = f"{op} answered the error {error['code']}: {error.get('message')}"
            raise FailedError(reason, answer)
        return answer

    def load(self, path: Path, options: Message) -> Message:
        """The answer to a load, remembered: a tokenizer is loaded once."""
        key = f"{path} {sorted(options.items())}"
        if key not in self.handles:
            answer = self.ask("load", path=str(path), options=options)
            others = self.handles
            self.handles = {key: answer} if answer["ok"] else {**others, key: answer}
            for other in others.values() if answer["ok"] else ():
                self.unload(other)
        return self.handles[key]

    def unload(self, loaded: Message) -> None:
        if loaded["ok"] and self.serves("unload"):
            self.need("unload", handle=loaded["handle"])

    def serves(self, op: str) -> bool:
        return op in self.hello["ops"]

    def has(self, feature: str) -> bool:
        return feature in self.hello["features"]


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
    except FailedError as failed:
        verdict = Verdict("fail", str(failed), sent_by(case), got=_short(failed.got))
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
    session.unload(answer)
    request["path"] = path.name
    expect = dict(case.data["expect"])
    if "vocab_size" not in answer:
        # `load` may leave it out; `info` states it.
        expect.pop("vocab_size", None)
    return _verdict(request, expect, answer)


def _require_served(loaded: Message, case: Case) -> None:
    if not loaded["ok"]:
        refuse_unsupported(loaded)
        raise FailedError(f"the tokenizer was refused as {loaded['error']['code']}", loaded)
    if loaded["served_by"] == "fallback" and case.load_options.get("fallback") != "allow":
        raise FailedError("served by a fallback, which was forbidden", loaded)


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
    """Offsets in bytes as offsets in characters. Which text of a pair an offset lies in is not
    said: the second is tried where the first does not give what is expected."""
    if "offsets" not in request.get("want", ()) or "offsets" not in answer:
        return
    if session.has("offsets:char"):
        return
    wanted = case.data["expect"].get("offsets", [])
    first, *others = (
        byte_to_char(request[key]["text"], answer["offsets"])
        for key in ("input", "pair")
        if "text" in request.get(key, ())
    )
    for second in others:
        for place, offset in enumerate(second[: len(wanted)]):
            if offset == wanted[place]:
                first[place] = offset
    answer["offsets"] = first


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
    wrong: list[str] = []
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
        # Without an expectation of its own, a step has to be answered.
        expect = step.get("expect", {})
        if not session.has("stop:match"):
            expect = {key: value for key, value in expect.items() if key != "match"}
        wrong = differences(expect, answer)
        if wrong:
            break
    if session.serves(f"{kind}_close"):
        # What is wrong with a step counts more.
        (session.ask if wrong else session.need)(f"{kind}_close", **which)
    if wrong:
        if not accepts_errors(expect):
            refuse_unsupported(answer)
        reason = f"step {len(done)}: {'; '.join(wrong)}"
        return Verdict("fail", reason, _short(data["steps"][: len(done)]), expect, answer)
    if "expect" in data:
        # What all steps together have to say.
        said = {"ok": True, "text": "".join(answer.get("text", "") for answer in done)}
        return _verdict({**fields, "steps": data["steps"]}, data["expect"], said)
    return Verdict("pass")


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


_SENT = (
    *("input", "pair", "inputs", "ids", "lists", "segments", "token", "token_id", "steps"),
    *("template", "messages", "tools", "documents"),
)


def sent_by(case: Case) -> Any:
    """What a report shows of a case whose own request got no answer."""
    return {key: case.data[key] for key in _SENT if key in case.data}


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
