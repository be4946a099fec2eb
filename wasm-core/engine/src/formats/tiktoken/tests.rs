use super::*;
use crate::tokenizer::{Scratch, Tokenizer, Wanted};
use base64::prelude::{Engine as _, BASE64_STANDARD};
use std::fmt::Write as _;

fn bytes_file() -> String {
    (0..=255u8).fold(String::new(), |mut file, byte| {
        writeln!(file, "{} {byte}", BASE64_STANDARD.encode([byte])).unwrap();
        file
    })
}

fn cl100k() -> Options {
    Options { encoding: Some("cl100k_base".into()), ..Options::default() }
}

fn ids(file: &str, options: &Options, text: &str) -> Vec<u32> {
    let tokenizer = Tokenizer::load_with(file.as_bytes(), options).unwrap();
    let mut ids = Vec::new();
    tokenizer.encode_ids(&mut Scratch::new(), text, Wanted::new(true), &mut ids).unwrap();
    ids
}

fn failure(file: &str) -> Error {
    read(file.as_bytes(), &cl100k()).unwrap_err()
}

#[test]
fn reads_what_files_have() {
    let file = bytes_file() + "\r\n\r\nYWI= 300\r\n= 301\n";
    assert_eq!(ids(&file, &cl100k(), "ab<|endoftext|>"), [300, 100257]);
    let tokenizer = Tokenizer::load_with(file.as_bytes(), &cl100k()).unwrap();
    assert_eq!(tokenizer.id_to_token(301), Some(""));
    let mut text = String::new();
    tokenizer.decode(&[300, 301, 0xE4, 7777, 100257], false, &mut text).unwrap();
    assert_eq!(text, "ab\u{FFFD}<|endoftext|>");
}

#[test]
fn complaints_name_line_and_byte() {
    let file = bytes_file();
    let cases = [
        ("YWI=\n", "line 257: there is no rank behind the token"),
        ("YWI 300\n", "line 257: bad base64"),
        ("YQ== 300\n", "line 257: the token has the rank 97 already"),
        ("YWI= 97\n", "line 257: the rank 97 is another token's already"),
        ("YWI= -1\n", "line 257: \"-1\" is no rank"),
        ("YWI= 4294967296\n", "line 257: the rank 4294967296 is out of range"),
        ("YWI= 300 x\n", "line 257: more than a token and its rank"),
    ];
    for (line, message) in cases {
        let error = failure(&format!("{file}{line}"));
        assert!(error.message.starts_with(message), "{error}");
        assert_eq!((error.kind, error.offset), (ErrorKind::InvalidFile, Some(file.len() as u64)));
    }
    let crlf = format!("{}YWI=\r\n", file.replace('\n', "\r\n"));
    assert!(failure(&crlf).message.starts_with("line 257:"), "{}", failure(&crlf));
    assert!(failure("YQ== 0\n").message.starts_with("the byte 0x00 is no token"));
}

#[test]
fn a_giant_rank_is_a_limit() {
    let error = failure(&format!("{}YWI= 4294967295\n", bytes_file()));
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
}

#[test]
fn nothing_is_guessed() {
    let file = bytes_file();
    let error = read(file.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AmbiguousPattern);
    for option in ["`encoding`", "`pattern`", "`special_tokens`"] {
        assert!(error.message.contains(option), "{error}");
    }
    let kimi = Options { encoding: Some("kimi".into()), ..Options::default() };
    assert_eq!(read(file.as_bytes(), &kimi).unwrap_err().kind, ErrorKind::AmbiguousPattern);
    let specials = Some([("[BOS]".to_owned(), 163584)].into());
    let kimi = Options { special_tokens: specials, ..kimi };
    assert_eq!(ids(&file, &kimi, "[BOS]"), [163584]);
}

#[test]
fn the_caller_settles_pattern_and_special_tokens() {
    let options = Options {
        pattern: Some(r"\d|[a-z]++".into()),
        special_tokens: Some([("<s>".to_owned(), 500)].into()),
        ..Options::default()
    };
    let file = bytes_file() + "YWI= 300\n";
    assert_eq!(ids(&file, &options, "ab, 1<s>"), [300, 49, 500]);
}

#[test]
fn special_tokens_that_cannot_be_are_refused() {
    let file = bytes_file();
    let refused = |name: &str, id| {
        let specials = Some([(name.to_owned(), id)].into());
        let options = Options { special_tokens: specials, ..cl100k() };
        read(file.as_bytes(), &options).unwrap_err().kind
    };
    assert_eq!(refused("<s>", 97), ErrorKind::BadArgument);
    assert_eq!(refused("", 300), ErrorKind::BadArgument);
    assert_eq!(refused("<s>", u32::MAX), ErrorKind::LimitExceeded);
    assert_eq!(refused("é", 300), ErrorKind::Unsupported);
}

#[test]
fn the_fast_scanner_is_taken_only_where_it_is_exact() {
    let route = |extra: &str| {
        let tokenizer = Tokenizer::load_with((bytes_file() + extra).as_bytes(), &cl100k()).unwrap();
        let info: serde_json::Value = serde_json::from_str(&tokenizer.info_json()).unwrap();
        info["route"].as_str().unwrap().to_owned()
    };
    assert_eq!(route(""), "scanner:Cl100k");
    // Two spaces, that joining spaces makes.
    assert_eq!(route("ICA= 300\n"), "scanner:Cl100k");
    // "\n ", which is joined only where the end of a text is one piece.
    let crossing = "CiA= 300\n";
    assert_eq!(route(crossing), "ranges");
    assert_eq!(ids(&(bytes_file() + crossing), &cl100k(), "a\n \n "), [97, 300, 300]);
    assert_eq!(ids(&(bytes_file() + crossing), &cl100k(), "a\n b"), [97, 10, 32, 98]);
    // Four spaces that nothing leads to.
    assert_eq!(route("ICAgIA== 300\n"), "ranges");
    assert_eq!(ids(&(bytes_file() + "ICAgIA== 300\n"), &cl100k(), "\n    "), [10, 32, 32, 32, 32]);
}
