"""The commands `tenants` and `tokenizers`: they work on a store, also while it is served."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InvalidArgument, TokenizerError
from ..loading.choice import choose_encoder
from ..server.auth.keys import make_key
from ..server.contract import PUBLIC, AliasRecord, KeyRecord, TenantRecord
from ..server.errors import Conflict
from ..server.limits import changed, limits_of
from ..server.names import check_alias, check_tenant
from ..server.store.rules import no_such_tenant
from ..server.store.schedule import Checks
from .common import how_to_read, one_line, print_json, source_file
from .exits import Exit
from .serve import named_source, open_named_store
from .terminal import waiting

if TYPE_CHECKING:
    from ..server.config import Config
    from ..server.contract import Store
    from ..server.service import Service

__all__ = [
    "add_tenant",
    "add_tokenizer",
    "alias_tokenizer",
    "limit_tenant",
    "list_tenant",
    "list_tokenizer",
    "remove_tenant",
    "remove_tokenizer",
    "rotate_tenant",
    "verify_tenant",
    "verify_tokenizer",
]

# Tenants.


def add_tenant(asked: argparse.Namespace) -> int:
    store, config = open_named_store(asked, may_make=True)
    name = check_tenant(asked.name)
    record = TenantRecord(name, changed(_defaults(config), _limits(asked.limits)), time.time())
    key, kept = make_key(name)

    def made_from(old: TenantRecord | None) -> TenantRecord:
        if old is not None:
            raise Conflict(f"there is a tenant {name!r} already")
        return record

    store.change_tenant(name, made_from)
    store.put_key(kept)
    return _show_key(asked, name, key, kept)


def list_tenant(asked: argparse.Namespace) -> int:
    store, _ = open_named_store(asked)
    found: list[dict[str, Any]] = []
    for record in store.tenants():
        usage = store.usage(record.name)
        found.append(
            {
                "name": record.name,
                "created": record.created,
                "disabled": record.disabled,
                "keys": _shown(store, record.name),
                "tokenizers": len(store.tokenizers(record.name)),
                "requests": usage.requests,
                "refused": usage.refused,
                "text_bytes": usage.text_bytes,
                "limits": limits_of(record.limits),
            }
        )
    if asked.json:
        return print_json({"tenants": found, "admin_keys": _shown(store, None)})
    for one in found:
        state = "disabled" if one["disabled"] else f"{len(one['keys'])} keys"
        print(
            f"{one['name']:<24} {state:<10} {one['tokenizers']:>4} tokenizers"
            f" {one['requests']:>12,} requests {one['text_bytes']:>16,} bytes"
        )
    print(f"{len(found)} tenants, {len(_shown(store, None))} admin keys")
    return 0


def rotate_tenant(asked: argparse.Namespace) -> int:
    # The first key of an admin may be the first record.
    store, _ = open_named_store(asked, may_make=asked.name is None)
    if not 0 <= asked.keep < math.inf:
        raise InvalidArgument("--keep is a number of seconds")
    key, kept = make_key(asked.name)
    store.put_key(kept, keep_others=asked.keep)
    if asked.keep == 0:
        for old in store.keys():
            # Not the keys that another rotation has made meanwhile.
            has_ended = old.expires is not None and old.expires <= kept.created
            if old.tenant == asked.name and has_ended:
                store.remove_key(old.id)
    return _show_key(asked, asked.name, key, kept)


def limit_tenant(asked: argparse.Namespace) -> int:
    store, _ = open_named_store(asked)
    put: list[TenantRecord] = []

    def made_from(old: TenantRecord | None) -> TenantRecord:
        if old is None:
            raise no_such_tenant(asked.name)
        disabled = asked.disable or (old.disabled and not asked.enable)
        limits = changed(old.limits, _limits(asked.limits))
        put.append(replace(old, limits=limits, disabled=disabled))
        return put[-1]

    store.change_tenant(asked.name, made_from)
    limits = limits_of(put[-1].limits)
    if asked.json:
        return print_json({"name": asked.name, "disabled": put[-1].disabled, "limits": limits})
    for name, value in _flat(limits):
        print(f"{name} = {'none' if value is None else value}")
    return 0


def remove_tenant(asked: argparse.Namespace) -> int:
    store, _ = open_named_store(asked)
    store.remove_tenant(asked.name)
    return _done(asked, {"removed": asked.name})


def verify_tenant(asked: argparse.Namespace) -> int:
    """All records, and no file."""
    return _verify(asked, with_files=False, remove=False)


def _shown(store: Store, tenant: str | None) -> list[dict[str, Any]]:
    now = time.time()
    return [
        {"id": key.id, "created": key.created, "expires": key.expires}
        for key in store.keys()
        if key.tenant == tenant and (key.expires is None or key.expires > now)
    ]


def _show_key(asked: argparse.Namespace, name: str | None, key: str, kept: KeyRecord) -> int:
    if asked.json:
        return print_json({"tenant": name, "id": kept.id, "key": key})
    print(key)
    return 0


def _defaults(config: Config) -> Any:
    from ..tenants.limits import TenantLimits

    return changed(TenantLimits(), config.limits)


def _limits(given: Iterable[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals:
            raise InvalidArgument(f"a limit is LIMIT=VALUE, not {item!r}")
        outer, dot, inner = name.partition(".")
        if dot:
            inside = said.setdefault(outer, {})
            if not isinstance(inside, dict):
                raise InvalidArgument(f"{outer} has a value already, and {item!r} is a part of it")
            inside[inner] = _value(value)
        else:
            said[name] = _value(value)
    return said


def _value(text: str) -> Any:
    known = {"none": None, "true": True, "false": False}
    if text.lower() in known:
        return known[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _flat(limits: dict[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in limits.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


# Tokenizers.


def add_tokenizer(asked: argparse.Namespace) -> int:
    from ..tenants.options import digest_of, read_source

    name, source = named_source(asked.source)
    data, said = read_source(source_file(source), **how_to_read(asked))
    store, config = open_named_store(asked, may_make=True)
    service = _service(store, config)
    # What was damaged is missing then, and stored anew.
    store.put_aside_if_damaged(digest_of(data))
    try:
        with waiting(f"loading {one_line(name)}"):
            if _owner(asked) == PUBLIC:
                service.publish(name, data, said, choose_encoder(config.encoder))
            else:
                service.upload(service.tenant(_owner(asked)), bytes(data), said, name)
    except TokenizerError as error:
        if error.source is not None:
            # The file has this name, and none within the service.
            error.source = asked.source
        raise
    finally:
        service.close()
    return _show_one(asked, name)


def _owner(asked: argparse.Namespace) -> str:
    owner: str | None = asked.tenant
    return PUBLIC if owner is None else owner


def _service(store: Store, config: Config) -> Service:
    """A service that only reads files: it serves no requests."""
    from ..server.opening import snapshots_of
    from ..server.scheduling.executor import ThreadWork
    from ..server.service import Service
    from ..tenants.pool import TenantPool

    # With identity on, it makes no tenant for requests without a key.
    config = msgspec.structs.replace(config, identity=True)
    return Service(config, store, TenantPool(snapshots_of(config)), ThreadWork(threads=1))


def _show_one(asked: argparse.Namespace, name: str) -> int:
    store, _ = open_named_store(asked)
    (digest,) = (one.digest for one in store.aliases(_owner(asked)) if one.alias == name)
    (record,) = (one for one in store.tokenizers(_owner(asked)) if one.info.digest == digest)
    info = record.info
    if asked.json:
        return print_json({"name": name, "tenant": _owner(asked), **_described(store, record)})
    print(f"{name} -> {info.digest} ({info.format}, {info.tokens:,} tokens, {info.bytes:,} bytes)")
    return 0


def list_tokenizer(asked: argparse.Namespace) -> int:
    store, _ = open_named_store(asked)
    found = [
        {"tenant": record.tenant, **_described(store, record)} for record in store.tokenizers()
    ]
    if asked.json:
        return print_json({"tokenizers": found})
    for one in found:
        names = ", ".join(one["aliases"]) or "(no name)"
        print(
            f"{one['tenant']:<16} {one['digest'][:12]} {one['format']:<16}"
            f" {one['tokens']:>9,} tokens {one['bytes']:>12,} bytes {one['backend']:<4}  {names}"
        )
    print(f"{len(found)} tokenizers, {sum(one['bytes'] for one in found):,} bytes")
    return 0


def _described(store: Store, record: Any) -> dict[str, Any]:
    info = record.info
    return {
        "digest": info.digest,
        "format": info.format,
        "bytes": info.bytes,
        "tokens": info.tokens,
        "chat_template": info.chat_template,
        "backend": info.backend,
        "created": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
        "aliases": [one.alias for one in store.aliases(record.tenant) if one.digest == info.digest],
    }


def alias_tokenizer(asked: argparse.Namespace) -> int:
    store, _ = open_named_store(asked)
    names = {one.alias: one.digest for one in store.aliases(_owner(asked))}
    digest = names.get(asked.tokenizer, asked.tokenizer)
    store.put_alias(AliasRecord(_owner(asked), check_alias(asked.name), digest))
    return _show_one(asked, asked.name)


def remove_tokenizer(asked: argparse.Namespace) -> int:
    store, _ = open_named_store(asked)
    names = {one.alias: one.digest for one in store.aliases(_owner(asked))}
    remove = store.remove_name if asked.name in names else store.remove_tokenizer
    remove(_owner(asked), asked.name)
    return _done(asked, {"removed": asked.name})


def verify_tokenizer(asked: argparse.Namespace) -> int:
    """All records and files."""
    return _verify(asked, with_files=True, remove=asked.remove)


def _verify(asked: argparse.Namespace, *, with_files: bool, remove: bool) -> int:
    with waiting("comparing checksums"):
        store, config = open_named_store(asked, to_verify=True)
        if with_files:
            found = Checks(store, config.storage).check()
        else:
            found = store.check(with_files=False)
    if not asked.json:
        # What was found is shown before anything is removed.
        for problem in found.problems:
            print(problem)
        print(f"{len(found.problems)} problems, {found.set_aside} set aside", flush=True)
    # The file of a record that was just set aside stays.
    removed = store.remove_nameless() if remove and not found.set_aside else 0
    if asked.json:
        print_json(
            {"problems": found.problems, "set_aside": found.set_aside}
            | ({"removed": removed} if with_files else {})
        )
    elif remove:
        print(f"{removed} removed")
    return Exit.FOUND if found.problems else Exit.DONE


def _done(asked: argparse.Namespace, answer: dict[str, Any]) -> int:
    if asked.json:
        return print_json(answer)
    for what, name in answer.items():
        print(f"{what} {name}")
    return 0
