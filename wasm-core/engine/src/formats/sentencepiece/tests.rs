use super::*;
use crate::error::ErrorKind;
use crate::oracle::random::Random;
use crate::tokenizer::{Scratch, Tokenizer, Wanted};

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn number(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn piece(text: &str, score: f32, kind: u64) -> Vec<u8> {
    let score = [&[0x15][..], &score.to_le_bytes()].concat();
    field(1, &[field(1, text.as_bytes()), score, number(3, kind)].concat())
}

/// A model of four pieces: unknown, control, and two letters.
fn base() -> Vec<u8> {
    let pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("a", -1.0, 1), ("▁", -2.0, 1)];
    pieces.iter().flat_map(|&(text, score, kind)| piece(text, score, kind)).collect()
}

fn with(more: &[u8]) -> Result<Definition> {
    read(&[base(), more.to_vec()].concat(), &Limits::default())
}

fn error(more: &[u8]) -> Error {
    with(more).unwrap_err()
}

fn ids(definition: Definition, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    let tokenizer = Tokenizer::build(definition).unwrap();
    tokenizer.encode_ids(&mut Scratch::new(), text, Wanted::new(true), &mut ids).unwrap();
    ids
}

#[test]
fn what_is_missing_has_its_default() {
    let definition = with(b"").unwrap();
    assert_eq!(definition.model.name(), "SentencePiece Unigram");
    let [Normalizer::SentencePiece(normalizer)] = definition.normalizer.as_slice() else {
        panic!("{:?}", definition.normalizer)
    };
    assert!(normalizer.add_dummy_prefix && normalizer.remove_extra_whitespaces);
    assert!(normalizer.escape_whitespaces && !normalizer.treat_whitespace_as_suffix);
    assert_eq!(definition.roles, [("bos", 1)]);
    assert_eq!(ids(definition, " a  a <s>"), [3, 2, 3, 2, 3, 0]);
}

#[test]
fn the_last_value_counts_and_messages_merge() {
    let trainer = [field(2, &number(3, 4)), field(2, &number(3, 2)), field(2, &number(24, 1))];
    let definition = with(&trainer.concat()).unwrap();
    assert_eq!(definition.model.name(), "SentencePiece BPE");
    assert_eq!(ids(definition, "a"), [2, 3]);
}

#[test]
fn unknown_fields_are_passed_over() {
    let more = [field(900, b"x"), number(901, 7), vec![0x9B, 0x06, 0x9C, 0x06], number(1, 5)];
    assert_eq!(with(&more.concat()).unwrap().model.vocab().len(), 4);
}

#[test]
fn roles_are_control_pieces_by_name() {
    let spec = field(2, &[field(46, b"a"), field(47, b"<s>"), field(48, b"")].concat());
    let more = [piece("<pad>", 0.0, 3), spec].concat();
    assert_eq!(with(&more).unwrap().roles, [("eos", 1), ("pad", 4)]);
}

#[test]
fn pieces_that_break_the_rules_are_refused_where_they_stand() {
    let start = base().len() as u64;
    for (text, kind) in [("", 1), ("a", 1), ("x", 2), ("<s>", 3), ("x\0y", 1), ("<0x41>", 6)] {
        let error = error(&piece(text, 0.0, kind));
        assert_eq!((error.kind, error.offset), (ErrorKind::InvalidFile, Some(start + 4)), "{text}");
    }
    let bad = error(&field(1, &field(1, b"a\xFF")));
    assert_eq!((bad.kind, bad.offset), (ErrorKind::InvalidFile, Some(start + 5)));
    for score in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(error(&piece("x", score, 1)).kind, ErrorKind::InvalidFile);
        let loads = |kind| {
            let trainer = field(2, &number(3, kind));
            with(&[piece("x", score, 1), trainer].concat()).is_ok()
        };
        assert_eq!([loads(2), loads(3), loads(4)], [!score.is_nan(), true, true], "{score}");
    }
    assert_eq!(error(&field(2, &number(35, 1))).kind, ErrorKind::InvalidFile);
    assert_eq!(error(&field(3, &field(2, b"\xFF\xFF\0\0x"))).kind, ErrorKind::InvalidFile);
}

#[test]
fn what_nobody_knows_yet_is_unsupported() {
    assert_eq!(error(&field(2, &number(3, 9))).kind, ErrorKind::Unsupported);
    assert_eq!(error(&piece("x", 0.0, 9)).kind, ErrorKind::Unsupported);
    assert_eq!(error(&piece("<s>", 0.0, 1)).kind, ErrorKind::Unsupported);
}

#[test]
fn there_is_exactly_one_unknown_piece() {
    let read = |bytes: &[u8]| read(bytes, &Limits::default()).unwrap_err();
    assert_eq!(read(&field(2, &number(24, 0))).kind, ErrorKind::InvalidFile);
    assert!(read(&piece("a", 0.0, 1)).message.contains("unknown"));
    assert!(read(&piece("<unk>", 0.0, 2)).message.contains("no piece"));
}

#[test]
fn limits_hold() {
    let limits = Limits { items: 3, ..Limits::default() };
    assert_eq!(read(&base(), &limits).unwrap_err().kind, ErrorKind::LimitExceeded);
    let limits = Limits { token: 4, ..Limits::default() };
    assert_eq!(read(&base(), &limits).unwrap_err().kind, ErrorKind::LimitExceeded);
    let more = field(3, &field(2, &[0; 99]));
    let limits = Limits { string: 98, ..Limits::default() };
    let error = read(&[base(), more].concat(), &limits).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
}

/// The reference's answers.
#[test]
fn decoding_follows_the_flags_of_the_normalizer() {
    let decode = |flags: [u64; 2], ids: &[u32]| {
        let flags = [number(3, flags[0]), number(4, flags[1])].concat();
        let bytes = (0..=255u8).flat_map(|b| piece(&format!("<0x{b:02X}>"), 0.0, 6));
        let spec = [field(2, &number(35, 1)), field(3, &flags)].concat();
        let definition = with(&[bytes.collect(), spec].concat()).unwrap();
        let mut text = String::new();
        Tokenizer::build(definition).unwrap().decode(ids, false, &mut text).unwrap();
        text
    };
    let byte = |b: u8| u32::from(b) + 4;
    for (flags, expected) in [
        ([1, 1], ["a", "", " \u{2047}  a", "a"]),
        ([1, 0], [" a", " ", " \u{2047}  a", " a"]),
        ([0, 1], ["a", "", " \u{2047}  a", "a"]),
        ([0, 0], ["  a", "  ", " \u{2047}  a", "  a"]),
    ] {
        let made = [&[3, 3, 2][..], &[3, 3], &[0, 3, 2], &[1, 3, 1, 3, 2]];
        assert_eq!(made.map(|ids| decode(flags, ids)), expected, "{flags:?}");
    }
    let run = [0xE4, 0xBD, 0xA0, 0xFF].map(byte);
    assert_eq!(decode([1, 1], &run), "你\u{FFFD}");
    assert_eq!(decode([1, 1], &[byte(0xE4), byte(0xBD), 2]), "\u{FFFD}\u{FFFD}a");
    assert_eq!(decode([1, 1], &[byte(0xE4), 1, byte(0xBD), byte(0xA0)]), "\u{FFFD}".repeat(3));
    assert_eq!(decode([1, 1], &[byte(b' '), 3, 2]), "  a");
}

#[test]
fn a_damaged_model_loads_or_says_why() {
    let mut random = Random::new(21);
    let spec = [number(3, 2), number(24, 1), field(44, b"?"), field(45, b"<unk>")].concat();
    let more = [("ab", 4), ("aa", 5), ("b▁", 1), ("▁▁", 1), ("aab", 1), ("é", 1)];
    let more = more.iter().flat_map(|&(text, kind)| piece(text, -0.5, kind));
    let rules = field(3, &[number(4, 0), number(5, 1), field(1, b"identity")].concat());
    let good = [base(), more.collect(), field(2, &spec), rules].concat();
    let mut loaded = 0;
    for _ in 0..4000 {
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(2) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, random.next() as u8),
                _ => bytes[at] = random.next() as u8,
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        if let Ok(definition) = read(&bytes, &Limits::default()) {
            loaded += 1;
            let size = definition.model.vocab().id_bound();
            let tokenizer = Tokenizer::build(definition).unwrap();
            let wanted = Wanted::new(true);
            let full = tokenizer.encode_full(&mut Scratch::new(), "aab é<s> ▁a", None, wanted);
            let mut ids = Vec::new();
            let text = "aab é<s> ▁a";
            tokenizer.encode_ids(&mut Scratch::new(), text, wanted, &mut ids).unwrap();
            assert_eq!(full.unwrap().ids, ids);
            let all: Vec<u32> = (0..size).collect();
            tokenizer.decode(&all, true, &mut String::new()).unwrap();
        }
    }
    assert!(loaded > 100, "{loaded}");
}
