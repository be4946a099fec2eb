"""Runs where sglang is installed without torch.

python -m tools.verify.sglang.inside ASSETS REPORT FAMILY...
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import transformers

from ..vllm.calls import CALLS, different
from ..vllm.families import write_folder

# Imported by SGLang's modules of tokenizers, and not used by `get_tokenizer`.
EMPTY = (
    "torch", "sglang.srt.configs", "sglang.srt.connector", "sglang.srt.utils.runai_utils",
    "sglang.srt.utils.hf_transformers.gguf_native",
)  # fmt: skip
# Packages whose `__init__` imports everything: only their other modules are used.
HOLLOW = ("sglang", "sglang.srt", "sglang.srt.utils", "sglang.srt.utils.hf_transformers")
# Calls of vLLM's own members.
LEFT_OUT = ("facts", "strings of ids", "thread pool")


def _empty(module: ModuleType) -> ModuleType:
    def anything(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.isupper():
            return ()
        if name[0].isupper():
            return type(name, (), {"model_type": name})
        # A question, answered with no, or what makes a decorator.
        return lambda *args, **_: False if args else (lambda function: function)

    vars(module)["__getattr__"] = anything
    return module


class Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules in which each name is there and does nothing."""

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if any(name == one or name.startswith(f"{one}.") for one in EMPTY):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _empty(ModuleType(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        pass


def get_tokenizer() -> Any:
    """SGLang's function of this name, from its own file."""
    found = importlib.util.find_spec("sglang")
    assert found is not None
    root = next(iter(found.submodule_search_locations or ()))
    for name in HOLLOW:
        module = sys.modules[name] = _empty(ModuleType(name))
        module.__path__ = [os.path.join(root, *name.split(".")[1:])]
    vars(sys.modules["sglang.srt.utils"]).update(
        logger=logging.getLogger("sglang"),
        is_remote_url=lambda url: "://" in str(url),
        get_bool_env_var=lambda name, default="false": False,
    )
    sys.meta_path.insert(0, Empty())
    from sglang.srt.utils.hf_transformers.tokenizer import get_tokenizer as real

    return real


def main(assets: str, report: str, *families: str) -> None:
    from pywasmtok.compat.transformers import backend_of, unpatch_transformers

    for name in LEFT_OUT:
        del CALLS[name]
    load = get_tokenizer()
    from sglang.srt.utils.hf_transformers import tokenizer as module

    answer = {}
    for family in families:
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(assets), family, Path(folder))
            usual = load(folder, tokenizer_backend="huggingface")
            # The option without a patch: it also loads some files by another class.
            module._fastokens_patched = True
            plain = load(folder, tokenizer_backend="fastokens")
            module._fastokens_patched = False
            ours = load(folder, tokenizer_backend="fastokens")
            on = backend_of(ours).name == "core" and backend_of(plain).name == "tokenizers"
            answer[family] = {
                "on": on, **different(ours, plain),
                "differ by the option alone": different(plain, usual)["differ"],
            }  # fmt: skip
        # For the next family, as in a new process.
        unpatch_transformers()
        module._fastokens_patched = False
    answer_text = json.dumps(answer, ensure_ascii=False)
    Path(report).write_text(answer_text)
    logging.info("transformers %s", transformers.__version__)


if __name__ == "__main__":
    main(*sys.argv[1:])
