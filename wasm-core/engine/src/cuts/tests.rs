//! Cuts against the slow way, encoding the whole, for files that are made to break them.

use crate::oracle::random::Random;
use crate::tokenizer::{Scratch, Tokenizer, Wanted};
use serde_json::{json, Value};

/// Characters that some step treats in a way of its own.
const CHARS: &[char] = &[
    'a', 's', 't', 'Z', '1', '9', ' ', '\n', '\r', '\t', '.', ',', '\'', '-', '_', '/', '<', '>',
    '`', '▁', 'é', 'ſ', 'İ', '\u{301}', '½', '漢', '。', '・', '゠', 'ー', '가', '\u{1161}', 'ก',
    '\u{e34}', '🌶', '\u{200d}', '\u{a0}', '\u{3000}', '\u{0}',
];

fn bytes_model() -> Value {
    use crate::split::byte_level::CHAR_OF_BYTE;
    let mut vocab: Vec<String> = CHAR_OF_BYTE.iter().map(char::to_string).collect();
    let mut merges = Vec::new();
    let pairs = [
        ("a", "s"),
        ("Ġ", "a"),
        ("Ġa", "s"),
        ("s", "Ġ"),
        ("Ġ", "Ġ"),
        ("1", "9"),
        ("a", "."),
        ("s", "Ċ"),
        ("a", "1"),
        ("as", "Ġ"),
        (".", "Ġ"),
        ("t", "'"),
    ];
    for (left, right) in pairs {
        vocab.push(format!("{left}{right}"));
        merges.push(json!([left, right]));
    }
    let vocab: serde_json::Map<String, Value> =
        vocab.into_iter().enumerate().map(|(id, text)| (text, json!(id))).collect();
    json!({"type": "BPE", "vocab": vocab, "merges": merges})
}

/// As llama2 has it: characters, bytes for the rest, no pre-tokenizer.
fn pieces_model() -> Value {
    let mut vocab: Vec<String> = vec!["<unk>".into()];
    vocab.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
    vocab.extend(["▁", "a", "s", "t", "Z", "1", ".", "漢", "á"].map(String::from));
    let mut merges = Vec::new();
    let pairs = [
        ("▁", "a"),
        ("a", "s"),
        ("▁a", "s"),
        ("▁", "▁"),
        ("s", "t"),
        ("a", "."),
        ("t", "á"),
        ("▁", "á"),
    ];
    for (left, right) in pairs {
        vocab.push(format!("{left}{right}"));
        merges.push(json!([left, right]));
    }
    let vocab: serde_json::Map<String, Value> =
        vocab.into_iter().enumerate().map(|(id, text)| (text, json!(id))).collect();
    json!({"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "fuse_unk": true,
        "byte_fallback": true})
}

fn words_model() -> Value {
    let texts =
        ["[UNK]", "a", "s", "##s", "as", "##as", "t", "##t", "1", "##1", ".", "-", "漢", "z"];
    let vocab: serde_json::Map<String, Value> =
        texts.iter().enumerate().map(|(id, text)| ((*text).to_owned(), json!(id))).collect();
    json!({"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]",
        "continuing_subword_prefix": "##", "max_input_chars_per_word": 4})
}

fn unigram_model() -> Value {
    let pieces = [
        ("<unk>", 0.0),
        ("▁", -2.0),
        ("a", -3.1),
        ("s", -3.0),
        ("▁a", -2.5),
        ("as", -2.2),
        ("▁as", -4.0),
        (".", -3.0),
        ("t", -3.3),
        ("st", -3.9),
        ("1", -3.0),
    ];
    json!({"type": "Unigram", "unk_id": 0, "vocab": pieces})
}

fn byte_level(use_regex: bool, add_prefix_space: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true,
        "use_regex": use_regex})
}

fn metaspace(scheme: &str, split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split})
}

fn sequence(kind: &str, steps: &[Value]) -> Value {
    json!({"type": "Sequence", kind: steps})
}

fn split(pattern: Value, behavior: &str, invert: bool) -> Value {
    json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert})
}

fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

fn added(content: &str, flags: &[&str]) -> Value {
    let has = |flag: &str| flags.contains(&flag);
    json!({"id": 0, "content": content, "single_word": has("single_word"), "lstrip": has("lstrip"),
        "rstrip": has("rstrip"), "normalized": has("normalized"), "special": has("special")})
}

fn build(model: Value, normalizer: Value, pre_tokenizer: Value, tokens: &[Value]) -> Tokenizer {
    let file = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": tokens,
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": null,
        "decoder": null, "model": model});
    Tokenizer::load(file.to_string().as_bytes()).unwrap()
}

fn ids(tokenizer: &Tokenizer, scratch: &mut Scratch, text: &str) -> Option<Vec<u32>> {
    let mut ids = Vec::new();
    tokenizer.encode_ids(scratch, text, Wanted::new(false), &mut ids).ok()?;
    Some(ids)
}

/// Every cut of random texts, one at a time; answers how many there were.
fn check(tokenizer: &Tokenizer, parts: &[&str], texts: usize, seed: u64) -> usize {
    let mut random = Random::new(seed);
    let mut scratch = Scratch::new();
    let mut cuts = 0;
    for _ in 0..texts {
        let mut text = String::new();
        for _ in 0..random.below(12) {
            match random.below(3) {
                0 if !parts.is_empty() => text.push_str(random.pick::<&str>(parts)),
                _ => text.push(*random.pick(CHARS)),
            }
        }
        let Some(whole) = ids(tokenizer, &mut scratch, &text) else { continue };
        for at in (0..text.len()).filter(|&at| tokenizer.is_cut(&text, at)) {
            let (first, second) = text.split_at(at);
            let mut both = ids(tokenizer, &mut scratch, first).unwrap();
            tokenizer.continue_ids(&mut scratch, second, Wanted::new(false), &mut both).unwrap();
            assert_eq!(both, whole, "{first:?} + {second:?}");
            cuts += 1;
        }
    }
    cuts
}

/// Every pair of characters that may be cut, between all others.
fn check_pairs(tokenizer: &Tokenizer) -> usize {
    let mut scratch = Scratch::new();
    let mut cuts = 0;
    for &left in CHARS {
        for &right in CHARS {
            for outer in CHARS.iter().step_by(4) {
                for text in
                    [format!("a{outer}{left}{right}{outer}s"), format!("{left}{right}{outer}")]
                {
                    let at = text.find(left).unwrap_or(0) + left.len_utf8();
                    if !tokenizer.is_cut(&text, at) {
                        continue;
                    }
                    let Some(whole) = ids(tokenizer, &mut scratch, &text) else { continue };
                    let (first, second) = text.split_at(at);
                    let mut both = ids(tokenizer, &mut scratch, first).unwrap();
                    let wanted = Wanted::new(false);
                    tokenizer.continue_ids(&mut scratch, second, wanted, &mut both).unwrap();
                    assert_eq!(both, whole, "{first:?} + {second:?}");
                    cuts += 1;
                }
            }
        }
    }
    cuts
}

#[test]
fn every_pipeline() {
    let regex = |pattern: &str| json!({"Regex": pattern});
    let literal = |text: &str| json!({"String": text});
    let nfc = json!({"type": "NFC"});
    let bert = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
        "strip_accents": null, "lowercase": true});
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let strip_left = json!({"type": "Strip", "strip_left": true, "strip_right": false});
    let llama = sequence("normalizers", &[prepend, replace(literal(" "), "▁")]);
    let words = r" ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    let isolated = |pattern: &str| split(regex(pattern), "Isolated", false);
    let bytes_after = |step: Value| sequence("pretokenizers", &[step, byte_level(false, false)]);
    let pipelines = [
        (bytes_model(), json!(null), byte_level(true, false), 1),
        (bytes_model(), json!(null), byte_level(true, true), 1),
        (bytes_model(), nfc.clone(), bytes_after(isolated(words)), 1),
        (bytes_model(), json!({"type": "Lowercase"}), bytes_after(isolated(words)), 1),
        (bytes_model(), json!(null), bytes_after(isolated(r"\s+$|\w+|[^\w\s]+|\s+")), 1),
        (bytes_model(), json!(null), bytes_after(split(regex(words), "Removed", true)), 1),
        (
            bytes_model(),
            json!(null),
            bytes_after(split(literal("."), "MergedWithPrevious", false)),
            1,
        ),
        (bytes_model(), json!(null), bytes_after(split(literal("a"), "MergedWithNext", false)), 1),
        (bytes_model(), json!(null), bytes_after(split(regex("[0-9]"), "Contiguous", false)), 1),
        (
            bytes_model(),
            json!(null),
            bytes_after(json!({"type": "Digits", "individual_digits": false})),
            1,
        ),
        (
            bytes_model(),
            json!(null),
            bytes_after(json!({"type": "Punctuation", "behavior": "Isolated"})),
            1,
        ),
        (bytes_model(), json!(null), bytes_after(json!({"type": "Whitespace"})), 1),
        (
            bytes_model(),
            json!({"type": "Strip", "strip_left": true, "strip_right": true}),
            bytes_after(isolated(words)),
            1,
        ),
        (bytes_model(), replace(regex(r"\s+"), " "), bytes_after(isolated(words)), 1),
        (bytes_model(), replace(literal("``"), "\""), bytes_after(isolated(words)), 1),
        // What looks behind, or changes the start of a text, has none.
        (bytes_model(), json!(null), bytes_after(isolated(r"(?<=a)s|\w+|\W")), 0),
        (bytes_model(), replace(regex("^"), "a"), bytes_after(isolated(words)), 0),
        (bytes_model(), json!(null), byte_level(false, false), 0),
        (pieces_model(), llama.clone(), json!(null), 1),
        (pieces_model(), sequence("normalizers", &[strip_left, llama.clone()]), json!(null), 1),
        (pieces_model(), nfc.clone(), json!(null), 1),
        (
            pieces_model(),
            sequence("normalizers", &[json!({"type": "Lowercase"}), nfc.clone()]),
            json!(null),
            1,
        ),
        (pieces_model(), nfc.clone(), isolated("t[^a]|[a-z]"), 1),
        (
            pieces_model(),
            sequence("normalizers", &[json!({"type": "NFKC"}), llama.clone()]),
            json!(null),
            1,
        ),
        (pieces_model(), json!(null), metaspace("first", false), 1),
        (pieces_model(), json!(null), metaspace("first", true), 1),
        (pieces_model(), json!(null), metaspace("always", true), 1),
        (pieces_model(), json!(null), metaspace("never", false), 1),
        (words_model(), bert.clone(), json!({"type": "BertPreTokenizer"}), 1),
        (words_model(), json!(null), json!({"type": "WhitespaceSplit"}), 1),
        (words_model(), bert, json!(null), 0),
        (unigram_model(), json!(null), metaspace("always", true), 1),
        (
            unigram_model(),
            json!(null),
            sequence(
                "pretokenizers",
                &[json!({"type": "WhitespaceSplit"}), metaspace("always", true)],
            ),
            1,
        ),
        (
            unigram_model(),
            json!(null),
            sequence(
                "pretokenizers",
                &[json!({"type": "WhitespaceSplit"}), metaspace("first", true)],
            ),
            1,
        ),
        (unigram_model(), json!(null), metaspace("always", false), 0),
    ];
    let parts = [
        "as",
        " as",
        "  ",
        "``",
        "a.",
        "'s",
        "\r\n",
        "<s>",
        "<r>",
        "<r>\n",
        " <l>",
        "end",
        " end ",
        "New York",
        "ta\u{301}",
    ];
    let flagged = [
        added("<s>", &["special"]),
        added("<l>", &["lstrip"]),
        added("<r>", &["rstrip"]),
        added("end", &["single_word"]),
        added("New York", &["normalized"]),
        added(" t", &["single_word", "normalized"]),
        added("á", &["single_word", "normalized"]),
        added("z", &["rstrip", "lstrip", "normalized"]),
    ];
    for (seed, (model, normalizer, pre_tokenizer, some)) in (1..).zip(pipelines) {
        for tokens in [&[][..], &flagged[..]] {
            let named = format!("{normalizer} {pre_tokenizer}");
            let tokenizer = build(model.clone(), normalizer.clone(), pre_tokenizer.clone(), tokens);
            let cuts = check(&tokenizer, &parts, 400, seed) + check_pairs(&tokenizer);
            assert_eq!(cuts > 0, some > 0, "{cuts} cuts: {named}");
            assert_eq!(tokenizer.why_no_cuts().is_none(), some > 0, "{named}");
        }
    }
}

/// "Special tokens are safe split points" is a rule of systems in the field; each of these breaks it.
#[test]
fn beside_special_tokens() {
    let of = |tokens: &[Value]| build(bytes_model(), json!(null), byte_level(true, false), tokens);
    let may = |tokenizer: &Tokenizer, text: &str, at: usize| tokenizer.is_cut(text, at);
    // The token behind which white space belongs to it.
    let strips = of(&[added("<m", &["rstrip"])]);
    assert!(!may(&strips, "<m  b", 2));
    assert!(may(&strips, "<a  b", 2));
    // The shorter token is no end: the longer one goes on.
    let overlap = of(&[added("<a>", &[]), added("<a><b>", &[])]);
    assert!(!may(&overlap, "<a><b>", 3));
    // A token with a space inside.
    let spaced = of(&[added("New York", &[])]);
    assert!(!may(&spaced, "New York", 3));
    assert!(may(&spaced, "New Yorks", 8) == may(&of(&[]), "New Yorks", 8));
    // `end` is no token in `end1`, but is one at the end of a text.
    let word = of(&[added("end", &["single_word"])]);
    assert!(!may(&word, "end1", 3));
    assert!(may(&word, "end.", 3));
    // ` t` is no token behind a letter, but is one at the start of a text.
    let starts = of(&[added(" t", &["single_word"])]);
    assert!(!may(&starts, "a t.", 1));
}

#[test]
fn a_prefix_is_not_put_in_front_of_what_continues() {
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let normalizer = sequence("normalizers", &[prepend, replace(json!({"String": " "}), "▁")]);
    let tokenizer = build(pieces_model(), normalizer, json!(null), &[added("<s>", &["special"])]);
    let mut scratch = Scratch::new();
    let (mut alone, mut continued) = (Vec::new(), Vec::new());
    let wanted = Wanted::new(false);
    tokenizer.encode_ids(&mut scratch, " as", wanted, &mut alone).unwrap();
    tokenizer.continue_ids(&mut scratch, " as", wanted, &mut continued).unwrap();
    assert!(alone.len() > continued.len(), "{alone:?} {continued:?}");
    // Behind a special token, the prefix is put there in the whole text as well.
    assert!(!tokenizer.is_cut("<s> as", 3));
    assert!(tokenizer.is_cut("as as", 2));
}

#[test]
fn files_that_truncate_have_none_and_say_so() {
    let file = json!({"version": "1.0", "added_tokens": [], "normalizer": null,
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": null, "pre_tokenizer": byte_level(true, false), "post_processor": null,
        "decoder": null, "model": bytes_model()});
    let tokenizer = Tokenizer::load(file.to_string().as_bytes()).unwrap();
    let reason = tokenizer.why_no_cuts().unwrap().to_string();
    assert!(reason.starts_with("post-processor:"), "{reason}");
    assert_eq!(tokenizer.last_cut("as as as", 8), None);
}

#[test]
fn the_nearest_cut_is_found() {
    let tokenizer = build(bytes_model(), json!(null), byte_level(true, false), &[]);
    let text = "as as, 漢字。as";
    let all: Vec<usize> = (0..text.len()).filter(|&at| tokenizer.is_cut(text, at)).collect();
    assert!(all.len() > 3, "{all:?}");
    for at in 0..=text.len() + 2 {
        let last = all.iter().copied().rfind(|&cut| cut <= at);
        assert_eq!(tokenizer.last_cut(text, at), last, "{at}");
        let first = all.iter().copied().find(|&cut| cut >= at);
        assert_eq!(tokenizer.first_cut(text, at), first, "{at}");
    }
    // Between runs of one character: their borders are all alike but for the outermost ones.
    let mut random = Random::new(5);
    let mut found = 0;
    for _ in 0..300 {
        let runs = (0..1 + random.below(6))
            .map(|_| random.pick(CHARS).to_string().repeat(1 + random.below(12)));
        let text: String = runs.collect();
        let all: Vec<usize> = (0..text.len()).filter(|&at| tokenizer.is_cut(&text, at)).collect();
        found += all.len();
        let at = random.below(text.len() + 1);
        let last = all.iter().copied().rfind(|&cut| cut <= at);
        assert_eq!(tokenizer.last_cut(&text, at), last, "{text:?} {at}");
        let first = all.iter().copied().find(|&cut| cut >= at);
        assert_eq!(tokenizer.first_cut(&text, at), first, "{text:?} {at}");
    }
    assert!(found > 200, "{found}");
    let far = "a".repeat(200_000);
    assert_eq!(tokenizer.last_cut(&format!("as {far}"), far.len()), None);
    assert_eq!(tokenizer.last_cut("", 0), None);
}
