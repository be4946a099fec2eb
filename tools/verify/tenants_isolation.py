"""Nothing of one tenant is ever found at another.

    python -m tools.verify.tenants_isolation 100000

Each round, tenant A takes a marker of its own through every path: text, ids, names, stop strings,
messages, templates, files that are good and files that are not, and calls that fail. Then its
instances are freed, and tenant B works in instances that are made in their place. B's guest memory,
its objects, its answers, its errors, and what the process tells about itself are
searched for the marker, as text and as ids.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from pywasmtok import Limits, StopSequenceConfig, Tokenizer
from pywasmtok._host.linux.private_memory import own_ranges
from pywasmtok.errors import TokenizerError
from pywasmtok.tenants import Tenant, TenantLimits, TenantPool

# Instances of each tenant that work in a round, beside those of its templates.
CROWD = 16

LIMITS = TenantLimits(
    concurrent=CROWD,
    calls=Limits(deadline=20.0, memory=256 << 20, max_text_bytes=1 << 20, max_tokens=1 << 20),
    load_deadline=60.0,
    templates=True,
)
CHATML = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# A marker's ids count as found only where so many of them stand in a row.
_FEWEST_IDS = 6


def marker(number: int) -> str:
    """Letters that stand nowhere else, and differ from round to round."""
    return f"zqxj{number:07d}jxqz" * 2


def file_of(name: str = "") -> bytes:
    """A small tokenizer; with a name, of a file that no other tenant has."""
    from pywasmtok.loading.sources import read_source

    whole = json.loads(bytes(read_source("builtin:demo").data))
    if name:
        highest = max(token["id"] for token in whole["added_tokens"])
        vocabulary = max(whole["model"]["vocab"].values())
        whole["added_tokens"].append(
            {
                **whole["added_tokens"][0],
                "id": max(highest, vocabulary) + 1,
                "content": f"<|{name}|>",
            }
        )
    return json.dumps(whole).encode()


def quietly(call: Callable[[], object], said: list[str] | None = None) -> None:
    """A call that is expected to fail; its message goes to its own caller only."""
    try:
        call()
    except TokenizerError as error:
        if said is not None:
            said += [str(error), repr(error.__dict__)]
    else:
        raise AssertionError("this call was to fail")


def mark(tenant: Tenant, digest: str, word: str) -> list[bytes]:
    """Takes the word everywhere. What to search for: the word, and its ids."""
    tok = tenant.tokenizer(digest)
    with tenant.turn(len(word)):
        ids = tok.encode(word, add_special_tokens=False)
    flat = bytes(ids.buffer.cast("B"))
    text(tok, word, list(ids))
    chat(tok, word)
    failures(tok, word)
    return [word.encode(), *([flat] if len(ids) >= _FEWEST_IDS else [])]


def text(tok: Tokenizer, word: str, ids: list[int]) -> None:
    tok.encode(word, f"{word} again")
    tok.encode_batch([word, word * 50, (word, word)])
    tok.encode_segments([("<|user|>", True), (word, False)])
    _ = tok.encode(word).tokens, tok.encode(word).offsets
    tok.count(word), tok.fits(word, 3), tok.truncate(word * 20, 5)
    tok.token_to_id(word), tok.decode(ids), tok.decode_bytes(ids), tok.decode_batch([ids])
    stream = tok.decode_stream(ids)
    for one in ids:
        stream.step(one)
    stream.flush()
    stops = tok.stop_decoder(StopSequenceConfig(stop_sequences=(word, f"{word} end")), ids)
    for one in ids:
        stops.process_token(one)


def chat(tok: Tokenizer, word: str) -> None:
    messages = [{"role": "user", "content": word}, {"role": word, "content": "x", "name": word}]
    template = f"{{# {word} #}}{CHATML}{{{{ '{word}' }}}}"
    for source in (CHATML, template):
        tok.apply_chat_template(messages, chat_template=source, custom=word)
        tok.encode_chat(messages, chat_template=source, tools=[{"name": word}])


def failures(tok: Tokenizer, word: str) -> None:
    quietly(lambda: tok.encode(f"{word}\ud800"))
    quietly(lambda: tok.encode(word, special={word}))
    quietly(lambda: tok.limited(max_text_bytes=3).encode(word))
    quietly(
        lambda: tok.apply_chat_template(
            [{"role": "user", "content": word}],
            chat_template=f"{{{{ raise_exception(messages[0].content ~ '{word}') }}}}",
        )
    )


def upload(tenant: Tenant, word: str) -> None:
    """A file with the word in it, and files that are none."""
    info = tenant.add(file_of(word), chat_template=f"{{# {word} #}}{CHATML}")
    tok = tenant.tokenizer(info.digest)
    tok.encode(f"<|{word}|>{word}")
    tok.apply_chat_template([{"role": "user", "content": word}])
    quietly(lambda: tenant.add(json.dumps({"model": {"type": word}}).encode()))
    quietly(lambda: tenant.add(file_of()[:5000] + word.encode() * 100))
    quietly(lambda: tenant.add(word.encode() * 1000))
    tenant.remove(info.digest)


def work(tenant: Tenant, digest: str) -> list[str]:
    """The calls of B, and all texts that it gets."""
    tok = tenant.tokenizer(digest)
    said: list[str] = []
    with tenant.turn(5):
        encoding = tok.encode("Hello there, how are you?")
    said += [tok.decode(encoding), repr(encoding.tokens), repr(tok.backend)]
    said.append(
        tok.apply_chat_template(
            [{"role": "user", "content": "Hi"}], chat_template=CHATML, tokenize=False
        )
    )
    quietly(lambda: tok.encode("x\ud800"), said)
    quietly(lambda: tenant.tokenizer("0" * 64), said)
    quietly(lambda: tenant.add(b"{}"), said)
    quietly(lambda: tok.apply_chat_template([{}], chat_template="{{ nothing.at.all }}"), said)
    return [*said, repr(tenant.usage()), repr(tenant.digests())]


def crowd(tok: Tokenizer, size: int, word: str) -> None:
    """The word in so many instances at the same time."""
    core = tok.core_backend
    assert core is not None
    pool = core.core._pool
    taken = [pool.acquire() for _ in range(size)]
    for instance in taken:
        instance.encode_ids(word.encode() * 30, 0)
        pool.release(instance)


def found_in_memory(tenant: Tenant, needles: list[bytes], whole: bool = True) -> Iterator[str]:
    """Not `whole`: only the pages that an instance has for itself. All other pages belong to the
    image, which is read-only, and which the whole searches have covered."""
    for instance in tenant.instances.alive():
        size = instance.known_size
        ranges = None if whole else own_ranges(instance.base(), size)
        for start, end in [(0, size)] if ranges is None else ranges:
            memory = bytes(instance.read(start, end))
            for needle in needles:
                place = memory.find(needle)
                if place >= 0:
                    yield f"{type(instance).__name__} at {start + place}: {needle!r}"


def found_in_objects(tenant: Tenant, pool: TenantPool, needles: list[bytes]) -> Iterator[str]:
    """Everything that can be reached from the tenant, but for its pool, which knows all tenants,
    and modules, which are the program."""
    seen: set[int] = {id(pool), id(needles)}
    waiting: list[Any] = [tenant]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, str):
            content = one.encode("utf-8", "surrogatepass")
        elif isinstance(one, bytes | bytearray):
            content = bytes(one)
        else:
            waiting += _behind(one)
            continue
        for needle in needles:
            if needle in content:
                yield f"an object of its own: {content[:80]!r}"


def _behind(one: Any) -> list[Any]:
    if isinstance(one, ModuleType | type):
        return []
    if isinstance(one, FunctionType):
        # Not its module.
        return [one.__closure__, one.__defaults__]
    return gc.get_referents(one)


def told_by_process() -> str:
    """Metrics, as they would be scraped."""
    from prometheus_client import REGISTRY, generate_latest

    return generate_latest(REGISTRY).decode()


@contextlib.contextmanager
def listening() -> Iterator[io.StringIO]:
    """What is logged while B works."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger("pywasmtok")
    root.addHandler(handler)
    try:
        yield stream
    finally:
        root.removeHandler(handler)


class Trial:
    def __init__(self, data: bytes) -> None:
        self.pool = TenantPool(False)
        self.a, self.b = self.pool.add("a", LIMITS), self.pool.add("b", LIMITS)
        self.digest = self.a.add(data).digest
        self.b.add(data)
        self.reused = 0

    def round(self, number: int, *, thorough: bool) -> list[str]:
        """Returns what of A was found at B: there must be nothing. A thorough round takes files,
        too, and searches all memory and all objects."""
        word = marker(number)
        # B's instances are new ones, made where A's were.
        self.b.evict()
        needles = mark(self.a, self.digest, word)
        crowd(self.a.tokenizer(self.digest), CROWD, word)
        if thorough:
            upload(self.a, word)
        held = len(self.a.instances)
        # The search must be able to find A's marker at A.
        if not any(found_in_memory(self.a, needles, whole=thorough)):
            return ["the marker is not even in A's own memory"]
        self.a.evict()
        with listening() as logged:
            said = work(self.b, self.digest)
        crowd(self.b.tokenizer(self.digest), CROWD, "Good morning. ")
        self.reused += held
        told = "\n".join([*said, logged.getvalue(), told_by_process() if thorough else ""])
        wrong = [f"B was told {word}"] if word in told else []
        wrong += found_in_memory(self.b, needles, whole=thorough)
        if thorough:
            wrong += found_in_objects(self.b, self.pool, needles)
        return wrong


def run(reuses: int, data: bytes | None = None, every: int = 100) -> dict[str, Any]:
    """Rounds until A has freed so many instances before B worked; one in `every` is thorough."""
    from pywasmtok import metrics

    trial = Trial(file_of() if data is None else data)
    began = time.monotonic()
    number = 0
    wrong: list[str] = []
    metrics.enable()
    try:
        while trial.reused < reuses and not wrong:
            wrong = trial.round(number, thorough=number % every == 0)
            number += 1
    finally:
        # A caller in the same process gets the methods back as they were.
        metrics.disable()
        trial.pool.close()
    return {
        "reuses": trial.reused,
        "rounds": number,
        "found": wrong,
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("reuses", type=int, nargs="?", default=100_000)
    parser.add_argument("--file", help="a tokenizer's file; without it the demo's")
    given = parser.parse_args()
    data = None
    if given.file:
        with open(given.file, "rb") as stream:
            data = stream.read()
    result = run(given.reuses, data)
    print(json.dumps(result, indent=1))
    return 1 if result["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
