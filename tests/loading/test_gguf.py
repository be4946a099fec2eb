"""GGUF files: equal to llama.cpp by its recorded answers, to HuggingFace where that is asked."""

from __future__ import annotations

import json
import lzma
import os
import random
import struct
import time
from array import array
from pathlib import Path
from typing import Any

import assets
import pytest
import random_streams
import streams
from assets import ROOT, needs_assets
from gguf_files import (
    BYTE,
    CONTROL,
    F32,
    NORMAL,
    U8,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Array,
    byte_alphabet,
    byte_level,
    gguf,
    joining,
    plain,
    scored,
)

import pywasmtok
from pywasmtok import _host, errors
from pywasmtok._host.wasm import abi

# fmt: off
NAMES = (
    "aquila", "bert-bge", "deepseek-coder", "deepseek-llm", "gpt-2", "gpt-neox", "llama-bpe",
    "llama-spm", "phi-3", "qwen2", "qwen35",
)
# fmt: on


class Loaded:
    """A tokenizer of the core and the calls that these tests make."""

    def __init__(self, data: bytes | dict[str, Any], **options: Any) -> None:
        raw = gguf(data) if isinstance(data, dict) else data
        self.core = _host.load_tokenizer(raw, options=json.dumps(options).encode())
        self.info = self.core.info()

    def ids(self, text: str, *, parse: bool = True, add: bool = False) -> list[int]:
        data = text.encode()
        flags = abi.ENCODE_ADD_SPECIAL_TOKENS if add else 0
        flags |= 0 if parse else abi.ENCODE_SPECIAL_IS_TEXT
        fast = array("I", self.core._run(len(data), lambda one: one.encode_ids(data, flags)))
        if parse:
            assert self.core.encode_full(text, None, add).ids == fast.tobytes()
        return list(fast)

    def tokens(self, text: str, *, parse: bool = True, add: bool = False) -> list[str | None]:
        return [self.core.id_to_token(i) for i in self.ids(text, parse=parse, add=add)]

    def text(self, ids: list[int], *, skip: bool = False) -> str:
        return self.core.decode(array("I", ids).tobytes(), skip)


def read(folder: str, name: str) -> bytes:
    path = ROOT / folder / name
    if path.is_file():
        return path.read_bytes()
    return lzma.decompress(path.with_name(name + ".xz").read_bytes())


def vocabulary(name: str) -> bytes:
    return read("gguf-llamacpp", f"ggml-vocab-{name}.gguf")


def cases(name: str) -> list[dict[str, Any]]:
    lines = (ROOT / "vectors" / f"{name}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines[1:] if line]


@needs_assets
@pytest.mark.parametrize("name", NAMES)
def test_vectors_of_llama_cpp(name: str) -> None:
    tok = Loaded(vocabulary(name))
    wrong = []
    for case in cases(f"gguf.{name}"):
        text, ids = case["text"], case["ids"]
        parsed = case.get("ids_parse", ids)
        for what, answer, expected in (
            ("ids", tok.ids(text, parse=False), ids),
            ("ids_parse", tok.ids(text), parsed),
            ("detok_parse", tok.text(parsed), case.get("detok_parse", text)),
        ):
            if answer != expected:
                wrong.append(f"{what} of {case['id']} {text[:60]!r}: {answer} for {expected}")
    assert not wrong, "\n".join(wrong[:10])


@needs_assets
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("decoder", ["core", "hf"])
def test_a_stream_is_the_whole_text_and_holds_little(name: str, decoder: str) -> None:
    path = assets.Asset("gguf-llamacpp", f"ggml-vocab-{name}.gguf")
    tok = assets.open_tokenizer(path, encoder="auto", decoder=decoder)
    dice = random.Random(name)
    size = tok.vocab_size
    bytes_and_words = tok.encode(
        "na\u00efve . don 't , a ' b \U0001f336\ufe0f 's !", add_special_tokens=False
    ).ids
    pools = [bytes_and_words, range(min(size, 400)), range(size)]
    for number in range(60):
        ids = streams.any_ids(dice, pools)
        whole = tok.decode(ids)
        stream = tok.decode_stream()
        text = "".join(stream.step_batch(part) for part in streams.cut(dice, ids))
        assert text + stream.flush() == whole, ids
        place = dice.randint(0, len(ids))
        behind = tok.decode_stream(ids[:place])
        completion = behind.step_batch(ids[place:]) + behind.flush()
        assert whole.endswith(completion), (ids, place)
        before = tok.decode(ids[:place])
        if whole.startswith(before) and not before.endswith("\ufffd"):
            assert before + completion == whole, (ids, place, number)
    stream = tok.decode_stream()
    most = 0
    for _ in range(40):
        stream.step_batch(bytes_and_words * 5)
        most = max(most, len(stream.state()))
    assert most < 256


@needs_assets
def test_a_prompt_that_ends_inside_a_character_loses_nothing() -> None:
    path = assets.Asset("gguf-llamacpp", "ggml-vocab-llama-bpe.gguf")
    tok = assets.open_tokenizer(path, encoder="auto", decoder="hf")
    stream = tok.decode_stream([39, 72, 127])
    assert stream.step_batch([102, 0, 10035]) + stream.flush() == "\u00e9!" + tok.decode([10035])


@needs_assets
def test_a_stop_string_is_found_before_the_end() -> None:
    path = assets.Asset("gguf-llamacpp", "ggml-vocab-gpt-2.gguf")
    tok = assets.open_tokenizer(path, encoder="auto", decoder="hf")
    stops = tok.stop_decoder(pywasmtok.StopSequenceConfig(stop_sequences=("STOP",)))
    given = ""
    for token_id in tok.encode("one two , three STOP four", add_special_tokens=False):
        output = stops.process_token(token_id)
        given += output.text
        if output.stopped:
            break
    assert (given, output.stopped) == ("one two, three ", True)


@needs_assets
@pytest.mark.parametrize("name", NAMES)
def test_the_cases_of_llama_cpp_itself(name: str) -> None:
    if (
        not (ROOT / "gguf-llamacpp" / f"ggml-vocab-{name}.gguf.inp.xz").exists()
        and not (ROOT / "gguf-llamacpp" / f"ggml-vocab-{name}.gguf.inp").exists()
    ):
        pytest.skip("upstream has none for this file")
    texts = read("gguf-llamacpp", f"ggml-vocab-{name}.gguf.inp").decode()
    expected = read("gguf-llamacpp", f"ggml-vocab-{name}.gguf.out").decode().split("\n")
    tok = Loaded(vocabulary(name))
    inputs = texts.split("\n__ggml_vocab_test__\n")
    assert len(inputs) == len(expected) > 40
    for text, line in zip(inputs, expected, strict=True):
        assert tok.ids(text, parse=False) == [int(number) for number in line.split()], text


@needs_assets
@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-2", "gpt2"),
        ("llama-bpe", "llama3"),
        ("llama-spm", "llama2"),
        ("phi-3", "phi-3"),
        ("qwen2", "qwen2.5"),
    ],
)
def test_on_request_it_is_what_huggingface_gives(name: str, family: str) -> None:
    tok = Loaded(vocabulary(name), gguf_compat="hf")
    known = tok.core.vocab(True)
    seen = 0
    for case in cases(f"hf.{family}"):
        if max(case["ids"], default=0) >= len(known) or case["id"].startswith("added"):
            # The added tokens of the two files differ.
            continue
        assert tok.ids(case["text"]) == case["ids"], case["text"]
        assert tok.text(case["ids"]) == case.get("decoded", case["text"])
        seen += 1
    assert seen >= 350


@needs_assets
def test_bert_on_request() -> None:
    try:
        tok = Loaded(vocabulary("bert-bge"), gguf_compat="hf")
    except errors.Unsupported as error:
        pytest.skip(str(error))
    shared = [case for case in cases("hf.gte") if not case["id"].startswith("added")]
    wrong = [case["text"] for case in shared if tok.ids(case["text"]) != case["ids"]]
    assert not wrong


# What each kind of file means, on small ones.


def test_scores_decide_and_ties_go_left() -> None:
    pieces = [("▁", -9.0), ("a", -9.0), ("b", -9.0), ("ab", -1.0), ("ba", -1.0), ("▁ab", -3.0)]
    tok = Loaded(scored(pieces))
    assert tok.tokens("ab", add=True) == ["<s>", "▁ab"]
    assert tok.tokens("aba") == ["▁ab", "a"]
    assert tok.tokens("bab") == ["▁", "ba", "b"]
    assert tok.tokens("é") == ["▁", "<0xC3>", "<0xA9>"]
    assert tok.text(tok.ids("é ab")) == "é ab"
    assert tok.info["model"] == "SPM"


def test_a_space_comes_before_text_at_the_start_and_behind_special_tokens() -> None:
    pieces = [("▁", -9.0), ("a", -9.0)]
    tok = Loaded(scored(pieces, [("<u>", USER_DEFINED)]))
    assert tok.tokens("a<s>a<u>a") == ["▁", "a", "<s>", "▁", "a", "<u>", "▁", "a"]
    # llama.cpp merges towards any token, control tokens included; here nothing leads to <s>.
    assert "<s>" not in tok.tokens("<s>a", parse=False)
    assert "<u>" in tok.tokens("a<u>", parse=False)
    none = Loaded(scored(pieces, add_space_prefix=False, add_bos_token=False))
    assert none.tokens("a a", add=True) == ["a", "▁", "a"]


@pytest.mark.parametrize("stated", [True, False, None])
def test_a_space_before_texts_is_taken_off_by_bytes_as_well(stated: bool | None) -> None:
    """As llama.cpp does it, which puts none there in these models."""
    more: dict[str, Any] = {} if stated is None else {"add_space_prefix": stated}
    tok = Loaded(byte_level(**more))
    for text in (" ab", "ab", "  ab", " ", ""):
        ids = tok.ids(text)
        assert ids == Loaded(byte_level()).ids(text)
        assert tok.text(ids) == (text[1:] if stated and text.startswith(" ") else text)


def test_the_longest_special_token_wins_wherever_it_stands() -> None:
    data = byte_level(specials=[("<|ab", CONTROL), ("b|>xy", CONTROL)])
    assert Loaded(data).tokens("<|ab|>xy") == ["<", "|", "a", "b|>xy"]
    assert Loaded(data, gguf_compat="hf").tokens("<|ab|>xy")[0] == "<|ab"


def test_a_merge_may_make_what_is_no_token() -> None:
    data = byte_level([("a", "b"), ("ab", "c")])
    tokens = data["tokenizer.ggml.tokens"]
    at = tokens.index("ab")
    tokens[at] = "unrelated"
    tok = Loaded(data)
    assert tok.tokens("abc") == ["abc"]
    # Its letters are looked up one by one.
    assert tok.tokens("abd") == ["a", "b", "d"]


def test_a_missing_letter_keeps_its_neighbours_apart() -> None:
    data = byte_level([("a", "b")])
    data["tokenizer.ggml.tokens"][byte_alphabet().index("x")] = "unrelated"
    tok = Loaded(data)
    assert tok.tokens("ab axb") == ["ab", "Ġ", "a", "b"]


def test_whole_pieces_by_name_of_the_pre_tokenizer() -> None:
    data = byte_level([("a", "b")])
    data["tokenizer.ggml.tokens"].append("abc")
    data["tokenizer.ggml.token_type"].append(NORMAL)
    assert Loaded(data).tokens("abc") == ["ab", "c"]
    data["tokenizer.ggml.pre"] = "llama-bpe"
    data["tokenizer.ggml.bos_token_id"] = 0
    assert Loaded(data).tokens("abc", add=True) == ["Ā", "abc"]


def test_bert() -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁hello", "▁wor", "ld", "▁!", "▁你", "▁e"]
    tokens = [(word, CONTROL if word.startswith("[") else NORMAL) for word in words]
    ids = {"bos_token_id": 2, "seperator_token_id": 3, "unknown_token_id": 1}
    tok = Loaded(plain("bert", tokens, **ids))
    assert tok.tokens("Hello World!", add=True) == [
        "[CLS]", "▁hello", "▁wor", "ld", "▁!", "[SEP]",
    ]  # fmt: skip
    assert tok.tokens("你hello worlds É\u0301\u200d") == ["▁你", "▁hello", "[UNK]", "▁e"]
    assert tok.tokens("\ud55c") == ["[UNK]"]
    assert tok.text([2, 4, 5, 6, 7, 3]) == "[CLS] hello world![SEP]"
    assert tok.text([2, 4, 5, 6, 7, 3], skip=True) == " hello world!"


def test_t5() -> None:
    tokens = [
        ("<pad>", CONTROL),
        ("</s>", CONTROL),
        ("<unk>", UNKNOWN),
        ("▁", NORMAL),
        ("a", NORMAL),
        ("▁a", NORMAL),
        ("b", UNUSED),
        ("<x>", USER_DEFINED),
    ]
    scores = [0.0, 0.0, 0.0, -2.0, -2.5, -4.6, -9.0, 0.0]
    flags = {"add_space_prefix": True, "remove_extra_whitespaces": True}
    tok = Loaded(plain("t5", tokens, scores=scores, **flags))
    assert tok.tokens("a  a", add=True) == ["▁", "a", "▁", "a", "</s>"]
    assert tok.tokens("ab") == ["▁", "a", "b"]
    assert tok.tokens("éü<x>") == ["▁", "<unk>", "<x>"]
    assert tok.tokens("") == []
    assert tok.text(tok.ids("a a")) == "a a"


def test_t5_reads_its_charsmap() -> None:
    broken = Array(U8, [1, 2, 3])
    data = plain("t5", [("a", NORMAL)], precompiled_charsmap=broken, unknown_token_id=0)
    data["tokenizer.ggml.add_eos_token"] = False
    with pytest.raises(errors.InvalidFile, match="charsmap") as caught:
        Loaded(data)
    assert caught.value.offset is not None


def test_rwkv() -> None:
    tokens = [("<s>", CONTROL), *((f"\\x{byte:02x}", NORMAL) for byte in range(256))]
    tokens += [("ab", NORMAL), ("\\n\\n", NORMAL), ("a\\\\", NORMAL), ("\\xe4\\xbd", NORMAL)]
    tok = Loaded(plain("rwkv", tokens))
    assert tok.tokens("abb") == ["ab", "\\x62"]
    assert tok.tokens("\n\na\\") == ["\\n\\n", "a\\\\"]
    assert tok.tokens("你", add=True) == ["\\xe4\\xbd", "\\xa0"]
    assert tok.text(tok.ids("你\n\nab")) == "你\n\nab"


def test_gemma4_splits_lines_and_knows_runs_of_line_feeds() -> None:
    tokens = [("<bos>", CONTROL), *((f"<0x{byte:02X}>", BYTE) for byte in range(256))]
    tokens += [(text, NORMAL) for text in ("▁", "a", "b", "ab", "▁ab", "\n", "\n\n", "\n\n\n")]
    merges = ["a b", "▁ ab", "\n \n"]
    tok = Loaded(plain("gemma4", tokens, merges=merges, bos_token_id=0, add_bos_token=False))
    assert tok.tokens("ab ab\n\n\na", add=True) == ["<bos>", "ab", "▁ab", "\n\n\n", "a"]
    assert tok.tokens("é") == ["<0xC3>", "<0xA9>"]
    assert tok.text(tok.ids("ab ab\n\né")) == "ab ab\n\né"


def test_whitespace_model() -> None:
    tokens = [(text, NORMAL) for text in ("a", "b", "ab")]
    tok = Loaded(plain("whitespace", tokens, pre="whitespace", merges=["a b"]))
    assert tok.tokens("ab  aXb") == ["ab", "a", "b"]
    lower = {"normalizer.lowercase": True}
    tok = Loaded(plain("whitespace", tokens, pre="whitespace", merges=["a b"], **lower))
    assert tok.tokens("AB") == ["ab"]


def test_decoding_follows_the_types_of_tokens() -> None:
    specials = [("a▁b", USER_DEFINED), ("gone", UNUSED), ("<é>", CONTROL)]
    tok = Loaded(byte_level(specials=specials))
    first = tok.core.token_to_id("a▁b")
    assert first is not None
    assert tok.text([first, first + 1, first + 2]) == "a▁b<é>"
    assert tok.text([first, first + 2], skip=True) == "a▁b"
    assert tok.text(tok.ids("so , it 's !")) == "so, it's!"


def test_names_of_tokens_overrule_their_types() -> None:
    tok = Loaded(byte_level(specials=[("<|im_end|>", NORMAL), ("<|channel|>", CONTROL)]))
    assert tok.tokens("<|im_end|>") == ["<|im_end|>"]
    assert "<|im_end|>" not in tok.tokens("<|im_end|>", parse=False)
    assert tok.tokens("<|channel|>", parse=False) == ["<|channel|>"]
    assert ["eot", "<|im_end|>", 256] in tok.info["roles"]
    compat = Loaded(byte_level(specials=[("<|im_end|>", NORMAL)]), gguf_compat="hf")
    assert "<|im_end|>" not in compat.tokens("<|im_end|>")


def test_a_token_that_is_to_be_added_has_to_exist() -> None:
    with pytest.raises(errors.InvalidFile, match="the bos token is to be added") as caught:
        Loaded(plain("llama", [("a", NORMAL)], scores=[0.0], add_bos_token=True))
    assert caught.value.path == "tokenizer.ggml.add_bos_token"


@pytest.mark.parametrize("options", [{}, {"gguf_compat": "hf"}], ids=["llama.cpp", "hf"])
@pytest.mark.parametrize("names", [("<|call|>", "<|return|>"), ("<|calls|>", "<|flush|>")])
@pytest.mark.parametrize("stated", [False, True])
def test_the_end_of_a_message_in_harmony_ends_no_turn(
    options: Any, names: tuple[str, str], stated: bool
) -> None:
    specials = [(name, CONTROL) for name in ("<|end|>", *names, "<|endoftext|>")]
    data = byte_level(specials=specials)
    if stated:
        data["tokenizer.ggml.eot_token_id"] = 256
    roles = {role: name for role, name, _ in Loaded(data, **options).info["roles"]}
    assert (roles["eot"], roles["eom"]) == ("<|endoftext|>", names[0])
    alone = Loaded(byte_level(specials=specials[:2]), **options)
    assert ["eot", "<|end|>", 256] in alone.info["roles"]


def test_all_tokens_that_end_a_text_for_llama_cpp_are_known(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"

    def ends(*names: str, **options: Any) -> tuple[int, ...]:
        data = byte_level(specials=[(name, NORMAL) for name in names])
        path.write_bytes(gguf(data | {"tokenizer.ggml.eos_token_id": 256}))
        tok = pywasmtok.create_tokenizer(path, **options)
        return tok.special_tokens.eos_token_ids

    names = ("<e>", "<|return|>", "<|end|>", "<|call|>", "<|endoftext|>", "</s>", "<|file_sep|>")
    assert ends(*names) == (256, 260, 259, 257, 261, 262)
    assert ends(*names, gguf_compat="hf") == (256, 260, 259)
    # Beside the second, the third is an ordinary token.
    assert ends("<e>", "<|tool_response>", "</s>") == (256, 257)


def test_white_space_beside_tokens_by_name_of_the_model() -> None:
    specials = [("<|end|>", CONTROL), ("<|user|>", CONTROL)]
    data = {"general.name": "My Phi-3 model", **byte_level(specials=specials)}
    assert Loaded(data).tokens("<|user|> \n\u3000a")[:2] == ["<|user|>", "ã"]
    data = byte_level(pre="jina-v2-de", specials=[("<mask>", CONTROL)])
    assert Loaded(data).tokens("a  <mask> b") == ["a", "<mask>", "Ġ", "b"]


def test_only_huggingface_normalizes() -> None:
    composed, apart = "\u00e9", "e\u0301"
    data = byte_level(pre="qwen2")
    assert Loaded(data).ids(apart) != Loaded(data).ids(composed)
    compat = Loaded(data, gguf_compat="hf")
    assert compat.ids(apart) == compat.ids(composed)


def test_patterns_are_the_approximations_of_llama_cpp() -> None:
    # Merges show where text was cut: nothing merges across a border.
    data = byte_level(joining("\u00e9\u00c9"), pre="gpt-4o")
    assert len(Loaded(data).ids("\u00e9\u00c9")) == 1
    assert len(Loaded(data, gguf_compat="hf").ids("\u00e9\u00c9")) == 3


def test_contractions_of_llama_cpp_are_ascii() -> None:
    data = byte_level(joining("'\u017fa"), pre="qwen2")
    assert len(Loaded(data).ids("'\u017fa")) == 1
    assert len(Loaded(data, gguf_compat="hf").ids("'\u017fa")) == 2


def test_letters_of_unicode_16_are_letters() -> None:
    word = "a\U00010d50"
    assert len(Loaded(byte_level(joining(word), pre="qwen2")).ids(word)) == 1


def test_of_one_length_the_smaller_id_wins() -> None:
    data = byte_level(specials=[("<ab", CONTROL), ("b>c", CONTROL)])
    assert Loaded(data).tokens("<ab>c") == ["<ab", ">", "c"]
    data = byte_level(specials=[("b>c", CONTROL), ("<ab", CONTROL)])
    assert Loaded(data).tokens("<ab>c") == ["<", "a", "b>c"]


def test_text_that_llama_cpp_fails_on() -> None:
    tok = Loaded(plain("llama", [("a", NORMAL)], scores=[0.0], add_bos_token=False))
    with pytest.raises(errors.Unsupported, match="byte token"):
        tok.ids("a\u00e9")


def test_rwkv_needs_every_byte() -> None:
    with pytest.raises(errors.InvalidFile, match="0xff"):
        Loaded(plain("rwkv", [(f"\\x{byte:02x}", NORMAL) for byte in range(255)]))


def test_roles_templates_and_notes() -> None:
    data = byte_level(specials=[("<e>", CONTROL)], eos_token_id=256, bos_token_id=9999, pre="")
    data["tokenizer.chat_template"] = "{{ messages }}"
    data["tokenizer.chat_templates"] = ["rag", "lost"]
    data["tokenizer.chat_template.rag"] = "R"
    tok = Loaded(data)
    assert ["eos", "<e>", 256] in tok.info["roles"]
    assert tok.info["chat_templates"] == [["default", "{{ messages }}"], ["rag", "R"]]
    notes = " ".join(tok.info["notes"])
    assert "tokenizer.ggml.pre" in notes
    assert "9999" in notes


def test_an_embedded_tokenizer_json_is_used() -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    data = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.huggingface.json": json.dumps({"model": model}),
    }
    tok = Loaded(data)
    assert tok.tokens("ab") == ["ab"]
    assert tok.info["format"] == "gguf"
    assert "tokenizer.json" in tok.info["notes"][0]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (plain("plamo2", [("a", NORMAL)]), "tokenizer.ggml.model:plamo2"),
        (plain("hybriddna", [("a", NORMAL)]), "tokenizer.ggml.model:hybriddna"),
        (byte_level(pre="nobody"), "tokenizer.ggml.pre:nobody"),
        (
            plain("t5", [("a", NORMAL), ("\u00e9", USER_DEFINED), ("?", UNKNOWN)]),
            "tokenizer.ggml.model",
        ),
    ],
)
def test_what_is_not_served_is_named(data: dict[str, Any], error: str) -> None:
    with pytest.raises(errors.Unsupported) as caught:
        Loaded(data)
    assert caught.value.feature == error


def test_compat_is_refused_where_nobody_knows() -> None:
    with pytest.raises(errors.Unsupported, match="gguf_compat"):
        Loaded(byte_level(pre="default"), gguf_compat="hf")


def test_alignment_and_keys_are_checked() -> None:
    for value, kind in ((3, "a power"), ("x", "a power")):
        with pytest.raises(errors.InvalidFile, match=kind):
            Loaded({"general.alignment": value})
    with pytest.raises(errors.InvalidFile, match="empty"):
        Loaded({"": 1})


def test_limits() -> None:
    with pytest.raises(errors.LimitExceeded):
        Loaded(byte_level(), limits={"items": 100})
    with pytest.raises(errors.LimitExceeded):
        Loaded(byte_level(), limits={"pairs": 3})


# How much of a file is needed.


def grow(data: bytes, step: int) -> tuple[int, int]:
    """Hands over as little as is asked for, at least `step` more; the extent and the questions."""
    have, asked = step, 0
    while True:
        asked += 1
        answer = _host.extent(data[:have])
        if answer["complete"]:
            return answer["bytes"], asked
        assert answer["bytes"] > have, "it has to ask for more than it has"
        have = max(answer["bytes"], have + step)


def test_extent_is_where_the_pairs_end() -> None:
    data = gguf(byte_level([("a", "b")]))
    bytes_needed, asked = grow(data + b"tensors" * 1000, 16)
    assert bytes_needed == len(data)
    assert asked > 2
    assert Loaded((data + b"tensors")[:bytes_needed]).tokens("ab") == ["ab"]
    assert _host.extent(b'{"model": {}}') == {"bytes": None, "complete": True}


def test_extent_refuses_what_no_file_may_hold() -> None:
    huge = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62)
    with pytest.raises(errors.LimitExceeded):
        _host.extent(huge)


@needs_assets
def test_extent_of_a_real_file() -> None:
    data = vocabulary("llama-bpe")
    bytes_needed, asked = grow(data, 1 << 20)
    assert bytes_needed == len(data)
    assert asked < 12


@needs_assets
def test_malformed_files_get_their_kind() -> None:
    manifest = json.loads((ROOT / "malformed" / "manifest.json").read_text())
    entries = manifest if isinstance(manifest, list) else manifest["files"]
    kinds = {"InvalidFile": errors.InvalidFile, "Unsupported": errors.Unsupported}
    kinds["NoTokenizerInFile"] = errors.NoTokenizerInFile
    served = {"ok_min_spm.gguf", "missing_pre.gguf", "bos_oob.gguf"}
    seen = 0
    for entry in entries:
        name: str = entry["file"]
        if entry["kind"] != "gguf":
            continue
        seen += 1
        if name in served:
            notes = Loaded(read("malformed", name)).info["notes"]
            assert bool(notes) == (name != "ok_min_spm.gguf"), name
            continue
        wanted = entry["recommended_error"]
        allowed = tuple(kind for word, kind in kinds.items() if word in wanted)
        with pytest.raises(allowed):
            Loaded(read("malformed", name))
    assert seen > 20


# Speed.


def largest(size: int) -> bytes:
    """A vocabulary of about `size` bytes, every token of it reached by a merge."""
    letters = byte_alphabet()[33:127]
    tokens, merges, at = list(byte_alphabet()), [], 0
    known = set(tokens)
    level = list(letters)
    total = 0
    while total < size:
        following = []
        for left in level:
            for right in letters[at % 50 : at % 50 + 6]:
                at += 1
                made = left + right
                if made not in known and total < size:
                    known.add(made)
                    tokens.append(made)
                    merges.append(f"{left} {right}")
                    following.append(made)
                    total += 2 * len(made) + 21
        level = following
    data = byte_level()
    data["tokenizer.ggml.tokens"] = tokens
    data["tokenizer.ggml.token_type"] = [NORMAL] * len(tokens)
    data["tokenizer.ggml.scores"] = Array(F32, [0.0] * len(tokens))
    data["tokenizer.ggml.merges"] = merges
    return gguf(data)


def loading_takes(data: bytes) -> float:
    Loaded(gguf(byte_level()))
    best = 60.0
    for _ in range(3):
        # Of this process: other work on the machine does not count.
        start = time.process_time()
        _host.load_tokenizer(data)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.skipif(not os.environ.get("PYWASMTOK_SLOW"), reason="measures time")
def test_fifteen_megabytes_load_within_a_second() -> None:
    data = largest(15 << 20)
    assert len(data) >= 15 << 20
    assert loading_takes(data) < 1.0


@needs_assets
@pytest.mark.skipif(not os.environ.get("PYWASMTOK_SLOW"), reason="measures time")
def test_the_largest_real_vocabulary_loads_within_a_second() -> None:
    assert loading_takes(vocabulary("llama-bpe")) < 1.0


@needs_assets
def test_random_streams() -> None:
    for seed in range(40):
        random_streams.compare(seed)
