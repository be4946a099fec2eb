"""What is installed here of the references: with another version, tests of what differs skip."""

from __future__ import annotations

from importlib import metadata

import pytest
import tokenizers

from pywasmtok.backends.hf import REFERENCE


def another(package: str, wanted: str) -> str | None:
    """Why a test against this version has nothing to compare with."""
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"the reference is {package} {wanted}, which is not installed"
    return None if found == wanted else f"the reference is {package} {wanted}, and here is {found}"


IS_REFERENCE = tokenizers.__version__ == REFERENCE

# Decoding of normalized added tokens, and copies of its streams: docs/versions.md.
IS_0_22 = tokenizers.__version__.startswith("0.22.")

needs_tokenizers = pytest.mark.skipif(
    not IS_REFERENCE, reason=another("tokenizers", REFERENCE) or ""
)
