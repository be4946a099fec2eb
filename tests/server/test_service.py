"""Finding, swapping and following, over tenants that keep only to their contract."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pywasmtok import InvalidArgument, LoadError, TokenizerError
from pywasmtok._host.calls.deadline import End, current
from pywasmtok.chat.rendering.sandbox import SandboxTemplate
from pywasmtok.loading.sources import read_source
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.catalog import _all
from pywasmtok.server.config import Config, Listen
from pywasmtok.server.contract import (
    LOCAL,
    PUBLIC,
    AliasRecord,
    Caller,
    Store,
    TenantRecord,
    TokenizerRecord,
)
from pywasmtok.server.errors import NotFound
from pywasmtok.server.service import Service
from pywasmtok.server.store import MEMORY, open_store
from pywasmtok.server.store.memory import MemoryStore
from pywasmtok.tenants import TenantPool, digest_of
from pywasmtok.tenants.contract import FileInfo, Usage
from pywasmtok.tenants.errors import StorageFull, UnknownTokenizer
from pywasmtok.tenants.limits import TenantLimits
from server.calls import words_of
from server.direct_work import service_without_threads
from server.serving import until

DEMO = bytes(read_source("builtin:demo").data)
ACME = Caller("acme")


def made(store: Store, config: Config | None = None) -> tuple[Service, TenantPool]:
    service = service_without_threads(config, store)
    return service, service.pool


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(MEMORY if request.param == "memory" else tmp_path)


@pytest.fixture
def service(store: Store) -> Iterator[Service]:
    service, _ = made(store)
    store.put_tenant(TenantRecord("acme", TenantLimits(), time.time()))
    store.put_tenant(TenantRecord("other", TenantLimits(), time.time()))
    yield service
    service.close()


def upload(service: Service, owner: str, data: bytes, alias: str) -> str:
    return service.upload(service.tenant(owner), data, {}, alias)


def test_a_name_means_ones_own_and_then_what_is_public(service: Service) -> None:
    public = upload(service, PUBLIC, words_of("a", "b"), "model")
    assert service.find(ACME, "model").digest == public
    own = upload(service, "acme", words_of("b", "a"), "model")
    found = service.find(ACME, "model")
    assert (found.name, found.digest, found.tenant.name) == ("model", own, "acme")
    assert found.tokenizer.encode("a b").ids == [2, 1]
    assert service.find(Caller("other"), "model").digest == public
    assert service.find(ACME, public).info.digest == public


def test_a_public_file_is_open_in_ones_own_instances(service: Service) -> None:
    upload(service, PUBLIC, words_of("a"), "model")
    mine, theirs = service.find(ACME, "model"), service.find(Caller("other"), "model")
    assert mine.tokenizer is not theirs.tokenizer
    assert (mine.tenant.name, theirs.tenant.name) == ("acme", "other")


def test_nobody_finds_what_is_anothers(service: Service) -> None:
    digest = upload(service, "other", words_of("a"), "secret")
    for name in ("secret", digest):
        with pytest.raises(UnknownTokenizer) as refused:
            service.find(ACME, name)
        assert "other" not in str(refused.value)
        with pytest.raises(UnknownTokenizer) as never:
            service.find(ACME, name[::-1])
        assert str(never.value).replace(name[::-1], name) == str(refused.value)
    assert service.listed(ACME) == []


def test_without_a_name_there_must_be_one_that_is_meant(service: Service) -> None:
    with pytest.raises(UnknownTokenizer, match="none yet"):
        service.find(ACME, None)
    only = upload(service, PUBLIC, words_of("a"), "model")
    assert service.find(ACME, None).digest == only
    assert service.find(ACME, None).name == "model"
    upload(service, "acme", words_of("a"), "mine")
    assert service.find(ACME, None).digest == only
    upload(service, "acme", words_of("b"), "more")
    with pytest.raises(UnknownTokenizer, match=r"mine, model, more\. Send one as"):
        service.find(ACME, None)
    public = upload(service, PUBLIC, words_of("c"), "default")
    assert service.find(ACME, None).digest == public
    own = upload(service, "acme", words_of("d"), "default")
    assert service.find(ACME, None).digest == own


def test_a_file_that_was_replaced_is_not_meant_without_a_name(service: Service) -> None:
    upload(service, PUBLIC, words_of("a"), "model")
    new = upload(service, PUBLIC, words_of("b"), "model")
    for asking in (ACME, Caller(PUBLIC)):
        assert service.find(asking, None).digest == new
        assert service.find(asking, None).name == "model"
    # With no name left, there must be one file.
    service.store.remove_alias(PUBLIC, "model")
    with pytest.raises(UnknownTokenizer, match="does not say which"):
        service.find(ACME, None)


def test_a_request_keeps_what_it_found(service: Service) -> None:
    old = upload(service, "acme", words_of("a", "b"), "model")
    found = service.find(ACME, "model")
    new = upload(service, "acme", words_of("b", "a"), "model")
    assert service.find(ACME, "model").digest == new
    assert found.tokenizer.encode("a b").ids == [1, 2]
    assert service.find(ACME, old).tokenizer.encode("a b").ids == [1, 2]
    service.store.remove_tokenizer("acme", old)
    assert found.tokenizer.encode("a b").ids == [1, 2]
    with pytest.raises(UnknownTokenizer):
        service.find(ACME, old)


def test_a_swap_is_never_seen_half_done(service: Service) -> None:
    """While a name moves to and fro and what it left is removed, it always means something."""
    files = [words_of("a", "b"), words_of("b", "a")]
    upload(service, "acme", files[0], "model")
    answers: set[tuple[int, ...]] = set()
    problems: list[BaseException] = []
    ended = threading.Event()

    def ask() -> None:
        try:
            while not ended.is_set():
                answers.add(tuple(service.find(ACME, "model").tokenizer.encode("a b").ids))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        # A busy machine may run the threads only when one and the same file has the name.
        end = time.monotonic() + 60
        for turn in count(1):
            if turn >= 30 and (len(answers) > 1 or problems or time.monotonic() > end):
                break
            upload(service, "acme", files[turn % 2], "model")
            service.store.remove_tokenizer("acme", digest_of(files[(turn + 1) % 2], {}))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert (problems, answers) == ([], {(1, 2), (2, 1)})


def test_a_file_that_was_swapped_and_removed_before_it_was_read(service: Service) -> None:
    old, new = words_of("a", "b"), words_of("b", "a")
    upload(service, "acme", old, "model")
    tenant: Any = service.tenant("acme")
    tenant.evict()
    served = service.find(ACME, "model")
    assert not served.is_live
    upload(service, "acme", new, "model")
    service.store.remove_tokenizer("acme", digest_of(old, {}))
    assert served.tokenizer.encode("a b").ids == [2, 1]
    assert served.digest == digest_of(new, {})


def test_what_has_no_name_makes_room(service: Service) -> None:
    record = next(one for one in service.store.tenants() if one.name == "acme")
    service.store.put_tenant(replace(record, limits=TenantLimits(tokenizers=2)))
    first = upload(service, "acme", words_of("1"), "model")
    second = upload(service, "acme", words_of("2"), "model")
    third = upload(service, "acme", words_of("3"), "model")
    kept = [one.info.digest for one in service.listed(ACME)]
    assert kept == [second, third]
    upload(service, "acme", words_of("2"), "other")
    with pytest.raises(StorageFull):
        upload(service, "acme", words_of("1"), "more")
    assert [one.info.digest for one in service.listed(ACME)] == kept
    with pytest.raises(UnknownTokenizer):
        service.find(ACME, first)


def test_a_call_is_counted_with_its_tokens_and_its_time(service: Service) -> None:
    upload(service, "acme", words_of("a", "b"), "model")
    served = service.find(ACME, "model")

    def call() -> list[int]:
        ids = served.tokenizer.encode("a b").ids
        served.tokens = len(ids)
        return ids

    assert asyncio.run(service.run(served, 3, call)) == [1, 2]
    found = service.usage("acme")
    assert (found.requests, found.text_bytes, found.tokens) == (1, 3, 2)
    assert found.seconds > 0


def test_a_request_of_many_calls_has_one_deadline(service: Service) -> None:
    limits = replace(TenantLimits(), calls=replace(TenantLimits().calls, deadline=600.0))
    service.store.put_tenant(TenantRecord("acme", limits, time.time()))
    upload(service, "acme", words_of("a"), "model")
    served = service.find(ACME, "model")

    def call() -> End | None:
        served.tokenizer.encode("a")
        return current()

    end = asyncio.run(service.run(served, 3, call))
    assert end is not None
    assert end.seconds == 600.0


def test_a_file_is_read_before_the_deadline_of_its_request_begins(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(service, PUBLIC, words_of("a"), "model")
    served = service.find(ACME, "model")
    ends = []
    monkeypatch.setattr(TenantPool, "before_making", lambda pool: ends.append(current()))
    asyncio.run(service.run(served, 3, lambda: served.tokenizer.encode("a")))
    assert ends == [None]


def test_what_is_not_in_memory_is_read_in_the_call_and_not_before(service: Service) -> None:
    upload(service, PUBLIC, words_of("a"), "model")
    served = service.find(ACME, "model")
    assert not served.is_live
    assert served.tokenizer.encode("a").ids == [1]
    assert served.is_live
    assert service.find(ACME, "model").is_live


def test_what_was_removed_before_it_was_read_is_unknown(service: Service) -> None:
    digest = upload(service, PUBLIC, DEMO, "model")
    served = service.find(ACME, "model")
    service.store.remove_tokenizer(PUBLIC, digest)
    with pytest.raises(UnknownTokenizer):
        _ = served.tokenizer
    with pytest.raises(UnknownTokenizer):
        service.find(ACME, "model")


def test_what_could_not_be_stored_is_not_served(service: Service) -> None:
    service.store.put_tenant(TenantRecord("acme", TenantLimits(stored_bytes=10), 1.0))
    with pytest.raises(StorageFull):
        upload(service, "acme", words_of("1"), "model")
    with pytest.raises(UnknownTokenizer):
        service.find(ACME, digest_of(words_of("1"), {}))
    with pytest.raises(InvalidArgument):
        upload(service, "acme", words_of("1"), "no name")
    with pytest.raises(LoadError):
        upload(service, "acme", b"nonsense", "model")
    assert service.listed(ACME) == []


def test_lists_show_ones_own_and_then_what_is_public(service: Service) -> None:
    public = upload(service, PUBLIC, words_of("a"), "model")
    own = upload(service, "acme", words_of("b"), "b")
    service.store.put_alias(AliasRecord("acme", "a", own))
    found = [(one.info.digest, one.aliases, one.public) for one in service.listed(ACME)]
    assert found == [(own, ("a", "b"), False), (public, ("model",), True)]
    assert [one.public for one in service.listed(Caller(PUBLIC))] == [True]


def test_limits_and_keys_are_those_that_were_changed_last(service: Service) -> None:
    key, record = make_key("acme")
    assert service.keys.find(key) is None
    service.store.put_key(record)
    assert service.keys.find(key) == record
    acme, (stored, *_) = service.tenant("acme"), service.store.tenants()
    service.store.put_tenant(replace(stored, limits=TenantLimits(concurrent=1)))
    assert acme.limits.concurrent == 1
    service.store.put_tenant(replace(stored, disabled=True))
    assert service.keys.find(key) is None
    with pytest.raises(NotFound):
        service.tenant("acme")
    with pytest.raises(NotFound):
        service.find(ACME, "model")


def test_a_tenant_that_was_removed_is_gone_and_may_come_again(service: Service) -> None:
    upload(service, "acme", words_of("a"), "model")
    service.store.remove_tenant("acme")
    with pytest.raises(NotFound):
        service.find(ACME, "model")
    service.store.put_tenant(TenantRecord("acme", TenantLimits(), 1.0))
    with pytest.raises(UnknownTokenizer):
        service.find(ACME, "model")


def test_another_process_is_followed(tmp_path: Path) -> None:
    mine, others = open_store(tmp_path), open_store(tmp_path)
    service, _ = made(mine)
    service.start()
    beside, _ = made(others)
    beside.start()
    try:
        others.put_tenant(TenantRecord("acme", TenantLimits(), 1.0))
        digest = upload(beside, "acme", words_of("a"), "model")
        until(lambda: bool(service.listed(ACME)))
        assert service.find(ACME, "model").digest == digest
        service.store.remove_tokenizer("acme", digest)
        until(lambda: not beside.listed(ACME))
        with pytest.raises(UnknownTokenizer):
            beside.find(ACME, "model")
    finally:
        service.close()
        beside.close()


def test_after_a_restart_all_is_there_and_nothing_is_read_before_it_is_asked_for(
    tmp_path: Path,
) -> None:
    first, _ = made(open_store(tmp_path))
    first.store.put_tenant(TenantRecord("acme", TenantLimits(), 1.0))
    own = upload(first, "acme", words_of("a", "b"), "model")
    public = upload(first, PUBLIC, DEMO, "demo")
    first.close()
    again, pool = made(open_store(tmp_path))
    assert sorted(pool.names()) == ["acme", LOCAL, PUBLIC]
    assert [pool.get(name).digests() for name in pool.names()] == [[], [], []]
    assert again.find(ACME, "model").tokenizer.encode("b a").ids == [2, 1]
    assert again.find(ACME, "demo").tokenizer.decode([65]) != ""
    assert pool.get("acme").digests() == [own, public]
    again.close()


def test_what_is_published_twice_is_stored_once(store: Store) -> None:
    service, _ = made(store)
    service.publish("demo", DEMO, {})
    generation = store.generation()
    service.publish("demo", DEMO, {})
    assert store.generation() == generation
    service.publish("other", DEMO, {})
    assert [one.aliases for one in service.listed(ACME)] == [("demo", "other")]
    service.close()


def test_the_operator_may_have_more_tokenizers_than_a_tenant(store: Store) -> None:
    service, _ = made(store, Config(limits={"tokenizers": 1, "stored_bytes": 1}))
    most = TenantLimits().tokenizers + 1
    names = {f"t{one}": service.stored(f"t{one}", words_of(str(one)), {}) for one in range(most)}
    service.name(names)
    assert len(service.listed(ACME)) == most
    service.close()


def test_a_file_that_waits_for_its_name_makes_no_room_for_another(store: Store) -> None:
    service, pool = made(store)
    limits = service.tenant(PUBLIC).limits
    pool.set_limits(PUBLIC, replace(limits, tokenizers=2))
    upload(service, PUBLIC, words_of("old"), "a")
    upload(service, PUBLIC, words_of("new"), "a")
    names = {"b": service.stored("b", words_of("b"), {})}
    with pytest.raises(StorageFull):
        service.stored("c", words_of("c"), {}, keep=names.values())
    service.name(names)
    assert [one.aliases for one in service.listed(ACME)] == [("a",), ("b",)]
    service.close()


def test_templates_of_the_operator_are_compiled_before_the_first_request(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compiled = []
    first = SandboxTemplate._first

    def counted(self: SandboxTemplate, instance: Any) -> list[str]:
        compiled.append(1)
        return first(self, instance)

    monkeypatch.setattr(SandboxTemplate, "_first", counted)
    service, pool = made(store)
    store.put_tenant(TenantRecord("acme", TenantLimits(), time.time()))
    service.publish("good", DEMO, {"chat_template": "{{ messages[0].content }}"})
    assert compiled == [1]
    digest = service.find(ACME, "good").digest
    messages = [{"role": "user", "content": "hi"}]
    assert pool.get(PUBLIC).tokenizer(digest).apply_chat_template(messages, tokenize=False) == "hi"
    assert compiled == [1]
    assert not caplog.records
    service.publish("bad", DEMO, {"chat_template": "{% for %}"})
    assert "the chat template of bad cannot be used" in caplog.text
    assert service.find(ACME, "bad").tokenizer.encode("a").ids
    service.close()


def test_without_identity_there_is_a_tenant_for_whoever_asks() -> None:
    open_config = Config(limits={"concurrent": 3, "calls": {"deadline": 0.5}})
    service, _ = made(open_store(MEMORY), open_config)
    local = service.tenant(LOCAL)
    assert (local.limits.concurrent, local.limits.calls.deadline) == (3, 0.5)
    assert local.limits.calls.memory == TenantLimits().calls.memory
    service.close()
    closed, _ = made(open_store(MEMORY), Config(listen=Listen(host="0.0.0.0")))
    with pytest.raises(NotFound):
        closed.tenant(LOCAL)
    closed.close()


def test_limits_that_nobody_knows_are_refused() -> None:
    for limits in ({"speed": 3}, {"calls": {"speed": 3}}, {"concurrent": "x"}, {"calls": 3}):
        with pytest.raises(InvalidArgument):
            made(open_store(MEMORY), Config(limits=limits))


def test_usage_is_what_is_stored_and_what_came_since(tmp_path: Path) -> None:
    service, pool = made(open_store(tmp_path))
    service.store.put_tenant(TenantRecord("acme", TenantLimits(), 1.0))
    service.store.add_usage("acme", Usage(requests=5, seconds=0.5))
    upload(service, "acme", words_of("a"), "model")
    assert service.find(ACME, "model").tokenizer.encode("a").ids == [1]
    pool.get("acme").note(tokens=7, seconds=0.25, refused=1)
    found = service.usage("acme")
    assert replace(found, instances=0, memory=0) == Usage(5, 1, 0, 0, 7, 0.75)
    assert found.instances > 0
    service.close()
    again, _ = made(open_store(tmp_path))
    assert again.usage("acme") == Usage(5, 1, 0, 0, 7, 0.75)
    with pytest.raises(NotFound):
        again.usage("nobody")
    again.close()


def test_usage_does_not_wait_for_a_store_that_is_locked() -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Locked(MemoryStore):
        def add_usage(self, tenant: str, usage: Usage) -> None:
            inside.set()
            assert go_on.wait(60)
            super().add_usage(tenant, usage)

    store = Locked()
    store.put_tenant(TenantRecord("acme", TenantLimits(), 1.0))
    service, pool = made(store)
    pool.get("acme").note(tokens=7)
    writing = threading.Thread(target=service._usage.write)
    writing.start()
    try:
        assert inside.wait(60)
        assert service.usage("acme").tokens == 7
        # A tenant that another process has made is there, too: the event loop may find it first.
        store.put_tenant(TenantRecord("late", TenantLimits(), 2.0))
        assert service.usage("late") == Usage()
        assert writing.is_alive()
    finally:
        go_on.set()
        writing.join()
    assert service.usage("acme").tokens == store.usage("acme").tokens == 7
    service.close()


def test_who_is_given_the_name_of_another_begins_anew(tmp_path: Path) -> None:
    """Also where both changes came from another process, between two looks at the records."""
    others = open_store(tmp_path)
    others.put_tenant(TenantRecord("acme", TenantLimits(), 1.0))
    service, pool = made(open_store(tmp_path))
    first = service.tenant("acme")
    first.note(tokens=7)
    assert service.usage("acme").tokens == 7
    others.remove_tenant("acme")
    others.put_tenant(TenantRecord("acme", TenantLimits(), 2.0))
    service.refresh()
    assert service.tenant("acme") is not first
    assert service.usage("acme") == Usage()
    # The record that is written again is the same tenant's.
    second = service.tenant("acme")
    others.put_tenant(TenantRecord("acme", TenantLimits(concurrent=3), 2.0))
    service.refresh()
    assert service.tenant("acme") is second
    assert pool.get("acme").limits.concurrent == 3
    service.close()
    others.close()


def test_the_records_that_changed_are_read_and_all_others_kept(tmp_path: Path) -> None:
    """As if all were read, whatever another process changes."""
    others = open_store(tmp_path)
    service, _ = made(open_store(tmp_path))
    chance = random.Random(5)
    names = ["acme", "other", "third"]
    reads: list[int] = []
    for _ in range(150):
        before = service._view()
        for _ in range(chance.randrange(1, 4)):
            with suppress(TokenizerError):
                change(others, chance, chance.choice(names))
        view, whole = service._view(), _all(others)
        assert replace(view, generation=-1, keys=whole.keys) == whole
        assert view.keys._records == whole.keys._records
        assert view.generation == others.generation()
        same = [one for one in names if view.tokenizers.get(one, 0) is before.tokenizers.get(one)]
        reads.append(len(same))
    # Most changes leave the records of some tenants as they are.
    assert sum(reads) > 50
    service.close()
    others.close()


def change(store: Store, chance: random.Random, name: str) -> None:
    """Any of the changes that there are."""
    keys = [key for key in store.keys() if key.tenant in {name, None}]
    known = store.tokenizers(name)
    match chance.randrange(8):
        case 0:
            limits = TenantLimits(concurrent=chance.randrange(9))
            store.put_tenant(TenantRecord(name, limits, 1.0, chance.random() < 0.2))
        case 1:
            store.put_key(make_key(chance.choice([name, None]))[1])
        case 2 | 3:
            data = words_of(*chance.sample("abcdef", 3))
            info = FileInfo(digest_of(data, {}), "hf", len(data), 4, False)
            record = TokenizerRecord(chance.choice([name, PUBLIC]), info, "{}", 1.0)
            store.put_tokenizer(record, data, chance.choice(["m", "n", None]))
        case 4 if keys:
            store.remove_key(chance.choice(keys).id)
        case 5 if known:
            store.put_alias(AliasRecord(name, "o", chance.choice(known).info.digest))
        case 6 if known:
            store.remove_tokenizer(name, chance.choice(known).info.digest)
        case 7:
            store.remove_alias(name, "m")
        case _ if chance.random() < 0.3:
            store.remove_tenant(name)


def test_what_never_fits_removes_nothing(service: Service) -> None:
    small, large = words_of("1"), words_of(*map(str, range(500)))
    limits = TenantLimits(stored_bytes=2 * len(small) + 10)
    service.store.put_tenant(TenantRecord("acme", limits, 1.0))
    old = upload(service, "acme", small, "model")
    new = upload(service, "acme", words_of("2"), "model")
    with pytest.raises(StorageFull):
        upload(service, "acme", large, "model")
    assert {one.info.digest for one in service.listed(ACME)} == {old, new}
