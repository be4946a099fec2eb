//! What the reference was measured to do with small patterns.

use crate::definition::SplitBehavior;
use crate::error::ErrorKind;
use crate::split::Regex;
use crate::text::{apply_behavior, cover, FindMatches as _};

/// Pattern, text, the pieces of the reference's `Split` with behaviour `Isolated`, and its matches
/// that are not empty.
type Case = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const MEASURED: &[Case] = &[
    (r"^.", "a\nb\n", &["a", "\n", "b", "\n"], &["a", "b"]),
    (r".$", "a\nb\n", &["a", "\n", "b", "\n"], &["a", "b"]),
    (r"\n$", "a\n\n", &["a", "\n", "\n"], &["\n", "\n"]),
    (r"\n^", "a\nb\n", &["a", "\n", "b\n"], &["\n"]),
    (r"a\Z", "a\n", &["a", "\n"], &["a"]),
    (r"a\z", "a\n", &["a\n"], &[]),
    (r"\n\Z", "a\n\n", &["a", "\n", "\n"], &["\n", "\n"]),
    (r"\b\w", "ab c²", &["a", "b ", "c", "²"], &["a", "c"]),
    (r".\B", "ab c", &["a", "b c"], &["a"]),
    (r"a{,2}", "aaaaa", &["aa", "aa", "a"], &["aa", "aa", "a"]),
    (r"a{2}?", "aaa", &["aa", "a"], &["aa"]),
    (r"a{2}+b?", "aaaaab", &["aaaa", "ab"], &["aaaa"]),
    (r"a{1,2}?", "aaa", &["a", "a", "a"], &["a", "a", "a"]),
    (r"a{,}", "a{,}", &["a{,}"], &["a{,}"]),
    (r"a{2", "a{2", &["a{2"], &["a{2"]),
    (r"a{ 2}", "a{ 2}", &["a{ 2}"], &["a{ 2}"]),
    (r"a++a|a", "aaa", &["a", "a", "a"], &["a", "a", "a"]),
    (r"a*+b|a", "aab", &["aab"], &["aab"]),
    (r"a?+a|b", "aab", &["aa", "b"], &["aa", "b"]),
    (r"x(?i)a|B", "xAbBxb", &["xA", "bB", "xb"], &["xA", "xb"]),
    (r"(x(?i)a|B)c|S", "xAcbcsS", &["xAc", "bcs", "S"], &["xAc", "S"]),
    (r"(?i:'s|'t)", "'S'ſ't", &["'S", "'ſ", "'t"], &["'S", "'ſ", "'t"]),
    (r"(?i:k)", "kK\u{212A}", &["k", "K", "\u{212A}"], &["k", "K", "\u{212A}"]),
    (r"(?i:[a-z])+", "sſk\u{212A}ß", &["sſk\u{212A}", "ß"], &["sſk\u{212A}"]),
    (r"(?i:[^a-z]+)", "sſk\u{212A}ß1", &["sſk\u{212A}", "ß1"], &["ß1"]),
    (r"(?i:\p{Lu})", "aA", &["a", "A"], &["A"]),
    (r"(?-i:a)", "aA", &["a", "A"], &["a"]),
    (r"[\w&&[^_]]+", "a_b²c", &["a", "_", "b", "²", "c"], &["a", "b", "c"]),
    (r"\w+", "a_b²c", &["a_b²c"], &["a_b²c"]),
    (r"[\w]+", "a_b²c", &["a_b", "²", "c"], &["a_b", "c"]),
    (r"\p{Word}+", "a²", &["a²"], &["a²"]),
    (r"[\p{Word}]+", "a²", &["a", "²"], &["a"]),
    (r"[^a-c&&b]+", "abcd", &["a", "b", "cd"], &["a", "cd"]),
    (r"[a[^bc]]+", "abcde", &["a", "bc", "de"], &["a", "de"]),
    (r"[a-c[d-f]&&[b-e]]+", "abcdef", &["a", "bcde", "f"], &["bcde"]),
    (r"[^\S\n]+", "a \n\t", &["a", " ", "\n", "\t"], &[" ", "\t"]),
    (r"[a-]+", "a-b", &["a-", "b"], &["a-"]),
    (r"[-a]+", "a-b", &["a-", "b"], &["a-"]),
    (r"[\d-]+", "1-a", &["1-", "a"], &["1-"]),
    (r"[a&b]+", "a&b", &["a&b"], &["a&b"]),
    (r"[\b]", "a\u{8}", &["a", "\u{8}"], &["\u{8}"]),
    (r"[[:punct:]]+", "a+!", &["a", "+!"], &["+!"]),
    (r"\p{Punct}+", "a+!", &["a+", "!"], &["!"]),
    (r"[[:^alpha:]]+", "a1b", &["a", "1", "b"], &["1"]),
    (r"[^[:alpha:][:digit:]]+", "a1!b", &["a1", "!", "b"], &["!"]),
    (r"\p{^L}+", "a1é2", &["a", "1", "é", "2"], &["1", "2"]),
    (r"\P{^L}+", "a1é2", &["a", "1", "é", "2"], &["a", "é"]),
    (r"\p{ lowercase_Letter }+", "aBé", &["a", "B", "é"], &["a", "é"]),
    (r"\h+", "afg9", &["af", "g", "9"], &["af", "9"]),
    (r"\H+", "afg9", &["af", "g", "9"], &["g"]),
    (r"\x41\x{e9}\u4e00", "Aé一", &["Aé一"], &["Aé一"]),
    (r"\é\-", "é-", &["é-"], &["é-"]),
    (r"a(?#b)c", "ac", &["ac"], &["ac"]),
    (r"(?<=a|ss)t", "atsstst", &["a", "t", "ss", "t", "st"], &["t", "t"]),
    (r"(?<!a)b", "abb", &["ab", "b"], &["b"]),
    (r"(?<!\s)\s", "a  b", &["a", " ", " b"], &[" "]),
    (r"(?=(\d{3})+(?!\d))", "1234567", &["1", "234", "567"], &[]),
    (r"\d{1,3}(?=(?:\d{3})*\b)", "1234567", &["1", "234", "567"], &["1", "234", "567"]),
    (r"(?>a|ab)s|b", "abs", &["a", "b", "s"], &["b"]),
    (r"(?:a|ab)(?:b|s)", "abs", &["ab", "s"], &["ab"]),
    (r"(?:ab)*?s", "ababs", &["ababs"], &["ababs"]),
    (r"(?:ab){1,2}", "ababab", &["abab", "ab"], &["abab", "ab"]),
    (r"(?>[a-b]*?)", "ab", &["a", "b"], &[]),
    (r"x*", "axb", &["a", "x", "b"], &["x"]),
    (r"(?=b)|b", "abb", &["a", "b", "b"], &[]),
    (r"(?:)", "aé", &["a", "é"], &[]),
    (r"", "aé", &["a", "é"], &[]),
    (r"a??", "aa", &["a", "a"], &[]),
    (r"\s{4}(?!\S)|\s{1,2}(?!\S)|\s", "a       b", &["a", "    ", "  ", " ", "b"], &["    ", "  ", " "]),
    (r".", "\r\n\u{2028}", &["\r", "\n", "\u{2028}"], &["\r", "\u{2028}"]),
    (r"\s", "\u{85}\u{180E}\u{200B}\u{3000}", &["\u{85}", "\u{180E}\u{200B}", "\u{3000}"], &["\u{85}", "\u{3000}"]),
    (r"]}", "]}", &["]}"], &["]}"]),
];

#[test]
fn patterns_match_what_the_reference_matches() {
    for (pattern, text, pieces, matches) in MEASURED {
        let regex = Regex::compile_general(pattern).unwrap();
        let found = regex.find_all(text).unwrap();
        let isolated = apply_behavior(&cover(text.len(), &found), SplitBehavior::Isolated);
        let texts = |ranges: Vec<std::ops::Range<usize>>| -> Vec<&str> {
            ranges.into_iter().filter(|range| !range.is_empty()).map(|range| &text[range]).collect()
        };
        assert_eq!(texts(isolated), *pieces, "{pattern:?} on {text:?}");
        assert_eq!(texts(found), *matches, "{pattern:?} on {text:?}");
    }
}

/// An empty match right behind another match does not count.
#[test]
fn empty_matches() {
    let all = |pattern: &str, text: &str| {
        let found = Regex::compile(pattern).unwrap().find_all(text).unwrap();
        found.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
    };
    assert_eq!(all("x*", "axxb"), [(0, 0), (1, 3), (4, 4)]);
    assert_eq!(all("", "é"), [(0, 0), (2, 2)]);
    assert_eq!(all("$", "a\n"), [(1, 1), (2, 2)]);
    assert_eq!(all("^", "a\nb\n"), [(0, 0), (2, 2)]);
    assert_eq!(all(r"\Z", "a\n"), [(1, 1), (2, 2)]);
}

#[test]
fn what_the_reference_refuses_is_invalid() {
    let cases = [
        ("[a", 0, "premature end of char-class"),
        ("[]", 0, "empty char-class"),
        ("x[b-a]", 2, "empty range in char class"),
        (r"[\d-z]", 1, "unmatched range specifier in char-class"),
        (r"[a-\d]", 1, "char-class value at end of range"),
        ("a)", 1, "unmatched close parenthesis"),
        ("b(a", 1, "end pattern with unmatched parenthesis"),
        ("(?", 0, "end pattern in group"),
        ("a|*", 2, "target of repeat operator is not specified"),
        ("{2}", 0, "target of repeat operator is not specified"),
        ("a{100001}", 1, "too big number for repeat range"),
        ("a\\", 1, "end pattern at escape"),
        (r"\u41", 0, "too short escape"),
    ];
    for (pattern, offset, what) in cases {
        let error = Regex::compile(pattern).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidFile, "{error}");
        assert!(error.message.ends_with(&format!("at byte {offset}: {what}")), "{error}");
    }
}

#[test]
fn what_is_not_certain_is_unsupported_by_name() {
    let cases = [
        (r"(a)\1", "regex:Escape:1", 3),
        (r"a\K", "regex:Escape:K", 1),
        (r"\Gb", "regex:Escape:G", 0),
        (r"\X", "regex:Escape:X", 0),
        (r"\R", "regex:Escape:R", 0),
        (r"\xE9", "regex:Escape:x", 0),
        (r"\pL", "regex:PropertyWithoutBraces", 0),
        (r"\p{Klingon}", "regex:Property:Klingon", 0),
        (r"\p{bracket_word}", "regex:Property:bracket_word", 0),
        ("(?~a)", "regex:Group", 0),
        ("(?m:.)", "regex:Group", 0),
        ("(*FAIL)", "regex:Callout", 0),
        ("(?i:stop)", "regex:CaseInsensitiveLigature", 5),
        ("(?i:s)s(?i:s)(?i:s)", "regex:CaseInsensitiveLigature", 17),
        ("(?i:é)", "regex:CaseInsensitiveNonAscii", 4),
        (r"(?i:[^\s])", "regex:CaseInsensitiveNonAscii", 4),
        ("(?<=a+)b", "regex:VariableLookBehind", 0),
        ("(?:a*)*", "regex:EmptyLoop", 6),
        ("(?:a+?)+", "regex:NestedRepeat", 7),
        ("a{2,1}", "regex:PossessiveInterval", 1),
        ("^*", "regex:RepeatedAnchor", 0),
        ("[]a]", "regex:BracketFirstInClass", 0),
        ("[a-b-c]", "regex:DashInClass", 4),
        ("[a&&]", "regex:EmptyClass", 0),
        ("[[:nothing:]]", "regex:PosixBracket", 1),
    ];
    for (pattern, feature, offset) in cases {
        let error = Regex::compile(pattern).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert_eq!(error.feature.as_deref(), Some(feature));
        assert!(error.message.contains(&format!(" at byte {offset} ")), "{error}");
    }
}

#[test]
fn patterns_that_grow_or_nest_without_measure_are_refused() {
    let deep = format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000));
    let long = "a".repeat(1 << 20);
    let cases = [
        (deep.as_str(), "regex:Depth"),
        (long.as_str(), "regex:Length"),
        ("((a{1000}b){1000}c){1000}", "regex:Size"),
        ("(?:(?:(?:){100000}){100000}){100000}", "regex:Size"),
    ];
    for (pattern, feature) in cases {
        let error = Regex::compile(pattern).unwrap_err();
        assert_eq!(error.feature.as_deref(), Some(feature));
        assert!(error.message.len() < 500, "{error}");
    }
}

#[test]
fn backtracking_ends() {
    let text = format!("{}!", "a".repeat(30));
    let error = Regex::compile("(a+)+$").unwrap().find_all(&text).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
    assert!(error.message.contains("(a+)+$"), "{error}");
}

/// A long text is no reason to give up, whether it matches or not.
#[test]
fn long_texts_are_within_the_budget() {
    for (pattern, part, count) in [
        (r"(?:\p{L}|-)+", "a-", 1),
        (r"(?<=b)x|\d(?=z)", "a1", 0),
        (r"\s+(?!\S)|\s+", "  ", 1),
        (r"[^x]*?x", "aaaaaaa x", 1 << 18),
    ] {
        let text = part.repeat(1 << 18);
        assert_eq!(Regex::compile(pattern).unwrap().find_all(&text).unwrap().len(), count);
    }
}
