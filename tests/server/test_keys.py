from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pywasmtok.server.auth.keys import KeyIndex, hash_of, is_key, make_key, record_of
from pywasmtok.server.contract import TenantRecord
from pywasmtok.tenants.limits import TenantLimits

TENANTS = {"acme": TenantRecord("acme", TenantLimits(), 1.0)}


def test_a_key_has_256_random_bits_and_says_whose_it_is() -> None:
    tenants = {make_key("acme")[0] for _ in range(100)}
    admins = {make_key(None)[0] for _ in range(100)}
    assert len(tenants) == len(admins) == 100
    assert all(re.fullmatch(r"pwt_[A-Za-z0-9_-]{43}", key) for key in tenants)
    assert all(re.fullmatch(r"pwt_admin_[A-Za-z0-9_-]{43}", key) for key in admins)


def test_nothing_of_a_key_is_kept() -> None:
    key, record = make_key("acme")
    secret = key.removeprefix("pwt_")
    assert secret not in repr(record)
    assert record.hash == hash_of(key)
    assert len(record.id) < 20
    assert record_of(key, "acme").id == record.id


def test_a_key_is_found_by_itself_and_by_nothing_else() -> None:
    key, record = make_key("acme")
    admin, admins = make_key(None)
    index = KeyIndex([record, admins], TENANTS)
    assert (index.find(key), index.find(admin)) == (record, admins)
    last = "A" if key[-1] != "A" else "B"
    for wrong in (key[:-1], key + "A", key[:-1] + last, record.hash, record.id, "", "pwt_", "ä"):
        assert index.find(wrong) is None
    assert index.find(make_key("acme")[0]) is None
    assert KeyIndex().find(key) is None


def test_a_key_ends_when_it_expires() -> None:
    key, record = make_key("acme")
    index = KeyIndex([replace(record, expires=100.0)], TENANTS)
    assert index.find(key, now=99.9) is not None
    assert index.find(key, now=100.0) is None
    assert index.find(key) is None
    assert index.is_good(record.id, now=99.9)
    assert not index.is_good(record.id, now=100.0)
    assert not KeyIndex().is_good(record.id, now=99.9)


def test_a_key_of_nobody_or_of_a_disabled_tenant_opens_nothing() -> None:
    key, record = make_key("acme")
    disabled = {"acme": replace(TENANTS["acme"], disabled=True)}
    assert KeyIndex([record], {}).find(key) is None
    assert KeyIndex([record], disabled).find(key) is None
    assert KeyIndex([record], TENANTS).find(key) == record


@pytest.mark.parametrize("text", ["pwt_" + "a" * 42, "PWT_" + "a" * 43, "pwt_" + "a" * 43 + "\n"])
def test_what_is_no_key_is_told_by_its_shape(text: str) -> None:
    assert not is_key(text)
    assert is_key("pwt_" + "a" * 43)
