"""The families of models that the plugin is tried with, as folders that vLLM can load."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import NamedTuple

__all__ = ["FAMILIES", "Family", "write_folder"]


class Family(NamedTuple):
    """What stands in config.json, and files from elsewhere in the assets."""

    model_type: str
    architecture: str
    template: str = ""
    """A chat template that lies outside of the folder of the family."""
    tokenizer_class: str = ""
    """For a family without a tokenizer_config.json."""


FAMILIES = {
    "llama3": Family("llama", "LlamaForCausalLM"),
    "qwen3": Family("qwen3", "Qwen3ForCausalLM"),
    "gpt-oss": Family("gpt_oss", "GptOssForCausalLM", "sidecars/gpt-oss_chat_template.jinja"),
    "mistral-nemo": Family("mistral", "MistralForCausalLM"),
    "gemma3": Family("gemma3_text", "Gemma3ForCausalLM"),
    "deepseek-v3": Family("deepseek_v3", "DeepseekV3ForCausalLM"),
    "phi-3": Family("phi3", "Phi3ForCausalLM"),
    "bert-base-cased": Family("bert", "BertModel", tokenizer_class="BertTokenizer"),
}


def write_folder(assets: Path, name: str, folder: Path) -> None:
    """A model without weights. The sizes in its config.json are those of transformers."""
    family = FAMILIES[name]
    for file in ("tokenizer.json", "tokenizer_config.json"):
        plain, packed = assets / name / file, assets / name / f"{file}.xz"
        if packed.exists():
            (folder / file).write_bytes(lzma.decompress(packed.read_bytes()))
        elif plain.exists():
            (folder / file).write_bytes(plain.read_bytes())
    if family.tokenizer_class:
        stated = {"tokenizer_class": family.tokenizer_class, "do_lower_case": False}
        (folder / "tokenizer_config.json").write_text(json.dumps(stated))
    if family.template:
        (folder / "chat_template.jinja").write_bytes((assets / family.template).read_bytes())
    config = {"model_type": family.model_type, "architectures": [family.architecture]}
    (folder / "config.json").write_text(json.dumps(config))
