"""What is installed, and whether it works: for `pywasmtok doctor` and for bug reports."""

from __future__ import annotations

import argparse
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import __version__
from ..backends.hf import REFERENCE
from ..errors import TokenizerError
from ..loading.factory import create_tokenizer
from .common import print_json, print_tree
from .exits import Exit
from .terminal import waiting

__all__ = ["examine", "run"]

_TEXT = "Hello, wörld! 你好 👋🏽"


def run(options: argparse.Namespace) -> int:
    with waiting("trying what is installed"):
        report, healthy = examine()
    if options.json:
        print_json(report)
    else:
        print_tree(report)
    return Exit.DONE if healthy else Exit.FOUND


def examine() -> tuple[dict[str, Any], bool]:
    """The report, and whether all that was tried worked."""
    checks = {
        "core encodes and decodes": _try(_core),
        "hf decodes what the core encoded": _try(_hybrid),
    }
    report: dict[str, Any] = {
        "pywasmtok": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{sys.platform} {platform.machine()}",
        "packages": {name: _version(name) for name in ("wasmtime", "tokenizers", "numpy")},
        "reference": _describe_reference(),
        "host": _describe_host(),
        "checks": checks,
    }
    return report, all(outcome == "ok" for outcome in checks.values())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _describe_reference() -> str:
    """Whether decoding and the fallback are by the version that exactness is tested against."""
    if _version("tokenizers") == REFERENCE:
        return f"tokenizers {REFERENCE}, which is installed"
    return f"tokenizers {REFERENCE}, which is not installed: docs/versions.md says what differs"


def _describe_host() -> dict[str, Any]:
    try:
        from .. import _host

        return _host.describe()
    except (TokenizerError, ImportError) as error:
        return {"error": str(error)}


def _try(check: Any) -> str:
    try:
        check()
    except TokenizerError as error:
        return f"{error.kind}: {error}"
    return "ok"


def _core() -> None:
    with create_tokenizer("builtin:demo", encoder="core", decoder="core") as tokenizer:
        _round_trip(tokenizer)


def _hybrid() -> None:
    with create_tokenizer("builtin:demo", encoder="core", decoder="hf") as tokenizer:
        _round_trip(tokenizer)


def _round_trip(tokenizer: Any) -> None:
    text = tokenizer.decode(tokenizer.encode(_TEXT, add_special_tokens=False))
    if text != _TEXT:
        raise TokenizerError(f"{_TEXT!r} came back as {text!r}")
