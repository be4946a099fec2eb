"""The prefix cache answers what plain encoding answers, and keeps within its bounds."""

from __future__ import annotations

import gc
import pickle
import random
import threading
import tracemalloc
from typing import Any

import pytest
from assets import SERVED, Asset, needs_assets, open_tokenizer

import pywasmtok
from pywasmtok.errors import InvalidArgument, InvalidText, TokenizerClosed
from pywasmtok.tokenizer.prefix_cache import PrefixCache
from tokenizer.test_fitting import text_of

MEGABYTE = 1 << 20


def conversation(rng: random.Random, turns: int) -> list[str]:
    """Prompts that grow, turn by turn."""
    text = "System: " + "".join(text_of(rng) for _ in range(30))
    prompts = []
    for _ in range(turns):
        text += "\n\nUser: " + "".join(text_of(rng) for _ in range(rng.randrange(12)))
        prompts.append(text)
    return prompts


def english(rng: random.Random, size: int) -> str:
    words = (
        "the",
        "quick",
        "brown",
        "fox",
        "jumps",
        "over",
        "a",
        "lazy",
        "dog,",
        "and",
        "so",
        "on.",
    )
    return " ".join(rng.choice(words) for _ in range(size // 5))


@needs_assets
@pytest.mark.parametrize("asset", SERVED, ids=lambda asset: asset.id)
def test_real_files(asset: Asset) -> None:
    tok = open_tokenizer(asset, encoder="core")
    cache = PrefixCache(4 * MEGABYTE)
    rng = random.Random(asset.id)
    for _ in range(3):
        for prompt in conversation(rng, 6):
            for special in (True, False):
                policy = rng.choice(("all", "none"))
                cached = cache.encode(tok, prompt, special, special=policy)
                assert cached == tok.encode(prompt, add_special_tokens=special, special=policy)
    stats = cache.stats
    if cache.reason(tok) is None:
        assert stats.hits > 0
        assert stats.bypassed == 0
    else:
        assert stats.entries == stats.hits == stats.misses == 0
        assert stats.bypassed > 0


@needs_assets
def test_it_says_why_it_does_nothing() -> None:
    cache = PrefixCache(MEGABYTE)
    tok = open_tokenizer(Asset("gte", "tokenizer.json"), encoder="core")
    assert str(cache.reason(tok)).startswith("post-processor: the file truncates")
    tok = open_tokenizer(Asset("gpt2", "tokenizer.json"), encoder="hf")
    assert cache.reason(tok) == "hf encodes, which proves no cuts"
    assert cache.reason(pywasmtok.create_tokenizer("mock://")) is not None


@needs_assets
def test_no_token_of_the_post_processor_is_doubled_or_lost() -> None:
    """Others lost BOS behind a hit, or had it twice, or shared entries between both wishes."""
    tok = open_tokenizer(Asset("llama3.1", "tokenizer.json"), encoder="core")
    cache = PrefixCache(MEGABYTE)
    text = english(random.Random(1), 20_000)
    for special in (True, False, True, False):
        ids = cache.encode(tok, text, special).ids
        assert ids == tok.encode(text, add_special_tokens=special).ids
        assert ids.count(128000) == int(special)


@needs_assets
def test_not_at_every_special_token() -> None:
    """A special token is no cut by itself: white space behind it may be its own, and a longer one
    may begin with it."""
    tok = open_tokenizer(Asset("phi-3", "tokenizer.json"), encoder="core")
    cache = PrefixCache(MEGABYTE)
    rng = random.Random(3)
    for _ in range(20):
        text = "".join(
            rng.choice(("<|end|>", "<|user|>", " ", "\n", "word", "</s>", "<s>"))
            for _ in range(4000)
        )
        assert cache.encode(tok, text) == tok.encode(text)
        assert cache.encode(tok, text) == tok.encode(text)


def test_tenants_share_nothing() -> None:
    text = english(random.Random(2), 20_000)
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        cache = PrefixCache(MEGABYTE)
        cache.encode(tok, text, tenant="a")
        before = cache.stats
        cache.encode(tok, text, tenant="b")
        after = cache.stats
        assert after.hits == before.hits == 0
        assert after.misses == 2 * before.misses
        cache.encode(tok, text, tenant="a")
        assert cache.stats.hits == before.misses
        cache.clear("a")
        cache.encode(tok, text, tenant="b")
        assert cache.stats.hits == 2 * before.misses
        cache.clear()
        assert cache.stats.bytes == cache.stats.entries == 0


def test_the_largest_tenant_makes_room() -> None:
    rng = random.Random(4)
    quiet = english(rng, 20_000)
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        cache = PrefixCache(200_000)
        cache.encode(tok, quiet, tenant="quiet")
        kept = cache.stats.misses
        for _ in range(20):
            cache.encode(tok, english(rng, 40_000), tenant="loud")
        hits = cache.stats.hits
        assert cache.encode(tok, quiet, tenant="quiet") == tok.encode(quiet)
        assert cache.stats.hits - hits == kept


def test_two_tokenizers_share_only_if_they_are_the_same() -> None:
    text = english(random.Random(5), 20_000)
    cache = PrefixCache(MEGABYTE)
    with (
        pywasmtok.create_tokenizer("builtin:demo", encoder="core") as one,
        pywasmtok.create_tokenizer("builtin:demo", encoder="core") as same,
    ):
        cache.encode(one, text)
        cache.encode(same, text)
        assert cache.stats.hits == cache.stats.misses
        copied = pickle.loads(pickle.dumps(one))
        assert cache.encode(copied, text) == one.encode(text)


@needs_assets
def test_another_file_has_other_entries() -> None:
    text = english(random.Random(6), 20_000)
    cache = PrefixCache(MEGABYTE)
    for name in ("gpt2", "llama3.1", "qwen3"):
        tok = open_tokenizer(Asset(name, "tokenizer.json"), encoder="core")
        assert cache.encode(tok, text) == tok.encode(text)
        assert cache.stats.hits == 0


def test_bytes_are_true_and_bounded() -> None:
    rng = random.Random(7)
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        cache = PrefixCache(MEGABYTE)
        cache.encode(tok, english(rng, 10_000))
        cache.clear()
        texts = [english(rng, 20_000) for _ in range(30)]
        gc.collect()
        tracemalloc.start()
        for text in texts:
            cache.encode(tok, text)
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        stated = cache.stats.bytes
        assert 0.7 * taken < stated < 1.3 * taken
        for _ in range(100):
            cache.encode(tok, english(rng, 20_000))
            assert cache.stats.bytes <= MEGABYTE
        assert cache.stats.evicted > 0


def test_no_room_at_all() -> None:
    text = english(random.Random(8), 20_000)
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        cache = PrefixCache(0)
        for _ in range(2):
            assert cache.encode(tok, text) == tok.encode(text)
        assert cache.stats.entries == cache.stats.bytes == cache.stats.hits == 0
        with pytest.raises(InvalidArgument):
            PrefixCache(-1)


def test_an_encoding_has_all_that_others_have() -> None:
    text = english(random.Random(9), 12_000)
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        cache = PrefixCache(MEGABYTE)
        cached, plain = cache.encode(tok, text), tok.encode(text)
        assert cached.offsets == plain.offsets
        assert cached.tokens == plain.tokens
        assert cached.hash == plain.hash


def test_wrong_texts() -> None:
    cache = PrefixCache(MEGABYTE)
    tok = pywasmtok.create_tokenizer("builtin:demo", encoder="core")
    with pytest.raises(InvalidText, match="character 9000"):
        cache.encode(tok, "word " * 1800 + "\ud800" + " word" * 100)
    with pytest.raises(InvalidArgument):
        cache.encode(tok, b"bytes")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        cache.encode(tok, "word " * 2000, special="some")
    tenants: list[Any] = [[], 3, None]
    for tenant in tenants:
        with pytest.raises(InvalidArgument, match="tenant"):
            cache.encode(tok, "word " * 2000, tenant=tenant)
        if tenant is not None:
            with pytest.raises(InvalidArgument, match="tenant"):
                cache.clear(tenant)
    tok.close()
    with pytest.raises(TokenizerClosed):
        cache.encode(tok, "word " * 2000)


def test_threads() -> None:
    with pywasmtok.create_tokenizer("builtin:demo", encoder="core") as tok:
        cache = PrefixCache(300_000)
        wrong = []

        def work(seed: int) -> None:
            rng = random.Random(seed % 3)
            for prompt in conversation(rng, 20):
                if cache.encode(tok, prompt, tenant=str(seed % 2)) != tok.encode(prompt):
                    wrong.append(prompt)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert cache.stats.hits > 0
        assert cache.stats.bytes <= 300_000
