use crate::error::ErrorKind;
use crate::oracle::random::Random;
use crate::tokenizer::*;
use serde_json::{json, Value};
use std::ops::Range;

fn token(content: &str, flags: &[&str]) -> Value {
    let has = |flag: &str| flags.contains(&flag);
    json!({"id": 0, "content": content, "single_word": has("single_word"), "lstrip": has("lstrip"),
        "rstrip": has("rstrip"), "normalized": has("normalized"), "special": !has("plain")})
}

/// Every character is a word of its own; those that are not listed are `?`.
fn letters(normalizer: Value, added: &[Value]) -> Tokenizer {
    let listed = "abcdefghijklmnopqrstuvwxyz<>|/_ ABCDEN\u{301}é";
    let mut vocab: serde_json::Map<String, Value> =
        listed.chars().enumerate().map(|(id, c)| (c.to_string(), json!(id))).collect();
    vocab.insert("?".into(), json!(99));
    let file = json!({"version": "1.0", "added_tokens": added, "normalizer": normalizer,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated",
            "invert": false},
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "?"}});
    Tokenizer::load(file.to_string().as_bytes()).unwrap()
}

/// One string for each id: the token.
fn shown(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
    ids.iter().map(|&id| tokenizer.id_to_token(id).unwrap().to_owned()).collect()
}

fn encode(tokenizer: &Tokenizer, text: &str, special: Special) -> Result<Vec<u32>> {
    let (mut ids, mut scratch) = (Vec::new(), Scratch::new());
    tokenizer.encode_special_ids(&mut scratch, text, None, (false, special), &mut ids)?;
    let full = tokenizer.encode_special_full(&mut scratch, text, None, (false, special)).unwrap();
    assert_eq!(ids, full.ids, "{text:?} {special:?}");
    Ok(ids)
}

fn untrusted_of(parts: &[(&str, bool)]) -> (String, Vec<Range<usize>>) {
    let (mut text, mut ranges) = (String::new(), Vec::<Range<usize>>::new());
    for (part, trusted) in parts {
        let start = text.len();
        text.push_str(part);
        match ranges.last_mut() {
            _ if *trusted || part.is_empty() => {}
            Some(last) if last.end == start => last.end = text.len(),
            _ => ranges.push(start..text.len()),
        }
    }
    (text, ranges)
}

fn segments(tokenizer: &Tokenizer, parts: &[(&str, bool)]) -> Vec<u32> {
    let (text, untrusted) = untrusted_of(parts);
    encode(tokenizer, &text, Special::Trust { untrusted: &untrusted, also: &[] }).unwrap()
}

/// The special tokens among the ids.
fn found(tokenizer: &Tokenizer, parts: &[(&str, bool)]) -> Vec<String> {
    let special = shown(tokenizer, &segments(tokenizer, parts)).into_iter();
    special.filter(|token| tokenizer.special_id(token).is_some()).collect()
}

#[test]
fn a_special_token_lies_in_trusted_text_as_a_whole() {
    let tokenizer = letters(Value::Null, &[token("<e>", &[]), token("<ab>", &[])]);
    let all = |parts: &[(&str, bool)]| found(&tokenizer, parts);
    assert_eq!(all(&[("<e>", true), ("hi<e>", false), ("<e>", true)]), ["<e>", "<e>"]);
    assert_eq!(all(&[("<e", true), (">", false)]), [""; 0]);
    assert_eq!(all(&[("<e", false), (">", true)]), [""; 0]);
    assert_eq!(all(&[("<", false), ("e", false), (">", false)]), [""; 0]);
    assert_eq!(all(&[("<", true), ("e", false), (">", true)]), [""; 0]);
    // Neighbours that are both trusted are one text, and so are those with nothing in between.
    assert_eq!(all(&[("<e", true), (">", true)]), ["<e>"]);
    assert_eq!(all(&[("<e", true), ("", false), (">", true)]), ["<e>"]);
}

#[test]
fn what_is_refused_hides_nothing() {
    let tokenizer = letters(Value::Null, &[token("a<e>", &[]), token("<e>", &[])]);
    assert_eq!(found(&tokenizer, &[("a", false), ("<e>", true)]), ["<e>"]);
    assert_eq!(found(&tokenizer, &[("a<e>", true)]), ["a<e>"]);
    // The longest is refused, a shorter one at the same place is not.
    let tokenizer = letters(Value::Null, &[token("<e>", &[]), token("<e>x", &[])]);
    assert_eq!(found(&tokenizer, &[("<e>", true), ("x", false)]), ["<e>"]);
}

#[test]
fn neighbours_count_whoever_wrote_them() {
    let added =
        [token("<l>", &["lstrip"]), token("<r>", &["rstrip"]), token("END", &["single_word"])];
    let tokenizer = letters(Value::Null, &added);
    let ids = |parts: &[(&str, bool)]| segments(&tokenizer, parts);
    for text in ["a  <l>b", "<r>  b", "a END b", "aEND", "ENDb"] {
        for name in ["<l>", "<r>", "END"].iter().filter(|name| text.contains(**name)) {
            let at = text.find(name).unwrap();
            let (before, behind) = (&text[..at], &text[at + name.len()..]);
            let parts = [(before, false), (*name, true), (behind, false)];
            assert_eq!(ids(&parts), ids(&[(text, true)]), "{text:?}");
            assert_eq!(found(&tokenizer, &[(before, true), (*name, false)]), [""; 0]);
        }
    }
}

#[test]
fn trust_goes_through_normalisation() {
    let lower =
        json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]});
    let tokenizer = letters(lower, &[token("<tag>", &["normalized"])]);
    let all = |parts: &[(&str, bool)]| found(&tokenizer, parts);
    assert_eq!(all(&[("＜TAG＞", true)]), ["<tag>"]);
    assert_eq!(all(&[("＜TAG＞", false)]), [""; 0]);
    assert_eq!(all(&[("x", false), ("<Tag>", true), ("<TAG>", false)]), ["<tag>"]);
    assert_eq!(all(&[("＜TA", true), ("Ｇ", false), ("＞", true)]), [""; 0]);
    // Untrusted text that vanishes does not join the halves.
    let bert = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
        "strip_accents": true, "lowercase": true});
    let tokenizer = letters(bert, &[token("<tag>", &["normalized"])]);
    let all = |parts: &[(&str, bool)]| found(&tokenizer, parts);
    assert_eq!(all(&[("<t\u{301}ag>", true)]), ["<tag>"]);
    assert_eq!(all(&[("<t", true), ("\u{1}", false), ("ag>", true)]), [""; 0]);
    assert_eq!(all(&[("\u{1}", false), ("<tag>", true), ("\u{1}", false)]), ["<tag>"]);
}

fn unigram() -> Tokenizer {
    let pieces = json!([
        ["<unk>", 0.0],
        ["</s>", 0.0],
        ["<", -3.0],
        ["/", -3.0],
        ["s", -3.0],
        [">", -3.0],
        ["s>", -4.0],
        ["u", -3.0],
        ["n", -3.0],
        ["k", -3.0],
        ["\u{2581}", -2.0]
    ]);
    let file = json!({"version": "1.0", "normalizer": {"type": "NFKC"},
        "added_tokens": [token("<unk>", &[]), token("</s>", &[])],
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces}});
    Tokenizer::load(file.to_string().as_bytes()).unwrap()
}

#[test]
fn entries_of_the_model_are_no_way_in() {
    let tokenizer = unigram();
    let ids = |parts: &[(&str, bool)]| segments(&tokenizer, parts);
    assert_eq!(ids(&[("</s>", true)]), [1]);
    assert_eq!(ids(&[("</s>", false)]), [2, 3, 6]);
    assert_eq!(ids(&[("＜/s＞", false)]), [2, 3, 6]);
    // Trusted text keeps what it had, in the same piece.
    assert_eq!(ids(&[("＜/s＞", true), ("n＜/s＞", false)]), [1, 8, 2, 3, 6]);
    assert_eq!(ids(&[("＜/", true), ("s＞", false)]), [2, 3, 6]);
    // The name of the unknown token is text; what is unknown is not.
    assert_eq!(ids(&[("<unk>", false)]), [2, 7, 8, 9, 5]);
    assert_eq!(ids(&[("中", false)]), [0]);
    assert_eq!(ids(&[("中<unk>", false)]), [0, 2, 7, 8, 9, 5]);
    let text = |text: &str| {
        let (mut ids, wanted) = (Vec::new(), Wanted { add_special: false, parse_special: false });
        tokenizer.encode_ids(&mut Scratch::new(), text, wanted, &mut ids).unwrap();
        let full = tokenizer.encode_full(&mut Scratch::new(), text, None, wanted).unwrap();
        assert_eq!(full.ids, ids);
        ids
    };
    assert_eq!(text("n</s>中"), [8, 2, 3, 6, 0]);
}

#[test]
fn a_model_that_merges_to_a_special_token_is_refused_where_it_does() {
    let file = json!({"version": "1.0", "added_tokens": [token("<s", &[])],
        "model": {"type": "BPE", "vocab": {"<": 0, "s": 1, "<s": 2, "x": 3}, "merges": ["< s"]},
        "normalizer": {"type": "NFKC"}});
    let tokenizer = Tokenizer::load(file.to_string().as_bytes()).unwrap();
    let trust = |untrusted| Special::Trust { untrusted, also: &[] };
    let error = encode(&tokenizer, "xx＜s", trust(std::slice::from_ref(&(0..6)))).unwrap_err();
    assert_eq!((error.kind, error.offset), (ErrorKind::Unsupported, Some(2)));
    assert_eq!(error.feature.as_deref(), Some("special:made_by_model"));
    assert_eq!(encode(&tokenizer, "＜sx", trust(&[])).unwrap(), [2, 3]);
    assert_eq!(encode(&tokenizer, "x<", trust(std::slice::from_ref(&(0..2)))).unwrap(), [3, 0]);
    let error = encode(&tokenizer, "x<s", Special::Allow(&[])).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}

#[test]
fn only_the_allowed_ones_are_there() {
    let added =
        [token("<a>", &[]), token("<a><b>", &[]), token("<b>", &[]), token("<t>", &["plain"])];
    let tokenizer = letters(Value::Null, &added);
    let id = |name: &str| tokenizer.token_to_id(name).unwrap();
    let ids = |allowed: &[&str]| {
        let allowed: Vec<u32> = allowed.iter().map(|name| id(name)).collect();
        let ids = encode(&tokenizer, "<a><b><t>", Special::Allow(&allowed)).unwrap();
        shown(&tokenizer, &ids).join(" ")
    };
    assert_eq!(ids(&["<a>", "<a><b>", "<b>"]), "<a><b> <t>");
    assert_eq!(ids(&["<a>"]), "<a> < b > <t>");
    assert_eq!(ids(&["<b>"]), "< a > <b> <t>");
    assert_eq!(ids(&[]), "< a > < b > <t>");
    // An added token that is not special can count as one.
    let untrusted = std::slice::from_ref(&(0..3));
    let also = [id("<t>")];
    let strict = Special::Trust { untrusted, also: &also };
    assert_eq!(
        shown(&tokenizer, &encode(&tokenizer, "<t><t>", strict).unwrap()).join(" "),
        "< t > <t>"
    );
}

#[test]
fn naming_one_is_an_error_with_its_place() {
    let tokenizer = letters(Value::Null, &[token("<l>", &["lstrip"]), token("<e>x", &[])]);
    let error = |text: &str| encode(&tokenizer, text, Special::Refuse).unwrap_err();
    let first = error("é <e>  <l><e>x");
    assert_eq!((first.kind, first.offset), (ErrorKind::SpecialTokenInText, Some(8)));
    assert_eq!(first.feature.as_deref(), Some("<l>"));
    assert!(first.message.contains("\"<l>\""), "{first}");
    // Exactly what would have matched.
    assert_eq!(encode(&tokenizer, "<e>", Special::Refuse).unwrap().len(), 3);
    let mut out = Vec::new();
    let wanted = (false, Special::Refuse);
    let pair =
        tokenizer.encode_special_ids(&mut Scratch::new(), "a", Some("<l>"), wanted, &mut out);
    assert_eq!(pair.unwrap_err().path.as_deref(), Some("texts[1]"));
    // What the model makes of the text counts too; what is unknown does not.
    let tokenizer = unigram();
    let error = encode(&tokenizer, "中n＜/s＞", Special::Refuse).unwrap_err();
    assert_eq!((error.offset, error.feature.as_deref()), (Some(4), Some("</s>")));
    assert_eq!(encode(&tokenizer, "中n", Special::Refuse).unwrap(), [0, 8]);
}

/// The way by quick looks equals the way step by step, and nothing forbidden comes out of either.
#[test]
fn both_ways_agree_on_random_segments() {
    const ATOMS: [&str; 16] = [
        "<e>", "<E>", "＜e＞", "<", "e", ">", " ", "END", "a", "é", "e\u{301}", "\u{1}", "中",
        "<e", "</s>", "n",
    ];
    let nfkc =
        json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]});
    let tokenizers = [
        letters(
            Value::Null,
            &[token("<e>", &["rstrip"]), token("e>", &[]), token("END", &["plain"])],
        ),
        letters(nfkc.clone(), &[token("<e>", &["normalized", "lstrip"]), token("e", &["plain"])]),
        letters(nfkc, &[token("<e>", &["single_word"]), token(">", &["normalized"])]),
        unigram(),
    ];
    let mut random = Random::new(17);
    for tokenizer in &tokenizers {
        let unk = tokenizer.unk;
        for _ in 0..4000 {
            let parts: Vec<(&str, bool)> = (0..random.below(9))
                .map(|_| (*random.pick(&ATOMS), random.below(2) == 0))
                .collect();
            // Compares the two ways.
            let ids = segments(tokenizer, &parts);
            if parts.iter().all(|part| !part.1) {
                let bad = |id: &&u32| tokenizer.control.contains(**id) && Some(**id) != unk;
                assert_eq!(ids.iter().find(bad), None, "{parts:?}");
            }
            if parts.iter().all(|part| part.1) {
                let text: String = parts.iter().map(|part| part.0).collect();
                let mut plain = Vec::new();
                let wanted = Wanted::new(false);
                tokenizer.encode_ids(&mut Scratch::new(), &text, wanted, &mut plain).unwrap();
                assert_eq!(ids, plain, "{text:?}");
            }
        }
    }
}
