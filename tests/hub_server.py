"""Servers on this machine: as much of the hub as huggingface_hub needs, and plain files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeVar

Server = TypeVar("Server", bound=ThreadingHTTPServer)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    def __init__(self, repositories: Mapping[str, Mapping[str, bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories = repositories
        self.secret: str | None = None
        """A token without which nothing is shown."""
        self.fetched: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        if self.server.secret and self.headers["Authorization"] != f"Bearer {self.server.secret}":
            return self._refuse(401, "RepoNotFound")
        if path[:2] == ["api", "models"]:
            return self._api(*self._split(path[2:]), body=body)
        return self._file(*self._split(path), body=body)

    def _split(self, path: list[str]) -> tuple[str, list[str]]:
        """The name of a repository, with an owner or without, and what stands behind it."""
        parts = 1 if path[0] in self.server.repositories else 2
        return "/".join(path[:parts]), path[parts:]

    def _api(self, name: str, rest: list[str], *, body: bool) -> None:
        files = self.server.repositories.get(name)
        if files is None:
            return self._refuse(404, "RepoNotFound")
        if len(rest) > 1 and rest[1] not in ("main", COMMIT):
            return self._refuse(404, "RevisionNotFound")
        if rest[:1] == ["tree"]:
            entries = [
                {"type": "file", "path": path, "size": len(data), "oid": _etag(data)}
                for path, data in files.items()
            ]
            return self._send(json.dumps(entries).encode(), body=body)
        about = {"id": name, "sha": COMMIT, "siblings": [{"rfilename": path} for path in files]}
        return self._send(json.dumps(about).encode(), body=body)

    def _file(self, name: str, rest: list[str], *, body: bool) -> None:
        files = self.server.repositories.get(name, {})
        path = "/".join(rest[2:])
        if rest[:1] != ["resolve"] or path not in files:
            return self._refuse(404, "EntryNotFound")
        data, etag = files[path], _etag(files[path])
        if body and (part := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"] or "")):
            data = data[int(part[1]) : int(part[2]) + 1]
            self.server.fetched.append(f"{path}: {len(data)}")
            return self._send(data, body=body, etag=etag, status=206)
        if body:
            self.server.fetched.append(path)
        return self._send(data, body=body, etag=etag)

    def _send(self, data: bytes, *, body: bool, etag: str | None = None, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", COMMIT)
        if etag is not None:
            self.send_header("ETag", f'"{etag}"')
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _etag(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


class Files(ThreadingHTTPServer):
    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _FileHandler)
        self.files = files
        self.fetched: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _FileHandler(BaseHTTPRequestHandler):
    server: Files

    def do_GET(self) -> None:
        self.server.fetched.append(self.path)
        data = self.server.files.get(self.path)
        self.send_response(404 if data is None else 200)
        self.end_headers()
        if data is not None:
            with suppress(ConnectionError):
                self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def serving(repositories: Mapping[str, Mapping[str, bytes]]) -> AbstractContextManager[Hub]:
    return _running(Hub(repositories))


def serving_files(files: Mapping[str, bytes]) -> AbstractContextManager[Files]:
    """Each under its path, which begins with a slash."""
    return _running(Files(files))


@contextmanager
def _running(server: Server) -> Iterator[Server]:
    with server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
