"""What a tenant has, and what it is refused."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from dataclasses import fields, replace
from typing import Any

import pytest

import pywasmtok
from pywasmtok import Limits
from pywasmtok._host.snapshots import images
from pywasmtok.errors import (
    DeadlineExceeded,
    InputTooLarge,
    InvalidArgument,
    LoadError,
    MemoryLimit,
    TokenizerError,
)
from pywasmtok.tenants import (
    StorageFull,
    TenantLimits,
    TooManyRequests,
    UnknownTokenizer,
    digest_of,
)

from .parts import TEMPLATE, KeptElsewhere, limits, pool, small

TEXT = "Hello world, Hello"


def plain(data: bytes) -> pywasmtok.Tokenizer:
    from pywasmtok.loading.factory import from_recipe
    from pywasmtok.tokenizer.tokenizer import Options, Recipe

    return from_recipe(Recipe(data, "x", Options("core", "core", None, False)))


def test_its_answers_are_those_of_the_file() -> None:
    tenant = pool().add("a", limits())
    info = tenant.add(small())
    assert (info.format, info.bytes, info.chat_template) == ("tokenizer.json", len(small()), False)
    tok, reference = tenant.tokenizer(info.digest), plain(small())
    assert info.tokens == reference.vocab_size
    assert tok.encode(TEXT).ids == reference.encode(TEXT).ids
    assert tok.decode(tok.encode(TEXT)) == reference.decode(reference.encode(TEXT))
    assert tenant.tokenizer(info.digest) is tok
    assert tenant.add(small()) == info
    assert tenant.digests() == [info.digest]


def test_tenants_share_the_image_and_nothing_else() -> None:
    both = pool()
    a, b = both.add("a", limits()), both.add("b", limits())
    digest = a.add(small()).digest
    assert b.add(small()).digest == digest
    one, other = a.tokenizer(digest), b.tokenizer(digest)
    one.encode(TEXT)
    other.encode(TEXT)
    assert one.core_backend is not None
    assert other.core_backend is not None
    mine, theirs = one.core_backend.core, other.core_backend.core
    assert mine.image is theirs.image is not None
    assert mine._pool is not theirs._pool
    assert not set(a.instances.alive()) & set(b.instances.alive())
    assert len(a.instances) == len(b.instances) == 1


def test_templates_are_rendered_in_instances_of_its_own() -> None:
    both = pool()
    a, b = both.add("a", limits()), both.add("b", limits())
    for tenant in (a, b):
        info = tenant.add(small(), chat_template=TEMPLATE)
        assert info.chat_template
        tok = tenant.tokenizer(info.digest)
        messages = [{"role": "user", "content": "Hi"}]
        assert tok.apply_chat_template(messages, tokenize=False) == "<|user|>Hi"
        # A view, and a template that came with a call.
        view = tok.limited(max_text_bytes=100)
        assert view.apply_chat_template(messages, chat_template="x", tokenize=False) == "x"
    kinds = [{type(one).__name__ for one in tenant.instances.alive()} for tenant in (a, b)]
    assert kinds in ([{"TemplateInstance"}] * 2, [{"Instance", "TemplateInstance"}] * 2)
    assert not set(a.instances.alive()) & set(b.instances.alive())
    from pywasmtok._host.template import pool as template_pool

    idle = [one for own in template_pool.shared._pools.values() for one in own._idle]
    assert not set(idle) & {*a.instances.alive(), *b.instances.alive()}


def test_a_tokenizer_of_another_tenant_is_not_known() -> None:
    both = pool()
    a, b = both.add("a", limits()), both.add("b", limits())
    digest = a.add(small()).digest
    with pytest.raises(UnknownTokenizer) as known:
        b.tokenizer(digest)
    with pytest.raises(UnknownTokenizer) as unknown:
        b.tokenizer("0" * 64)
    assert str(known.value) == str(unknown.value).replace("0" * 64, digest)


def test_what_was_removed_is_gone_and_who_uses_it_goes_on() -> None:
    tenant = pool().add("a", limits())
    digest = tenant.add(small()).digest
    tok = tenant.tokenizer(digest)
    stream = tok.decode_stream()
    ids = tok.encode(TEXT, add_special_tokens=False).ids
    first = stream.step(ids[0])
    tenant.remove(digest)
    tenant.remove(digest)
    with pytest.raises(UnknownTokenizer):
        tenant.tokenizer(digest)
    rest = "".join(stream.step(one) for one in ids[1:]) + stream.flush()
    assert first + rest == TEXT
    assert len(tenant.instances) == 0


def test_files_that_others_keep() -> None:
    data, options = small(), {"chat_template": TEMPLATE}
    whole = pool()
    digest = digest_of(data, options)
    files = KeptElsewhere({digest: (data, options)})
    tenant = whole.add("a", limits(), files)
    assert tenant.tokenizer(digest).encode(TEXT).ids == plain(data).encode(TEXT).ids
    assert tenant.info(digest).chat_template
    with pytest.raises(UnknownTokenizer):
        tenant.tokenizer("other")
    # Nobody asks for bytes that are mapped already.
    asked = len(files.asked)
    tenant.evict()
    tenant.tokenizer(digest).encode(TEXT)
    assert len(files.asked) == asked


def test_a_file_with_other_bytes_is_refused() -> None:
    # Of bytes that nobody has read: what was read and is still mapped is not asked for again.
    data = small().replace(b"think", b"thonk")
    files = KeptElsewhere({digest_of(data): (data.replace(b"thonk", b"thank"), {})})
    tenant = pool().add("a", limits(), files)
    with pytest.raises(LoadError, match="other bytes"):
        tenant.tokenizer(digest_of(data))


def test_no_bytes_are_kept_where_others_keep_them() -> None:
    tenant = pool().add("a", limits(), KeptElsewhere())
    data = small(model={"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"})
    info = tenant.add(data)
    held = [one for one in gc.get_referrers(data) if one is not globals()]
    tenant.tokenizer(info.digest)
    assert not [one for one in held if isinstance(one, tuple | dict)]


@pytest.mark.parametrize(
    ("changes", "data", "expected"),
    [
        ({"calls": Limits(deadline=5, max_file_bytes=100)}, small(), InputTooLarge),
        ({"stored_bytes": 100}, small(), StorageFull),
        ({"tokenizers": 0}, small(), StorageFull),
        ({"calls": Limits(deadline=5, memory=2 << 20)}, small(), MemoryLimit),
        ({}, b"{}", TokenizerError),
        ({}, b"", TokenizerError),
        ({}, small()[:-100], TokenizerError),
    ],
)
def test_files_that_are_refused(
    changes: dict[str, Any], data: bytes, expected: type[TokenizerError]
) -> None:
    whole = pool()
    tenant = whole.add("a", limits(**changes))
    before = images.mapped()
    with pytest.raises(expected) as caught:
        tenant.add(data)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert tenant.digests() == []
    assert len(tenant.instances) == 0
    # Nothing of it is left, while the error still is.
    gc.collect()
    assert images.mapped() <= before


def test_reading_a_file_has_a_deadline_of_its_own() -> None:
    """The one of calls may be shorter than any file takes."""
    calls = Limits(deadline=0.000_001, memory=128 << 20)
    tenant = pool().add("a", limits(calls=calls))
    digest = tenant.add(small()).digest
    with pytest.raises(DeadlineExceeded):
        tenant.tokenizer(digest).encode(TEXT)
    hasty = pool().add("b", limits(load_deadline=0.000_001))
    with pytest.raises(DeadlineExceeded):
        hasty.add(small(added_tokens=[]))


def test_it_counts() -> None:
    tenant = pool().add("a", limits(bytes_per_second=0, burst_bytes=100, concurrent=1))
    digest = tenant.add(small()).digest
    with tenant.turn(60):
        tenant.note(tokens=len(tenant.tokenizer(digest).encode(TEXT)))
        with pytest.raises(TooManyRequests, match="1 calls"), tenant.turn(1):
            raise AssertionError
    with pytest.raises(TooManyRequests, match="bytes a second"), tenant.turn(50):
        raise AssertionError
    with pytest.raises(DeadlineExceeded), tenant.admitted(40):
        raise DeadlineExceeded("too late")
    usage = tenant.usage()
    assert (usage.requests, usage.refused, usage.failed) == (2, 2, 1)
    assert (usage.text_bytes, usage.instances) == (100, 1)
    assert usage.tokens > 0
    assert usage.seconds > 0
    assert tenant.slots.taken == 0


def test_other_limits_from_now_on() -> None:
    whole = pool()
    tenant = whole.add("a", limits())
    digest = tenant.add(small()).digest
    old = tenant.tokenizer(digest)
    tightened = limits(calls=Limits(deadline=30, max_text_bytes=3), concurrent=1)
    whole.set_limits("a", tightened)
    assert tenant.limits is tightened
    with pytest.raises(InputTooLarge):
        tenant.tokenizer(digest).encode(TEXT)
    # Who has begun goes on.
    assert old.encode(TEXT).ids == plain(small()).encode(TEXT).ids
    assert tenant.slots.most == 1


@pytest.mark.parametrize(
    "name", [one.name for one in fields(TenantLimits) if one.name not in ("calls", "templates")]
)
def test_numbers_of_limits_have_bounds(name: str) -> None:
    most: Any = 1e9 if name == "load_deadline" else 2**63 - 1
    tenant = pool().add("a", replace(TenantLimits(), **{name: most}))
    digest = tenant.add(small()).digest
    with tenant.turn(1):
        assert tenant.tokenizer(digest).encode(TEXT).ids == plain(small()).encode(TEXT).ids
    wrong: Any
    for wrong in (most * 2, 10**400, -1, math.nan, math.inf, True, "1", None):
        with pytest.raises(InvalidArgument, match=name):
            replace(TenantLimits(), **{name: wrong})


def test_without_bounds_on_calls() -> None:
    tenant = pool().add("a", limits(calls=Limits()))
    digest = tenant.add(small()).digest
    assert tenant.tokenizer(digest).encode(TEXT).ids == plain(small()).encode(TEXT).ids


def test_no_more_instances_than_calls_at_once() -> None:
    tenant = pool().add("a", limits(concurrent=2))
    tok = tenant.tokenizer(tenant.add(small()).digest)
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        for _ in range(50):
            tok.encode(TEXT)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(tenant.instances) <= 2


def test_threads_make_one_tokenizer() -> None:
    tenant = pool().add("a", limits())
    digest = tenant.add(small()).digest
    tenant.evict()
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(tenant.tokenizer(digest))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_an_instance_that_ran_out_of_memory_is_replaced() -> None:
    calls = Limits(deadline=30.0, memory=24 << 20)
    tenant = pool().add("a", limits(calls=calls))
    tok = tenant.tokenizer(tenant.add(small()).digest)
    expected = tok.encode(TEXT).ids
    (before,) = map(weakref.ref, tenant.instances.alive())
    with pytest.raises(MemoryLimit), tenant.turn(1):
        tok.count("Hello world " * 3_000_000)
    assert before() is None
    assert tok.encode(TEXT).ids == expected
    assert tenant.usage().failed == 1


def test_a_file_that_another_thread_adds_meanwhile_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = pool().add("a", limits(tokenizers=1, stored_bytes=len(small())))
    read = tenant._info
    others: list[Any] = []

    def meanwhile(entry: Any) -> Any:
        if not others:
            others.append("begun")
            others.append(tenant.add(small()))
        return read(entry)

    monkeypatch.setattr(tenant, "_info", meanwhile)
    assert tenant.add(small()) == others[1]
    assert len(tenant.digests()) == 1
    with pytest.raises(StorageFull):
        tenant.add(small(added_tokens=[]))


def test_names_and_bytes_are_checked() -> None:
    whole = pool()
    whole.add("a", limits())
    with pytest.raises(InvalidArgument, match="already"):
        whole.add("a", limits())
    with pytest.raises(InvalidArgument, match="name"):
        whole.add("", limits())
    for data in ([1, 2, 3], None, 5, "a"):
        with pytest.raises(InvalidArgument, match="bytes"):
            whole.get("a").add(data)  # type: ignore[arg-type]
    level = whole.get("a").bucket.level
    for cost in (-5, "1", None, math.nan, math.inf, True, 10**400):
        with pytest.raises(InvalidArgument, match="cost"), whole.get("a").turn(cost):  # type: ignore[arg-type]
            raise AssertionError
    assert whole.get("a").bucket.level == level
    assert whole.get("a").slots.taken == 0
    with pytest.raises(KeyError):
        whole.get("b")
    with pytest.raises(InvalidArgument, match="SnapshotStore"):
        type(whole)("a folder")  # type: ignore[arg-type]
