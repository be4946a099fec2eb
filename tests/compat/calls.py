"""Calls of a tokenizer of transformers, and what has to be equal between two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TEXTS = ["Hello world", "naïve café 🌶️ 中文", "a " * 30, ""]

CHAT = [
    {"role": "user", "content": "naïve?"},
    {"role": "assistant", "content": "Yes, 🌶."},
]
TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content }}{% endgeneration %}{% else %}{{ message.content }}"
    "{% endif %};{% endfor %}"
)

# fmt: off
CALLS: list[Callable[[Any], Any]] = [
    lambda tok: tok(TEXTS[0]),
    lambda tok: tok(TEXTS[0], TEXTS[1]),
    lambda tok: tok(TEXTS),
    lambda tok: tok(TEXTS, padding=True, truncation=True, max_length=9),
    lambda tok: tok(TEXTS, padding="max_length", max_length=12, truncation=True,
                    padding_side="left"),
    lambda tok: tok(TEXTS, TEXTS, padding=True, truncation="only_second", max_length=80),
    lambda tok: tok(TEXTS, return_offsets_mapping=True, return_special_tokens_mask=True),
    lambda tok: tok(TEXTS[2], max_length=8, stride=2, truncation=True,
                    return_overflowing_tokens=True, return_offsets_mapping=True),
    lambda tok: tok([["two", "words"], ["three"]], is_split_into_words=True),
    lambda tok: tok(TEXTS[1], add_special_tokens=False),
    lambda tok: tok("a <extra> b"),
    lambda tok: tok.tokenize(TEXTS[1]),
    lambda tok: tok.decode(tok(TEXTS[1])["input_ids"]),
    lambda tok: tok.batch_decode(tok(TEXTS)["input_ids"], skip_special_tokens=True),
    lambda tok: tok.convert_ids_to_tokens(tok(TEXTS[1])["input_ids"]),
    lambda tok: tok.convert_tokens_to_ids(["a", "<extra>"]),
    lambda tok: tok.add_tokens(["<more>", "<even more>"]),
    lambda tok: tok("a <more> b")["input_ids"],
    lambda tok: (len(tok), tok.vocab_size, tok.get_added_vocab(), tok.all_special_ids),
    lambda tok: tok(TEXTS[1]).word_ids(),
    lambda tok: tok(TEXTS[1]).sequence_ids(),
    lambda tok: tok(TEXTS[1]).char_to_token(3),
    lambda tok: tok(TEXTS[1]).tokens(),
    lambda tok: tok(TEXTS[0], split_special_tokens=True),
    lambda tok: tok(TEXTS, padding="longest", pad_to_multiple_of=8, return_tensors="np"),
    lambda tok: tok(TEXTS, padding=True, return_tensors="np", return_length=True,
                    return_token_type_ids=True, return_attention_mask=True),
    lambda tok: tok(TEXTS, return_attention_mask=False, return_token_type_ids=False),
    lambda tok: tok(TEXTS[0], return_tensors="np", truncation=True, max_length=4),
    lambda tok: tok(TEXTS[2], TEXTS[1], max_length=40, stride=2, truncation="only_first",
                    return_overflowing_tokens=True, return_offsets_mapping=True, padding=True),
    lambda tok: tok(TEXTS, truncation="longest_first", max_length=6, padding="max_length"),
    lambda tok: tok(text=TEXTS[0], text_target=TEXTS[1]),
    lambda tok: tok.pad([tok(text) for text in TEXTS[:3]], padding=True, return_tensors="np"),
    lambda tok: tok.encode(TEXTS[1], TEXTS[0]),
    lambda tok: tok(TEXTS[1]).token_to_chars(1),
    lambda tok: tok(TEXTS[1], TEXTS[0]).char_to_token(2, sequence_index=1),
    lambda tok: tok(TEXTS)[1].offsets,
    lambda tok: tok.convert_tokens_to_string(tok.tokenize(TEXTS[1])),
    lambda tok: tok.convert_tokens_to_ids("no such token"),
    lambda tok: tok.num_special_tokens_to_add(pair=True),
    lambda tok: tok.apply_chat_template(CHAT, chat_template=TEMPLATE, tokenize=False),
    lambda tok: tok.apply_chat_template(CHAT, chat_template=TEMPLATE, return_dict=True,
                                        return_assistant_tokens_mask=True),
    lambda tok: tok.add_special_tokens({"pad_token": "<the pad>"}),
    lambda tok: tok([*TEXTS[:2], "<the pad>"], padding=True),
    lambda tok: tok.decode(tok("a<the pad>")["input_ids"], skip_special_tokens=True),
    lambda tok: sorted(tok.get_vocab().items())[:50],
    lambda tok: tok.get_vocab() == tok.vocab,
]
# fmt: on


def compare(ours: Any, theirs: Any) -> None:
    """Equal answers to all calls, in this order: some of them change the tokenizer."""
    for number, call in enumerate(CALLS):
        assert outcome(call, ours) == outcome(call, theirs), number


def outcome(call: Callable[[Any], Any], tok: Any) -> Any:
    try:
        return _plain(call(tok))
    except Exception as error:
        return type(error)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping) or hasattr(value, "encodings"):
        return {key: _plain(one) for key, one in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value
