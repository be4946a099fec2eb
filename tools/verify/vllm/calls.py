"""Calls of a tokenizer that vLLM, or a program that has vLLM's tokenizer, makes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

from .streams import TEXTS

__all__ = ["CALLS", "CHAT", "different"]

CHAT = [
    {"role": "user", "content": "What is 2+2? 🌶️"},
    {"role": "assistant", "content": "4, naïve."},
    {"role": "user", "content": "Sure?"},
]


def _strings(tokenizer: Any) -> Any:
    """What log probabilities show for each id."""
    from vllm.tokenizers.detokenizer_utils import convert_ids_list_to_tokens

    return convert_ids_list_to_tokens(tokenizer, list(range(0, len(tokenizer), 97)))


def _pool(tokenizer: Any) -> Any:
    from vllm.tokenizers import maybe_make_thread_pool

    return maybe_make_thread_pool(copy.copy(tokenizer), 2)


CALLS: dict[str, Callable[[Any], Any]] = {
    "call": lambda t: [dict(t(x)) for x in TEXTS],
    "batch": lambda t: dict(t(list(TEXTS))),
    "pair": lambda t: dict(t(TEXTS[1], TEXTS[2])),
    "encode": lambda t: [t.encode(x, add_special_tokens=s) for x in TEXTS for s in (True, False)],
    "truncated": lambda t: [t.encode(x, truncation=True, max_length=n) for x in TEXTS for n in (1, 5, 40)],  # noqa: E501
    "offsets": lambda t: t(TEXTS[2], return_offsets_mapping=True)["offset_mapping"],
    "decode": lambda t: [t.decode(t.encode(x), skip_special_tokens=s) for x in TEXTS for s in (True, False)],  # noqa: E501
    "decode of one id": lambda t: [t.decode([i], skip_special_tokens=s) for i in range(0, len(t), 97) for s in (True, False)],  # noqa: E501
    "tokens": lambda t: t.convert_ids_to_tokens(t.encode(TEXTS[2]), skip_special_tokens=True),
    "text of tokens": lambda t: t.convert_tokens_to_string(t.convert_ids_to_tokens(t.encode(TEXTS[2]))),  # noqa: E501
    "ids of tokens": lambda t: t.convert_tokens_to_ids(t.convert_ids_to_tokens(t.encode(TEXTS[2]))),
    "special tokens": lambda t: [t.all_special_ids, t.all_special_tokens, t.num_special_tokens_to_add(), t.bos_token_id, t.eos_token_id, t.pad_token_id],  # noqa: E501
    "facts": lambda t: [t.vocab_size, len(t), t.max_token_id, t.max_chars_per_token, t.is_fast, t.truncation_side, t.name_or_path],  # noqa: E501
    "vocabulary": lambda t: t.get_vocab(),
    "added vocabulary": lambda t: [t.get_added_vocab(), {n: str(a) for n, a in t.added_tokens_decoder.items()}],  # noqa: E501
    "chat": lambda t: t.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True),
    "chat ids": lambda t: dict(t.apply_chat_template(CHAT, add_generation_prompt=True)),
    "deep copy": lambda t: copy.deepcopy(t).encode(TEXTS[2]),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).encode(TEXTS[2]),
    "strings of ids": _strings,
    "thread pool": lambda t: _pool(t).encode(TEXTS[2]),
}  # fmt: skip


def outcome(call: Callable[[Any], Any], tokenizer: Any) -> Any:
    try:
        return call(tokenizer)
    except Exception as error:
        return type(error).__name__, str(error)


def different(ours: Any, theirs: Any) -> dict[str, Any]:
    """Which groups of calls have another answer, and which raise in both modes."""
    answers = {name: [outcome(call, t) for t in (ours, theirs)] for name, call in CALLS.items()}
    raised = [name for name, (_, other) in answers.items() if isinstance(other, tuple)]
    return {
        "groups": len(CALLS),
        "differ": [name for name, (one, other) in answers.items() if one != other],
        "raise in both": [name for name in raised if answers[name][0] == answers[name][1]],
    }
