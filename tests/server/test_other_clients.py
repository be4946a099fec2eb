"""Clients that others wrote for vLLM, SGLang, llama.cpp and TGI, unchanged, against this server.

Those that are not installed are skipped. What lm-eval and furchain depend on is large, and these
parts of them need none of it:

    pip install openai requests python-dotenv && pip install --no-deps lm-eval furchain
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from tokenizers import Tokenizer

from pywasmtok.server import dialects
from pywasmtok.server.app import create_app

from .live import service_of, serving

HOME = Path(__file__).parents[2] / "conformance" / "http" / "tokenizer"
TEXT = "Hello world <|end|> naïve 你好"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with (
        service_of({"m": str(HOME)}) as service,
        serving(create_app(service, dialects.routes(service))) as port,
    ):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    return Tokenizer.from_file(str(HOME / "tokenizer.json"))


def test_vllm_by_the_evaluation_harness(url: str, reference: Tokenizer) -> None:
    """lm-eval's RemoteTokenizer, which speaks to vLLM."""
    utils = pytest.importorskip("lm_eval.utils", reason="lm-eval is not installed")
    assert utils.check_remote_tokenizer_support(f"{url}/v1/completions")
    tok = utils.RemoteTokenizer(f"{url}/v1/completions", auth_token="EMPTY")
    ids = reference.encode(TEXT, add_special_tokens=False).ids
    assert tok.encode(TEXT) == ids
    assert tok.decode(ids) == TEXT
    assert tok.batch_decode([ids, []]) == [TEXT, ""]
    assert (tok.bos_token, tok.eos_token) == ("<s>", "</s>")
    assert tok.eos_token_id == reference.token_to_id("</s>")
    chat = tok.apply_chat_template([{"role": "user", "content": "Hi"}])
    asked = {"messages": [{"role": "user", "content": "Hi"}]}
    found = httpx.post(f"{url}/tokenize", json=asked, timeout=60).json()["tokens"]
    assert found == reference.encode(chat, add_special_tokens=False).ids


def test_vllm_by_the_openai_client(url: str, reference: Tokenizer) -> None:
    """Its errors are raised as the client's own classes, too."""
    openai = pytest.importorskip("openai", reason="openai is not installed")
    client = openai.OpenAI(base_url=url, api_key="EMPTY", max_retries=0)
    found = client.post("/tokenize", cast_to=object, body={"model": "m", "prompt": TEXT})
    assert found["tokens"] == reference.encode(TEXT).ids
    with pytest.raises(openai.NotFoundError):
        client.post("/tokenize", cast_to=object, body={"model": "another", "prompt": TEXT})
    with pytest.raises(openai.BadRequestError) as error:
        client.post("/tokenize", cast_to=object, body={"model": "m", "prompt": 5})
    assert error.value.param == "$.prompt"


def test_sglang_as_its_guide_says(url: str, reference: Tokenizer) -> None:
    """The calls of SGLang's own guide to its native API."""
    requests = pytest.importorskip("requests", reason="requests is not installed")
    asked = {"model": "qwen/qwen2.5-0.5b-instruct", "prompt": TEXT, "add_special_tokens": False}
    assert requests.post(f"{url}/tokenize", json=asked, timeout=60).status_code == 404
    asked["model"] = "m"
    answer = requests.post(f"{url}/tokenize", json=asked, timeout=60)
    answer.raise_for_status()
    tokens = answer.json()["tokens"]
    assert tokens == reference.encode(TEXT, add_special_tokens=False).ids
    assert answer.json()["count"] == len(tokens)
    back = {"model": "m", "tokens": tokens, "skip_special_tokens": True}
    answer = requests.post(f"{url}/detokenize", json=back, timeout=60)
    assert answer.json()["text"] == reference.decode(tokens, skip_special_tokens=True)


def test_llamacpp_by_furchain(url: str, reference: Tokenizer) -> None:
    client = llamacpp_client()(base_url=url)
    ids = reference.encode(TEXT, add_special_tokens=False).ids
    assert client.tokenize(TEXT) == ids
    assert client.detokenize(ids) == TEXT


def llamacpp_client() -> Any:
    """The package around it would import much that has nothing to do with it."""
    package = pytest.importorskip("furchain", reason="furchain is not installed")
    pytest.importorskip("dotenv", reason="python-dotenv is not installed")
    assert package.__file__ is not None
    around = ModuleType("furchain.text")
    around.__path__ = [str(Path(package.__file__).parent / "text")]
    sys.modules.setdefault("furchain.text", around)
    return importlib.import_module("furchain.text.llama_cpp_client").LlamaCppClient


def test_tgi_by_the_hubs_client(url: str, reference: Tokenizer) -> None:
    """huggingface_hub asks `/info`; for `/tokenize` it has no call, so that is made by hand."""
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    client = hub.InferenceClient(model=url, provider="hf-inference")
    info = client.get_endpoint_info()
    assert info["model_id"] == "m"
    assert len(info["model_sha"]) == 64
    found = httpx.post(f"{url}/tokenize", json={"inputs": TEXT}, timeout=60).json()
    assert [one["id"] for one in found] == reference.encode(TEXT).ids
    data = TEXT.encode()
    assert all(data[one["start"] : one["stop"]].decode() == one["text"] for one in found)
