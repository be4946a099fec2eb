"""What every store promises, asked of both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pywasmtok import InvalidArgument, Limits
from pywasmtok.server.contract import PUBLIC, Store, TenantRecord
from pywasmtok.server.errors import Conflict, NotFound
from pywasmtok.server.store import open_store, rules
from pywasmtok.tenants.contract import Usage
from pywasmtok.tenants.errors import StorageFull, UnknownTokenizer
from pywasmtok.tenants.limits import TenantLimits
from server.records import alias, digest, key, tenant, tokenizer


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = open_store("memory" if request.param == "memory" else tmp_path / "store")
    yield made
    made.close()


def put(store: Store, owner: str, data: bytes, name: str | None = None, **most: int) -> None:
    store.put_tokenizer(tokenizer(owner, data), data, name, **most)


def test_a_new_store_is_empty(store: Store) -> None:
    assert (store.tenants(), store.keys(), store.tokenizers(), store.aliases()) == ([], [], [], [])
    assert store.usage("nobody") == Usage()


def test_tenants_keep_their_limits(store: Store) -> None:
    calls = Limits(deadline=0.25, memory=64 << 20, max_text_bytes=7)
    limits = TenantLimits(calls=calls, concurrent=3, templates=True, load_deadline=2.5)
    record = replace(tenant("b"), limits=limits, disabled=True)
    store.put_tenant(record)
    store.put_tenant(tenant("a"))
    assert store.tenants() == [tenant("a"), record]
    store.put_tenant(replace(record, disabled=False))
    assert store.tenants() == [tenant("a"), replace(record, disabled=False)]


@pytest.mark.parametrize("name", ["", "A", "-a", "a b", "a" * 64, "a/b", PUBLIC, "ä", "a\n"])
def test_names_of_tenants_are_bounded(store: Store, name: str) -> None:
    with pytest.raises(InvalidArgument):
        store.put_tenant(tenant(name))


GAPS = ["a/../b", "a/..", "a/./b", "a/", "a//b"]


@pytest.mark.parametrize("name", ["", "-a", "a b", "a" * 129, "ä", "a\n", "0" * 64, *GAPS])
def test_names_of_tokenizers_are_bounded(store: Store, name: str) -> None:
    with pytest.raises(InvalidArgument):
        put(store, PUBLIC, b"x", name)
    assert store.tokenizers() == []
    put(store, PUBLIC, b"x")
    with pytest.raises(InvalidArgument):
        store.put_alias(alias(PUBLIC, name, b"x"))


def test_a_key_belongs_to_a_tenant_or_to_an_admin(store: Store) -> None:
    store.put_tenant(tenant("a"))
    store.put_key(key("k1", "a", expires=9.0))
    store.put_key(key("k2", None))
    assert store.keys() == [key("k1", "a", expires=9.0), key("k2", None)]
    store.put_key(key("k1", "a"))
    store.remove_key("k2")
    store.remove_key("k2")
    assert store.keys() == [key("k1", "a")]
    with pytest.raises(NotFound):
        store.put_key(key("k3", "b"))
    with pytest.raises(Conflict):
        store.put_key(replace(key("k1", "a"), id="k4"))


def test_a_file_comes_with_its_record_and_its_name(store: Store) -> None:
    store.put_tenant(tenant("a"))
    put(store, "a", b"one", "model")
    assert store.tokenizers("a") == store.tokenizers() == [tokenizer("a", b"one")]
    assert store.aliases("a") == [alias("a", "model", b"one")]
    assert bytes(store.open_file(digest(b"one"))) == b"one"
    assert (store.tokenizers("b"), store.aliases("b")) == ([], [])


def test_what_is_stored_again_keeps_its_age(store: Store) -> None:
    put(store, PUBLIC, b"one", "model")
    store.put_tokenizer(tokenizer(PUBLIC, b"one", created=9.0), b"one", "other")
    assert store.tokenizers() == [tokenizer(PUBLIC, b"one", created=3.0)]
    assert [one.alias for one in store.aliases()] == ["model", "other"]


def test_a_file_that_another_has_may_be_named_without_its_bytes(store: Store) -> None:
    store.put_tenant(tenant("a"))
    put(store, PUBLIC, b"one")
    store.put_tokenizer(tokenizer("a", b"one"), None, None)
    store.remove_tokenizer(PUBLIC, digest(b"one"))
    assert bytes(store.open_file(digest(b"one"))) == b"one"
    with pytest.raises(UnknownTokenizer):
        store.put_tokenizer(tokenizer("a", b"two"), None, "model")
    assert store.aliases() == []


def test_no_file_without_a_tenant(store: Store) -> None:
    with pytest.raises(NotFound):
        put(store, "a", b"one", "model")
    with pytest.raises(KeyError):
        store.open_file(digest(b"one"))
    assert store.tokenizers() == []


def test_an_alias_points_somewhere_else_at_once(store: Store) -> None:
    put(store, PUBLIC, b"one", "model")
    put(store, PUBLIC, b"two")
    store.put_alias(alias(PUBLIC, "model", b"two"))
    assert store.aliases() == [alias(PUBLIC, "model", b"two")]
    with pytest.raises(UnknownTokenizer):
        store.put_alias(alias(PUBLIC, "model", b"three"))
    store.remove_alias(PUBLIC, "model")
    with pytest.raises(UnknownTokenizer):
        store.remove_alias(PUBLIC, "model")
    assert len(store.tokenizers()) == 2


def test_with_a_tokenizer_go_its_names_and_its_file(store: Store) -> None:
    store.put_tenant(tenant("a"))
    put(store, "a", b"one", "model")
    put(store, PUBLIC, b"one", "model")
    put(store, PUBLIC, b"two", "other")
    store.remove_tokenizer(PUBLIC, digest(b"one"))
    assert store.aliases() == [alias("a", "model", b"one"), alias(PUBLIC, "other", b"two")]
    assert bytes(store.open_file(digest(b"one"))) == b"one"
    store.remove_tokenizer("a", digest(b"one"))
    with pytest.raises(KeyError):
        store.open_file(digest(b"one"))
    with pytest.raises(UnknownTokenizer):
        store.remove_tokenizer("a", digest(b"one"))


def test_with_a_tenant_goes_all_that_it_has(store: Store) -> None:
    for name in ("a", "b"):
        store.put_tenant(tenant(name))
        store.put_key(key(f"key-{name}", name))
        put(store, name, b"both", "model")
        put(store, name, name.encode(), "own")
        store.add_usage(name, Usage(requests=3))
    store.put_key(key("admin", None))
    store.remove_tenant("a")
    assert store.tenants() == [tenant("b")]
    assert [one.id for one in store.keys()] == ["admin", "key-b"]
    assert {one.tenant for one in store.tokenizers()} == {"b"}
    assert {one.tenant for one in store.aliases()} == {"b"}
    assert (store.usage("a"), store.usage("b")) == (Usage(), Usage(requests=3))
    assert bytes(store.open_file(digest(b"both"))) == b"both"
    with pytest.raises(KeyError):
        store.open_file(digest(b"a"))
    with pytest.raises(NotFound):
        store.remove_tenant("a")


def test_usage_is_summed_and_never_brings_a_tenant_back(store: Store) -> None:
    store.put_tenant(tenant("a"))
    one = Usage(1, 2, 3, 4, 5, 0.5, instances=9, memory=9)
    store.add_usage("a", one)
    store.add_usage("a", one)
    store.add_usage(PUBLIC, one)
    store.add_usage("b", one)
    assert store.usage("a") == Usage(2, 4, 6, 8, 10, 1.0)
    assert store.usage(PUBLIC) == Usage(1, 2, 3, 4, 5, 0.5)
    assert store.usage("b") == Usage()


def test_what_a_tenant_stores_is_bounded(store: Store) -> None:
    for name in ("a", "b"):
        store.put_tenant(tenant(name))
    put(store, "b", b"x" * 100)
    put(store, "a", b"123", most=2, most_bytes=6)
    put(store, "a", b"456", most=2, most_bytes=6)
    put(store, "a", b"456", "again", most=2, most_bytes=6)
    with pytest.raises(StorageFull) as many:
        put(store, "a", b"789", "model", most=2)
    with pytest.raises(StorageFull) as much:
        put(store, "a", b"789", "model", most_bytes=8)
    assert (many.value.limit, many.value.asked) == (2, 3)
    assert (much.value.limit, much.value.asked) == (8, 9)
    assert [one.alias for one in store.aliases("a")] == ["again"]
    with pytest.raises(KeyError):
        store.open_file(digest(b"789"))


def test_names_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is in the memory of every process, and read again whenever anything changes."""
    monkeypatch.setattr(rules, "MOST_NAMES", 3)
    store.put_tenant(tenant("acme"))
    put(store, "acme", b"one", "a")
    for name in ("b", "c", "a"):
        store.put_alias(alias("acme", name, b"one"))
    with pytest.raises(StorageFull) as full:
        store.put_alias(alias("acme", "d", b"one"))
    # What says a limit is answered by making room, of which there is none to be had here.
    assert full.value.limit is None
    with pytest.raises(StorageFull):
        put(store, "acme", b"two", "d")
    assert [one.info.digest for one in store.tokenizers()] == [digest(b"one")]
    for number in range(5):
        put(store, PUBLIC, b"one", f"p{number}")
    store.remove_alias("acme", "b")
    store.put_alias(alias("acme", "d", b"one"))


def test_keys_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As names are; those of admins are counted apart."""
    monkeypatch.setattr(rules, "MOST_KEYS", 2)
    store.put_tenant(tenant("acme"))
    for owner in ("acme", None):
        for number in range(2):
            store.put_key(key(f"{owner}{number}", owner))
        with pytest.raises(StorageFull, match="2 keys are stored"):
            store.put_key(key(f"{owner}2", owner))
        # A key that is there can be changed.
        store.put_key(key(f"{owner}1", owner, 9.0))
        store.remove_key(f"{owner}0")
        store.put_key(key(f"{owner}2", owner))
    assert len(store.keys()) == 4


def test_many_at_once_do_not_pass_the_bound(store: Store) -> None:
    store.put_tenant(tenant("a"))
    refused = []

    def upload(number: int) -> None:
        try:
            put(store, "a", f"file {number}".encode(), most=3)
        except StorageFull as error:
            refused.append(error)

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(store.tokenizers("a")), len(refused)) == (3, 5)


def test_the_generation_moves_with_records_and_not_with_usage(store: Store) -> None:
    seen = [store.generation()]

    def moved() -> bool:
        seen.append(store.generation())
        return seen[-1] != seen[-2]

    store.put_tenant(tenant("a"))
    assert moved()
    store.put_key(key("k", "a"))
    assert moved()
    put(store, "a", b"one", "model")
    assert moved()
    store.put_alias(alias("a", "other", b"one"))
    assert moved()
    store.add_usage("a", Usage(requests=1))
    store.secret("s")
    assert not moved()
    store.remove_alias("a", "other")
    assert moved()
    store.remove_tokenizer("a", digest(b"one"))
    assert moved()
    store.remove_key("k")
    assert moved()
    store.remove_tenant("a")
    assert moved()
    assert len(set(seen)) == len(seen) - 1


def test_a_listener_is_told_when_the_change_can_be_seen(store: Store) -> None:
    seen: list[int] = []
    store.listen(lambda: seen.append(len(store.tokenizers())))
    put(store, PUBLIC, b"one", "model")
    store.put_alias(alias(PUBLIC, "other", b"one"))
    store.remove_tokenizer(PUBLIC, digest(b"one"))
    store.add_usage(PUBLIC, Usage(requests=1))
    assert seen == [1, 1, 0]


def test_a_secret_is_made_once(store: Store) -> None:
    one, other = store.secret("one"), store.secret("other")
    assert len(one) == len(other) == 32
    assert one != other
    assert store.secret("one") == one


def test_a_rotation_removes_keys_that_ended_long_ago(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And makes room by that: in one transaction, so that no key that was deleted meanwhile comes
    back."""
    monkeypatch.setattr(rules, "MOST_KEYS", 5)
    store.put_tenant(tenant("a"))
    now = 1e9
    for id, expires in (("long", now - 90_000), ("just", now - 60), ("late", now + 90_000)):
        store.put_key(key(id, "a", expires))
    for id in ("never", "other"):
        store.put_key(key(id, "a"))
    store.put_key(key("admin", None, now - 90_000))
    store.put_key(replace(key("new", "a"), created=now), keep_others=3600.0)
    assert {one.id: one.expires for one in store.keys()} == {
        "admin": now - 90_000,
        "just": now - 60,
        "late": now + 3600.0,
        "never": now + 3600.0,
        "other": now + 3600.0,
        "new": None,
    }
    store.put_key(replace(key("admin2", None), created=now), keep_others=0)
    assert store.was_revoked(key("admin", None).hash)
    monkeypatch.setattr(rules, "MOST_KEYS", 6)
    with pytest.raises(Conflict):
        store.put_key(replace(key("new", "a"), id="same", created=now + 1), keep_others=0)
    assert "never" in [one.id for one in store.keys() if one.expires == now + 3600.0]


def test_with_its_last_name_a_tokenizer_goes(store: Store) -> None:
    store.put_tenant(tenant("a"))
    put(store, "a", b"one", "x")
    store.put_alias(alias("a", "y", b"one"))
    with pytest.raises(UnknownTokenizer):
        store.remove_tokenizer("a", digest(b"one"), nameless=True)
    with pytest.raises(UnknownTokenizer):
        store.remove_name("a", "z")
    store.remove_name("a", "x")
    assert bytes(store.open_file(digest(b"one"))) == b"one"
    store.remove_name("a", "y")
    assert (store.tokenizers(), store.aliases()) == ([], [])
    put(store, "a", b"one", None)
    store.remove_tokenizer("a", digest(b"one"), nameless=True)
    with pytest.raises(KeyError):
        store.open_file(digest(b"one"))


def test_no_change_of_a_tenant_is_lost(store: Store) -> None:
    store.put_tenant(tenant("a", concurrent=1))

    def one_more(old: TenantRecord | None) -> TenantRecord:
        assert old is not None
        return replace(old, limits=replace(old.limits, concurrent=old.limits.concurrent + 1))

    def change() -> None:
        for _ in range(20):
            store.change_tenant("a", one_more)

    threads = [threading.Thread(target=change) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (found,) = store.tenants()
    assert found.limits.concurrent == 81
