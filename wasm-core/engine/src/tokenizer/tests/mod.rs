mod guarded;

use super::*;
use crate::definition::Side;
use crate::oracle::random::Random;
use crate::split::byte_level::CHAR_OF_BYTE;
use serde_json::{json, Value};

/// A byte-level vocabulary with some merges that English, code and Chinese run into.
fn byte_level_model(ignore_merges: bool) -> Value {
    let spell =
        |text: &str| -> String { text.bytes().map(|b| CHAR_OF_BYTE[usize::from(b)]).collect() };
    let mut vocab: Vec<String> = CHAR_OF_BYTE.iter().map(char::to_string).collect();
    let mut merges = Vec::new();
    let parts = [
        ("h", "e"),
        ("l", "l"),
        ("he", "ll"),
        ("hell", "o"),
        (" ", "hello"),
        (" ", " "),
        ("  ", "  "),
        ("\n", "\n"),
        ("a", "a"),
        ("aa", "aa"),
        ("aa", "a"),
        ("1", "2"),
        ("12", "3"),
        ("\u{e4}\u{bd}", ""),
        ("'", "s"),
        ("x", "y"),
        ("xy", "x"),
    ];
    for (left, right) in parts.into_iter().filter(|(_, right)| !right.is_empty()) {
        let (left, right) = (spell(left), spell(right));
        vocab.push(format!("{left}{right}"));
        merges.push(json!([left, right]));
    }
    let han: Vec<char> = "你".bytes().map(|b| CHAR_OF_BYTE[usize::from(b)]).collect();
    vocab.push(format!("{}{}", han[0], han[1]));
    merges.push(json!([han[0].to_string(), han[1].to_string()]));
    // A token that no merge reaches: only `ignore_merges` finds it.
    vocab.push(spell("unreachable"));
    let vocab: serde_json::Map<String, Value> =
        vocab.into_iter().enumerate().map(|(id, text)| (text, json!(id))).collect();
    json!({"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": ignore_merges})
}

const LLAMA3: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

fn split_then_bytes(pattern: &str) -> Value {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]})
}

fn added(content: &str, flags: &[&str]) -> Value {
    let has = |flag: &str| flags.contains(&flag);
    json!({"id": 0, "content": content, "single_word": has("single_word"), "lstrip": has("lstrip"),
        "rstrip": has("rstrip"), "normalized": has("normalized"), "special": has("special")})
}

fn build(file: Value) -> Tokenizer {
    Tokenizer::load(file.to_string().as_bytes()).unwrap()
}

fn file(model: Value, normalizer: Value, pre_tokenizer: Value) -> Value {
    json!({"version": "1.0", "model": model, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [added("<s>", &["special"]), added("<l>", &["lstrip"]),
            added("<R>", &["rstrip", "normalized"]), added("END", &["single_word"])]})
}

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut out = Vec::new();
    tokenizer.encode_ids(&mut Scratch::new(), text, Wanted::new(true), &mut out).unwrap();
    out
}

fn random_text(random: &mut Random) -> String {
    let atoms = [
        "hello",
        " hello",
        "he",
        "ll",
        "o",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "a",
        "aaaa",
        "123",
        "1",
        "'s",
        "'S",
        "xyx",
        "你",
        "你好",
        "é",
        "e\u{301}",
        "🌶️",
        "<s>",
        "<l>",
        "<R>",
        "<r>",
        "END",
        "unreachable",
        "\u{85}",
        "\u{3000}",
        ".",
        "!?",
        "\0",
        "ſ",
        "İ",
        "ﬁ",
        "Ａ",
    ];
    (0..random.below(12)).map(|_| *random.pick(&atoms)).collect()
}

#[test]
fn the_fast_way_gives_the_ids_of_the_traced_one() {
    let normalizers = [
        Value::Null,
        json!({"type": "NFC"}),
        json!({"type": "Lowercase"}),
        json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Prepend", "prepend": " "}]}),
    ];
    let pre_tokenizers = [
        (split_then_bytes(LLAMA3), "scanner"),
        (
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}),
            "scanner",
        ),
        (
            json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
            "steps",
        ),
        (
            json!({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]}),
            "ranges",
        ),
        (
            json!({"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Contiguous"},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            {"type": "Digits", "individual_digits": false}]}),
            "steps",
        ),
    ];
    let mut random = Random::new(11);
    for normalizer in &normalizers {
        for (pre_tokenizer, route) in &pre_tokenizers {
            for ignore_merges in [false, true] {
                let model = byte_level_model(ignore_merges);
                let tokenizer = build(file(model, normalizer.clone(), pre_tokenizer.clone()));
                let info: Value = serde_json::from_str(&tokenizer.info_json()).unwrap();
                assert!(info["route"].as_str().unwrap().starts_with(route), "{info}");
                assert_eq!(tokenizer.vocab_len(), tokenizer.vocab(true).count());
                let mut scratch = Scratch::new();
                for _ in 0..300 {
                    let text = random_text(&mut random);
                    let mut fast = Vec::new();
                    tokenizer
                        .encode_ids(&mut scratch, &text, Wanted::new(true), &mut fast)
                        .unwrap();
                    let full = tokenizer
                        .encode_full(&mut scratch, &text, None, Wanted::new(true))
                        .unwrap();
                    assert_eq!(fast, full.ids, "{text:?} {normalizer} {pre_tokenizer}");
                    assert_eq!(full.tokens.len(), fast.len());
                    assert_eq!(full.offsets.len(), fast.len());
                }
            }
        }
    }
}

#[test]
fn long_pieces_and_many_ids_cross_the_blocks() {
    let tokenizer = build(file(byte_level_model(false), Value::Null, split_then_bytes(LLAMA3)));
    for text in
        ["hello hello 123 ".repeat(3000), "a".repeat(10_001), " ".repeat(5000), "你".repeat(3000)]
    {
        let mut scratch = Scratch::new();
        let full = tokenizer.encode_full(&mut scratch, &text, None, Wanted::new(true)).unwrap();
        assert_eq!(ids(&tokenizer, &text), full.ids);
    }
}

#[test]
fn a_batch_is_its_texts() {
    let tokenizer = build(file(byte_level_model(false), Value::Null, split_then_bytes(LLAMA3)));
    let texts = ["hello", "", "<s> hello<l>", "123"];
    let (mut out, mut bounds) = (Vec::new(), Vec::new());
    tokenizer
        .encode_batch_ids(&mut Scratch::new(), &texts, Wanted::new(true), &mut out, &mut bounds)
        .unwrap();
    for (n, text) in texts.iter().enumerate() {
        assert_eq!(out[bounds[n] as usize..bounds[n + 1] as usize], ids(&tokenizer, text));
    }
}

#[test]
fn one_scratch_serves_several_tokenizers() {
    let tokenizers: Vec<Tokenizer> = [false, true, false, true, false, true]
        .map(|ignore| build(file(byte_level_model(ignore), Value::Null, split_then_bytes(LLAMA3))))
        .into();
    let mut scratch = Scratch::new();
    for _ in 0..3 {
        for tokenizer in &tokenizers {
            let mut out = Vec::new();
            tokenizer.encode_ids(&mut scratch, "unreachable", Wanted::new(true), &mut out).unwrap();
            assert_eq!(out, ids(tokenizer, "unreachable"));
        }
    }
}

#[test]
fn decoding_gives_the_text_back() {
    let tokenizer = build(file(byte_level_model(false), Value::Null, split_then_bytes(LLAMA3)));
    for text in ["hello 你好 🌶️\n", "<s>hello<R>  END"] {
        let mut out = String::new();
        tokenizer.decode(&ids(&tokenizer, text), false, &mut out).unwrap();
        assert_eq!(out, text.replace("<R>  ", "<R>"));
    }
    let mut out = String::new();
    tokenizer.decode(&[u32::MAX, tokenizer.token_to_id("<s>").unwrap()], true, &mut out).unwrap();
    assert_eq!(out, "");
}

#[test]
fn unknown_ids_are_left_out_refused_or_replaced() {
    let tokenizer = build(file(byte_level_model(false), Value::Null, split_then_bytes(LLAMA3)));
    let mut given = ids(&tokenizer, "hello");
    given.push(u32::MAX);
    let decode = |given: &[u32], unknown| {
        let mut out = String::new();
        let how = Decoding { skip_special: false, unknown };
        tokenizer.decode_with(given, how, &mut out).map(|()| out)
    };
    assert_eq!(decode(&given, UnknownIds::Skip).unwrap(), "hello");
    assert_eq!(decode(&given, UnknownIds::Replace).unwrap(), "hello\u{FFFD}");
    let error = decode(&given, UnknownIds::Refuse).unwrap_err();
    assert_eq!(error.kind, crate::error::ErrorKind::InvalidToken);
    assert!(error.message.contains("4294967295"), "{error}");
    given.pop();
    assert_eq!(decode(&given, UnknownIds::Refuse).unwrap(), "hello");
}

/// What a normalizer inserts before the first character, the reference aligns to nothing, and the
/// steps behind then edit only a part of the text: ids depend on alignments there, which the fast
/// way has to know although offsets are not asked for.
#[test]
fn insertions_before_the_first_character_give_the_same_ids_both_ways() {
    let inserting = [
        json!({"type": "Prepend", "prepend": ""}),
        json!({"type": "Prepend", "prepend": "a "}),
        json!({"type": "Replace", "pattern": {"String": ""}, "content": "b"}),
        json!({"type": "Replace", "pattern": {"Regex": "x*"}, "content": "A "}),
        json!({"type": "Replace", "pattern": {"Regex": "^"}, "content": "\u{e9}"}),
        json!({"type": "Replace", "pattern": {"Regex": "(?=hell)"}, "content": " "}),
        json!({"type": "Replace", "pattern": {"Regex": "(?=\u{4f60})"}, "content": "\u{fb01}"}),
    ];
    let plain = [
        json!({"type": "Lowercase"}),
        json!({"type": "NFD"}),
        json!({"type": "NFKC"}),
        json!({"type": "StripAccents"}),
        json!({"type": "Strip", "strip_left": true, "strip_right": true}),
        json!({"type": "Replace", "pattern": {"String": "ll"}, "content": ""}),
    ];
    let pre_tokenizers = [
        split_then_bytes(LLAMA3),
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "first", "split": true},
            {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false}]}),
        json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "first", "split": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}),
    ];
    let mut random = Random::new(23);
    let mut compared = 0;
    for _ in 0..250 {
        let mut steps = vec![random.pick(&inserting).clone()];
        for _ in 0..random.below(3) {
            let step =
                if random.below(3) == 0 { random.pick(&inserting) } else { random.pick(&plain) };
            steps.push(step.clone());
        }
        if random.below(2) == 0 {
            steps.insert(0, random.pick(&plain).clone());
        }
        let normalizer = json!({"type": "Sequence", "normalizers": steps});
        let pre_tokenizer = random.pick(&pre_tokenizers).clone();
        let document = file(byte_level_model(false), normalizer.clone(), pre_tokenizer.clone());
        // Where the reference panics on the added tokens already, no tokenizer comes to be.
        let Ok(tokenizer) = Tokenizer::load(document.to_string().as_bytes()) else { continue };
        let mut scratch = Scratch::new();
        for _ in 0..20 {
            let text = random_text(&mut random);
            let mut fast = Vec::new();
            let answer = tokenizer.encode_ids(&mut scratch, &text, Wanted::new(true), &mut fast);
            let full = tokenizer.encode_full(&mut scratch, &text, None, Wanted::new(true));
            match (answer, full) {
                (Ok(()), Ok(full)) => {
                    assert_eq!(fast, full.ids, "{text:?} {normalizer} {pre_tokenizer}");
                    compared += 1;
                }
                // The reference panics there; both ways say so.
                (Err(one), Err(other)) => assert_eq!(one, other, "{text:?} {normalizer}"),
                (one, other) => panic!("{one:?} {other:?} {text:?} {normalizer} {pre_tokenizer}"),
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn a_text_that_offsets_cannot_speak_of_is_refused() {
    assert!(admit(MAX_TEXT).is_ok());
    if let Some(longer) = MAX_TEXT.checked_add(1) {
        assert_eq!(admit(longer).unwrap_err().kind, crate::error::ErrorKind::LimitExceeded);
    }
}

/// The longest part with at most `limit` ids that are the first, or the last, of the whole text's.
fn longest_part(tokenizer: &Tokenizer, text: &str, limit: usize, side: Side) -> (usize, usize) {
    let body = |part: &str| {
        let mut out = Vec::new();
        tokenizer.encode_ids(&mut Scratch::new(), part, Wanted::new(false), &mut out).unwrap();
        out
    };
    let whole = body(text);
    if ids(tokenizer, text).len() <= limit {
        return (0, text.len());
    }
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let fits = |start: usize, end: usize| {
        let part = body(&text[start..end]);
        let is_part = match side {
            Side::Right => whole.starts_with(&part),
            Side::Left => whole.ends_with(&part),
        };
        is_part && ids(tokenizer, &text[start..end]).len() <= limit
    };
    match side {
        Side::Right => (0, *places.iter().rev().find(|&&end| fits(0, end)).unwrap()),
        Side::Left => (*places.iter().find(|&&start| fits(start, text.len())).unwrap(), text.len()),
    }
}

#[test]
fn truncating_keeps_the_longest_part() {
    let mut random = Random::new(21);
    let pre_tokenizers = [
        split_then_bytes(LLAMA3),
        json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}),
    ];
    for pre_tokenizer in pre_tokenizers {
        for normalizer in [json!(null), json!({"type": "NFC"})] {
            let tokenizer = build(file(byte_level_model(false), normalizer, pre_tokenizer.clone()));
            let mut scratch = Scratch::new();
            for _ in 0..150 {
                let text = random_text(&mut random);
                let limit = random.below(30);
                let wanted = Wanted::new(true);
                for side in [Side::Right, Side::Left] {
                    let room = Room { limit, side, more: false };
                    let mut kept_ids = Vec::new();
                    let kept = tokenizer
                        .truncate(&mut scratch, &text, wanted, room, &mut kept_ids)
                        .unwrap();
                    let part = &text[kept.range.clone()];
                    assert_eq!(kept_ids, ids(&tokenizer, part), "{text:?} {limit}");
                    let expected = longest_part(&tokenizer, &text, limit, side);
                    if kept.outcome == Outcome::Inexact {
                        assert_eq!(expected.0, expected.1, "{text:?} {limit}");
                        continue;
                    }
                    assert_eq!((kept.range.start, kept.range.end), expected, "{text:?} {limit}");
                }
                let count = ids(&tokenizer, &text).len();
                let counted = tokenizer.count(&mut scratch, &text, wanted, usize::MAX, false);
                assert_eq!(counted.unwrap(), count);
                let some = tokenizer.count(&mut scratch, &text, wanted, limit, false).unwrap();
                assert_eq!(some > limit, count > limit);
            }
        }
    }
}

/// A part of a text is enough where it says so, and then it says what the whole would.
#[test]
fn a_part_of_a_text_is_enough() {
    let mut random = Random::new(22);
    let tokenizer = build(file(byte_level_model(false), json!(null), split_then_bytes(LLAMA3)));
    let mut scratch = Scratch::new();
    let wanted = Wanted::new(true);
    let mut enough = 0;
    for _ in 0..300 {
        let text: String = (0..8).map(|_| random_text(&mut random)).collect();
        let (limit, size) = (random.below(20), random.below(text.len() + 1));
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let Some(&at) = places.iter().find(|&&at| at >= size) else { continue };
        for (side, part, shift) in [(Side::Right, &text[..at], 0), (Side::Left, &text[at..], at)] {
            let (mut some, mut all) = (Vec::new(), Vec::new());
            let room = Room { limit, side, more: true };
            let kept = tokenizer.truncate(&mut scratch, part, wanted, room, &mut some).unwrap();
            if kept.outcome == Outcome::NeedsMore {
                continue;
            }
            enough += 1;
            let room = Room { more: false, ..room };
            let whole = tokenizer.truncate(&mut scratch, &text, wanted, room, &mut all).unwrap();
            assert_eq!(some, all, "{text:?} {at}");
            assert_eq!(kept.range.start + shift, whole.range.start);
            assert_eq!(kept.range.end + shift, whole.range.end);
        }
        let counted = tokenizer.count(&mut scratch, &text[..at], wanted, limit, true).unwrap();
        let whole = ids(&tokenizer, &text).len();
        assert!(counted <= whole, "{text:?} {at}");
    }
    assert!(enough > 100, "{enough}");
}
