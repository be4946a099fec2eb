"""BERT's `vocab.txt`: a token a line, and no word about the rest.

The rest is what transformers (5.23, `BertTokenizer`) makes of the file and of the configurations
beside it. Its other classes that read a file of this name cut text in their own ways, and a file
of theirs is refused by the name of the class.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ...errors import InvalidFile, NotATokenizer, Unsupported
from ...tokenizer.recipe import Sidecars
from .sidecars import other_class

__all__ = ["VOCABULARY", "with_defaults", "word_pieces"]

VOCABULARY: Final = "vocab.txt"

# Other names of transformers for the same class, or subclasses of it that change nothing.
_CLASSES: Final = re.compile(
    r"(?:Bert|DistilBert|Electra|ConvBert|MobileBert|SqueezeBert|LayoutLM|Lxmert)Tokenizer(?:Fast)?"
)
_MODEL_TYPES: Final = frozenset(
    [
        "align",
        "bark",
        "bert",
        "blip",
        "bros",
        "chinese_clip",
        "convbert",
        "distilbert",
        "electra",
        "ernie",
        "flava",
        "git",
        "grounding-dino",
        "layoutlm",
        "lxmert",
        "megatron-bert",
        "mm-grounding-dino",
        "mobilebert",
        "nezha",
        "nomic_bert",
        "qdqbert",
        "realm",
        "retribert",
        "squeezebert",
        "tvp",
        "vilt",
        "visual_bert",
    ]
)
_TOKENS: Final = {
    f"{role}_token": f"[{role.upper()}]" for role in ("unk", "sep", "pad", "cls", "mask")
}

# What Rust's `trim_end` takes away: the property White_Space.
_BLANKS: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def with_defaults(sidecars: Sidecars) -> Sidecars:
    """The configurations, and the tokens that the class has where they name none."""
    config = {**_TOKENS, **sidecars.of("tokenizer_config.json")}
    return sidecars._replace(objects={**sidecars.objects, "tokenizer_config.json": config})


def word_pieces(data: bytes, sidecars: Sidecars, name: str) -> bytes:
    """The tokenizer.json of a vocabulary. Added tokens are left to `apply_config`; `sidecars` are
    those of `with_defaults`."""
    sidecars.require()
    config = sidecars.of("tokenizer_config.json")
    _refuse_others(sidecars, name)
    vocabulary = _vocabulary(data, name)
    tokens = _TOKENS | {f"{role}_token": token for role, token in sidecars.roles().items()}
    unknown, first, last = (tokens[f"{role}_token"] for role in ("unk", "cls", "sep"))
    for token in (unknown, first, last):
        if token not in vocabulary:
            raise NotATokenizer(
                f"a vocabulary of BERT has {unknown}, {first} and {last}; this one lacks {token}",
                source=name,
                hint="A tokenizer_config.json beside it names other tokens (unk_token, cls_token, "
                "sep_token)",
            )
    start, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in (first, last))
    a, b = ({"Sequence": {"id": text, "type_id": number}} for number, text in enumerate("AB"))
    end_of_b = {"SpecialToken": {"id": last, "type_id": 1}}
    document = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": _switch(config, "tokenize_chinese_chars", True),
            "strip_accents": _switch(config, "strip_accents", None),
            "lowercase": _switch(config, "do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, a, end],
            "pair": [start, a, end, b, end_of_b],
            "special_tokens": {
                token: {"id": token, "ids": [vocabulary[token]], "tokens": [token]}
                for token in (first, last)
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary,
        },
    }
    return json.dumps(document, ensure_ascii=False).encode()


def _vocabulary(data: bytes, name: str) -> dict[str, int]:
    """A token that stands twice has its last place; so it is in `tokenizers`."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise InvalidFile("not UTF-8", source=name, offset=error.start) from error
    if not lines[-1]:
        lines.pop()
    return {line.rstrip(_BLANKS): number for number, line in enumerate(lines)}


def _refuse_others(sidecars: Sidecars, name: str) -> None:
    other = other_class(sidecars, _CLASSES, _MODEL_TYPES)
    if other is not None:
        raise Unsupported(
            f"{VOCABULARY} is read as BERT's; beside it stands {other.replace(':', ' ')}",
            feature=f"{VOCABULARY}:{other}",
            source=name,
            hint="Save a tokenizer.json with transformers: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
        )


def _switch(config: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    value = config.get(name, default)
    if value is not default and not isinstance(value, bool):
        raise InvalidFile(
            f"{name} is neither true nor false", source="tokenizer_config.json", path=f"$.{name}"
        )
    return value
