"""The programs: what they need, and the line of each that is exchanged."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["CORE_IN_TRANSFORMERS", "PROGRAMS", "Program"]

FOLDER = Path(__file__).with_name("programs")

TRANSFORMERS = "transformers==5.24.0"
TIKTOKEN = "tiktoken==0.14.0"
LITELLM = "litellm==1.110.2"
LANGCHAIN = "langchain-text-splitters==1.1.3"
LLAMA_INDEX = "llama-index-core==0.14.25"
LM_EVAL = "lm-eval[api]==0.4.13"
DATASETS = "datasets==5.2.0"

OWN_TOKENIZERS = ("from tokenizers import", "from pywasmtok.compat.tokenizers import")
OWN_TIKTOKEN = ("import tiktoken", "from pywasmtok.compat import tiktoken")
CORE_IN_TRANSFORMERS = ("from transformers import", "from pywasmtok.compat.transformers import")


class Program(NamedTuple):
    name: str
    """Of its row, and of its file where `file` is empty."""
    about: str
    packages: tuple[str, ...]
    """The first one is the program's library."""
    glue: tuple[str, str] | None
    """What is exchanged for what, once in the text; None: nothing."""
    first: str = ""
    """Lines put before the program."""
    file: str = ""
    serves: bool = False
    """Whether it talks to our server, at BASE_URL."""

    @property
    def library(self) -> str:
        return self.packages[0].partition("==")[0].partition("[")[0]

    @property
    def changed(self) -> list[str]:
        """The lines that are exchanged or added."""
        before = self.text(ours=False).splitlines()
        return [line.strip() for line in self.text(ours=True).splitlines() if line not in before]

    @property
    def change(self) -> str:
        """The line of glue. An import that it needs is no line of its own."""
        return self.changed[-1].rstrip(",")

    def text(self, *, ours: bool) -> str:
        text = (FOLDER / f"{self.file or self.name}.py").read_text(encoding="utf-8")
        if not ours:
            return text
        if self.glue is not None:
            before, after = self.glue
            if text.count(before) != 1:
                raise ValueError(f"{self.name}: {before!r} is not there once")
            text = text.replace(before, after)
        return self.first + text


_PATCH_TRANSFORMERS = """\
from pywasmtok.compat.transformers import patch_transformers
patch_transformers()
"""
_PATCH_TIKTOKEN = """\
from pywasmtok.compat.tiktoken import patch_tiktoken
patch_tiktoken()
"""
_PASSED = """\
from pywasmtok.compat.tokenizers import Tokenizer
    return {"type": "huggingface_tokenizer", "tokenizer": Tokenizer.from_str(text)}"""

PROGRAMS = (
    Program("tokenizers_batch", "batches with masks", ("tokenizers==0.23.3",), OWN_TOKENIZERS),
    Program("tiktoken_budget", "counts and cuts", (TIKTOKEN,), OWN_TIKTOKEN),
    Program(
        "transformers_masks", "padded batches with masks", (TRANSFORMERS,), CORE_IN_TRANSFORMERS
    ),
    Program(
        "litellm_custom", "`token_counter` with a tokenizer of one's own", (LITELLM,),
        ("return create_tokenizer(text)", _PASSED),
    ),
    Program(
        "litellm_openai", "`token_counter` for gpt-4o", (LITELLM, TIKTOKEN), None, _PATCH_TIKTOKEN
    ),
    Program(
        "langchain_huggingface", "`from_huggingface_tokenizer`", (LANGCHAIN, TRANSFORMERS),
        CORE_IN_TRANSFORMERS,
    ),
    Program(
        "langchain_tiktoken", "`TokenTextSplitter`", (LANGCHAIN, TIKTOKEN), None, _PATCH_TIKTOKEN
    ),
    Program(
        "langchain_functions", "`split_text_on_tokens`, `length_function=`",
        (LANGCHAIN, "tokenizers==0.23.3"), OWN_TOKENIZERS,
    ),
    Program(
        "llama_index_sentences", "`Settings.tokenizer`, `SentenceSplitter`",
        (LLAMA_INDEX, TRANSFORMERS), CORE_IN_TRANSFORMERS,
    ),
    Program(
        "llama_index_counting", "`TokenCountingHandler`", (LLAMA_INDEX, TIKTOKEN), OWN_TIKTOKEN
    ),
    Program(
        "lm_eval_api", "`local-completions`, ids by transformers", (LM_EVAL, TRANSFORMERS), None,
        _PATCH_TRANSFORMERS,
    ),
    Program(
        "lm_eval_remote", "`local-completions`, ids by our server", (LM_EVAL, TRANSFORMERS),
        ('tokenizer_backend="huggingface"', 'tokenizer_backend="remote"'),
        file="lm_eval_api", serves=True,
    ),
    Program("datasets_map", "`map` in batches", (DATASETS, TRANSFORMERS), CORE_IN_TRANSFORMERS),
)  # fmt: skip
