//! The expected alignments are what the reference's `NormalizedString` answers.

use super::*;
use crate::error::ErrorKind;

/// The text as it stands behind `lead` in a longer one.
fn behind(lead: &str, text: &str) -> AlignedText {
    AlignedText::new(text, lead.len(), true)
}

fn tracked(text: &str) -> AlignedText {
    behind("", text)
}

/// The text, and the offsets of each of its characters.
fn seen(text: &AlignedText) -> (&str, Vec<(usize, usize)>) {
    let ranges = text.as_str().char_indices().map(|(at, c)| at..at + c.len_utf8());
    (text.as_str(), ranges.map(|range| text.offsets_of(range)).collect())
}

fn not_dash(c: char) -> bool {
    c != '-'
}

fn everywhere(text: &str) -> Vec<Range<usize>> {
    text.char_indices()
        .map(|(at, _)| at..at)
        .chain(std::iter::once(text.len()..text.len()))
        .collect()
}

/// `_a_b_`, the first character of which came before everything.
fn inserted_before_start() -> AlignedText {
    let mut text = behind("<s>", "ab");
    text.replace_matches(&everywhere("ab"), "_").unwrap();
    text
}

#[test]
fn untouched_text_is_aligned_to_itself() {
    assert_eq!(seen(&behind("日", "aé")), ("aé", vec![(3, 4), (4, 6)]));
    assert_eq!(behind("日", "aé").origin(), (3, 6));
}

#[test]
fn new_characters_share_the_alignment_of_the_one_before() {
    let mut text = tracked("ab字c");
    text.rewrite(|c, editor| {
        if c != '字' {
            return editor.push(c, 0);
        }
        [(' ', 0), (c, 1), (' ', 1)].into_iter().try_for_each(|(c, change)| editor.push(c, change))
    })
    .unwrap();
    let expected = vec![(0, 1), (1, 2), (2, 5), (2, 5), (2, 5), (5, 6)];
    assert_eq!(seen(&text), ("ab 字 c", expected));
}

#[test]
fn a_character_that_swallows_others_keeps_its_own_alignment() {
    let mut text = tracked("xe\u{301}y");
    text.transform([('x', 0), ('é', -1), ('y', 0)], 0).unwrap();
    assert_eq!(seen(&text), ("xéy", vec![(0, 1), (1, 2), (4, 5)]));
}

#[test]
fn filtering_leaves_gaps() {
    let mut text = tracked("--a--b-");
    text.filter(not_dash).unwrap();
    assert_eq!(seen(&text), ("ab", vec![(2, 3), (5, 6)]));
    assert_eq!(text.origin(), (0, 7));

    let mut nothing = tracked("--");
    nothing.filter(not_dash).unwrap();
    assert_eq!((nothing.as_str(), nothing.origin()), ("", (0, 2)));
}

#[test]
fn stripping_leaves_gaps_at_the_ends() {
    let mut text = tracked(" \u{3000}a\u{a0}b \t");
    text.strip(true, true, char::is_whitespace).unwrap();
    assert_eq!(seen(&text), ("a\u{a0}b", vec![(4, 5), (5, 7), (7, 8)]));

    let mut left = tracked(" a ");
    left.strip(true, false, char::is_whitespace).unwrap();
    assert_eq!(seen(&left), ("a ", vec![(1, 2), (2, 3)]));

    let mut nothing = tracked("  ");
    nothing.strip(true, true, char::is_whitespace).unwrap();
    assert!(nothing.is_empty());
}

#[test]
fn what_is_prepended_is_aligned_to_the_first_character() {
    let mut text = behind("<s>", "字b");
    text.prepend("▁_");
    assert_eq!(seen(&text), ("▁_字b", vec![(3, 6), (3, 6), (3, 6), (6, 7)]));

    let mut empty = tracked("");
    empty.prepend("▁");
    assert!(empty.is_empty());
}

#[test]
fn prepending_nothing_costs_the_first_character_its_alignment() {
    let mut text = behind("<s>", "字b");
    text.prepend("");
    assert_eq!(seen(&text), ("字b", vec![(3, 3), (6, 7)]));
    assert!(!text.is_anchored());
}

#[test]
fn a_replacement_is_aligned_to_the_last_character_of_its_match() {
    let mut text = tracked("ab  c");
    text.replace_matches(std::slice::from_ref(&(2..4)), "▁").unwrap();
    assert_eq!(seen(&text), ("ab▁c", vec![(0, 1), (1, 2), (3, 4), (4, 5)]));

    let mut deleted = tracked(" ab");
    deleted.replace_matches(std::slice::from_ref(&(0..1)), "").unwrap();
    assert_eq!(seen(&deleted), ("ab", vec![(1, 2), (2, 3)]));
}

#[test]
fn text_inserted_before_the_start_is_aligned_to_nothing() {
    let text = inserted_before_start();
    let expected = vec![(3, 3), (3, 4), (3, 4), (4, 5), (4, 5)];
    assert_eq!(seen(&text), ("_a_b_", expected));
    let piece = text.slice(1..3).unwrap();
    assert_eq!((seen(&piece), piece.origin()), (("a_", vec![(3, 4), (3, 4)]), (3, 4)));
}

/// Such a piece has an empty original, and the reference then inserts instead of replacing.
#[test]
fn editing_a_piece_without_an_original_doubles_it() {
    let mut text = inserted_before_start().slice(0..1).unwrap();
    assert_eq!(text.origin(), (3, 3));
    text.map(|c| c).unwrap();
    assert_eq!(seen(&text), ("__", vec![(3, 3), (3, 3)]));
}

#[test]
fn where_the_reference_panics_there_is_an_error() {
    for track in [true, false] {
        let mut text = AlignedText::new("ab", 0, track);
        text.replace_matches(&everywhere("ab"), "_").unwrap();
        assert_eq!(text.filter(|c| c != 'a').unwrap_err().kind, ErrorKind::Unsupported);
    }
}

#[test]
fn slices_of_a_decomposed_character_share_its_original() {
    let mut text = tracked("éa");
    text.transform([('e', 0), ('\u{301}', 1), ('a', 0)], 0).unwrap();
    let (base, rest) = (text.slice(0..1).unwrap(), text.slice(1..4).unwrap());
    assert_eq!((seen(&base), base.origin()), (("e", vec![(0, 2)]), (0, 2)));
    assert_eq!((seen(&rest), rest.origin()), (("\u{301}a", vec![(0, 2), (2, 3)]), (0, 3)));
}

#[test]
fn odd_ranges_convert_to_themselves() {
    let text = behind("<s>", "abc");
    assert_eq!(text.offsets_of(1..1), (4, 4));
    assert_eq!(text.offsets_of(2..9), (2, 9));
}

#[test]
fn a_slice_inside_a_character_is_an_error() {
    assert_eq!(tracked("é").slice(0..1).unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(tracked("é").slice(0..3).unwrap_err().kind, ErrorKind::Internal);
}

#[test]
fn overlapping_matches_are_an_error() {
    assert!(tracked("abc").replace_matches(&[0..2, 1..3], "").is_err());
    assert!(tracked("abc").replace_matches(std::slice::from_ref(&(2..5)), "").is_err());
}

#[test]
fn untracked_text_comes_out_the_same() {
    let mut texts = [AlignedText::new("- aé-", 0, true), AlignedText::new("- aé-", 0, false)];
    for text in &mut texts {
        text.filter(not_dash).unwrap();
        text.strip(true, true, char::is_whitespace).unwrap();
        text.prepend("▁");
        text.replace_matches(std::slice::from_ref(&(3..4)), "xy").unwrap();
        text.map(|c| c.to_ascii_uppercase()).unwrap();
        assert_eq!(text.as_str(), "▁XYé");
        assert_eq!(text.slice(3..5).unwrap().as_str(), "XY");
    }
    assert!(texts[0].is_tracked() && !texts[1].is_tracked());
}

#[test]
fn a_cover_has_no_holes() {
    let matches = [0..1, 1..1, 3..4];
    let expected = [(0..1, true), (1..1, true), (1..3, false), (3..4, true), (4..5, false)];
    assert_eq!(cover(5, &matches), expected);
    assert_eq!(cover(0, &[]), [(0..0, false)]);
    assert_eq!(cover(2, &[]), [(0..2, false)]);
}

#[test]
fn each_behavior_treats_delimiters_its_own_way() {
    let text = tracked("-the-final--countdown-");
    let dashes: Vec<_> = text.as_str().match_indices('-').map(|(at, _)| at..at + 1).collect();
    let matches = cover(text.as_str().len(), &dashes);
    let expected: [(_, &[&str]); 5] = [
        (SplitBehavior::Removed, &["the", "final", "countdown"]),
        (SplitBehavior::Isolated, &["-", "the", "-", "final", "-", "-", "countdown", "-"]),
        (SplitBehavior::MergedWithPrevious, &["-", "the-", "final-", "-", "countdown-"]),
        (SplitBehavior::MergedWithNext, &["-the", "-final", "-", "-countdown", "-"]),
        (SplitBehavior::Contiguous, &["-", "the", "-", "final", "--", "countdown", "-"]),
    ];
    for (behavior, pieces) in expected {
        let split = text.split(&matches, behavior).unwrap();
        let texts: Vec<_> = split.iter().map(AlignedText::as_str).collect();
        assert_eq!(texts, pieces, "{behavior:?}");
        for piece in split {
            let (start, end) = piece.origin();
            assert_eq!(&text.as_str()[start..end], piece.as_str());
        }
    }
}

#[test]
fn text_at_the_very_end_of_what_offsets_can_speak_of_does_not_overflow() {
    let text = AlignedText::new("ab", MAX_TEXT, true);
    assert_eq!(text.origin(), (MAX_TEXT, MAX_TEXT));
}
