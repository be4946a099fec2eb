use super::*;
use crate::error::ErrorKind;
use crate::tokenizer::{Scratch, Tokenizer, Wanted};
use ::base64::prelude::{Engine as _, BASE64_STANDARD};
use serde_json::{json, Value};

const PATTERN: &str = r"[a-z]+|[^a-z]+";

fn file(extra: &[&[u8]]) -> Value {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens: Vec<Vec<u8>> = bytes.chain(extra.iter().map(|token| token.to_vec())).collect();
    let vocab: Vec<Value> = tokens
        .iter()
        .enumerate()
        .map(|(rank, token)| {
            json!({"rank": rank, "token_bytes": BASE64_STANDARD.encode(token), "token_str": null})
        })
        .collect();
    json!({
        "config": {
            "pattern": PATTERN,
            "num_vocab_tokens": vocab.len(),
            "default_vocab_size": 30 + 258,
            "default_num_special_tokens": 30,
            "version": "v3",
        },
        "vocab": vocab,
    })
}

fn load(file: &Value) -> Result<Tokenizer> {
    Tokenizer::load(file.to_string().as_bytes())
}

fn failure(change: impl FnOnce(&mut Value)) -> Error {
    let mut file = file(&[b"ab", b"abc", b"unused"]);
    change(&mut file);
    load(&file).unwrap_err()
}

#[test]
fn ids_are_ranks_behind_the_special_tokens() {
    let tokenizer = load(&file(&[b"ab", b"abc", b"abcd"])).unwrap();
    let mut ids = Vec::new();
    tokenizer.encode_ids(&mut Scratch::new(), "abcd<s>ab", Wanted::new(true), &mut ids).unwrap();
    // "abcd" is listed behind the end of the vocabulary; "<s>" in text is text.
    let byte = |c: char| 30 + c as u32;
    assert_eq!(ids, [30 + 257, byte('d'), byte('<'), byte('s'), byte('>'), 30 + 256]);
    assert_eq!(tokenizer.token_to_id("<s>"), Some(1));
    assert_eq!(tokenizer.id_to_token(25), Some("<SPECIAL_25>"));
    let mut text = String::new();
    tokenizer.decode(&[1, byte('x'), 19], false, &mut text).unwrap();
    assert_eq!(text, "<s>x[TOOL_CONTENT]");
    text.clear();
    tokenizer.decode(&[1, byte('x'), 19], true, &mut text).unwrap();
    assert_eq!(text, "x");
}

#[test]
fn a_list_of_special_tokens_takes_the_place_of_the_default() {
    let mut file = file(&[b"ab", b"abc"]);
    file["special_tokens"] = json!([{"rank": 0, "token_str": "<x>", "is_control": true}]);
    file["config"]["version"] = json!("v13");
    let tokenizer = load(&file).unwrap();
    assert_eq!(tokenizer.token_to_id("<x>"), Some(0));
    assert_eq!(tokenizer.token_to_id("<SPECIAL_1>"), Some(1));
    assert_eq!(tokenizer.token_to_id("<s>"), None);
}

#[test]
fn complaints_name_the_place() {
    let error = failure(|file| file["vocab"][257]["rank"] = json!(9));
    assert_eq!((error.kind, error.path.as_deref()), (ErrorKind::InvalidFile, Some("$.vocab[257]")));
    let error = failure(|file| file["vocab"][5]["token_bytes"] = json!("!"));
    assert_eq!(error.path.as_deref(), Some("$.vocab[5]"));
    let error = failure(|file| file["vocab"][5]["token_bytes"] = json!("AA=="));
    assert!(error.message.contains("same bytes"), "{error}");
    let error = failure(|file| file["vocab"][5]["rank"] = json!(-1));
    assert_eq!((error.kind, error.offset.is_some()), (ErrorKind::InvalidFile, true));
    let error = failure(|file| file["config"]["default_vocab_size"] = json!(1000));
    assert!(error.message.contains("asks for 970"), "{error}");
    let error = failure(|file| file["config"]["default_vocab_size"] = json!(30));
    assert_eq!(error.path.as_deref(), Some("$.config"));
    let error = failure(|file| file["config"]["default_vocab_size"] = json!(1u64 << 40));
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
    let error = failure(|file| file["config"]["version"] = json!("v11"));
    assert_eq!(error.path.as_deref(), Some("$.special_tokens"));
    let error = failure(|file| {
        file["special_tokens"] = json!([{"rank": 40, "token_str": "a"}]);
    });
    assert_eq!(error.path.as_deref(), Some("$.special_tokens"));
    let error = failure(|file| file["config"]["pattern"] = json!(r"\w+"));
    assert_eq!(error.path.as_deref(), Some("$.config.pattern"));
    assert_eq!(error.kind, ErrorKind::Unsupported);
}
