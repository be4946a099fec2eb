"""The recorded cases: real templates, conversations, vectors and one-line probes."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pywasmtok.chat.contract import Profile, RenderRequest

from .outcomes import Case, Outcome

ROOT = Path(__file__).resolve().parents[3]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
CHAT = ASSETS / "chat"
PLAIN_CHAT = [{"role": "user", "content": "Hi"}]
NOW = datetime(2025, 1, 2, 3, 4, 5)


@lru_cache(maxsize=1)
def templates() -> dict[str, str]:
    """The bytes as found: line ends are the renderer's business."""
    return {
        path.stem: path.read_bytes().decode("utf-8")
        for path in sorted((CHAT / "templates").glob("*.jinja"))
    }


@lru_cache(maxsize=1)
def conversations() -> dict[str, dict[str, Any]]:
    whole = json.loads((CHAT / "conversations.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = whole["conversations"]
    return found


@lru_cache(maxsize=1)
def special_tokens() -> dict[str, str]:
    whole = json.loads((CHAT / "conversations.json").read_text(encoding="utf-8"))
    found: dict[str, str] = whole["special_tokens_map"]
    return found


def request(
    conversation: str, *, profile: Profile = "hf-5", generation: bool = False
) -> RenderRequest:
    chat = conversations()[conversation]
    return RenderRequest(
        messages=chat["messages"],
        tools=chat["tools"],
        documents=chat["documents"],
        add_generation_prompt=chat["add_generation_prompt"],
        continue_final_message=chat["continue_final_message"],
        special_tokens=special_tokens(),
        arguments=chat["kwargs"],
        now=NOW,
        profile=profile,
        generation=generation,
    )


@dataclass(frozen=True)
class Vector:
    case: Case
    expected: Outcome
    same_in_457: bool


def vectors() -> Iterator[Vector]:
    with (CHAT / "vectors.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            name = f"{row['template']}+{row['conversation']}"
            if "error" in row:
                raised = row["error"]["type"] == "TemplateError"
                expected = Outcome("raised" if raised else "error", row["error"]["message"])
            else:
                expected = Outcome("text", row["expected"])
            case = Case(templates()[row["template"]], request(row["conversation"]), name)
            yield Vector(case, expected, row["same_in_4.57.1"])


class Probe:
    """Stands for the objects that some probes were recorded with; no template may see inside."""


@dataclass(frozen=True)
class MicroProbe:
    case: Case
    recorded: str
    plain: bool
    """Whether its variables are JSON: only then the recorded answer holds for them."""


def _value(text: str) -> tuple[Any, bool]:
    try:
        return ast.literal_eval(text), True
    except ValueError:
        named = {"nan": float("nan"), "inf": float("inf")}
        return (named[text], True) if text in named else (Probe(), False)
    except SyntaxError:
        if not text.startswith("{"):
            return Probe(), False
        # The record cut a long dictionary off, behind a key.
        return ast.literal_eval(text.rsplit(",", 1)[0] + "}"), False


def micro() -> Iterator[MicroProbe]:
    for number, row in enumerate(json.loads((CHAT / "micro.json").read_text(encoding="utf-8"))):
        values = {name: _value(text) for name, text in row["ctx"].items()}
        variables = {name: value for name, (value, _) in values.items()}
        source = row["template"]
        messages = variables.pop("messages", [])
        if not messages or not all(isinstance(message, dict) for message in messages):
            # These are no conversation: the template gets them by another name.
            source = source.replace("messages", "things")
            variables, messages = {**variables, "things": messages}, PLAIN_CHAT
        case = Case(
            source,
            RenderRequest(messages=messages, arguments=variables, now=NOW),
            f"{row['group']} {number}",
        )
        yield MicroProbe(case, row["jinja2"], all(plain for _, plain in values.values()))
