"""The status page, in a real browser."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromium
import httpx
import pytest
import uvicorn

from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Config, Logs
from pywasmtok.server.contract import TenantRecord
from pywasmtok.server.http.options import uvicorn_options
from pywasmtok.server.opening import open_service
from pywasmtok.server.page import content_security_policy, page
from pywasmtok.server.service import Service
from pywasmtok.tenants.limits import TenantLimits

HOSTILE = '<img src=x onerror="window.hurt=1">'


@contextmanager
def serving(config: Config) -> Iterator[tuple[str, Service]]:
    service = open_service(config)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(service), **uvicorn_options(config)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", service
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        service.close()


def new_key(service: Service, tenant: str | None) -> str:
    if tenant is not None:
        service.store.put_tenant(TenantRecord(tenant, TenantLimits(), 0.0))
    key, record = make_key(tenant)
    service.store.put_key(record)
    service.refresh()
    return key


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[str, Service]]:
    with serving(Config(logs=Logs(access=False))) as found:
        yield found


@pytest.fixture(scope="module")
def with_keys() -> Iterator[tuple[str, Service]]:
    with serving(Config(identity=True, logs=Logs(access=False))) as found:
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    with chromium.page(tmp_path_factory.mktemp("browser")) as found:
        found.look()
        yield found


def is_inside(browser: chromium.Page) -> None:
    browser.until("typeof $ !== 'undefined' && !$('figures').closest('section').hidden")


def encode(browser: chromium.Page, text: str) -> list[dict[str, str]]:
    browser.run("$('tokens').replaceChildren(); $('count').textContent = ''")
    browser.run(f"$('text').value = {json.dumps(text)}; $('try').requestSubmit()")
    browser.until("$('count').textContent !== '' || !$('try-error').hidden")
    found: list[dict[str, str]] = browser.run(
        "[...$('tokens').querySelectorAll('span')].map("
        "(one) => ({text: one.textContent, title: one.title, name: one.className}))"
    )
    return found


def test_on_loopback_it_shows_everything_at_once(
    browser: chromium.Page, opened: tuple[str, Service]
) -> None:
    address, _ = opened
    browser.events.clear()
    browser.open(address)
    is_inside(browser)
    assert browser.run("$('state').textContent") == "ready"
    assert browser.run("$('tokenizers').textContent").startswith("demo")
    assert browser.run("$('door').hidden") is True
    assert browser.run("document.querySelectorAll('#latency path').length") == 2
    # Nothing from anywhere else, and nothing that the policy had to refuse.
    assert browser.complaints() == []
    outside = [url for url in browser.asked() if not url.startswith((address, "data:"))]
    assert outside == []


def test_a_text_is_shown_token_by_token(
    browser: chromium.Page, opened: tuple[str, Service]
) -> None:
    address, _ = opened
    browser.open(address)
    is_inside(browser)
    text = f"Hello 東京 👩\u200d🚀 café\n{HOSTILE}</div><script>window.hurt=1</script>"
    tokens = encode(browser, text)
    shown = "".join(
        one["text"] for one in tokens if "part" not in one["name"] and "special" not in one["name"]
    )
    assert shown == text
    ids = httpx.post(
        f"{address}/api/v1/tokenizers/demo/encode", json={"text": text}, timeout=60
    ).json()["ids"]
    assert [int(one["title"].rsplit("id ", 1)[1]) for one in tokens] == ids
    assert browser.run("$('count').textContent").startswith(f"{len(ids)} tokens")
    # What looks like HTML was text all the way.
    assert browser.run("window.hurt") is None
    assert browser.run("document.querySelectorAll('#tokens img, #tokens script').length") == 0
    assert browser.complaints() == []


def test_an_error_of_the_server_is_said(
    browser: chromium.Page, opened: tuple[str, Service]
) -> None:
    address, _ = opened
    browser.open(address)
    is_inside(browser)
    browser.run("$('tokenizer').append(new Option('nobody', 'nobody'))")
    browser.run("$('tokenizer').value = 'nobody'")
    assert encode(browser, "x") == []
    assert browser.run("$('try-error').getAttribute('role')") == "alert"
    assert browser.run("$('try-error').textContent") != ""


def test_a_key_is_asked_for_and_kept_in_memory_only(
    browser: chromium.Page, with_keys: tuple[str, Service]
) -> None:
    address, service = with_keys
    key = new_key(service, "acme")
    new_key(service, "another-tenant")
    browser.open(address)
    browser.until("typeof $ !== 'undefined' && !$('door').hidden")
    browser.run("$('key').value = 'no key at all'; $('enter').requestSubmit()")
    browser.until("!$('door-error').hidden")
    browser.run(f"$('key').value = {json.dumps(key)}; $('enter').requestSubmit()")
    is_inside(browser)
    assert browser.run("$('who').textContent") == "acme"
    # A tenant sees itself, and nobody else.
    assert browser.run("$('tenants-section').hidden") is True
    assert "another-tenant" not in browser.run("document.documentElement.outerHTML")
    kept = browser.run(
        "[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage),"
        " location.href, document.documentElement.outerHTML, $('key').value].join('|')"
    )
    assert key not in kept
    assert len(encode(browser, "Hello")) >= 1
    browser.run("$('forget').click()")
    assert browser.run("$('door').hidden") is False
    assert "acme" not in browser.run("document.querySelector('header').textContent")
    assert browser.complaints() == []


def test_an_admin_sees_the_tenants(browser: chromium.Page, with_keys: tuple[str, Service]) -> None:
    address, service = with_keys
    new_key(service, "third-tenant")
    key = new_key(service, None)
    browser.open(address)
    browser.until("typeof $ !== 'undefined' && !$('door').hidden")
    browser.run(f"$('key').value = {json.dumps(key)}; $('enter').requestSubmit()")
    is_inside(browser)
    assert "third-tenant" in browser.run("$('tenants').textContent")


def test_it_can_be_used_without_eyes_and_without_a_mouse(
    browser: chromium.Page, opened: tuple[str, Service]
) -> None:
    address, _ = opened
    browser.open(address)
    is_inside(browser)
    encode(browser, "Hello")
    browser.send("Accessibility.enable")
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node["role"]["value"] in ("textbox", "button", "combobox", "image", "region")
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    assert browser.run("document.documentElement.lang") == "en"


@pytest.mark.parametrize("dark", [False, True])
def test_colours_can_be_read(
    browser: chromium.Page, opened: tuple[str, Service], dark: bool
) -> None:
    address, _ = opened
    browser.look(dark=dark)
    browser.open(address)
    is_inside(browser)
    encode(browser, "one two three four five six seven eight nine ten")
    worst = browser.run(
        """(() => {
        const light = (colour) => {
            const part = (n) => n <= 10 ? n / 255 / 12.92 : ((n / 255 + .055) / 1.055) ** 2.4;
            const [r, g, b] = colour.match(/[0-9.]+/g).map(Number);
            return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
        };
        const ground = (one) => {
            for (; one; one = one.parentElement) {
                const colour = getComputedStyle(one).backgroundColor;
                if (colour !== "rgba(0, 0, 0, 0)") return colour;
            }
            return "rgb(255, 255, 255)";
        };
        const what = "h1, h2, td, th, dt, dd, label, .soft, button, .pill, #tokens span";
        const seen = [...document.querySelectorAll(what)];
        return Math.min(...seen.filter((one) => one.offsetParent && one.textContent).map((one) => {
            const [a, b] = [light(getComputedStyle(one).color), light(ground(one))];
            return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        }));
        })()"""
    )
    # WCAG 2.2, AA, for text of any size.
    assert worst >= 4.5


# Without a browser.


def test_the_policy_allows_this_page_and_nothing_else(opened: tuple[str, Service]) -> None:
    address, _ = opened
    answer = httpx.get(address, timeout=60)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy == content_security_policy(answer.text)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    html = page()
    assert html.count("<script>") == html.count("<style>") == 1
    assert "style=" not in html
    assert "innerHTML" not in html
    assert "http://www.w3.org/2000/svg" in html
    assert html.count("http") == 1


def test_a_tenant_is_told_its_own_numbers_only(with_keys: tuple[str, Service]) -> None:
    address, service = with_keys
    quiet, admin = new_key(service, "quiet-tenant"), new_key(service, None)
    busy = new_key(service, "busy-tenant")

    def status(key: str) -> Any:
        headers = {"authorization": f"Bearer {key}"}
        return httpx.get(f"{address}/status.json", headers=headers, timeout=60).json()

    for _ in range(3):
        status(busy)
    assert sum(status(quiet)["history"]["requests"]) == 0
    assert sum(status(busy)["history"]["requests"]) == 3
    assert sum(status(admin)["history"]["requests"]) >= 5
    assert "threads" in status(admin)["load"]
    assert "threads" not in status(quiet)["load"]
    assert httpx.get(f"{address}/status.json", timeout=60).status_code == 401


def test_the_page_itself_needs_no_key(with_keys: tuple[str, Service]) -> None:
    address, _ = with_keys
    answer = httpx.get(address, timeout=60)
    assert answer.status_code == 200
    for tenant in ("acme", "quiet-tenant", "demo"):
        assert tenant not in answer.text


def save_pictures(folder: Path) -> None:
    """For a person to look at after a change."""
    with chromium.page(folder) as browser, serving(Config(logs=Logs(access=False))) as (address, _):
        for dark in (False, True):
            browser.look(dark=dark)
            browser.open(address)
            is_inside(browser)
            for number in range(40):
                httpx.post(
                    f"{address}/tokenize", json={"prompt": "Hello " * 50 * number}, timeout=60
                )
            browser.run("refresh()")
            encode(browser, browser.run("$('text').value"))
            browser.picture(folder / f"{'dark' if dark else 'light'}.png")


if __name__ == "__main__":
    save_pictures(Path(sys.argv[1]))
