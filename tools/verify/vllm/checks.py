"""Runs where vLLM is installed: ids, texts, chats and detokenizers of modes pywasmtok and hf.

python checks.py ASSETS RECORD|- [FAMILY ...]
"""

from __future__ import annotations

import copy
import datetime
import json
import lzma
import os
import pickle
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FAMILIES = (
    "llama3", "qwen3", "gpt-oss", "mistral-nemo", "gemma3", "deepseek-v3", "phi-3",
    "bert-base-cased",
)  # fmt: skip
TEXTS = ("", "Hello world", "naïve café 🌶️ 中文 \U0001f468‍👩 test", " leading\n\n\ttrailing  ",
         "def f(x):\n    return x ** 2  # <|eot_id|> </s> <bos> <|im_end|>",
         "ab " * 300)  # fmt: skip
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 2+2? 🌶️"},
]

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
    "facts": lambda t: [t.all_special_ids, t.all_special_tokens, t.vocab_size, len(t), t.max_token_id, t.max_chars_per_token, t.is_fast, t.bos_token_id, t.eos_token_id, t.pad_token_id, t.truncation_side, t.num_special_tokens_to_add(), t.name_or_path],  # noqa: E501
    "vocabulary": lambda t: [t.get_vocab(), t.get_added_vocab()],
    "chat": lambda t: t.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True),
    "chat ids": lambda t: dict(t.apply_chat_template(CHAT, add_generation_prompt=True)),
    "deep copy": lambda t: copy.deepcopy(t).encode(TEXTS[2]),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).encode(TEXTS[2]),
}  # fmt: skip


def outcome(call: Callable[[Any], Any], tokenizer: Any) -> Any:
    try:
        return call(tokenizer)
    except Exception as error:
        return type(error).__name__


def request(prompt: list[int], **params: Any) -> Any:
    from vllm.sampling_params import SamplingParams

    return SimpleNamespace(
        sampling_params=SamplingParams(**params), request_id="r",
        prompt_token_ids=prompt, prompt_embeds=None,
    )  # fmt: skip


def generate(tokenizer: Any, prompt: list[int], ids: list[int], **params: Any) -> list[Any]:
    """What a client of vLLM gets: the text, the stop, and the ids that are kept."""
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer

    one = IncrementalDetokenizer.from_new_request(tokenizer, request(prompt, **params))
    seen: list[str] = []
    stop = None
    for number, token_id in enumerate(ids):
        stop = one.update([token_id], False)
        last = stop is not None or number == len(ids) - 1
        seen.append(one.get_next_output_text(last, True))
        if stop is not None:
            break
    return ["".join(seen), stop, one.output_token_ids]


def streams(ours: Any, theirs: Any) -> dict[str, Any]:
    rng = random.Random(1)
    same = differ = 0
    first: Any = None
    for number in range(150):
        text = rng.choice(TEXTS[1:]) + rng.choice(TEXTS[1:])
        ids = theirs.encode(text, add_special_tokens=False)
        if number % 3 == 0:
            ids += [rng.choice(theirs.all_special_ids or [0]), *ids[:5]]
        prompt = theirs.encode(rng.choice(TEXTS[1:5]))
        params = {
            "skip_special_tokens": rng.random() < 0.5,
            "spaces_between_special_tokens": rng.random() < 0.5,
            "stop": rng.choice([None, ["return"], ["é", "te"], ["🌶"], [" \n", "ab ab ab"]]),
            "include_stop_str_in_output": rng.random() < 0.5,
        }
        one, other = (generate(t, prompt, ids, **params) for t in (ours, theirs))
        same, differ = same + (one == other), differ + (one != other)
        if one != other and first is None:
            first = {"prompt": prompt, "ids": ids, **params, "ours": one, "theirs": other}
    # A prompt that ends inside a character.
    ids = theirs.encode("Hello world 🌶", add_special_tokens=False)
    inside = {}
    for cut in range(1, len(ids)):
        if theirs.decode(ids[:cut]).endswith("\ufffd"):
            inside[str(cut)] = [generate(t, ids[:cut], ids[cut:])[0] for t in (ours, theirs)]
    answer: dict[str, Any] = {"same": same, "differ": differ, "prompt ends inside": inside}
    return answer if first is None else {**answer, "first difference": first}


def median(call: Callable[[], Any], times: int) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1e6, 2)


def speed(tokenizer: Any, source: str) -> dict[str, float]:
    """Microseconds. Each text is met once, so that no cache of whole texts helps."""
    rng = random.Random(2)
    words = source.split(" ")

    def text(size: int) -> str:
        made = ""
        while len(made) < size:
            at = rng.randrange(len(words))
            made += " ".join(words[at : at + 12]) + f" {rng.randrange(10**6)} "
        return made[:size]

    short, long = (iter([text(size) for _ in range(60)]) for size in (200, 20_000))
    ids = tokenizer.encode(text(20_000), add_special_tokens=False)[:2000]
    return {
        "encode 200 B": median(lambda: tokenizer.encode(next(short)), 60),
        "encode 20 KB": median(lambda: tokenizer.encode(next(long)), 60),
        "decode 2,000 ids": median(lambda: tokenizer.decode(ids), 15),
        "detokenize a token": round(
            median(lambda: generate(tokenizer, ids[:50], ids), 9) / len(ids), 3
        ),
        "an id's token": round(
            median(lambda: tokenizer.convert_ids_to_tokens(ids), 9) / len(ids), 3
        ),
        "decode one id": median(lambda: tokenizer.decode([ids[5]]), 200),
    }


def main(assets: str, record: str, *families: str) -> int:
    from vllm.engine.arg_utils import EngineArgs

    # Loads the plugins, as `vllm serve` does; its parser of the command line wants a GPU.
    chosen = EngineArgs(tokenizer_mode="pywasmtok")

    import vllm
    from vllm.tokenizers import get_tokenizer, maybe_make_thread_pool

    from pywasmtok.compat.tokenizers import Tokenizer

    source = Path(vllm.__file__).with_name("config").joinpath("model.py").read_text()
    report: dict[str, Any] = {"date": str(datetime.date.today()), "vllm": vllm.__version__}
    report["processors"] = os.cpu_count()
    wrong = 0
    for family in families or FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("tokenizer.json", "tokenizer_config.json"):
                packed, plain = (Path(assets, family, name + end) for end in (".xz", ""))
                data = lzma.decompress(packed.read_bytes()) if packed.exists() else (
                    plain.read_bytes() if plain.exists() else b""
                )  # fmt: skip
                if data:
                    Path(folder, name).write_bytes(data)
            ours = get_tokenizer(folder, tokenizer_mode=chosen.tokenizer_mode)
            theirs = get_tokenizer(folder, tokenizer_mode="hf")
            on = isinstance(ours._tokenizer, Tokenizer)
            differ = [
                n for n, call in CALLS.items() if outcome(call, ours) != outcome(call, theirs)
            ]
            pool = maybe_make_thread_pool(copy.copy(ours), 2)
            if pool.encode(TEXTS[2]) != theirs.encode(TEXTS[2]):
                differ.append("thread pool")
            line = {"on": on, "calls": len(CALLS) + 1, "differ": differ}
            line["streams"] = streams(ours, theirs)
            line["microseconds"] = {
                mode: speed(t, source) for mode, t in (("pywasmtok", ours), ("hf", theirs))
            }
            report[family] = line
            wrong += len(differ) + (not on)
            print(family, json.dumps(line, ensure_ascii=False), flush=True)
    if record != "-":
        Path(record).write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
