use super::*;

fn kind(bytes: &[u8]) -> ErrorKind {
    detect(bytes).unwrap_err().kind
}

#[test]
fn tells_tokenizers_apart() {
    let format = |bytes: &[u8]| detect(bytes).unwrap().format;
    assert_eq!(format(br#"{"version": "1.0", "model": {}}"#), Format::TokenizerJson);
    assert_eq!(format(b"\xEF\xBB\xBF  {\"model\": 1}"), Format::TokenizerJson);
    // Sorted keys, cut off where a host hands over no more.
    assert_eq!(format(br#"{"added_tokens": [{"content": "<s>", "#), Format::TokenizerJson);
    assert_eq!(kind(br#"{"added_tokens": [{"content": "<s>"}]}"#), ErrorKind::NotATokenizer);
    assert_eq!(format(br#"{"config": {}, "vocab": []}"#), Format::Tekken);
    assert_eq!(format(b"GGUF\x03\0\0\0"), Format::Gguf);
    assert_eq!(format(b"IQ== 0\nIg== 1\n"), Format::Tiktoken);
    assert_eq!(
        format(b"\x0A\x03\x0A\x01a\x0A\x03\x0A\x01b\x0A\x03\x0A\x01c"),
        Format::SentencePiece
    );
}

#[test]
fn names_what_is_no_tokenizer() {
    assert_eq!(kind(b""), ErrorKind::EmptyFile);
    assert_eq!(kind(b" \n\t "), ErrorKind::EmptyFile);
    assert_eq!(kind(b"version https://git-lfs.github.com/spec/v1\n"), ErrorKind::GitLfsPointer);
    assert_eq!(kind(b"\x1F\x8B\x08"), ErrorKind::Compressed);
    assert_eq!(kind(b"PK\x03\x04"), ErrorKind::NotATokenizer);
    assert_eq!(kind(b"\x80\x04\x95"), ErrorKind::NotATokenizer);
    assert_eq!(kind(b"<!DOCTYPE html>"), ErrorKind::NotATokenizer);
    assert_eq!(kind(b"[1, 2]"), ErrorKind::NotATokenizer);
    assert_eq!(kind(b"42"), ErrorKind::NotATokenizer);
    assert_eq!(
        kind(br#"{"tokenizer_class": "X", "chat_template": "model"}"#),
        ErrorKind::NotATokenizer
    );
    assert_eq!(kind(br#"{"model_type": "llama", "model": 1}"#), ErrorKind::NotATokenizer);
    assert_eq!(kind(b"{\0\"\0"), ErrorKind::InvalidFile);
    assert_eq!(kind(b"\x01\x02\x03 nothing"), ErrorKind::UnknownFormat);
}

#[test]
fn keys_inside_strings_and_objects_do_not_count() {
    assert_eq!(kind(br#"{"a": "\"model\": 1", "b": {"model": 2}}"#), ErrorKind::NotATokenizer);
}

#[test]
fn deep_nesting_is_walked_without_a_stack() {
    let mut deep = b"{\"model\":".to_vec();
    deep.extend(std::iter::repeat_n(b'[', 1 << 20));
    assert_eq!(detect(&deep).unwrap().format, Format::TokenizerJson);
}

#[test]
fn tells_line_formats_apart() {
    let format = |bytes: &[u8]| detect(bytes).unwrap().format;
    assert_eq!(format(b"#version: 0.2\na b\n"), Format::Merges);
    assert_eq!(format(b"1 '\\x00' 1\n2 b'\\xff' 1\n"), Format::Rwkv);
    assert_eq!(format(b"257 \"'\" 1"), Format::Rwkv);
    assert_eq!(format(b"= 0\r\n\r\n0L0= 5"), Format::Tiktoken);
    assert_eq!(kind(b"0L0== 5 5\n"), ErrorKind::NotATokenizer);
    assert_eq!(format("Ġ Ġ\nĠt he\n".as_bytes()), Format::Merges);
    assert_eq!(kind(b"a b c\n"), ErrorKind::UnknownFormat);
    assert_eq!(kind(b"1 'a' \n"), ErrorKind::NotATokenizer);
    // One bad line in ten.
    let nine = b"IQ== 0\n".repeat(9);
    assert_eq!(format(&[&nine[..], b"no\n"].concat()), Format::Tiktoken);
    assert_eq!(kind(&[&nine[..], b"no\nno\n"].concat()), ErrorKind::UnknownFormat);
}

#[test]
fn a_map_of_numbers_is_a_vocabulary() {
    let map = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        let numbers = (0..20).map(|n| format!("t{n}"));
        let entries: Vec<String> =
            names.chain(numbers).map(|name| format!("\"{name}\": 7")).collect();
        format!("{{{}}}", entries.join(","))
    };
    for names in [&["a"][..], &["model", "config", "vocab", "model_type"]] {
        let found = detect(map(names).as_bytes()).map(|verdict| verdict.format);
        assert_eq!(found, Ok(Format::VocabJson), "{names:?}");
    }
    assert_eq!(kind(br#"{"<mask>": 7}"#), ErrorKind::NotATokenizer);
}

#[test]
fn broken_models_are_named() {
    assert_eq!(kind(b"\x0A\xFF\xFF\xFF\xFF\x0Fxx"), ErrorKind::InvalidFile);
    assert_eq!(kind(b"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), ErrorKind::InvalidFile);
    assert_eq!(kind(b"\x12\x02\x18\x02"), ErrorKind::InvalidFile);
}
