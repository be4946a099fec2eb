"""HuggingFace serves tokenizers of the operator that the core refuses, and none of tenants."""

from __future__ import annotations

import json
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import small
from backends.test_hf import HOSTILE, PANICS
from tokenizers import Tokenizer as Reference

from pywasmtok import (
    BackendUnavailable,
    InputTooLarge,
    InvalidArgument,
    TokenizerError,
    Unsupported,
)
from pywasmtok.cli.main import main
from pywasmtok.cli.options.tree import whole
from pywasmtok.cli.serve import _flags
from pywasmtok.server.config import Config, Logs, Source, Storage, read_config
from pywasmtok.server.contract import PUBLIC, Caller
from pywasmtok.server.errors import status_of
from pywasmtok.server.opening import open_service
from pywasmtok.server.service import Service
from pywasmtok.tenants.limits import TenantLimits
from server.records import tenant
from server.serving import Server, served, until

TEXTS = ["Hello world", "", "e\u0301 \U0001f469\u200d\U0001f4bb <s> 你好", "a" * 3000]
DEMO = "builtin:demo"
QUIET = Logs(access=False)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HuggingFace loads it, and the core refuses it."""
    path = tmp_path_factory.mktemp("odd") / "odd.json"
    path.write_bytes(small.UNSERVED)
    return path


@pytest.fixture(scope="module")
def chatty(odd: Path) -> Path:
    """The same with a chat template beside it."""
    folder = odd.parent / "chatty"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(small.UNSERVED)
    template = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}"
    config = {"chat_template": template, "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference.from_buffer(small.UNSERVED)


@pytest.fixture(scope="module")
def log(odd: Path) -> Path:
    return odd.parent / "log"


@pytest.fixture(scope="module")
def server(odd: Path, chatty: Path, log: Path) -> Iterator[Server]:
    with served(f"odd={odd}", f"chatty={chatty}", f"demo={DEMO}", log=log) as server:
        yield server


def test_it_is_served_with_a_warning_and_said(server: Server, log: Path) -> None:
    def said() -> list[str]:
        return [line for line in log.read_text().splitlines() if "falling back" in line]

    until(lambda: len(said()) == 2)
    assert [line.split(",")[0] for line in said()] == [
        "Core cannot serve odd",
        "Core cannot serve chatty",
    ]
    assert all(small.UNSERVED_FEATURE in line for line in said())
    listed = server.get("/api/v1/tokenizers").json()["tokenizers"]
    backends = {one["name"]: one["backend"] for one in listed}
    assert backends == {"odd": "hf", "chatty": "hf", "demo": "core"}
    for name, backend in backends.items():
        for path in (
            f"/api/v1/tokenizers/{name}",
            f"/tokenizer_info?model={name}",
            f"/info?model={name}",
        ):
            assert server.get(path).json()["backend"] == backend, path


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_answers_are_those_of_the_library(server: Server, reference: Reference, text: str) -> None:
    path = "/api/v1/tokenizers/odd/"
    known = reference.encode(text)
    octets = {"accept": "application/octet-stream"}
    with httpx.Client(base_url=server.address, timeout=60) as client:
        # The second of a connection is read in another way.
        for _ in range(2):
            body = {"text": text, "tokens": True, "offsets": "characters"}
            found = client.post(f"{path}encode", json=body).json()
            assert (found["ids"], found["tokens"]) == (known.ids, known.tokens)
            assert [tuple(span) for span in found["offsets"]] == known.offsets
            assert client.post(f"{path}encode", json={"text": text}).json()["ids"] == known.ids
            data = client.post(f"{path}encode", json={"text": text}, headers=octets).content
            assert list(struct.unpack(f"<{len(known.ids)}I", data)) == known.ids
            found = client.post(f"{path}count", json={"text": text}).json()
            assert found["count"] == len(known.ids)
            found = client.post("/tokenize", json={"model": "odd", "prompt": text}).json()
            assert found["tokens"] == known.ids
            found = client.post(f"{path}decode", json={"ids": known.ids}).json()
            assert found["text"] == reference.decode(known.ids)
            found = client.post(f"{path}truncate", json={"text": text, "n": 3}).json()
            assert found["ids"] == reference.encode(found["text"]).ids
            streamed = client.post(f"{path}stream", json={"ids": known.ids, "finish": True})
            events = [line[6:] for line in streamed.text.splitlines() if line[:5] == "data:"]
            pieces = [json.loads(event).get("text", "") for event in events]
            assert "".join(pieces) == reference.decode(known.ids)


LACKING: list[tuple[str, Any, str]] = [
    ("encode", {"text": "a", "special": "raise"}, "special:raise"),
    ("encode", {"texts": ["a"], "special": ["<s>"]}, "special:some"),
    ("encode", {"segments": [{"text": "a", "trusted": False}]}, "special:segments"),
    ("decode", {"ids": [99999], "unknown_id": "replace"}, "unknown_id:replace"),
    ("chat/encode", {"messages": [{"role": "user", "content": "x"}]}, "special:segments"),
]


@pytest.mark.parametrize(("operation", "body", "feature"), LACKING)
def test_what_the_library_lacks_is_a_typed_error(
    server: Server, operation: str, body: Any, feature: str
) -> None:
    answer = server.post(f"/api/v1/tokenizers/chatty/{operation}", body)
    found = answer.json()["error"]
    assert (answer.status_code, found["kind"], found["feature"]) == (422, "unsupported", feature)


def test_templates_are_rendered_in_the_sandbox(server: Server, reference: Reference) -> None:
    messages = [{"role": "user", "content": "Hello"}]
    answer = server.post("/api/v1/tokenizers/chatty/chat/render", {"messages": messages})
    assert answer.json()["text"] == "<|user|>Hello"
    answer = server.post("/tokenize", {"model": "chatty", "messages": messages})
    text = reference.encode("<|user|>Hello", add_special_tokens=False).ids
    assert answer.json()["tokens"] == text


def test_a_tenants_file_is_never_served_by_it(server: Server) -> None:
    answer = server.put("/api/v1/tokenizers/mine", small.UNSERVED)
    found = answer.json()["error"]
    assert (answer.status_code, found["kind"]) == (422, "unsupported")
    assert found["feature"] == small.UNSERVED_FEATURE
    assert server.put("/api/v1/tokenizers/mine?encoder=hf", small.UNSERVED).status_code == 400


@pytest.mark.parametrize("how", ["flag", "file", "table"])
def test_it_can_be_switched_off(
    odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    config = tmp_path / "server.toml"
    arguments = ["serve", "--port", "0", "--config", str(config)]
    config.write_text('encoder = "core"\n' if how == "file" else "")
    if how == "table":
        config.write_text(f'[tokenizers]\nodd = {{ source = "{odd}", encoder = "core" }}\n')
    else:
        arguments.append(f"odd={odd}")
    if how == "flag":
        arguments += ["--encoder", "core"]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert f"odd={odd}" in said
    assert "unsupported" in said


def backends(service: Service) -> dict[str, str]:
    return {one.aliases[0]: one.info.backend for one in service.listed(Caller(PUBLIC))}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DYN_TOKENIZER", "default"),
        ("DYN_TOKENIZER_BACKEND", "default"),
        ("PYWASMTOK_ENCODER", "hf"),
    ],
)
@pytest.mark.parametrize(
    ("flag", "backend"),
    [(None, "hf"), ("auto", "core"), ("core", "core"), ("fastokens", "core")],
)
def test_the_flag_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, flag: str | None, backend: str
) -> None:
    monkeypatch.setenv(variable, value)
    given = [DEMO] if flag is None else [DEMO, "--encoder", flag]
    flags = _flags(whole().parse_args(["serve", *given, "--no-access-log"]))
    service = open_service(read_config(None, flags))
    assert backends(service) == {"demo": backend}
    service.close()


@pytest.mark.parametrize("flag", ["hf", "default"])
def test_the_flag_says_huggingface(
    monkeypatch: pytest.MonkeyPatch, flag: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYWASMTOK_ENCODER", "core")
    with served(DEMO, "--encoder", flag, "--workers", "2", "--store", str(tmp_path)) as server:
        (one,) = server.get("/api/v1/tokenizers").json()["tokenizers"]
        assert one["backend"] == "hf"
        assert server.post("/tokenize", {"prompt": "Hello world"}).json()["tokens"] == [16034, 6811]


def test_a_word_that_is_no_encoder_is_named() -> None:
    for said in ({"encoder": "rust"}, {"tokenizers": {"a": {"source": DEMO, "encoder": "rust"}}}):
        with pytest.raises(InvalidArgument, match="'rust'"):
            read_config(None, said)


def test_what_is_kept_goes_on_unless_it_is_switched_off(odd: Path, tmp_path: Path) -> None:
    def opened(encoder: str | None, **tokenizers: str | Source) -> Service:
        storage = Storage(path=str(tmp_path))
        return open_service(
            Config(storage=storage, logs=QUIET, encoder=encoder, tokenizers=tokenizers)
        )

    def ids(service: Service) -> list[int]:
        return service.find(Caller("local"), "odd").tokenizer.encode("Hello").ids

    service = opened(None, odd=str(odd))
    known = ids(service)
    service.close()
    service = opened(None)
    assert (backends(service), ids(service)) == ({"odd": "hf"}, known)
    service.close()
    service = opened("core")
    with pytest.raises(Unsupported) as refused:
        ids(service)
    assert (refused.value.feature, status_of(refused.value)) == ("encoder:hf", 422)
    service.close()
    # Its own choice goes before that for all.
    service = opened("core", odd=Source(str(odd), encoder="auto"), demo=DEMO)
    assert (backends(service), ids(service)) == ({"odd": "hf", "demo": "core"}, known)
    service.close()


@pytest.fixture
def service(odd: Path) -> Iterator[Service]:
    service = open_service(Config(logs=QUIET, tokenizers={"odd": str(odd)}))
    yield service
    service.close()


def test_all_tenants_share_one_and_never_on_the_event_loop(service: Service) -> None:
    views = []
    for name in ("a", "b"):
        service.store.put_tenant(tenant(name))
        found = service.find(Caller(name), "odd")
        views.append(found.tokenizer)
        assert service.find(Caller(name), "odd").tokenizer is views[-1]
        assert not service.find(Caller(name), "odd").is_live
    one, other = views
    assert one is not other
    assert one.hybrid is other.hybrid
    assert one.streaming is other.streaming


def test_bounds_that_are_counted_hold(service: Service) -> None:
    record = tenant("a")
    limits = TenantLimits(calls=record.limits.calls.tightened(small_limits()))
    service.store.put_tenant(record)
    tok = service.find(Caller("a"), "odd").tokenizer
    assert tok.encode("x" * 11)
    service.pool.set_limits("a", limits)
    tok = service.find(Caller("a"), "odd").tokenizer
    assert tok.encode("x" * 10)
    with pytest.raises(InputTooLarge):
        tok.encode("x" * 11)


def small_limits() -> Any:
    from pywasmtok import Limits

    return Limits(max_text_bytes=10)


def test_tenants_cannot_ask_for_it(service: Service) -> None:
    service.store.put_tenant(tenant("a"))
    with pytest.raises(InvalidArgument, match="operator's own"):
        service.upload(service.tenant("a"), small.UNSERVED, {"encoder": "hf"}, "mine")
    with pytest.raises(InvalidArgument, match="encoder='core'"):
        service.tenant("a").add(small.file(), encoder="core")


def test_the_command_adds_for_all_by_it_and_for_a_tenant_never(
    odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str, status: int = 0) -> Any:
        assert main([*arguments, "--store", str(tmp_path), "--json"]) == status
        said = capsys.readouterr()
        return said.err if status else json.loads(said.out)

    assert run("tokenizers", "add", f"odd={odd}")["backend"] == "hf"
    (listed,) = run("tokenizers", "list")["tokenizers"]
    assert (listed["backend"], listed["aliases"]) == ("hf", ["odd"])
    assert run("tokenizers", "verify")["problems"] == []
    run("tenants", "add", "acme")
    refused = run("tokenizers", "add", f"odd={odd}", "--tenant", "acme", status=2)
    assert "Escape:X" in refused
    assert f"odd={odd}" in refused


def test_what_neither_serves_says_both(tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    normalizer = {"type": "Replace", "pattern": {"Regex": r"\X("}, "content": ""}
    path.write_bytes(small.file(normalizer=normalizer))
    with pytest.raises(TokenizerError) as refused:
        open_service(Config(logs=QUIET, tokenizers={"no": str(path)}))
    assert f"no={path}" in str(refused.value)
    assert "Escape:X" in str(refused.value)
    assert "HuggingFace cannot serve it either" in str(refused.value)


def test_without_the_library_its_name_is_said(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(BackendUnavailable) as refused:
        open_service(Config(logs=QUIET, tokenizers={"odd": str(odd)}))
    assert f"odd={odd}" in str(refused.value)
    assert "pip install tokenizers" in str(refused.value)


def test_a_panic_of_the_library_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "panics.json"
    path.write_bytes(small.file(pre_tokenizer=PANICS))
    with served(f"panics={path}", "--encoder", "hf") as server:
        answer = server.post("/api/v1/tokenizers/panics/encode", {"text": HOSTILE})
        assert (answer.status_code, answer.json()["error"]["kind"]) == (422, "backend_failure")
        answer = server.post("/api/v1/tokenizers/panics/encode", {"text": "Hello"})
        assert answer.status_code == 200


@pytest.mark.parametrize("operation", ["encode", "decode"])
def test_other_threads_run_during_a_call(service: Service, operation: str) -> None:
    """The library's calls for one text keep the interpreter's lock to their end."""
    service.store.put_tenant(tenant("a"))
    tok = service.find(Caller("a"), "odd").tokenizer
    text = "hello world " * 20000
    given = text if operation == "encode" else tok.encode(text)
    begun, ended = threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        getattr(tok, operation)(given)
        ended.set()

    thread = threading.Thread(target=call)
    thread.start()
    begun.wait()
    turns = 0
    while not ended.wait(0.0005):
        turns += 1
    thread.join()
    assert turns > 3
