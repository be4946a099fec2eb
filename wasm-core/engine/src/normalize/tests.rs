//! The expected texts and alignments are the reference's.

use unicode_normalization_alignments::char::canonical_combining_class;
use unicode_normalization_alignments::UnicodeNormalization;

use super::*;
use crate::definition::{Blob, Normalizer, Pattern};
use crate::oracle::random::Random;
use crate::unicode::{NFC_ACTIVE, NFD_ACTIVE, NFKC_ACTIVE, NFKD_ACTIVE};
use std::ops::Range;

/// Stands for the regular expression `^`.
#[derive(Debug)]
struct Start;

impl FindMatches for Start {
    fn find_all(&self, _: &str) -> Result<Vec<Range<usize>>> {
        Ok(std::iter::once(0..0).collect())
    }
}

pub(super) fn build(steps: &[Normalizer]) -> Normalizers {
    let compile = |regex: &str| -> Result<Box<dyn FindMatches>> {
        if regex == "^" {
            Ok(Box::new(Start))
        } else {
            Err(Error::invalid(format!("cannot compile {regex}")))
        }
    };
    Normalizers::new(steps, &compile).unwrap()
}

pub(super) fn literal(pattern: &str, content: &str) -> Normalizer {
    Normalizer::Replace { pattern: Pattern::Literal(pattern.into()), content: content.into() }
}

pub(super) fn bert(strip_accents: Option<bool>, lowercase: bool) -> Normalizer {
    Normalizer::Bert { clean_text: true, handle_chinese_chars: true, strip_accents, lowercase }
}

/// The normalized text, after making sure that every way there leads to it.
fn normalized(steps: &[Normalizer], text: &str) -> String {
    let normalizers = build(steps);
    let mut tracked = AlignedText::new(text, 7, true);
    let mut untracked = AlignedText::new(text, 7, false);
    normalizers.apply(&mut tracked).unwrap();
    normalizers.apply(&mut untracked).unwrap();
    let plain = normalizers.apply_plain(text).unwrap();
    assert_eq!((tracked.as_str(), untracked.as_str()), (&*plain, &*plain));
    plain.into_owned()
}

fn aligned(step: Normalizer, text: &str) -> (String, Vec<(usize, usize)>) {
    let mut tracked = AlignedText::new(text, 0, true);
    build(&[step]).apply(&mut tracked).unwrap();
    let ranges = tracked.as_str().char_indices().map(|(at, c)| at..at + c.len_utf8());
    let offsets = ranges.map(|range| tracked.offsets_of(range)).collect();
    (tracked.into_string(), offsets)
}

#[test]
fn forms_are_those_of_unicode_9() {
    use Normalizer::{Nfc, Nfd, Nfkc, Nfkd};
    assert_eq!(normalized(&[Nfc], "e\u{301} Å \u{1100}\u{1161}\u{11A8}"), "é Å 각");
    assert_eq!(
        normalized(&[Nfd], "xéyȩ\u{301}각"),
        "xe\u{301}ye\u{327}\u{301}\u{1100}\u{1161}\u{11A8}"
    );
    assert_eq!(normalized(&[Nfkc], "ﬁ① ﷺ"), "fi1 صلى الله عليه وسلم");
    assert_eq!(normalized(&[Nfkd], "ﬁé"), "fie\u{301}");
    // Square Era Name Reiwa is of Unicode 12.1.
    assert_eq!(normalized(&[Nfkc], "\u{32FF}"), "\u{32FF}");
    // A mark of Unicode 14 passes for a starter: it stops others from being sorted.
    assert_eq!(normalized(&[Nfd], "a\u{1AC0}\u{301}\u{323}"), "a\u{1AC0}\u{323}\u{301}");
    assert_eq!(normalized(&[Nfd], "a\u{301}\u{1AC0}\u{323}"), "a\u{301}\u{1AC0}\u{323}");
}

#[test]
fn forms_are_aligned() {
    let (text, offsets) = aligned(Normalizer::Nfd, "xéy");
    assert_eq!((&*text, &*offsets), ("xe\u{301}y", &[(0, 1), (1, 3), (1, 3), (3, 4)][..]));
    let (text, offsets) = aligned(Normalizer::Nfc, "xe\u{301}y");
    assert_eq!((&*text, &*offsets), ("xéy", &[(0, 1), (1, 2), (4, 5)][..]));
    // The marks change places; the first character is that of the base and the second mark.
    let (text, offsets) = aligned(Normalizer::Nfc, "e\u{301}\u{327}y");
    assert_eq!((&*text, &*offsets), ("ȩ\u{301}y", &[(0, 1), (3, 5), (5, 6)][..]));
    let (text, offsets) = aligned(Normalizer::Nfkc, "ﬁ");
    assert_eq!((&*text, &*offsets), ("fi", &[(0, 3), (0, 3)][..]));
}

#[test]
fn lowercase_knows_no_context_and_may_grow() {
    let (text, offsets) = aligned(Normalizer::Lowercase, "aİb");
    assert_eq!((&*text, &*offsets), ("ai\u{307}b", &[(0, 1), (1, 3), (1, 3), (3, 4)][..]));
    assert_eq!(normalized(&[Normalizer::Lowercase], "ΟΔΟΣ STRASSE ẞ"), "οδοσ strasse ß");
}

#[test]
fn accents_are_only_those_that_stand_alone() {
    assert_eq!(normalized(&[Normalizer::StripAccents], "e\u{301}é\u{20DD}"), "eé");
    let steps = [Normalizer::Nfd, Normalizer::StripAccents];
    assert_eq!(normalized(&steps, "éà\u{1AC0}"), "ea\u{1AC0}");
}

#[test]
fn strip_takes_unicode_white_space() {
    let strip = |left, right| [Normalizer::Strip { left, right }];
    assert_eq!(normalized(&strip(true, true), "\u{3000}\u{85} a \u{a0}"), "a");
    assert_eq!(normalized(&strip(true, false), " a "), "a ");
    assert_eq!(normalized(&strip(false, true), " \u{200B} "), " \u{200B}");
    assert_eq!(normalized(&strip(true, true), " \u{2003}"), "");
}

#[test]
fn sentencepiece_style_steps() {
    let steps = [Normalizer::Prepend("▁".into()), literal(" ", "▁")];
    assert_eq!(normalized(&steps, "a  b"), "▁a▁▁b");
    assert_eq!(normalized(&steps, ""), "");
}

#[test]
fn an_empty_literal_matches_everywhere() {
    assert_eq!(normalized(&[literal("", "_")], "aé"), "_a_é_");
    assert_eq!(normalized(&[literal("", "_")], ""), "");
}

#[test]
fn bert_cleans_pads_strips_and_lowers() {
    assert_eq!(normalized(&[bert(None, true)], "Caf\u{c9}\t\u{b}\u{85}\0字\u{AD}x"), "cafe  字 x");
    assert_eq!(normalized(&[bert(None, false)], "CafÉ\u{a0}x"), "CafÉ x");
    assert_eq!(normalized(&[bert(Some(false), true)], "CafÉ"), "café");
    assert_eq!(normalized(&[bert(Some(true), false)], "CafÉ"), "CafE");
    // The range of extension E starts at U+2B920 here, not at U+2B820.
    assert_eq!(normalized(&[bert(None, true)], "\u{2B820}\u{2B920}"), "\u{2B820} \u{2B920} ");
}

/// A map of SentencePiece's form, as sparse as it can be: every state has 256 cells of its own.
pub(super) fn precompiled(rules: &[(&str, &str)]) -> Normalizer {
    let mut states: Vec<&[u8]> = vec![b""];
    for (key, _) in rules {
        for end in 1..=key.len() {
            let prefix = &key.as_bytes()[..end];
            if !states.contains(&prefix) {
                states.push(prefix);
            }
        }
    }
    let base_of = |prefix: &[u8]| 256 * (1 + states.iter().position(|s| *s == prefix).unwrap());
    let mut cells = vec![0u32; 256 * (states.len() + 1)];
    cells[0] = 256 << 10;
    let mut replacements = String::new();
    for prefix in &states {
        let Some((&last, before)) = prefix.split_last() else { continue };
        let (base, place) = (base_of(prefix), base_of(before) ^ usize::from(last));
        cells[place] = ((place ^ base) << 10) as u32 | u32::from(last);
        if let Some((_, new)) = rules.iter().find(|(key, _)| key.as_bytes() == *prefix) {
            cells[place] |= 1 << 8;
            cells[base] = 1 << 31 | replacements.len() as u32;
            replacements += new;
            replacements.push('\0');
        }
    }
    let size = (cells.len() as u32 * 4).to_le_bytes();
    let cells = cells.iter().flat_map(|cell| cell.to_le_bytes());
    let blob = size.into_iter().chain(cells).chain(replacements.bytes()).collect();
    Normalizer::Precompiled { charsmap: Blob(blob) }
}

const RULES: [(&str, &str); 8] = [
    ("é", "e"),
    ("ﬁ", "fi"),
    ("\u{301}", ""),
    ("e\u{301}", "é"),
    ("a\u{301}", "abc"),
    ("\t", ""),
    ("h", "H"),
    ("\r\n", "\n"),
];

#[test]
fn maps_are_looked_up_by_cluster() {
    let map = || precompiled(&RULES);
    assert_eq!(normalized(&[map()], "\thé ﬁx"), "He fix");
    // A cluster of six bytes is no cluster to the reference.
    assert_eq!(normalized(&[map()], "a\u{301}\u{327}b"), "abcb");
    assert_eq!(normalized(&[map()], "a\u{301}\u{327}\u{316}b"), "a\u{327}\u{316}b");
    // The shortest key counts, and the rest of the cluster is lost.
    assert_eq!(normalized(&[map()], "h\u{301}"), "H");
    assert_eq!(normalized(&[map()], "\r\nx\r"), "\nx\r");
    assert_eq!(normalized(&[map()], "\u{301}a\0"), "a\0");
}

#[test]
fn maps_are_aligned_with_the_count_of_the_reference() {
    let aligned = |text: &str| aligned(precompiled(&RULES), text);
    let (text, offsets) = aligned("xe\u{301}y");
    assert_eq!((&*text, &*offsets), ("xéy", &[(0, 1), (1, 2), (4, 5)][..]));
    let (text, offsets) = aligned("a\u{301}\u{327}b");
    assert_eq!((&*text, &*offsets), ("abcb", &[(0, 1), (1, 3), (3, 5), (5, 6)][..]));
    // What vanishes at the very start is not counted.
    let (text, offsets) = aligned("\t\tab");
    assert_eq!((&*text, &*offsets), ("ab", &[(0, 1), (1, 2)][..]));
}

#[test]
fn maps_change_the_text_alike_with_and_without_alignments() {
    const PIECES: [&str; 12] =
        ["a", "e", "h", "\u{301}", "\u{327}", "é", "ﬁ", "\t", "\r", "\n", "🇩", "\u{200D}"];
    let mut random = Random::new(13);
    let map = precompiled(&RULES);
    for _ in 0..2000 {
        let text: String = (0..random.below(10)).map(|_| *random.pick(&PIECES)).collect();
        normalized(std::slice::from_ref(&map), &text);
    }
}

#[test]
fn nmt_has_its_own_controls_and_spaces() {
    let text = "a\u{1}\u{B}\tb\u{200B}c\u{FEFF}▁\u{FFFD}\u{85}\u{C}";
    assert_eq!(normalized(&[Normalizer::Nmt], text), "a b c   \u{85} ");
}

#[test]
fn bytes_are_spelled() {
    assert_eq!(normalized(&[Normalizer::ByteLevel], "a é\n"), "aĠÃ©Ċ");
    let (_, offsets) = aligned(Normalizer::ByteLevel, "é\n");
    assert_eq!(offsets, [(0, 2), (0, 2), (2, 3)]);
}

#[test]
fn nothing_is_copied_where_nothing_changes() {
    let same = [
        (Normalizer::Nfc, "plain, héllo, привет, Tiếng Việt, 今天, 가각, ที่นี่, \u{915}\u{94D}"),
        (Normalizer::Nfc, "x\u{301}"),
        (Normalizer::Nfd, "e\u{327}\u{301}"),
        (Normalizer::Nfkc, "héllo 今天"),
        (Normalizer::Lowercase, "plain héllo 今天"),
        (Normalizer::StripAccents, "héllo"),
        (Normalizer::Strip { left: true, right: true }, "a b"),
        (Normalizer::Prepend(String::new()), "a"),
        (literal("x", "y"), "a b"),
        (bert(None, true), "hello, world"),
        (precompiled(&RULES), "\0 plain 今天 🇩🇪 \u{327}"),
        (Normalizer::Nmt, "héllo, wörld"),
        (Normalizer::ByteLevel, "hello,world"),
    ];
    for (step, text) in same {
        let normalizers = build(std::slice::from_ref(&step));
        let plain = normalizers.apply_plain(text).unwrap();
        assert!(matches!(plain, Cow::Borrowed(same) if same == text), "{step:?} {plain:?}");
    }
}

/// Removing a character behind an insertion before the start makes the reference panic.
#[test]
fn what_follows_an_insertion_before_the_start_may_fail() {
    let insert = |content: &str| Normalizer::Replace {
        pattern: Pattern::Regex("^".into()),
        content: content.into(),
    };
    assert_eq!(normalized(&[insert("_")], "ab"), "_ab");
    assert_eq!(normalized(&[insert(""), Normalizer::Lowercase], "AB"), "ab");
    let failing = build(&[insert("_"), Normalizer::Lowercase]);
    assert!(failing.apply_plain("AB").is_err());
    assert!(failing.apply(&mut AlignedText::new("AB", 0, true)).is_err());
    // The reference loses count: the head stays, and what is left of the text comes behind it.
    let steps = [Normalizer::Prepend(String::new()), Normalizer::Strip { left: true, right: true }];
    assert_eq!(normalized(&steps, "a "), "aa");
}

#[test]
fn a_regex_that_does_not_compile_is_reported() {
    let step = Normalizer::Replace { pattern: Pattern::Regex("(".into()), content: String::new() };
    let result = Normalizers::new(&[step], &|_| Err(Error::invalid("unbalanced")));
    assert_eq!(result.unwrap_err().message, "unbalanced");
}

/// What [`Form::plain`] relies on, for every character: one that is not active is a starter, and
/// stays itself behind whatever it could join.
#[test]
fn inert_characters_are_inert() {
    for c in '\0'..=char::MAX {
        let class = class_of(c);
        for start in ["e\u{301}", "\u{1100}", "\u{1100}\u{1161}"] {
            let text = || start.chars().chain([c]);
            let kept = |form: &mut dyn Iterator<Item = (char, isize)>| form.last() == Some((c, 0));
            assert!(class.is(NFC_ACTIVE) || kept(&mut text().nfc()), "NFC {start:?} {c:?}");
            assert!(class.is(NFD_ACTIVE) || kept(&mut text().nfd()), "NFD {start:?} {c:?}");
            assert!(class.is(NFKC_ACTIVE) || kept(&mut text().nfkc()), "NFKC {start:?} {c:?}");
            assert!(class.is(NFKD_ACTIVE) || kept(&mut text().nfkd()), "NFKD {start:?} {c:?}");
        }
        if canonical_combining_class(c) != 0 {
            let forms = [NFC_ACTIVE, NFD_ACTIVE, NFKC_ACTIVE, NFKD_ACTIVE];
            assert!(forms.into_iter().all(|form| class.is(form)), "{c:?}");
        }
    }
}

#[test]
fn text_is_normalized_part_by_part_as_it_is_in_one_go() {
    let parts =
        ["e", "\u{301}", "\u{327}", "é", "가", "\u{11A8}", "\u{1100}", "字", " x", "ﬁ", "Å"];
    for first in parts {
        for second in parts {
            for third in parts {
                for fourth in parts {
                    let text = [first, second, third, fourth].concat();
                    let whole: String = text.nfc().map(|(c, _)| c).collect();
                    assert_eq!(normalized(&[Normalizer::Nfc], &text), whole);
                    let whole: String = text.nfkd().map(|(c, _)| c).collect();
                    assert_eq!(normalized(&[Normalizer::Nfkd], &text), whole);
                }
            }
        }
    }
}
