"""Certificates for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

__all__ = ["make_certificate"]


def make_certificate(made: Path, key: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    files = ["-out", str(made), "-keyout", str(key)]
    done = subprocess.run([*command, *names, *files], capture_output=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip("this openssl makes no such certificate")
