"""All cases of all adapters, by a pool of processes.

Work is cut into jobs: one adapter, one tokenizer, all cases of it. A worker keeps its process while
the next job is for the same adapter, so that starting and loading are paid once. What crashes or
hangs is charged to the case that was asked, and the process is started anew.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from .expectations import Expectations, judged
from .playing import protocol
from .playing.inputs import BadInputError
from .playing.play import Session, Verdict, missing, play, sent_by
from .playing.process import AdapterFailureError, AdapterProcess
from .results import RED, Record, machine, totals
from .suite import WITHOUT_TOKENIZER, Adapter, Case, Suite, SuiteError

OP_SECONDS = 5.0
LOAD_SECONDS = 60.0
# Of an adapter with one tokenizer, and of an adapter altogether: a hang costs its timeout.
MOST_RESTARTS = 10
MOST_RESTARTS_OF_ALL = 60


@dataclass
class Settings:
    jobs: int = 2
    fail_fast: int = 0
    skips_are_red: tuple[str, ...] = ()
    """Adapters that must not skip a case."""
    required: tuple[str, ...] = ()
    """Adapters that must be available and play at least one case: those named by the caller."""


@dataclass
class _Job:
    adapter: Adapter
    tokenizer: str
    cases: list[Case]


@dataclass
class _State:
    """What the workers share, under one lock."""

    settings: Settings
    emit: Callable[[Record], None]
    expectations: dict[str, Expectations]
    lock: threading.Lock = field(default_factory=threading.Lock)
    restarts: Counter[str] = field(default_factory=Counter)
    """By adapter, and by adapter and tokenizer."""
    results: list[Record] = field(default_factory=list)
    hellos: dict[str, Record] = field(default_factory=dict)
    dead: dict[str, str] = field(default_factory=dict)
    red: int = 0

    @property
    def stopped(self) -> bool:
        return bool(self.settings.fail_fast) and self.red >= self.settings.fail_fast

    def report(self, adapter: Adapter, case: Case, verdict: Verdict) -> Record:
        with self.lock:
            expectation = self.expectations[adapter.name].of(case)
            outcome = judged(verdict.outcome, expectation)  # type: ignore[arg-type]
            record: Record = {
                "kind": "result",
                "adapter": adapter.name,
                "id": case.id,
                "level": case.level,
                "outcome": outcome,
                "ms": round(verdict.ms, 3),
            }
            reason = verdict.reason
            if expectation is not None and outcome in ("xfail", "xpass"):
                record["known"] = expectation.reason
            if reason:
                record["reason"] = reason
            for key in ("sent", "expected", "got"):
                if getattr(verdict, key) is not None:
                    record[key] = getattr(verdict, key)
            if record["outcome"] != "pass":
                record["why"] = case.data["why"]
            self.results.append(record)
            self.red += is_red(record, self.settings)
            self.emit(record)
        return record


def is_red(record: Record, settings: Settings) -> bool:
    if record["outcome"] == "skip":
        return record["adapter"] in settings.skips_are_red
    return record["outcome"] in RED and record["level"] != "may"


def run(
    suite: Suite,
    adapters: Iterable[Adapter],
    cases: list[Case],
    settings: Settings,
    emit: Callable[[Record], None],
    *,
    everything: bool = False,
) -> bool:
    """Plays the cases and writes their results; True if nothing is red."""
    started = time.monotonic()
    protocol.use(suite.root / "schemas")
    emit(_header(suite, cases))
    adapters = list(adapters)
    known: dict[str, Expectations] = {}
    for place, adapter in enumerate(adapters):
        try:
            known[adapter.name] = Expectations(suite, adapter)
        except SuiteError as problem:
            adapters[place] = replace(adapter, broken=str(problem))
    state = _State(settings, emit, known)
    unavailable: list[str] = []
    usable: list[Adapter] = []
    for adapter in adapters:
        reason = why_unavailable(adapter)
        if adapter.broken:
            state.dead[adapter.name] = reason
        if reason:
            unavailable.append(adapter.name)
            emit(_implementation(adapter.name, reason))
        else:
            usable.append(adapter)
    _work(suite, _jobs(usable, cases), state)
    for adapter in usable:
        emit(_implementation(adapter.name, state.dead.get(adapter.name, ""), state.hellos))
    stale = [
        {"adapter": name, "match": entry.match}
        for name, known in state.expectations.items()
        if everything and name not in unavailable
        for entry in known.stale()
    ]
    counted = totals(state.results)
    lacking = [name for name in settings.required if not _played_anything(counted.get(name, {}))]
    played = any(_played_anything(counts) for counts in counted.values())
    ok = played and not state.red and not stale and not lacking and not state.dead
    emit(
        {
            "kind": "footer",
            "totals": counted,
            "stale": stale,
            "unavailable": unavailable,
            "lacking": lacking,
            "played": played,
            "ok": ok,
            "seconds": round(time.monotonic() - started, 1),
        }
    )
    return ok


def _played_anything(counts: dict[str, int]) -> bool:
    """Skips alone show nothing about an implementation."""
    return any(number for outcome, number in counts.items() if outcome not in ("skip", "aborted"))


def why_unavailable(adapter: Adapter) -> str:
    """Empty: it can be started."""
    if adapter.broken:
        return f"its description is broken: {adapter.broken}"
    if not adapter.available:
        return ""
    try:
        done = subprocess.run(
            adapter.available,
            cwd=adapter.folder,
            env={**os.environ, **adapter.env},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        return f"{adapter.available[0]}: {problem}"
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[-1][:200] if said else f"{' '.join(adapter.available)} failed"


def _header(suite: Suite, cases: list[Case]) -> Record:
    return {
        "kind": "header",
        "suite": suite.version,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "cases": len(cases),
        "cases_sha256": suite.digest("cases"),
        "tokenizers_sha256": suite.digest("tokenizers"),
    }


def _implementation(name: str, reason: str, hellos: dict[str, Record] | None = None) -> Record:
    record: Record = {"kind": "implementation", "adapter": name, "available": not reason}
    if reason:
        record["reason"] = reason
    hello = (hellos or {}).get(name)
    if hello:
        record["hello"] = {key: value for key, value in hello.items() if key not in ("seq", "ok")}
    return record


def _jobs(adapters: list[Adapter], cases: list[Case]) -> list[_Job]:
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.tokenizer].append(case)
    return [
        _Job(adapter, tokenizer, group)
        for adapter in adapters
        for tokenizer, group in groups.items()
    ]


def _work(suite: Suite, jobs: list[_Job], state: _State) -> None:
    """Workers take jobs from the front, and stay with their adapter as long as it has any."""
    waiting = list(jobs)
    lock = threading.Lock()
    problems: list[BaseException] = []

    def next_job(current: str) -> _Job | None:
        with lock:
            if state.stopped or problems:
                return None
            for place, job in enumerate(waiting):
                if job.adapter.name == current:
                    return waiting.pop(place)
            return waiting.pop(0) if waiting else None

    def worker() -> None:
        player = _Player(suite, state)
        try:
            while (job := next_job(player.name)) is not None:
                player.play(job)
        except BaseException as problem:
            problems.append(problem)
        finally:
            player.close()

    threads = [threading.Thread(target=worker, daemon=True) for _ in range(state.settings.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


class OneByOne:
    """For test frameworks, which ask for one case after the other."""

    def __init__(self, suite: Suite, adapter: Adapter) -> None:
        protocol.use(suite.root / "schemas")
        known = {adapter.name: Expectations(suite, adapter)}
        self._adapter = adapter
        self._player = _Player(suite, _State(Settings(), lambda _: None, known))
        self._player.adapter = adapter

    def play(self, case: Case) -> Record:
        return self._player.play_one(self._adapter, case)

    def close(self) -> None:
        self._player.close()


class _Player:
    """One worker with at most one process."""

    def __init__(self, suite: Suite, state: _State) -> None:
        self._suite = suite
        self._state = state
        self.adapter: Adapter | None = None
        self._session: Session | None = None

    @property
    def name(self) -> str:
        return self.adapter.name if self.adapter else ""

    def close(self) -> None:
        if self._session is not None:
            self._session.process.close()
            self._session = None

    def play(self, job: _Job) -> None:
        if self.adapter is not job.adapter:
            self.close()
            self.adapter = job.adapter
        for case in job.cases:
            if self._state.stopped:
                return
            self.play_one(job.adapter, case)

    def play_one(self, adapter: Adapter, case: Case) -> Record:
        return self._state.report(adapter, case, self._verdict(adapter, case))

    def _verdict(self, adapter: Adapter, case: Case) -> Verdict:
        known = self._state.expectations[adapter.name].of(case)
        if known is not None and known.outcome == "skip":
            return Verdict("skip", known.reason)
        dead = self._state.dead.get(adapter.name) or self._given_up(adapter, case)
        if dead:
            return Verdict("aborted", dead)
        try:
            return self._played(adapter, case)
        except AdapterFailureError as failure:
            self._bury(adapter, case)
            return Verdict("fail", f"{failure.outcome}: {failure.text}", sent_by(case))
        except BadInputError as problem:
            return Verdict("aborted", f"the case is broken: {problem}")
        except Exception as problem:
            # A defect of the runner or of the case: red, and the other cases are played.
            traceback.print_exc()
            return Verdict("aborted", f"the runner failed: {type(problem).__name__}: {problem}")

    def _played(self, adapter: Adapter, case: Case) -> Verdict:
        session = self._session or self._started(adapter)
        if case.op in WITHOUT_TOKENIZER:
            lacking = missing(session, case, "")
            return Verdict("skip", lacking) if lacking else play(session, case, None)
        file = self._suite.tokenizers.get(case.tokenizer)
        if file is None:
            return Verdict("aborted", f"there is no tokenizer {case.tokenizer!r} in the suite")
        lacking = missing(session, case, file.format)
        if lacking:
            return Verdict("skip", lacking)
        if file.path is None:
            return Verdict("skip", f"{file.name} is {file.reason}")
        return play(session, case, file.path)

    def _started(self, adapter: Adapter) -> Session:
        factor = adapter.timeout_factor
        seconds = OP_SECONDS * factor, LOAD_SECONDS * factor
        try:
            session = Session(AdapterProcess(adapter), self._suite.texts, *seconds)
            hello = session.greet(self._suite.version)
        except AdapterFailureError as failure:
            with self._state.lock:
                self._state.dead[adapter.name] = f"does not start: {failure}"
            raise
        with self._state.lock:
            self._state.hellos.setdefault(adapter.name, hello)
        self._session = session
        return session

    def _given_up(self, adapter: Adapter, case: Case) -> str:
        if self._state.restarts[f"{adapter.name} {case.tokenizer}"] < MOST_RESTARTS:
            return ""
        return f"given up on {case.tokenizer} after {MOST_RESTARTS} crashes or timeouts"

    def _bury(self, adapter: Adapter, case: Case) -> None:
        if self._session is not None and self._session.process.alive:
            # Only this answer violates the schema: the process can go on.
            return
        self._session = None
        with self._state.lock:
            self._state.restarts[f"{adapter.name} {case.tokenizer}"] += 1
            self._state.restarts[adapter.name] += 1
            if self._state.restarts[adapter.name] >= MOST_RESTARTS_OF_ALL:
                self._state.dead.setdefault(
                    adapter.name, f"given up after {MOST_RESTARTS_OF_ALL} crashes or timeouts"
                )
