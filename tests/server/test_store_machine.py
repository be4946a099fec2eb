"""Whatever is done in whatever order: both stores answer alike."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pywasmtok import TokenizerError
from pywasmtok.server.contract import PUBLIC, Store
from pywasmtok.server.store.folder import FolderStore
from pywasmtok.server.store.memory import MemoryStore
from pywasmtok.tenants.contract import Usage
from server.records import alias, digest, key, tenant, tokenizer

OWNERS = st.sampled_from(["a", "b", PUBLIC])
TENANTS = st.sampled_from(["a", "b"])
FILES = st.sampled_from([b"one", b"two", b"three!"])
ALIASES = st.sampled_from(["x", "y", "not good"])
KEYS = st.sampled_from(["k1", "k2"])


class BothStores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.on_disk = FolderStore(self.folder)
        self.in_memory = MemoryStore()

    def both(self, ask: Callable[[Store], Any]) -> None:
        answers: list[Any] = []
        for store in (self.on_disk, self.in_memory):
            try:
                answers.append((ask(store), None))
            except (TokenizerError, KeyError) as error:
                answers.append((None, (type(error), str(error))))
        assert answers[0] == answers[1]

    @rule(name=TENANTS, concurrent=st.integers(0, 3))
    def put_tenant(self, name: str, concurrent: int) -> None:
        self.both(lambda store: store.put_tenant(tenant(name, concurrent=concurrent)))

    @rule(name=TENANTS)
    def remove_tenant(self, name: str) -> None:
        self.both(lambda store: store.remove_tenant(name))

    @rule(
        id=KEYS,
        owner=st.one_of(st.none(), TENANTS),
        expires=st.one_of(st.none(), st.just(9.0)),
        keep=st.one_of(st.none(), st.sampled_from([0.0, 1e6])),
    )
    def put_key(
        self, id: str, owner: str | None, expires: float | None, keep: float | None
    ) -> None:
        self.both(lambda store: store.put_key(key(id, owner, expires), keep_others=keep))

    @rule(id=KEYS)
    def remove_key(self, id: str) -> None:
        self.both(lambda store: store.remove_key(id))

    @rule(
        owner=OWNERS,
        data=FILES,
        sends=st.booleans(),
        name=st.one_of(st.none(), ALIASES),
        most=st.one_of(st.none(), st.integers(0, 2)),
        most_bytes=st.one_of(st.none(), st.integers(0, 10)),
    )
    def put_tokenizer(
        self,
        *,
        owner: str,
        data: bytes,
        sends: bool,
        name: str | None,
        most: int | None,
        most_bytes: int | None,
    ) -> None:
        record = tokenizer(owner, data)
        sent = data if sends else None
        self.both(
            lambda store: store.put_tokenizer(record, sent, name, most=most, most_bytes=most_bytes)
        )

    @rule(owner=OWNERS, data=FILES, nameless=st.booleans())
    def remove_tokenizer(self, owner: str, data: bytes, *, nameless: bool) -> None:
        self.both(lambda store: store.remove_tokenizer(owner, digest(data), nameless=nameless))

    @rule(owner=OWNERS, name=ALIASES)
    def remove_name(self, owner: str, name: str) -> None:
        self.both(lambda store: store.remove_name(owner, name))

    @rule(owner=OWNERS, name=ALIASES, data=FILES)
    def put_alias(self, owner: str, name: str, data: bytes) -> None:
        self.both(lambda store: store.put_alias(alias(owner, name, data)))

    @rule(owner=OWNERS, name=ALIASES)
    def remove_alias(self, owner: str, name: str) -> None:
        self.both(lambda store: store.remove_alias(owner, name))

    @rule(owner=OWNERS, requests=st.integers(0, 5))
    def add_usage(self, owner: str, requests: int) -> None:
        self.both(lambda store: store.add_usage(owner, Usage(requests=requests)))

    @rule()
    def restart(self) -> None:
        self.on_disk.close()
        self.on_disk = FolderStore(self.folder)

    @invariant()
    def nothing_differs(self) -> None:
        self.both(lambda store: (store.tenants(), store.keys()))
        self.both(lambda store: (store.tokenizers(), store.aliases()))
        for owner in ("a", "b", PUBLIC):
            self.both(lambda store, owner=owner: store.usage(owner))  # type: ignore[misc]
            self.both(lambda store, owner=owner: store.tokenizers(owner))  # type: ignore[misc]
        for data in (b"one", b"two", b"three!"):
            self.both(lambda store, data=data: bytes(store.open_file(digest(data))))  # type: ignore[misc]

    @invariant()
    def there_are_files_for_all_records_and_no_others(self) -> None:
        files = {path.name for path in (self.folder / "files").iterdir()}
        assert files == {one.info.digest for one in self.on_disk.tokenizers()}

    def teardown(self) -> None:
        self.on_disk.close()
        shutil.rmtree(self.folder)


BothStores.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=20,
    suppress_health_check=list(HealthCheck),
)
test_both_stores = BothStores.TestCase
