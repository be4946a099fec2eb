//! Scanners against their patterns, which the general engine runs.

use super::chars::{char_at, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, SYMBOL, UPPER};
use super::*;
use crate::oracle;
use crate::split::testing::{all_strings, Random};
use crate::split::Regex;
use crate::unicode;

const FAMILIES: [Scanner; 15] = [
    Scanner::Gpt2,
    Scanner::Cl100k,
    Scanner::Qwen2,
    Scanner::Qwen35,
    Scanner::Cl100kAscii,
    Scanner::Qwen2Ascii,
    Scanner::Qwen35Ascii,
    Scanner::O200k,
    Scanner::Tekken,
    Scanner::DeepSeek,
    Scanner::DeepSeek3,
    Scanner::Clip,
    Scanner::ThreeNumbers,
    Scanner::ThreeDigits,
    Scanner::KanaHan,
];

/// The patterns that a scanner stands for, one after the other.
fn patterns(scanner: Scanner) -> Vec<Regex> {
    let steps = match scanner {
        Scanner::DeepSeek3 => {
            vec![Scanner::ThreeNumbers, Scanner::KanaHan, Scanner::DeepSeek]
        }
        scanner => vec![scanner],
    };
    let compile = |scanner: &Scanner| Regex::compile_general(scanner.pattern().unwrap()).unwrap();
    steps.iter().map(compile).collect()
}

fn pieces(scanner: Scanner, text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = scanner.piece_end(text.as_bytes(), at);
        assert!(end > at, "{scanner:?} stands still at {at} of {text:?}");
        pieces.push(at..end);
        at = end;
    }
    pieces
}

/// The first text on which a scanner and its patterns differ, by scanner.
fn compare<'a>(texts: impl Iterator<Item = &'a str> + Clone) {
    for scanner in FAMILIES {
        let patterns = patterns(scanner);
        for text in texts.clone() {
            let expected = oracle::split::pieces(&patterns, text).unwrap();
            assert_eq!(pieces(scanner, text), expected, "{scanner:?} on {text:?}");
            if let [pattern] = patterns.as_slice() {
                let found = scanner.find_all(text).unwrap();
                assert_eq!(found, pattern.find_all(text).unwrap(), "{scanner:?} on {text:?}");
            }
        }
    }
}

fn words(scanner: Scanner, text: &str) -> Vec<&str> {
    pieces(scanner, text).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn patterns_are_recognised_by_their_text() {
    for (scanner, pattern) in PATTERNS {
        assert_eq!(Scanner::recognise(pattern), Some(*scanner));
        assert_eq!(Scanner::recognise(&format!("{pattern} ")), None);
    }
    assert_eq!(Scanner::recognise(r"\p{N}{1,2}"), None);
}

#[test]
fn ascii_has_the_classes_of_the_tables() {
    let flags = [LETTER, MARK, NUMBER, SPACE, SYMBOL, UPPER, LOWER];
    for byte in 0..0x80u8 {
        let c = char_at(&[byte], 0);
        let class = unicode::class_of(char::from(byte));
        for flag in flags {
            assert_eq!(c.is(flag), class.is(flag), "{byte:#x} {flag:#x}");
        }
        assert_eq!(c.is(NEWLINE), matches!(byte, b'\r' | b'\n'), "{byte:#x}");
    }
}

#[test]
fn characters_decode() {
    for c in ['\u{80}', '\u{7FF}', '\u{800}', '\u{FFFF}', '\u{10000}', '\u{10FFFF}', '字'] {
        let text = c.to_string();
        assert_eq!(decode(text.as_bytes(), 0), (c.into(), text.len()));
    }
}

#[test]
fn known_pieces() {
    let text = "I'm HTTPServer's 12345 naïve日本!!\n\n  x";
    assert_eq!(
        words(Scanner::Gpt2, text),
        ["I", "'m", " HTTPServer", "'s", " 12345", " naïve日本", "!!", "\n\n ", " x"]
    );
    assert_eq!(
        words(Scanner::Cl100k, text),
        ["I", "'m", " HTTPServer", "'s", " ", "123", "45", " naïve日本", "!!\n\n", " ", " x"]
    );
    assert_eq!(
        words(Scanner::O200k, text),
        ["I'm", " HTTPServer's", " ", "123", "45", " naïve日本", "!!\n\n", " ", " x"]
    );
    assert_eq!(
        words(Scanner::DeepSeek3, text),
        ["I", "'m", " HTTPServer", "'s", " ", "123", "45", " naïve", "日本", "!!\n\n", " ", " x"]
    );
}

#[test]
fn the_long_s_contracts_only_where_case_is_ignored() {
    assert_eq!(words(Scanner::Cl100k, "x'ſabc"), ["x", "'ſ", "abc"]);
    assert_eq!(words(Scanner::Gpt2, "x'ſabc"), ["x", "'", "ſabc"]);
    assert_eq!(words(Scanner::Gpt2, "x'Sabc"), ["x", "'", "Sabc"]);
}

#[test]
fn a_mark_before_capitals_is_a_word_of_its_own() {
    assert_eq!(words(Scanner::O200k, "\u{301}AB"), ["\u{301}", "AB"]);
    assert_eq!(words(Scanner::O200k, "!AB\u{301}CD"), ["!AB\u{301}", "CD"]);
}

#[test]
fn white_space_ends_with_its_part_in_deepseek() {
    assert_eq!(words(Scanner::DeepSeek3, "a  1"), ["a", "  ", "1"]);
    assert_eq!(words(Scanner::DeepSeek, "a  1"), ["a", " ", " ", "1"]);
}

#[test]
fn random_texts() {
    let mut random = Random::new(1);
    let mut texts: Vec<String> = (0..16_000).map(|_| random.text(8)).collect();
    texts.extend((0..4_000).map(|_| random.text(40)));
    compare(texts.iter().map(String::as_str));
}

#[test]
fn runs_of_white_space() {
    let mut random = Random::new(2);
    let parts = ["\n", "\n", " ", " ", "\r", "\t", "\u{a0}", "x", ".", "/", "\u{3000}"];
    let texts: Vec<String> = (0..6_000)
        .map(|_| {
            let runs =
                (0..1 + random.below(6)).map(|_| random.pick(&parts).repeat(1 + random.below(21)));
            runs.collect()
        })
        .collect();
    compare(texts.iter().map(String::as_str));
}

#[test]
fn all_short_strings() {
    let alphabet = ['s', 'A', 'ʰ', 'ſ', '\u{301}', '1', ' ', '\n', '\t', '\'', '/', 'あ', '\0'];
    let texts = all_strings(&alphabet, 4);
    compare(texts.iter().map(String::as_str));
}

#[test]
fn borders_of_classes() {
    let names = ["L", "M", "N", "P", "S", "Z", "C", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Nd"];
    let tables = names.into_iter().flat_map(|name| unicode::ranges(name).unwrap());
    let own = [(0x3040, 0x309F), (0x30A0, 0x30FF), (0x4E00, 0x9FA5)];
    let mut borders: Vec<char> = tables
        .chain(own)
        .flat_map(|(first, last)| [first.saturating_sub(1), first, last, last + 1])
        .filter_map(char::from_u32)
        .collect();
    borders.sort_unstable();
    borders.dedup();
    let texts: Vec<String> = borders
        .chunks(8)
        .map(|chars| chars.iter().map(|c| format!("x{c}A{c}\u{301} {c}1.{c}'s\n{c}")).collect())
        .collect();
    compare(texts.iter().map(String::as_str));
}

/// A scanner that looked back or ahead without bound would not come to the end of these.
#[test]
fn monotonous_megabytes_are_cut_to_their_end() {
    for part in [" ", "\n", "a", "A", "1", "!", "\u{301}", "字", "あ", "\0", "字A", " \u{85}", "'"]
    {
        let text = part.repeat((1 << 20) / part.len());
        for scanner in FAMILIES {
            let pieces = pieces(scanner, &text);
            assert_eq!(pieces.last().map(|last| last.end), Some(text.len()));
        }
    }
}
