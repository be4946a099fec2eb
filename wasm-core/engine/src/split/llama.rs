//! The cuts of llama.cpp that are no pattern.

use std::ops::Range;

use crate::unicode::{class_of, BERT_CJK};

/// The characters that stand alone in model `bert`.
pub fn stands_alone(c: char) -> bool {
    let class = class_of(c);
    class.is_punctuation() || class.is(BERT_CJK) || (c < '\x7F' && class.is_symbol())
}

/// Runs of numbers in threes from the right; what stands before a run belongs to its first group.
pub fn numbers_in_threes(text: &str) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut done = 0;
    for run in runs(text, |c| class_of(c).is_number()) {
        let count = text.get(run.clone()).map_or(0, |run| run.chars().count());
        let chars = text.get(run.clone()).unwrap_or_default().char_indices();
        for (n, (at, c)) in chars.enumerate() {
            if (count - n) % 3 == 1 {
                let end = run.start + at + c.len_utf8();
                groups.push(done..end);
                done = end;
            }
        }
    }
    groups
}

/// Cuts before every digit that has a multiple of three behind it, itself counted.
pub fn digits_in_threes(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut done = 0;
    for run in runs(text, |c| c.is_ascii_digit()) {
        for at in run.clone() {
            if (run.end - at).is_multiple_of(3) && at > done {
                parts.push(done..at);
                done = at;
            }
        }
    }
    parts
}

fn runs(text: &str, belongs: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| belongs(*c)) {
        let end = at + c.len_utf8();
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = end,
            _ => runs.push(at..end),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(find: fn(&str) -> Vec<Range<usize>>, text: &str) -> Vec<&str> {
        find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn the_first_group_takes_what_is_before_it() {
        assert_eq!(cut(numbers_in_threes, "a 1234b56"), ["a 1", "234", "b56"]);
        assert_eq!(cut(numbers_in_threes, "123456 x"), ["123", "456"]);
        assert_eq!(cut(numbers_in_threes, "x"), [""; 0]);
    }

    #[test]
    fn only_ascii_digits_are_cut_in_threes() {
        assert_eq!(cut(digits_in_threes, "1234567"), ["1", "234"]);
        assert_eq!(cut(digits_in_threes, "²123"), ["²"]);
        assert_eq!(cut(digits_in_threes, "123"), [""; 0]);
    }
}
