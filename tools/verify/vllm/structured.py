"""Structured output: which tokens each of vLLM's backends allows at each step of a JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["different_masks"]

SCHEMA = json.dumps({
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"], "additionalProperties": False,
})  # fmt: skip
OBJECT = '{"name": "naïve 🌶", "age": 42}'


def _backends() -> dict[str, Any]:
    from vllm.v1.structured_output.backend_guidance import GuidanceBackend
    from vllm.v1.structured_output.backend_lm_format_enforcer import LMFormatEnforcerBackend
    from vllm.v1.structured_output.backend_outlines import OutlinesBackend
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

    return {
        "xgrammar": XgrammarBackend, "guidance": GuidanceBackend,
        "outlines": OutlinesBackend, "lm-format-enforcer": LMFormatEnforcerBackend,
    }  # fmt: skip


def _object(tokenizer: Any) -> list[int]:
    """The ids of the object inside of a text: some tokenizers put a space at the start of one."""
    ids: list[int] = tokenizer.encode(f"\n{OBJECT}", add_special_tokens=False)
    begins = [n for n in range(len(ids)) if tokenizer.decode(ids[n:]) == OBJECT]
    return ids[max(begins, default=0) :]


def _masks(backend: Any, ids: list[int]) -> Iterator[Any]:
    """A mask before each id, until the grammar takes no further one."""
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    grammar = backend.compile_grammar(StructuredOutputOptions.JSON, SCHEMA)
    bits = backend.allocate_token_bitmask(1)
    for token_id in ids:
        grammar.fill_bitmask(bits, 0)
        yield bits.tolist()
        if not grammar.accept_tokens("r", [token_id]):
            return


def different_masks(ours: Any, theirs: Any, config: Any) -> dict[str, str]:
    """For each backend: how many masks are equal, or what it raises in both modes."""
    import xgrammar

    size = len(theirs)
    answers = {}
    for name, backend in _backends().items():
        both: list[Any] = []
        for tokenizer in (ours, theirs):
            ids = _object(tokenizer)
            try:
                made = backend(config, tokenizer=tokenizer, vocab_size=size)
                both.append(list(_masks(made, ids)))
            except Exception as error:
                both.append(f"{type(error).__name__}: {str(error)[:90]}")
        same = both[0] == both[1]
        said = both[1] if isinstance(both[1], str) else f"{len(both[1])} masks"
        answers[name] = f"{'equal' if same else 'DIFFERENT'}: {said}"
    one, other = (
        xgrammar.TokenizerInfo.from_huggingface(t, vocab_size=size).serialize_json()
        for t in (ours, theirs)
    )
    answers["xgrammar.TokenizerInfo"] = "equal" if one == other else "DIFFERENT"
    return answers
