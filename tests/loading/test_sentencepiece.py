"""SentencePiece models in the core, side by side with sentencepiece itself.

PYWASMTOK_RANDOM sets the number of texts and of id lists a model (20000 for a thorough run).
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import nasty
import pytest
from assets import ROOT, Asset, needs_assets, vectors

from pywasmtok import errors
from pywasmtok.backends.core import CoreBackend

COUNT = int(os.environ.get("PYWASMTOK_RANDOM", "1000"))

pytestmark = needs_assets

sentencepiece: Any = pytest.importorskip(
    "sentencepiece", reason="sentencepiece is not installed: pip install 'pywasmtok[test]'"
)

MODELS = {
    "llama2": Asset("llama2", "tokenizer.model"),
    "mistral-v1": Asset("mistral-v1", "tokenizer.model"),
    "mistral-v3": Asset("mistral-v3", "tokenizer.model"),
    "mistral-common-240323.v3": Asset(
        "mistral-common", "mistral_instruct_tokenizer_240323.model.v3"
    ),
    "mistral-common-241114.v7": Asset(
        "mistral-common", "mistral_instruct_tokenizer_241114.model.v7"
    ),
    "xlnet": Asset("xlnet", "spiece.model"),
    "chatglm-6b-ice_text": Asset("spm-misc", "chatglm-6b-ice_text.model"),
    "en.wiki.bpe.vs100000": Asset("spm-misc", "en.wiki.bpe.vs100000.model"),
    "nai-t5": Asset("spm-misc", "nai-t5.model"),
    "nerdstash": Asset("spm-misc", "nerdstash.model"),
    "test_ja_model": Asset("spm-misc", "test_ja_model.model"),
    "test_model": Asset("spm-misc", "test_model.model"),
}
EVERY = pytest.mark.parametrize("name", MODELS)


@lru_cache(maxsize=2)
def core(name: str) -> CoreBackend:
    return CoreBackend.load(MODELS[name].read(), build=None, source=name)


@lru_cache(maxsize=2)
def reference(name: str) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=MODELS[name].read())


def check_texts(tok: CoreBackend, ref: Any, texts: list[str]) -> None:
    """Ids of all texts; of every fourth also pieces and offsets."""
    for number, text in enumerate(texts):
        made = tok.encode(text, None, True)
        assert made.ids == ref.encode(text), text
        if number % 4 == 0:
            expected = ref.encode(text, return_type="offset_mapping")
            assert made.tokens == expected["pieces"], text
            assert made.offsets == expected["offsets"], text


@EVERY
def test_vectors(name: str) -> None:
    path = ROOT / "vectors" / f"spm.{name}.jsonl"
    if not path.exists():
        pytest.skip("this model has no vectors")
    tok = core(name)
    for case in vectors(path):
        made = tok.encode(case["text"], None, True)
        assert made.ids == case["ids"], case["id"]
        assert made.tokens == case.get("pieces", made.tokens), case["id"]
        assert tok.decode(case["ids"], False) == case["decoded"], case["id"]


@EVERY
def test_texts(name: str) -> None:
    ref = reference(name)
    dice = random.Random(name)
    own = [ref.id_to_piece(dice.randrange(ref.piece_size())) for _ in range(800)]
    own += [piece.replace("▁", " ") for piece in own]
    own += [p for p in map(ref.id_to_piece, range(ref.piece_size())) if p[0] in "<["][:200]
    check_texts(core(name), ref, list(nasty.texts(f"{name} spm", COUNT, own)))


@EVERY
def test_long_texts(name: str) -> None:
    """Scores of a long text grow beyond what small differences show in."""
    dice = random.Random(name)
    parts = ("345", "12", "ab", ".", "=", "the ", "ー", "你", "x")
    repeated = "".join(dice.choice(parts) * dice.choice((1, 3, 7, 40)) for _ in range(20_000))
    for text in (repeated, "".join(nasty.texts(name, 10_000, [])), "a" * 500_000):
        assert core(name).encode(text, None, True).ids == reference(name).encode(text)


@EVERY
def test_id_lists(name: str) -> None:
    tok, ref = core(name), reference(name)
    size = ref.piece_size()
    dice = random.Random(name)
    special = [n for n in range(size) if ref.is_byte(n) or ref.is_control(n) or ref.is_unknown(n)]
    special += [n for n in range(size) if ref.id_to_piece(n).startswith("▁")][:100]
    for drawn in nasty.id_lists(f"{name} spm", COUNT, size):
        ids = [dice.choice(special) if dice.random() < 0.4 else n for n in drawn]
        assert tok.decode(ids, False) == ref.decode(ids), ids


@EVERY
def test_skipping_special_tokens_takes_control_pieces_out(name: str) -> None:
    tok, ref = core(name), reference(name)
    control = [n for n in range(ref.piece_size()) if ref.is_control(n)]
    for drawn in nasty.id_lists(f"{name} skip", 200, ref.piece_size()):
        ids = [n for n in drawn if not ref.is_control(n)]
        mixed = [m for n in ids for m in (control[n % len(control)], n)]
        assert tok.decode(mixed, True) == ref.decode(ids), ids


@EVERY
def test_unknown_ids_are_left_out(name: str) -> None:
    tok, ref = core(name), reference(name)
    ids = reference(name).encode("Hello world")
    with pytest.raises(IndexError):
        ref.decode([*ids, ref.piece_size()])
    assert tok.decode([ref.piece_size(), *ids, 2**32 - 1], False) == ref.decode(ids)


@EVERY
def test_pieces_and_roles(name: str) -> None:
    tok, ref = core(name), reference(name)
    pieces = [ref.id_to_piece(n) for n in range(ref.piece_size())]
    assert [tok.id_to_token(n) for n in range(len(pieces))] == pieces
    assert all(tok.token_to_id(piece) == ref.piece_to_id(piece) for piece in pieces)
    assert tok.id_to_token(len(pieces)) is None
    info = tok.info
    roles = {role: number for role, _, number in info["roles"]}
    for role in ("unk", "bos", "eos", "pad"):
        assert roles.get(role, -1) == getattr(ref, f"{role}_id")(), role
    assert info["format"] == "sentencepiece"
    assert info["model"].startswith("SentencePiece ")
    control = [n for n in range(len(pieces)) if ref.is_control(n)]
    assert [token["id"] for token in info["added_tokens"]] == control


# Kind of a piece.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text: str, score: float, kind: int) -> bytes:
    return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + field(3, kind))


def random_model(dice: random.Random, rules: bytes) -> tuple[bytes, list[str]]:
    """Pieces of every kind over a few letters, any model, any flags."""
    byte_fallback = dice.random() < 0.3
    pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL)]
    if byte_fallback:
        pieces += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    letters = ["a", "b", "c", "▁", "é", "你", "x"]
    few_scores = dice.random() < 0.5
    kinds = [NORMAL] * 8 + [UNUSED] * dice.choice((0, 2)) + [USER_DEFINED] * dice.choice((0, 2))
    texts = {text: None for text in letters if dice.random() < 0.8}
    for _ in range(dice.randint(0, 40)):
        known = [*texts, *letters]
        joined = dice.choice(known) + dice.choice(known)
        loose = "".join(dice.choices([*letters, " ", "😀"], k=dice.randint(1, 5)))
        made = joined if dice.random() < 0.6 else loose
        if len(made) < 12:
            texts[made] = None
    for text in texts:
        score = float(-dice.randint(0, 4)) if few_scores else dice.uniform(-12, 0.5)
        pieces.append((text, score, dice.choice(kinds)))
    if not any(kind in (NORMAL, USER_DEFINED, UNUSED) for _, _, kind in pieces):
        pieces.append(("q", 0.0, NORMAL))
    dice.shuffle(pieces)
    flags = [dice.random() < 0.6, dice.random() < 0.5, dice.random() < 0.85]
    trainer = field(3, dice.choice((1, 1, 2, 2, 2, 3, 4))) + field(35, int(byte_fallback))
    trainer += field(24, int(dice.random() < 0.25))
    if dice.random() < 0.2:
        trainer += field(44, dice.choice(("", "?", " ▁x ")).encode())
    normalizer = b"".join(field(3 + n, int(flag)) for n, flag in enumerate(flags))
    if dice.random() < 0.4:
        normalizer += field(2, rules)
    model = b"".join(piece(*made) for made in pieces) + field(2, trainer) + field(3, normalizer)
    if dice.random() < 0.15:
        model += field(5, field(2, rules) + field(3, int(dice.random() < 0.3)))
    return model, [text for text, _, _ in pieces]


def charsmap() -> bytes:
    """The rules of a real model."""
    model = MODELS["nai-t5"].read()
    name = model.index(b"nmt_nfkc") + len("nmt_nfkc")
    assert model[name] == 0x12
    size, at, shift = 0, name + 1, 0
    while True:
        size |= (model[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if model[at - 1] < 0x80:
            return model[at : at + size]


def random_texts(dice: random.Random, pieces: list[str], count: int) -> Iterator[str]:
    odd = [*"abc▁é你😀ﬁ①\u3000x \u00a0", "e\u0301", "<s>", "<0x41>", "<unk>"]
    for _ in range(count):
        if dice.random() < 0.5:
            yield "".join(dice.choices(pieces, k=dice.randint(0, 9)))
        else:
            most = 12 if dice.random() < 0.9 else 80
            count = dice.randint(0, most)
            yield "".join(
                dice.choice([*odd, " "]) * dice.choice((1, 1, 2, 5)) for _ in range(count)
            )


@pytest.mark.parametrize("part", range(4))
def test_random_models(part: int) -> None:
    rules = charsmap()
    for number in range(max(8, COUNT // 80)):
        dice = random.Random(f"{part} {number}")
        data, pieces = random_model(dice, rules)
        ref = sentencepiece.SentencePieceProcessor(model_proto=data)
        tok = CoreBackend.load(data, build=None, source=f"random model {part} {number}")
        check_texts(tok, ref, list(random_texts(dice, pieces, 30)))
        for _ in range(30):
            ids = dice.choices(range(len(pieces)), k=dice.randint(0, 9))
            assert tok.decode(ids, False) == ref.decode(ids), ids


MALFORMED = {
    "truncated": errors.InvalidFile,
    "len_past_end": errors.InvalidFile,
    "varint_overflow": errors.InvalidFile,
    "no_pieces": errors.InvalidFile,
    "no_unk": errors.InvalidFile,
    "two_unk": errors.InvalidFile,
    "dup_piece": errors.InvalidFile,
    "empty_piece": errors.InvalidFile,
    "nan_score": errors.InvalidFile,
    "bad_byte_piece": errors.InvalidFile,
    "bad_charsmap": errors.InvalidFile,
    "bad_utf8_piece": errors.InvalidFile,
    "bad_type": errors.Unsupported,
    "lfs_pointer": errors.GitLfsPointer,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_models(name: str) -> None:
    with pytest.raises(MALFORMED[name]):
        CoreBackend.load(
            (ROOT / "malformed" / f"{name}.model").read_bytes(), build=None, source=name
        )


@pytest.mark.parametrize("name", ["ok_min_bpe", "word_type"])
def test_odd_but_valid_models(name: str) -> None:
    data = (ROOT / "malformed" / f"{name}.model").read_bytes()
    tok = CoreBackend.load(data, build=None, source=name)
    ref = sentencepiece.SentencePieceProcessor(model_proto=data)
    check_texts(tok, ref, list(nasty.texts(name, 200, ["abc", "abc ", "▁abc", "▁"])))


def test_every_malformed_model_is_listed() -> None:
    names = {path.stem for path in (ROOT / "malformed").glob("*.model")}
    assert names == {*MALFORMED, "ok_min_bpe", "word_type"}


def test_every_real_model_is_listed() -> None:
    tiktoken = {("llama3", "tokenizer.model"), ("llama4", "tokenizer.model")}
    real = {
        (path.parent.name, path.name.removesuffix(".xz"))
        for path in ROOT.glob("*/*.model*")
        if path.parent.name not in {"malformed", "vectors"}
    }
    assert real - tiktoken == {(asset.family, asset.name) for asset in MODELS.values()}
