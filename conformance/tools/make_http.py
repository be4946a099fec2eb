"""Writes conformance/http: requests to tokenizer servers, and what they answer.

The shapes and defaults are those that each server documents; ids, offsets and texts come from
HuggingFace `tokenizers` and jinja2, never from an implementation under test.

    python -m tools.make_http        (in conformance/, with tokenizers and jinja2)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

HOME: Final = Path(__file__).parents[1] / "http"
LENGTH: Final = 4096
TEMPLATE: Final = (
    "{% for message in messages %}<|role|>{{ message.role }}\n{{ message.content }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|role|>assistant\n{% endif %}"
)
TEXTS: Final = (
    "Hello world",
    "",
    " two  spaces\n",
    "naïve 你好",
    "<|role|>system<|end|> and <s>",
    "\U0001f926\u200d♂️",
)
CHAT: Final = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Hello <|end|> there"},
]
# Nothing, words, special ones, a byte inside a character, a character of three.
IDS: Final = ((), (260, 265), (266, 260, 268, 265, 267), (163,), (228, 189, 160))

Case = dict[str, Any]


def alphabet() -> list[str]:
    """The characters that stand for the 256 bytes, in the order of the bytes."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = iter(range(256, 512))
    return [chr(byte) if byte in shown else chr(next(rest)) for byte in range(256)]


def tokenizer_file() -> dict[str, Any]:
    vocab = {character: number for number, character in enumerate(alphabet())}
    merges = ["l l", "h e", "H e", "ll o", "He llo", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"]
    for merge in merges:
        vocab.setdefault(merge.replace(" ", ""), len(vocab))
    first = len(vocab)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": first + place, "content": name, "special": True, **flags}
        for place, name in enumerate(("<s>", "</s>", "<|role|>", "<|end|>"))
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [first], "tokens": ["<s>"]}},
        },
        "decoder": {**level, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }


CONFIG: Final = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "model_max_length": LENGTH,
    "chat_template": TEMPLATE,
}


class Reference:
    def __init__(self, file: str) -> None:
        self.tok = Tokenizer.from_str(file)
        self.bytes_of = {character: byte for byte, character in enumerate(alphabet())}

    def ids(self, text: str, special: bool, parse: bool = True) -> list[int]:
        self.tok.encode_special_tokens = not parse
        return list(self.tok.encode(text, add_special_tokens=special).ids)

    def names(self, ids: list[int]) -> list[str]:
        return [self.name(one) for one in ids]

    def name(self, one: int) -> str:
        return str(self.tok.id_to_token(one))

    def decoded(self, ids: list[int], skip: bool) -> str:
        return str(self.tok.decode(ids, skip_special_tokens=skip))

    def chat(self, messages: list[dict[str, str]], prompt: bool) -> str:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        template = environment.from_string(TEMPLATE)
        return str(template.render(messages=messages, add_generation_prompt=prompt))

    def piece(self, one: int) -> bytes:
        name = self.name(one)
        if name.startswith("<") and one > 255:
            return name.encode()
        return bytes(self.bytes_of[character] for character in name)

    def spans(self, text: str, special: bool) -> list[dict[str, Any]]:
        """Byte offsets, and the bytes of the text between them."""
        self.tok.encode_special_tokens = False
        found = self.tok.encode(text, add_special_tokens=special)
        places = [0]
        for character in text:
            places.append(places[-1] + len(character.encode()))
        data = text.encode()
        spans = []
        for one, (begin, end) in zip(found.ids, found.offsets, strict=True):
            start, stop = places[begin], places[end]
            covered = data[start:stop].decode(errors="replace")
            spans.append({"id": one, "text": covered, "start": start, "stop": stop})
        return spans


def post(path: str, body: Any, status: int, answer: Any) -> Case:
    return case({"method": "POST", "path": path, "body": body}, status, answer)


def get(path: str, answer: Any) -> Case:
    return case({"method": "GET", "path": path}, 200, answer)


def case(request: dict[str, Any], status: int, answer: Any) -> Case:
    response = {"status": status, "body": answer}
    # Servers say more of an error and of themselves, and one request asks three of them.
    if status != 200 or request["path"] in ("/detokenize", "/info", "/tokenizer_info"):
        response["more"] = True
    return {"request": request, "response": response}


def vllm(ref: Reference) -> Iterator[Case]:
    def answer(text: str, special: bool, names: bool = False) -> dict[str, Any]:
        ids = ref.ids(text, special)
        strings = ref.names(ids) if names else None
        counted = {"count": len(ids), "max_model_len": LENGTH}
        return {**counted, "tokens": ids, "token_strs": strings}

    for text in TEXTS:
        yield post("/tokenize", {"model": "m", "prompt": text}, 200, answer(text, True))
    text = TEXTS[0]
    yield post("/tokenize", {"prompt": text}, 200, answer(text, True))
    plain = {"prompt": text, "add_special_tokens": False}
    yield post("/tokenize", plain, 200, answer(text, False))
    named = {"prompt": TEXTS[3], "return_token_strs": True, "messages": None}
    yield post("/tokenize", named, 200, answer(TEXTS[3], True, True))
    for prompt in (None, True, False):
        body: dict[str, Any] = {"model": "m", "messages": CHAT}
        if prompt is not None:
            body["add_generation_prompt"] = prompt
        yield post("/tokenize", body, 200, answer(ref.chat(CHAT, prompt is not False), False))
    body = {"messages": CHAT, "add_special_tokens": True, "return_token_strs": True}
    yield post("/tokenize", body, 200, answer(ref.chat(CHAT, True), True, True))
    unused = {"messages": CHAT, "chat_template_kwargs": {"enable_thinking": False}, "tools": None}
    yield post("/tokenize", unused, 200, answer(ref.chat(CHAT, True), False))
    for ids in IDS:
        some = list(ids)
        body = {"model": "m", "tokens": some}
        yield post("/detokenize", body, 200, {"prompt": ref.decoded(some, False)})
    both = {"messages": CHAT, "add_generation_prompt": True, "continue_final_message": True}
    yield post("/tokenize", both, 400, {"error": {"type": "BadRequestError", "code": 400}})
    unknown = {"model": "nobody's", "prompt": text}
    error = {"error": {"type": "NotFoundError", "code": 404, "param": None}}
    yield post("/tokenize", unknown, 404, error)
    wrong = {"prompt": 5}
    error = {"error": {"type": "BadRequestError", "code": 400, "param": "$.prompt"}}
    yield post("/tokenize", wrong, 400, error)
    reserved = {"messages": CHAT, "chat_template_kwargs": {"messages": []}}
    yield post("/tokenize", reserved, 400, {"error": {"type": "BadRequestError"}})
    own = {"messages": CHAT, "chat_template": "{{ 1 }}"}
    yield post("/tokenize", own, 403, {"error": {"type": "PermissionDeniedError", "code": 403}})
    yield get("/tokenizer_info", CONFIG)


def sglang(ref: Reference) -> Iterator[Case]:
    text = TEXTS[3]
    for more, special in (({}, True), ({"add_special_tokens": False}, False)):
        body = {"prompt": text, **more}
        ids = ref.ids(text, special)
        answer = {"tokens": ids, "count": len(ids), "max_model_len": LENGTH}
        yield post("/v1/tokenize", body, 200, answer)
        # The path and the request are vLLM's, too, whose answer has one key more.
        either = post("/tokenize", body, 200, answer)
        either["response"]["more"] = True
        yield either
    many = [ref.ids(text, True) for text in TEXTS]
    answer = {"tokens": many, "count": [len(ids) for ids in many], "max_model_len": LENGTH}
    for path in ("/v1/tokenize", "/tokenize"):
        yield post(path, {"model": "default", "prompt": list(TEXTS)}, 200, answer)
        empty = {"tokens": [], "count": [], "max_model_len": LENGTH}
        yield post(path, {"prompt": []}, 200, empty)
    for path in ("/v1/detokenize", "/detokenize"):
        for some in map(list, IDS):
            yield post(path, {"tokens": some}, 200, {"text": ref.decoded(some, True)})
            kept = {"tokens": some, "skip_special_tokens": False}
            yield post(path, kept, 200, {"text": ref.decoded(some, False)})
        lists = [list(ids) for ids in IDS]
        texts = [ref.decoded(ids, True) for ids in lists]
        yield post(path, {"tokens": lists}, 200, {"text": texts})
    error = {"object": "error", "type": "BadRequestError", "code": 400}
    yield post("/v1/tokenize", {"prompt": {"a": 1}}, 400, error)
    yield post("/v1/detokenize", {"tokens": [1, [2]]}, 400, error)
    yield post("/v1/detokenize", {"tokens": ["a"]}, 400, error)


def llamacpp(ref: Reference) -> Iterator[Case]:
    for text in TEXTS:
        yield post("/tokenize", {"content": text}, 200, {"tokens": ref.ids(text, False)})
    special = {"content": TEXTS[4], "add_special": True}
    yield post("/tokenize", special, 200, {"tokens": ref.ids(TEXTS[4], True)})
    unparsed = {"content": TEXTS[4], "parse_special": False}
    yield post("/tokenize", unparsed, 200, {"tokens": ref.ids(TEXTS[4], False, parse=False)})
    for text in (TEXTS[0], TEXTS[3], TEXTS[4], TEXTS[5]):
        pieces = []
        for one in ref.ids(text, False):
            data = ref.piece(one)
            try:
                pieces.append({"id": one, "piece": data.decode()})
            except UnicodeDecodeError:
                pieces.append({"id": one, "piece": list(data)})
        body = {"content": text, "with_pieces": True}
        yield post("/tokenize", body, 200, {"tokens": pieces})
    for ids in IDS:
        some = list(ids)
        text = b"".join(map(ref.piece, some)).decode(errors="replace")
        yield post("/detokenize", {"tokens": some}, 200, {"content": text})
    yield post("/apply-template", {"messages": CHAT}, 200, {"prompt": ref.chat(CHAT, True)})
    begun = [*CHAT, {"role": "assistant", "content": "Well, "}]
    prompt = ref.chat(CHAT, True) + "Well, "
    yield post("/apply-template", {"messages": begun}, 200, {"prompt": prompt})
    error = {"error": {"code": 400, "type": "invalid_request_error"}}
    yield post("/tokenize", {"content": 5}, 400, error)
    yield post("/apply-template", {}, 400, error)


def tgi(ref: Reference) -> Iterator[Case]:
    for text in TEXTS:
        yield post("/tokenize", {"inputs": text}, 200, ref.spans(text, True))
    body = {"inputs": TEXTS[0], "parameters": {"max_new_tokens": 20, "temperature": None}}
    yield post("/tokenize", body, 200, ref.spans(TEXTS[0], True))
    cut = {"inputs": TEXTS[2], "parameters": {"truncate": 3}}
    yield post("/tokenize", cut, 200, ref.spans(TEXTS[2], True)[-3:])
    text = ref.chat(CHAT, True)
    answer = {"tokenize_response": ref.spans(text, False), "templated_text": text}
    chat = {"model": "m", "messages": CHAT, "max_tokens": 20, "temperature": 0.5}
    yield post("/chat_tokenize", chat, 200, answer)
    yield post("/tokenize", {"inputs": 5}, 400, {"error_type": "validation"})
    yield post("/chat_tokenize", {"inputs": "a"}, 400, {"error_type": "validation"})
    yield get("/info", {"model_pipeline_tag": None})


def nobodys() -> Iterator[Case]:
    """What could mean two things, or nothing."""
    error = {"error": {"code": 400, "kind": "bad_request"}}
    keys = {"prompt": "a", "messages": CHAT, "content": "a", "inputs": "a"}
    names = list(keys)
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            both = {first: keys[first], second: keys[second]}
            yield post("/tokenize", both, 400, error)
    for body in ({}, {"text": "a"}, {"prompt": None}, {"model": "m"}):
        yield post("/tokenize", body, 400, error)
    yield post("/detokenize", {}, 400, error)
    yield post("/detokenize", {"tokens": None}, 400, error)
    wrong: Any
    for wrong in ([], "a", 5):
        yield post("/tokenize", wrong, 400, error)


def main() -> None:
    folder = HOME / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    file = json.dumps(tokenizer_file(), ensure_ascii=False, indent=1)
    (folder / "tokenizer.json").write_text(file + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    ref = Reference(file)
    cases = {
        "vllm": vllm(ref),
        "sglang": sglang(ref),
        "llamacpp": llamacpp(ref),
        "tgi": tgi(ref),
        "nobodys": nobodys(),
    }
    for name, found in cases.items():
        lines = [
            json.dumps({"id": f"http.{name}.{place:02}", **case}, ensure_ascii=False)
            for place, case in enumerate(found, 1)
        ]
        (HOME / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
