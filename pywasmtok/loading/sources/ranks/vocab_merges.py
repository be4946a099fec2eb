"""Which classes of transformers read vocab.json and merges.txt as GPT-2 does.

The two files do not say how text is cut. They are read with GPT-2's pattern, and without a
normalizer. A configuration that names another class, or a model of one, makes the files
unsupported: their ids would be other ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ....errors import Unsupported
from ..sidecars import other_class

if TYPE_CHECKING:
    from ....tokenizer.recipe import Sidecars

__all__ = ["check_class"]

# Of transformers 5.23: `ByteLevel(add_prefix_space=False)` alone. Special tokens at the ends of a
# text are not in the two files, and are not added.
_CLASSES: Final = re.compile(
    r"(?:Bart|CodeGen|Deberta|GPT2|LED|Longformer|Luke|Mvp|Roberta|Whisper)Tokenizer"
    r"(?:Fast)?"
)
# Models of these classes whose published tokenizer.json cuts text like that, too.
_MODEL_TYPES: Final = frozenset(
    [
        "bart",
        "blip-2",
        "bridgetower",
        "clap",
        "codegen",
        "data2vec-text",
        "deberta",
        "florence2",
        "gpt2",
        "gpt_neo",
        "gptj",
        "ibert",
        "led",
        "lilt",
        "longformer",
        "luke",
        "mega",
        "mra",
        "mvp",
        "opt",
        "phi",
        "roberta",
        "roberta-prelayernorm",
        "whisper",
    ]
)


def check_class(sidecars: Sidecars, name: str) -> None:
    """Raises where a configuration beside the files names another way of cutting text."""
    other = other_class(sidecars, _CLASSES, _MODEL_TYPES)
    if other is None and sidecars.of("tokenizer_config.json").get("add_prefix_space"):
        other = "add_prefix_space"
    if other is not None:
        raise Unsupported(
            "vocab.json and merges.txt are read as GPT-2's; beside them stands "
            f"{other.replace(':', ' ')}",
            feature=f"vocab+merges:{other}",
            source=name or None,
            hint="Save a tokenizer.json with transformers: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder); or say how text is "
            "cut, with pattern= or encoding=",
        )
