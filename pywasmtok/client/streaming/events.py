"""Streams over HTTP: a request has the ids of one step, its answer the text and a state to go on
with. So a lost connection is a step that is asked for again, by whatever worker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from ...errors import InvalidArgument
from ...tokenizer.arguments import check_unknown
from ...tokenizer.streaming.stop import Matched, StopSequenceConfig
from ..address import check_name, path_of
from ..call import Answer, Call, field_of, numbers_of, post
from ..errors import BadAnswer, error_of

if TYPE_CHECKING:
    from ...tokenizer.ids import Ids

__all__ = ["How", "Step", "matched", "open_fields", "sse", "stop_fields", "stream_step"]

EVENTS: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class How:
    """What a stream is opened with."""

    prompt_ids: tuple[int, ...] = ()
    skip_special_tokens: bool = True
    byte_runs: str = "exact"
    unknown_id: str | None = None
    stops: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        prompt_ids: Ids,
        skip_special_tokens: bool,
        byte_runs: str,
        unknown_id: str | None,
        stops: Mapping[str, Any] | None = None,
    ) -> Self:
        """Checks what a caller gives. The server would refuse it without the name of the stream."""
        if unknown_id is not None:
            check_unknown(unknown_id)
        if byte_runs not in ("exact", "eager"):
            raise InvalidArgument(f"byte_runs={byte_runs!r} is none of exact, eager")
        ids = tuple(numbers_of(prompt_ids))
        return cls(ids, bool(skip_special_tokens), byte_runs, unknown_id, stops)


@dataclass(frozen=True, slots=True)
class Step:
    text: str
    state: str
    """Empty where the stream stopped: there it ends."""
    stopped: Matched | None


def open_fields(how: How) -> dict[str, Any]:
    """What has the server's defaults is not said."""
    return {
        "prompt_ids": list(how.prompt_ids) or None,
        "skip_special_tokens": how.skip_special_tokens,
        "byte_runs": None if how.byte_runs == "exact" else how.byte_runs,
        "unknown_id": how.unknown_id,
        "stops": how.stops,
    }


def stop_fields(config: object, eos_token_ids: Iterable[int] | None) -> dict[str, Any]:
    """A configuration as the API spells it. None: the tokenizer's own ends."""
    if not isinstance(config, StopSequenceConfig):
        raise InvalidArgument(f"a StopSequenceConfig is needed, not {type(config).__name__}")
    fields: dict[str, Any] = {
        "tokens": config.stop_tokens,
        "sequences": config.stop_sequences,
        "visible_tokens": config.visible_stop_tokens,
        "visible_sequences": config.visible_stop_sequences,
        "min_tokens": int(config.min_tokens),
        "ignore_eos": bool(config.ignore_eos),
    }
    if eos_token_ids is not None:
        fields["eos_token_ids"] = numbers_of(eos_token_ids)  # type: ignore[arg-type]
    return fields


def stream_step(
    name: str, how: How, ids: Sequence[int], state: str | None, finish: bool
) -> Call[Step]:
    # A state knows how the stream began.
    begin = open_fields(how) if state is None else {"state": state}
    body = {"ids": list(ids), "finish": finish, **begin}
    path = path_of("tokenizers", check_name(name), "stream")
    return post(path, body, _step, accept=EVENTS)


def _step(answer: Answer) -> Step:
    if answer.type != EVENTS:
        raise BadAnswer(f"expected {EVENTS}, not {answer.type}")
    text, stopped = "", None
    state: str | None = None
    for data in sse(answer.content):
        if isinstance(data.get("error"), dict):
            raise error_of(answer.status, answer.headers, json.dumps(data).encode())
        if data.get("text") is not None:
            text += field_of(data, "text", str)
        if data.get("stopped") is not None:
            stopped = matched(field_of(data, "stopped", dict))
        if data.get("state") is not None:
            state = field_of(data, "state", str)
    if state is None and stopped is None:
        raise BadAnswer("a stream that ends without a state to go on with")
    return Step(text, state or "", stopped)


def sse(content: bytes) -> Iterator[dict[str, Any]]:
    """The data of each event, as the HTML standard reads a stream of them."""
    try:
        text = content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise BadAnswer("events that are no UTF-8") from None
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        lines = [line.partition(":") for line in block.split("\n") if line]
        data = [value.removeprefix(" ") for name, _, value in lines if name == "data"]
        if not data:
            continue
        try:
            found = json.loads("\n".join(data))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise BadAnswer("an event whose data is no JSON object")
        yield found


def matched(found: Mapping[str, Any]) -> Matched:
    def optional(name: str, kind: type[Any]) -> Any:
        return None if found.get(name) is None else field_of(found, name, kind)

    numbers = ("token_index", "tokens_consumed", "start", "end", "start_char", "end_char")
    return Matched(
        kind=field_of(found, "kind", str),
        id=optional("id", int),
        string=optional("string", str),
        index=optional("index", int),
        visible=field_of(found, "visible", bool),
        **{name: field_of(found, name, int) for name in numbers},
    )
