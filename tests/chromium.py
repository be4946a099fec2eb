"""A real Chromium without a window, asked over its debugging protocol; skips without one."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 90

# Only what is on this machine, and nothing that it would like to know of the network.
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--hide-scrollbars", "--mute-audio"),
)


class Page:
    def __init__(self, connection: ClientConnection, session: str) -> None:
        self._connection = connection
        self._session = session
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, "sessionId": self._session}
        self._connection.send(json.dumps(message))
        while True:
            answer = json.loads(self._connection.recv(SECONDS))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def open(self, url: str) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        end = time.monotonic() + SECONDS
        while not (found := self.run(script)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)
        return found

    def complaints(self) -> list[str]:
        """Errors of scripts, and what the policy of the page has refused."""
        self.run("0")
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                entry = event["params"]["entry"]
                # A refusal of the server is what some tests are about.
                if entry["level"] == "error" and entry["source"] != "network":
                    found.append(entry["text"])
        return found

    def asked(self) -> list[str]:
        """The addresses that were asked."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def look(self, *, width: int = 1200, height: int = 1700, dark: bool = False) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))


@contextmanager
def page(folder: Path) -> Iterator[Page]:
    name = next((found for name in NAMES if (found := shutil.which(name))), None)
    if name is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)}")
    profile = folder / "profile"
    command = [name, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [*command, "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )
    try:
        port, path = _address(profile / "DevToolsActivePort", process)
        address = f"ws://127.0.0.1:{port}{path}"
        with connect(address, max_size=None, open_timeout=SECONDS, proxy=None) as connection:
            target = _ask(connection, "Target.createTarget", url="about:blank")["targetId"]
            session = _ask(connection, "Target.attachToTarget", targetId=target, flatten=True)
            yield Page(connection, session["sessionId"])
    finally:
        process.kill()
        process.wait()


def _ask(connection: ClientConnection, method: str, **params: Any) -> dict[str, Any]:
    connection.send(json.dumps({"id": 0, "method": method, "params": params}))
    while True:
        answer = json.loads(connection.recv(SECONDS))
        if answer.get("id") == 0:
            found: dict[str, Any] = answer["result"]
            return found


def _address(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    end = time.monotonic() + SECONDS
    while True:
        if process.poll() is not None:
            pytest.skip(f"the browser does not start here: exit code {process.returncode}")
        lines = file.read_text().splitlines() if file.is_file() else []
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        assert time.monotonic() < end
        time.sleep(0.02)
