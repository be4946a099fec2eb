"""Calls of libraries that look at what kind of object a tokenizer is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from assets import ROOT as ASSETS
from assets import needs_assets
from server.live import service_of, serving

import pywasmtok
from pywasmtok.compat import tiktoken as drop_in
from pywasmtok.compat.tokenizers import Tokenizer
from pywasmtok.server import dialects
from pywasmtok.server.app import create_app

TEXT = "Hello, world! Naïve café 🌶️.\n\nA second paragraph, which is longer. " * 20
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": TEXT}]},
]


@pytest.fixture
def demo() -> str:
    return pywasmtok.create_tokenizer("builtin:demo").made_of[0].decode()


@pytest.fixture
def folder(tmp_path: Path, demo: str) -> Path:
    special = {"pad_token": "<|pad|>", "eos_token": "<|end|>"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **special}
    (tmp_path / "tokenizer.json").write_text(demo)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


@pytest.fixture
def pair(folder: Path) -> tuple[Any, Any]:
    """A tokenizer of transformers with the core inside, and one without."""
    transformers = pytest.importorskip("transformers")
    from pywasmtok.compat.transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)


class TestLiteLLM:
    @pytest.fixture
    def litellm(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        return pytest.importorskip("litellm")

    @pytest.mark.parametrize(
        "count",
        [
            {"text": TEXT},
            {"text": ["a text", TEXT]},
            {"messages": CHAT},
            {"text": "", "count_response_tokens": True},
            {
                "messages": CHAT,
                "tools": [
                    {"type": "function", "function": {"name": "f", "description": "Does it."}}
                ],
            },
        ],
    )
    def test_a_custom_tokenizer_counts(self, litellm: Any, demo: str, count: Any) -> None:
        theirs = litellm.create_tokenizer(demo)
        ours = {**theirs, "tokenizer": Tokenizer.from_str(demo)}
        counted = [litellm.token_counter(custom_tokenizer=one, **count) for one in (ours, theirs)]
        assert counted[0] == counted[1]

    def test_a_custom_tokenizer_encodes_and_decodes(self, litellm: Any, demo: str) -> None:
        theirs = litellm.create_tokenizer(demo)
        ours = {**theirs, "tokenizer": Tokenizer.from_str(demo)}
        ids = litellm.encode(custom_tokenizer=ours, text=TEXT)
        assert ids == litellm.encode(custom_tokenizer=theirs, text=TEXT)
        for skip in (True, False):
            how = {"tokens": [32760, *ids], "skip_special_tokens": skip}
            assert litellm.decode(custom_tokenizer=ours, **how) == litellm.decode(
                custom_tokenizer=theirs, **how
            )


class TestLangChain:
    @pytest.fixture
    def splitters(self) -> Any:
        return pytest.importorskip("langchain_text_splitters")

    def test_it_takes_a_tokenizer_of_transformers(self, splitters: Any, pair: Any) -> None:
        make = splitters.RecursiveCharacterTextSplitter.from_huggingface_tokenizer
        ours, theirs = (make(one, chunk_size=40, chunk_overlap=5).split_text(TEXT) for one in pair)
        assert ours == theirs
        assert len(ours) > 1

    def test_it_names_what_it_does_not_take(self, splitters: Any, demo: str) -> None:
        make = splitters.RecursiveCharacterTextSplitter.from_huggingface_tokenizer
        for one in (tokenizers.Tokenizer.from_str(demo), Tokenizer.from_str(demo)):
            with pytest.raises(ValueError, match="not an instance of PreTrainedTokenizerBase"):
                make(one)

    def test_a_length_may_be_a_count(self, splitters: Any, demo: str) -> None:
        core = pywasmtok.create_tokenizer("builtin:demo")
        theirs = tokenizers.Tokenizer.from_str(demo)

        def split(count: Callable[[str], int]) -> Any:
            return splitters.RecursiveCharacterTextSplitter(
                chunk_size=40, chunk_overlap=5, length_function=count
            ).split_text(TEXT)

        assert split(core.count) == split(lambda text: len(theirs.encode(text)))

    @needs_assets
    @pytest.mark.parametrize("how", [{"allowed_special": "all"}, {"disallowed_special": ()}])
    def test_special_tokens_are_allowed_as_before(
        self, splitters: Any, how: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("tiktoken")
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(ASSETS / "tiktoken-cache"))
        text = TEXT + "<|endoftext|>" + TEXT

        def split() -> Any:
            how_long = {"chunk_size": 30, "chunk_overlap": 5}
            made = splitters.TokenTextSplitter("cl100k_base", **how, **how_long)
            return type(made._tokenizer), made.split_text(text)

        theirs = split()
        with drop_in.patch_tiktoken():
            ours = split()
        assert ours[0] is drop_in.Encoding
        assert theirs[0] is not drop_in.Encoding
        assert ours[1] == theirs[1]


class TestLlamaIndex:
    @pytest.fixture
    def core(self) -> Iterator[Any]:
        core = pytest.importorskip("llama_index.core")
        yield core
        core.global_tokenizer = None

    def test_settings_take_any_of_our_tokenizers(self, core: Any, pair: Any, demo: str) -> None:
        from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter

        def split(tokenizer: Any) -> Any:
            core.Settings.tokenizer = tokenizer
            parsers = [
                kind(chunk_size=60, chunk_overlap=8)
                for kind in (SentenceSplitter, TokenTextSplitter)
            ]
            return [parser.split_text(TEXT) for parser in parsers]

        ours, theirs = pair
        assert split(ours) == split(theirs)
        plain = split(tokenizers.Tokenizer.from_str(demo))
        assert split(Tokenizer.from_str(demo)) == plain
        assert split(pywasmtok.create_tokenizer("builtin:demo").encode) == plain
        assert len(plain[0]) > 1


class TestLmEval:
    @pytest.fixture
    def api(self) -> Any:
        pytest.importorskip("lm_eval")
        pytest.importorskip("tenacity")
        return pytest.importorskip("lm_eval.models.openai_completions").LocalCompletionsAPI

    def test_it_finds_our_server_by_itself(self, api: Any, folder: Path) -> None:
        pytest.importorskip("transformers")
        with (
            service_of({"first": str(folder)}) as service,
            serving(create_app(service, dialects.routes(service))) as port,
        ):
            address = f"http://127.0.0.1:{port}/v1/completions"
            remote = api(base_url=address, model="any")
            local = api(base_url=address, model=str(folder), tokenizer_backend="huggingface")
            assert remote.tokenizer_backend == "remote"
            ids = local.tok_encode(TEXT)
            assert remote.tok_encode(TEXT) == ids
            assert remote.tok_encode([TEXT, "a"]) == local.tok_encode([TEXT, "a"])
            assert remote.decode_batch([ids[:9]]) == local.decode_batch([ids[:9]])
            assert remote.eot_token_id == local.eot_token_id
            assert remote.eos_string == local.eos_string

    def test_of_several_tokenizers_the_default_is_meant(self, api: Any, folder: Path) -> None:
        both = {"first": "builtin:demo", "second": str(folder)}
        with (
            service_of(both) as service,
            serving(create_app(service, dialects.routes(service))) as port,
        ):
            address = f"http://127.0.0.1:{port}/v1/completions"
            with pytest.raises(RuntimeError, match="404"):
                api(base_url=address, model="any", tokenizer_backend="remote")
        with (
            service_of({**both, "default": str(folder)}) as service,
            serving(create_app(service, dialects.routes(service))) as port,
        ):
            address = f"http://127.0.0.1:{port}/v1/completions"
            assert api(base_url=address, model="any").eos_string == "<|end|>"


class TestDatasets:
    @pytest.fixture
    def datasets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        pytest.importorskip("transformers")
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        return pytest.importorskip("datasets")

    @pytest.mark.parametrize("processes", [None, 2])
    def test_map_in_one_process_and_in_several(
        self, datasets: Any, pair: Any, processes: int | None
    ) -> None:
        texts = [TEXT, "a", "", TEXT[:100]] * 5

        def mapped(tokenizer: Any) -> Any:
            def tokenize(batch: Any) -> Any:
                return tokenizer(batch["text"], padding="max_length", truncation=True, max_length=9)

            data = datasets.Dataset.from_dict({"text": texts})
            return data.map(tokenize, batched=True, num_proc=processes, batch_size=6)[:]

        ours, theirs = map(mapped, pair)
        assert ours == theirs

    def test_the_cache_of_map_finds_the_same_tokenizer_again(
        self, datasets: Any, folder: Path
    ) -> None:
        from datasets.fingerprint import Hasher

        from pywasmtok.compat.transformers import AutoTokenizer

        first, second = (AutoTokenizer.from_pretrained(folder) for _ in range(2))
        assert Hasher.hash(first) == Hasher.hash(second)
        first("a", padding=False, truncation=False)
        assert Hasher.hash(first) == Hasher.hash(second)
