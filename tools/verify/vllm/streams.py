"""Texts that grow by one id: our detokenizer, vLLM's, and an oracle over the bytes of tokens.

Each difference from vLLM gets the name of its class and its smallest example. Ours has to be what
the oracle says: then vLLM's is the one that is off.
"""

from __future__ import annotations

import codecs
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

__all__ = ["TEXTS", "Case", "generate", "streams"]

TEXTS = ("", "Hello world", "naïve café 🌶️ 中文 \U0001f468‍👩 test", " leading\n\n\ttrailing  ",
         "def f(x):\n    return x ** 2  # <|eot_id|> </s> <bos> <|im_end|>",
         "ab " * 300)  # fmt: skip
STOPS: tuple[list[str] | None, ...] = (
    None, ["return"], ["é", "te"], ["🌶"], [" \n", "ab ab ab"],
)  # fmt: skip
Answer = list[Any]
"""The text, the stop string, and the ids that are kept."""


def generate(tokenizer: Any, prompt: list[int], ids: list[int], **params: Any) -> Answer:
    """What a client of vLLM gets."""
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer

    request = SimpleNamespace(
        sampling_params=SamplingParams(**params), request_id="r",
        prompt_token_ids=prompt, prompt_embeds=None,
    )  # fmt: skip
    one = IncrementalDetokenizer.from_new_request(tokenizer, request)
    seen: list[str] = []
    stop = None
    for number, token_id in enumerate(ids):
        stop = one.update([token_id], False)
        last = stop is not None or number == len(ids) - 1
        seen.append(one.get_next_output_text(last, True))
        if stop is not None:
            break
    return ["".join(seen), stop, one.output_token_ids]


class Case(NamedTuple):
    prompt: list[int]
    ids: list[int]
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    stop: list[str] | None = None
    include_stop_str_in_output: bool = False

    def of(self, tokenizer: Any) -> Answer:
        return generate(tokenizer, **self._asdict())

    def smaller(self) -> Iterator[Case]:
        """Without an id of the output or the prompt, or with a parameter as it is by default."""
        yield from (self._replace(ids=self.ids[n:]) for n in range(1, len(self.ids)))
        for name in ("ids", "prompt"):
            old = getattr(self, name)
            yield from (self._replace(**{name: old[:n] + old[n + 1 :]}) for n in range(len(old)))
        for name, value in self._field_defaults.items():
            if getattr(self, name) != value:
                yield self._replace(**{name: value})


class Oracle:
    """The text of ids from the bytes of their tokens, as a decoder of UTF-8 gives it."""

    def __init__(self, tokenizer: Any) -> None:
        inner = tokenizer.backend_tokenizer
        self.decoder = json.dumps(json.loads(inner.to_str())["decoder"])
        self.added = {n: t.content for n, t in inner.get_added_tokens_decoder().items()}
        self.special = {n for n, t in inner.get_added_tokens_decoder().items() if t.special}
        # Of tokens that stand for bytes: printable ones are themselves, others follow U+0100.
        shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
        others = [byte for byte in range(256) if byte not in shown]
        self.alphabet = {chr(byte): byte for byte in shown}
        self.alphabet |= {chr(256 + n): byte for n, byte in enumerate(others)}
        self.tokenizer = tokenizer
        self.is_runs = '"ByteFallback"' in self.decoder
        # Of a run of byte tokens, each wrong byte is a U+FFFD.
        codecs.register_error("each byte", lambda e: ("\ufffd" * (e.end - e.start), e.end))  # type: ignore[attr-defined]

    @property
    def knows(self) -> bool:
        """Whether the tokens of this tokenizer have bytes."""
        return self.is_runs or '"ByteLevel"' in self.decoder

    def bytes_of(self, token_id: int, skip: bool) -> bytes:
        if token_id in self.special and skip:
            return b""
        text: str = self.added.get(token_id) or self.tokenizer.convert_ids_to_tokens(token_id) or ""
        if self.is_runs:
            if len(text) == 6 and text.startswith("<0x"):
                return bytes.fromhex(text[3:5])
            return (text if token_id in self.special else text.replace("▁", " ")).encode()
        known = all(char in self.alphabet for char in text)
        return bytes(self.alphabet[char] for char in text) if known else text.encode()

    def of(self, case: Case) -> Answer:
        decoder = codecs.getincrementaldecoder("utf-8")("each byte" if self.is_runs else "replace")
        is_first = '"Strip"' in self.decoder
        text = ""
        is_raw = not (case.skip_special_tokens or case.spaces_between_special_tokens)
        for number, token_id in enumerate(case.prompt + case.ids):
            made = self.bytes_of(token_id, case.skip_special_tokens)
            if is_first and made:
                made, is_first = made.removeprefix(b" "), False
            piece = decoder.decode(made)
            if number < len(case.prompt):
                continue
            if is_raw and number > len(case.prompt):
                # Of neighbours, vLLM writes the second one as it stands in the vocabulary.
                before = (case.prompt + case.ids)[number - 1]
                piece = self.added.get(token_id, piece) if before in self.added else piece
            text += piece
            stops = [stop for stop in case.stop or () if stop in text]
            found = [(text.find(stop) + len(stop), stop) for stop in stops]
            if found:
                end, stop = min(found)
                end -= 0 if case.include_stop_str_in_output else len(stop)
                return [text[:end], stop, case.ids[: number - len(case.prompt) + 1]]
        return [text, None, case.ids]


def class_of(case: Case, ours: Answer, theirs: Answer, decode: Callable[..., str]) -> str:
    """Why vLLM's answer is another one."""
    skip = case.skip_special_tokens
    if decode(case.prompt, skip_special_tokens=skip).endswith("\ufffd"):
        return "the prompt ends inside a character"
    if ours[:2] == theirs[:2]:
        return "the stop string is complete one token earlier"
    ends = decode(case.ids, skip_special_tokens=skip).endswith("\ufffd")
    if ends and ours[0].startswith(theirs[0]):
        wrong = "\ufffd" in ours[0][len(theirs[0]) :]
        return "the output ends " + ("with a wrong byte" if wrong else "inside a character")
    if "\ufffd" in decode(case.prompt + case.ids, skip_special_tokens=skip):
        return "the output has wrong bytes"
    return "not explained"


def cases(tokenizer: Any) -> Iterator[Case]:
    rng = random.Random(1)
    for number in range(150):
        text = rng.choice(TEXTS[1:]) + rng.choice(TEXTS[1:])
        ids = tokenizer.encode(text, add_special_tokens=False)
        if number % 3 == 0:
            ids += [rng.choice(tokenizer.all_special_ids or [0]), *ids[:5]]
        prompt = tokenizer.encode(rng.choice(TEXTS[1:5]))
        skip, spaces = rng.random() < 0.5, rng.random() < 0.5
        yield Case(prompt, ids, skip, spaces, rng.choice(STOPS), rng.random() < 0.5)
    # Prompts and outputs that end anywhere, any ids, and many incomplete characters.
    vocabulary = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    single = [n for n, t in enumerate(vocabulary) if t and (len(t) == 1 or t.startswith("<0x"))]
    for number in range(450):
        prompt = tokenizer.encode(rng.choice(TEXTS[1:5]))
        prompt = prompt[: rng.randrange(len(prompt) + 1)] if number % 3 else prompt
        ids = tokenizer.encode(rng.choice(TEXTS[1:5]) * 2, add_special_tokens=False)
        ids = ids[: rng.randrange(1, len(ids) + 1)]
        if number % 3 == 0:
            ids = [rng.randrange(len(tokenizer)) for _ in range(12)]
        if number % 5 == 0:
            ids = [rng.choice(rng.choice([single, ids, prompt or ids])) for _ in range(9)]
        stop = rng.choice((*STOPS, [" "], ["\ufffd"]))
        yield Case(prompt, ids, rng.random() < 0.5, True, stop, rng.random() < 0.5)


def streams(ours: Any, theirs: Any) -> dict[str, Any]:
    """How many streams are the same, and of each class of differences the smallest one."""
    oracle = Oracle(theirs)

    def difference(case: Case) -> str | None:
        one, other = case.of(ours), case.of(theirs)
        if oracle.knows and one != oracle.of(case):
            return "not explained: the oracle says something else"
        return None if one == other else class_of(case, one, other, theirs.decode)

    found: Counter[str] = Counter()
    smallest: dict[str, Case] = {}
    for case in cases(theirs):
        kind = difference(case)
        found[kind or "same"] += 1
        if kind is None or kind in smallest:
            continue
        left: Case | None = case
        while left is not None:
            smallest[kind] = left
            left = next((one for one in left.smaller() if difference(one) == kind), None)
    examples = {
        kind: {
            **case._asdict(),
            "tokens": theirs.convert_ids_to_tokens(case.ids),
            "the prompt's": theirs.convert_ids_to_tokens(case.prompt),
            "ours": [*(mine := case.of(ours))[:2], len(mine[2])],
            "vLLM's": [*(other := case.of(theirs))[:2], len(other[2])],
        }
        for kind, case in smallest.items()
    }
    return {
        "same": found.pop("same", 0),
        "differ": dict(found),
        "oracle": oracle.knows,
        "smallest": examples,
    }
