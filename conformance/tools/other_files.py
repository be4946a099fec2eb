"""The suite's files of all formats but tokenizer.json."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece

from . import gguf, hf_files, patterns
from .corpus import LINES

Files = dict[str, bytes]

MADE: dict[str, tuple[str, str, str, Callable[[], Files]]] = {}
"""By name: the format, the file to load, what it is for, and how it is made."""


def made(name: str, file_format: str, main: str, about: str) -> Callable[..., Callable[[], Files]]:
    def register(make: Callable[[], Files]) -> Callable[[], Files]:
        MADE[name] = (file_format, main, about, make)
        return make

    return register


# Bytes and ranks.


def byte_alphabet() -> dict[str, int]:
    """The byte of each character, as GPT-2 has it."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return {chr(b if b in printable else next(others)): b for b in range(256)}


def ranks(document: dict[str, Any]) -> list[bytes]:
    """Tokens as bytes, by rank: bytes first, then the products in the order of their merges."""
    alphabet = byte_alphabet()
    tokens = sorted(document["model"]["vocab"].items(), key=lambda item: item[1])
    products = [bytes(alphabet[char] for char in token) for token, _ in tokens if len(token) > 1]
    return [*(bytes([byte]) for byte in range(256)), *products]


def cl100k_ranks() -> list[bytes]:
    return ranks(hf_files.byte_level_bpe(patterns.CL100K))


@made("ranks-cl100k", "tiktoken", "ranks.tiktoken", "a rank file; the pattern comes with the load")
def _ranks() -> Files:
    lines = [base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(cl100k_ranks())]
    return {"ranks.tiktoken": b"".join(lines)}


@made("tekken", "tekken", "tekken.json", "ranks behind special tokens, some of them not used")
def _tekken() -> Files:
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "<pad>"]
    special = [{"rank": n, "token_str": name, "is_control": True} for n, name in enumerate(names)]
    tokens = ranks(hf_files.byte_level_bpe(patterns.TEKKEN))
    document = {
        "config": {
            "pattern": patterns.TEKKEN,
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(tokens) - 20 + 10,
            "default_num_special_tokens": 10,
            "version": "v11",
        },
        "vocab": [
            {
                "rank": rank,
                "token_bytes": base64.b64encode(token).decode(),
                "token_str": _text(token),
            }
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": special,
    }
    return {"tekken.json": json.dumps(document, ensure_ascii=False).encode() + b"\n"}


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


@made(
    "vocab-merges", "vocab+merges", "vocab.json", "two files beside each other, as GPT-2 had them"
)
def _vocab_merges() -> Files:
    model = hf_files.byte_level_bpe(patterns.GPT2)["model"]
    merges = "".join(f"{' '.join(pair)}\n" for pair in model["merges"])
    return {
        "vocab.json": json.dumps(model["vocab"], ensure_ascii=False).encode(),
        "merges.txt": b"#version: 0.2\n" + merges.encode(),
    }


@made("rwkv", "rwkv", "vocab.txt", "the longest match in a list of byte strings")
def _rwkv() -> Files:
    tokens = [bytes([n]) for n in range(256)]
    seen = set(tokens)
    for line in LINES:
        for word in line.replace("\n", " \n").split(" "):
            for size in (2, 3, 5, 8):
                piece = (" " + word)[:size].encode()
                if len(piece) > 1 and piece not in seen and len(tokens) < 900:
                    seen.add(piece)
                    tokens.append(piece)
    lines = []
    for number, token in enumerate(tokens, 1):
        shown = repr(token) if _text(token) is None else repr(token.decode())
        lines.append(f"{number} {shown} {len(token)}\n")
    return {"vocab.txt": "".join(lines).encode()}


# SentencePiece.


# The rules of NFKC take 240 KB. These few meet all that a charsmap can do: longer and shorter
# keys, results of none, one and several characters, and what normalises to spaces.
RULES = {
    "\u00a0": " ",
    "\u3000": " ",
    "\t": " ",
    "\n": " ",
    "\ufb01": "fi",
    "\u2026": "...",
    "\u00df": "ss",
    "e\u0301": "\u00e9",
    "\u212b": "\u00c5",
    "\u200b": "",
    "\ufeff": "",
    "\ue000\u0301": "X",
    **{chr(0xFF01 + n): chr(0x21 + n) for n in range(94)},
}
FOLDING = {**RULES, **{chr(65 + n): chr(97 + n) for n in range(26)}, "\u0130": "i\u0307"}


def sentence_piece(kind: str, rules: dict[str, str] | None = None, **options: Any) -> bytes:
    if rules is not None:
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "rules.tsv"
            table.write_text("".join(f"{_hex(k)}\t{_hex(v)}\n" for k, v in rules.items()))
            return sentence_piece(kind, normalization_rule_tsv=str(table), **options)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line.rstrip("\n") for line in LINES] * 3),
        model_writer=model,
        model_type=kind,
        vocab_size=options.pop("vocab_size", 600),
        character_coverage=options.pop("character_coverage", 0.98),
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **{"normalization_rule_name": "identity", **options},
    )
    return model.getvalue()


def _hex(text: str) -> str:
    return " ".join(f"{ord(char):X}" for char in text)


def _sentence_piece_file(name: str, about: str, kind: str, **options: Any) -> None:
    @made(name, "sentencepiece", "tokenizer.model", about)
    def _make() -> Files:
        return {"tokenizer.model": sentence_piece(kind, **dict(options))}


LLAMA: dict[str, Any] = {
    "vocab_size": 700,
    "byte_fallback": True,
    "remove_extra_whitespaces": False,
    "split_digits": True,
    "allow_whitespace_only_pieces": True,
}

_sentence_piece_file("spm-bpe-bytes", "BPE with byte fallback and no normalisation", "bpe", **LLAMA)
_sentence_piece_file("spm-bpe", "BPE with an unknown token behind a few rules", "bpe", rules=RULES)
_sentence_piece_file("spm-unigram", "Unigram behind a few rules", "unigram", rules=RULES)
_sentence_piece_file(
    "spm-unigram-folded",
    "Unigram with case folding, byte fallback, a space behind words",
    "unigram",
    rules=FOLDING,
    byte_fallback=True,
    treat_whitespace_as_suffix=True,
    vocab_size=800,
)
_sentence_piece_file(
    "spm-unigram-symbols",
    "Unigram with symbols of users and control tokens, no space in front",
    "unigram",
    user_defined_symbols=["<sep>", "<user>", "\u2581\u2581"],
    control_symbols=["<ctl>"],
    add_dummy_prefix=False,
    remove_extra_whitespaces=False,
)
_sentence_piece_file("spm-char", "one piece a character", "char", vocab_size=400, rules=RULES)
_sentence_piece_file("spm-word", "one piece a word", "word", vocab_size=400)


# GGUF.


@made("gguf-llama", "gguf", "tokenizer.gguf", "the pieces and scores of a SentencePiece model")
def _gguf_llama() -> Files:
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentence_piece("bpe", **LLAMA))
    size = processor.get_piece_size()
    kinds = []
    for n in range(size):
        if processor.is_unknown(n):
            kinds.append(gguf.UNKNOWN)
        elif processor.is_control(n):
            kinds.append(gguf.CONTROL)
        else:
            kinds.append(gguf.BYTE if processor.is_byte(n) else gguf.NORMAL)
    return {
        "tokenizer.gguf": gguf.container(
            {
                "general.architecture": "llama",
                "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.tokens": [processor.id_to_piece(n) for n in range(size)],
                "tokenizer.ggml.scores": [float(processor.get_score(n)) for n in range(size)],
                "tokenizer.ggml.token_type": kinds,
                "tokenizer.ggml.bos_token_id": 1,
                "tokenizer.ggml.eos_token_id": 2,
                "tokenizer.ggml.unknown_token_id": 0,
                "tokenizer.ggml.add_bos_token": True,
            }
        )
    }


@made("gguf-llama3", "gguf", "tokenizer.gguf", "byte-level BPE with the pattern of llama 3")
def _gguf_llama3() -> Files:
    model = hf_files.byte_level_bpe(patterns.CL100K)["model"]
    tokens = [token for token, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    special = ["<|begin|>", "<|end|>"]
    return {
        "tokenizer.gguf": gguf.container(
            {
                "general.architecture": "llama",
                "tokenizer.ggml.model": "gpt2",
                "tokenizer.ggml.pre": "llama-bpe",
                "tokenizer.ggml.tokens": tokens + special,
                "tokenizer.ggml.token_type": [gguf.NORMAL] * len(tokens)
                + [gguf.CONTROL] * len(special),
                "tokenizer.ggml.merges": [" ".join(pair) for pair in model["merges"]],
                "tokenizer.ggml.bos_token_id": len(tokens),
                "tokenizer.ggml.eos_token_id": len(tokens) + 1,
            }
        )
    }


# Unigram as tokenizer.json: its pieces and its charsmap come out of SentencePiece.


def _pieces(model: bytes) -> list[tuple[str, float]]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    size = processor.get_piece_size()
    return [(processor.id_to_piece(n), float(processor.get_score(n))) for n in range(size)]


def _charsmap(model: bytes) -> str:
    from sentencepiece import sentencepiece_model_pb2

    parsed = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    parsed.ParseFromString(model)
    return base64.b64encode(parsed.normalizer_spec.precompiled_charsmap).decode()


@made("unigram-metaspace", "tokenizer.json", "tokenizer.json", "Unigram behind Metaspace, as T5")
def _unigram() -> Files:
    document = hf_files.unigram(_pieces(sentence_piece("unigram")), byte_fallback=False)
    document["normalizer"] = {"type": "NFKC"}
    document["pre_tokenizer"] = hf_files.metaspace("always")
    document["decoder"] = hf_files.metaspace("always")
    document["added_tokens"] = [hf_files.added("<unk>", 0), hf_files.added("</s>", 2)]
    document["post_processor"] = hf_files.template(
        {"</s>": 2}, single=("A", "</s>"), pair=("A", "</s>", "B", "</s>")
    )
    return {"tokenizer.json": hf_files.checked(hf_files.written(document))}


@made("unigram-bytes", "tokenizer.json", "tokenizer.json", "Unigram with byte fallback")
def _unigram_bytes() -> Files:
    model = sentence_piece("unigram", byte_fallback=True, vocab_size=800)
    document = hf_files.unigram(_pieces(model), byte_fallback=True)
    document["pre_tokenizer"] = hf_files.metaspace("first")
    document["decoder"] = hf_files.sequence(
        "decoders", {"type": "ByteFallback"}, hf_files.metaspace("first")
    )
    return {"tokenizer.json": hf_files.checked(hf_files.written(document))}


@made("unigram-precompiled", "tokenizer.json", "tokenizer.json", "Unigram behind a charsmap")
def _unigram_precompiled() -> Files:
    model = sentence_piece("unigram", rules={**RULES, "ab": "ba"})
    document = hf_files.unigram(_pieces(model), byte_fallback=False)
    document["normalizer"] = hf_files.sequence(
        "normalizers",
        {"type": "Precompiled", "precompiled_charsmap": _charsmap(model)},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    )
    document["pre_tokenizer"] = hf_files.sequence(
        "pretokenizers", {"type": "WhitespaceSplit"}, hf_files.metaspace("always")
    )
    document["decoder"] = hf_files.metaspace("always")
    return {"tokenizer.json": hf_files.checked(hf_files.written(document))}
