"""An adapter of the conformance suite that is wrong in one way, which its first argument names."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

ADAPTERS = Path(__file__).resolve().parent.parent / "conformance" / "adapters"
sys.path[:0] = [str(ADAPTERS / "python"), str(ADAPTERS / "pywasmtok")]

_spec = importlib.util.spec_from_file_location("adapter", ADAPTERS / "pywasmtok" / "main.py")
assert _spec is not None
assert _spec.loader is not None
_main: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_main)
Right: Any = _main.Pywasmtok


class Wrong(Right):  # type: ignore[misc]
    """Knows what each file says."""

    def load(self, path: str, options: Any) -> Any:
        self.is_gguf = path.endswith(".gguf")
        self.text = "" if not path.endswith(".json") else Path(path).read_text(errors="replace")
        self.held: dict[int, str] = {}
        return super().load(path, options)

    @property
    def file(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.text or "{}")
        return loaded


class MovedStart(Wrong):
    """Ids behind a normalizer that moves the beginning are those of a text that begins there."""

    def encode(
        self, handle: Any, input: Any, options: Any, pair: Any = None, want: Any = ()
    ) -> Any:
        splitter, moves = self.file.get("pre_tokenizer") or {}, self.file.get("normalizer")
        if "text" in input and moves and splitter.get("prepend_scheme") == "first":
            input = {"text": input["text"].lstrip()}
        return super().encode(handle, input, options, pair, want)


class Emptied(Wrong):
    """A WordLevel model gives an id for a text that its normalizer empties."""

    def encode(
        self, handle: Any, input: Any, options: Any, pair: Any = None, want: Any = ()
    ) -> Any:
        answer = super().encode(handle, input, options, pair, want)
        whole = not self.file.get("pre_tokenizer")
        if whole and input.get("text") and self.file.get("model", {}).get("type") == "WordLevel":
            answer["ids"] = answer["ids"] or [0]
        return answer


class Forged(Wrong):
    """A control token that two parts write together is one, whosever they are."""

    def segments(self, handle: Any, segments: Any, options: Any) -> Any:
        whole = "".join(part["text"] for part in segments)
        return self.encode(handle, {"text": whole}, options)


class Unflagged(Wrong):
    """Only the first added token of a file is a control token for untrusted text."""

    def segments(self, handle: Any, segments: Any, options: Any) -> Any:
        first = next((token["content"] for token in self.file.get("added_tokens", ())), "\0")
        parts = [
            {**part, "trusted": part["trusted"] or first not in part["text"]} for part in segments
        ]
        return super().segments(handle, parts, options)


class Holding(Wrong):
    """Streams of GGUF files give their text when they are flushed."""

    def stream_push(self, stream: Any, ids: list[int]) -> Any:
        answer = super().stream_push(stream, ids)
        if self.is_gguf:
            self.held[id(stream)] = self.held.get(id(stream), "") + answer["text"]
            answer["text"] = ""
        return answer

    def stream_flush(self, stream: Any) -> Any:
        answer = super().stream_flush(stream)
        return {"text": self.held.pop(id(stream), "") + answer["text"]}


class Losing(Wrong):
    """Streams of GGUF files lose the character that the prompt begins."""

    def stream_open(self, handle: Any, prompt: list[int], options: Any) -> Any:
        stream, more = super().stream_open(handle, prompt, options)
        if self.is_gguf and handle.decode(prompt).endswith("\ufffd"):
            self.held[id(stream)] = "first"
        return stream, more

    def stream_push(self, stream: Any, ids: list[int]) -> Any:
        answer = super().stream_push(stream, ids)
        if answer["text"] and self.held.pop(id(stream), ""):
            answer["text"] = answer["text"][1:]
        return answer


class Twice(Wrong):
    """The first id of a key that stands twice in a vocabulary stays."""

    def id_to_token(self, handle: Any, id: int) -> Any:
        answer = super().id_to_token(handle, id)
        if answer["token"] is None and f":{id}," in self.text:
            answer["token"] = self.text.split(f":{id},", maxsplit=1)[0].rsplit('"', 2)[1]
        return answer


class Stated(Wrong):
    """An added token has the id that the file states, whether it can have it or not."""

    def encode(
        self, handle: Any, input: Any, options: Any, pair: Any = None, want: Any = ()
    ) -> Any:
        answer = super().encode(handle, input, options, pair, want)
        for token in self.file.get("added_tokens", ()):
            real = handle.token_to_id(token["content"])
            answer["ids"] = [token["id"] if n == real else n for n in answer["ids"]]
        return answer


def rewritten(*changes: tuple[str, str]) -> type:
    """Templates are rendered with these changes: what other scopes would make of them."""

    class Rewritten(Wrong):
        def render(self, *, want: Any = (), **said: Any) -> Any:
            text = said["template"].get("text", "")
            for old, new in changes:
                text = text.replace(old, new)
            return super().render(want=want, **{**said, "template": {"text": text}})

    return Rewritten


MUTANTS: dict[str, type] = {
    "moved-start": MovedStart,
    "emptied-word": Emptied,
    "forged-over-borders": Forged,
    "other-control-tokens": Unflagged,
    "gguf-holds": Holding,
    "gguf-loses": Losing,
    "key-twice": Twice,
    "stated-id": Stated,
    "names-of-the-pass-before": rewritten(
        ("{% for i in [1, 2] %}", "{% set y = 0 %}{% for i in [1, 2] %}")
    ),
    "depth-stays": rewritten(("loop.depth0", "0"), ("loop.depth", "1")),
    "loop-of-the-macro": rewritten(
        ("{% call w() %}{{ loop.index }}", "{% call w() %}{{ nothing }}")
    ),
    "caller-of-another": rewritten(("<{{ caller() }}>", "<>")),
    "namespace-of-its-own": rewritten(("{% macro m() %}{% set ns.f = 2 %}", "{% macro m() %}")),
    "loop-is-over": rewritten(
        ("{{ ns.l.index }}{{ ns.l.last }}", "{{ ns.l.index + 1 }}{{ ns.l.last }}")
    ),
}

if __name__ == "__main__":
    _main.renderer().compile("")
    importlib.import_module("serve").serve(MUTANTS.get(sys.argv[1], Wrong)())
