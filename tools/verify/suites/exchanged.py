"""What `sitecustomize` of a suite's interpreter does: exchanges one import, and answers the hub.

SUITE_SIDE=drop-in puts the drop-ins where the libraries are imported from. Files of the hub come
from SUITE_ASSETS; a test that needs another file is skipped.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
import types
from pathlib import Path
from typing import Any

# Of a repository of the hub, the family in the assets that has the same tokenizer.
_FAMILIES = {
    "gpt2": "gpt2",
    "bert-base-cased": "bert-base-cased",
    "t5-base": "t5",
    "hf-internal-testing/Llama-3.1-8B-Instruct": "llama3.1",
    "hf-internal-testing/gpt-oss-20b": "gpt-oss",
}


def exchange() -> None:
    """From now on, imports of the libraries give the drop-ins."""
    import tokenizers

    from pywasmtok.compat import tiktoken
    from pywasmtok.compat import tokenizers as drop_in

    mixed = types.ModuleType("tokenizers")
    mixed.__dict__.update(tokenizers.__dict__)
    mixed.__dict__.update({name: getattr(drop_in, name) for name in drop_in.__all__})
    vars(tokenizers.decoders)["DecodeStream"] = drop_in.DecodeStream
    for name in [name for name in sys.modules if name.startswith("tokenizers.implementations")]:
        del sys.modules[name]
    sys.modules["tokenizers"] = mixed
    # The library's own classes for BERT and others are Python: they are made again, on the drop-in.
    import tokenizers.implementations as made_again

    mixed.__dict__.update(
        {name: value for name, value in vars(made_again).items() if name.endswith("Tokenizer")}
    )
    sys.modules["tiktoken"] = tiktoken


def answer_hub() -> None:
    import huggingface_hub

    vars(huggingface_hub)["hf_hub_download"] = _download


def _download(repo_id: str, filename: str, **how: Any) -> str:
    assets, place = Path(os.environ["SUITE_ASSETS"]), Path(os.environ["SUITE_FILES"])
    if filename == "bert-base-uncased-vocab.txt":
        vocab = json.loads(_unpacked(assets / "gte"))["model"]["vocab"]
        data = "\n".join(sorted(vocab, key=vocab.__getitem__)).encode()
    elif filename == "tokenizer.json" and repo_id in _FAMILIES and "main" in how.values():
        data = _unpacked(assets / _FAMILIES[repo_id])
    else:
        import pytest

        pytest.skip(f"no {filename} of {repo_id} among the assets")
    path = place / repo_id.replace("/", "+") / filename
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def _unpacked(folder: Path) -> bytes:
    return lzma.decompress((folder / "tokenizer.json.xz").read_bytes())


answer_hub()
if os.environ["SUITE_SIDE"] == "drop-in":
    exchange()
