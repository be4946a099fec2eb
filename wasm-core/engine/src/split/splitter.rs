//! One cut of a text: what to look for, and what becomes of it.

use std::ops::Range;

use super::pattern::{Literal, Regex};
use super::scan::{PieceScan, Scanner};
use crate::definition::{Pattern, SplitBehavior};
use crate::error::Result;
use crate::text::{apply_behavior, cover, FindMatches};
use crate::unicode::{is_rust_word, is_whitespace, script_of};

/// See the module text.
#[derive(Debug)]
pub struct Splitter {
    finder: Finder,
    behavior: SplitBehavior,
    /// What is between the matches counts as match, and the other way round.
    invert: bool,
}

#[derive(Debug)]
pub(super) enum Finder {
    Scanner(Scanner),
    Regex(Box<Regex>),
    Literal(Literal),
    /// Each character of a kind is a match.
    EachChar(fn(char) -> bool),
    Char(char),
    /// `\w+|[^\w\s]+`
    WordsAndSymbols,
    /// What has one script, with the spaces and strangers behind it.
    Scripts,
    /// So many characters.
    Length(usize),
    Function(fn(&str) -> Vec<Range<usize>>),
}

impl Splitter {
    pub fn of_pattern(pattern: &Pattern, behavior: SplitBehavior, invert: bool) -> Result<Self> {
        let finder = match pattern {
            Pattern::Literal(literal) => Finder::Literal(Literal(literal.clone())),
            Pattern::Regex(regex) => match Scanner::recognise(regex) {
                Some(scanner) => Finder::Scanner(scanner),
                None => Finder::Regex(Box::new(Regex::compile_general(regex)?)),
            },
        };
        Ok(Self { finder, behavior, invert })
    }

    pub fn of_scanner(scanner: Scanner) -> Self {
        Self { finder: Finder::Scanner(scanner), behavior: SplitBehavior::Isolated, invert: false }
    }

    pub fn of_each_char(is_match: fn(char) -> bool, behavior: SplitBehavior) -> Self {
        Self { finder: Finder::EachChar(is_match), behavior, invert: false }
    }

    pub fn of_char(c: char, behavior: SplitBehavior) -> Self {
        Self { finder: Finder::Char(c), behavior, invert: false }
    }

    /// Isolates what a function finds.
    pub fn of_function(find: fn(&str) -> Vec<Range<usize>>) -> Self {
        let (finder, behavior) = (Finder::Function(find), SplitBehavior::Isolated);
        Self { finder, behavior, invert: false }
    }

    /// Keeps the matches of `\w+|[^\w\s]+`.
    pub fn of_words_and_symbols() -> Self {
        Self { finder: Finder::WordsAndSymbols, behavior: SplitBehavior::Removed, invert: true }
    }

    /// Cuts where the script changes; what comes before the first script is dropped.
    pub fn of_scripts() -> Self {
        Self { finder: Finder::Scripts, behavior: SplitBehavior::Removed, invert: true }
    }

    /// Cuts into pieces of `length` characters, which must not be 0.
    pub fn of_length(length: usize) -> Self {
        Self { finder: Finder::Length(length), behavior: SplitBehavior::Isolated, invert: false }
    }

    pub(super) fn finder(&self) -> &Finder {
        &self.finder
    }

    pub(super) fn behavior(&self) -> SplitBehavior {
        self.behavior
    }

    pub(super) fn inverts(&self) -> bool {
        self.invert
    }

    /// The scanner whose pieces are those of this splitter.
    pub fn scanner(&self) -> Option<Scanner> {
        match (&self.finder, self.behavior) {
            (Finder::Scanner(scanner), SplitBehavior::Isolated) => Some(*scanner),
            _ => None,
        }
    }

    /// What `text` is cut into; ranges may be empty.
    pub fn split(&self, text: &str) -> Result<Vec<Range<usize>>> {
        if let Some(scanner) = self.scanner() {
            return Ok(pieces(scanner, text.as_bytes()));
        }
        let mut covering = cover(text.len(), &self.find_all(text)?);
        if self.invert {
            covering.iter_mut().for_each(|(_, is_match)| *is_match = !*is_match);
        }
        Ok(apply_behavior(&covering, self.behavior))
    }

    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let each = |is_match: &dyn Fn(char) -> bool| {
            let chars = text.char_indices().filter(|(_, c)| is_match(*c));
            Ok(chars.map(|(at, c)| at..at + c.len_utf8()).collect())
        };
        match &self.finder {
            Finder::Scanner(scanner) => scanner.find_all(text),
            Finder::Regex(regex) => regex.find_all(text),
            Finder::Literal(literal) => literal.find_all(text),
            Finder::EachChar(is_match) => each(is_match),
            Finder::Char(wanted) => each(&|c| c == *wanted),
            Finder::WordsAndSymbols => Ok(words_and_symbols(text)),
            Finder::Scripts => Ok(same_script(text)),
            Finder::Length(length) => Ok(cut_at(text, text.char_indices().step_by(*length))),
            Finder::Function(find) => Ok(find(text)),
        }
    }
}

fn pieces(scanner: Scanner, text: &[u8]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = scanner.piece_end(text, start);
        pieces.push(start..end);
        start = end;
    }
    pieces
}

fn same_script(text: &str) -> Vec<Range<usize>> {
    let mut last = None;
    let starts = text.char_indices().filter(|(_, c)| {
        let script = script_of(*c);
        let changes = script.is_some() && script != last;
        last = script.or(last);
        changes
    });
    cut_at(text, starts)
}

/// From each start to the next, and from the last one to the end.
fn cut_at(text: &str, starts: impl Iterator<Item = (usize, char)>) -> Vec<Range<usize>> {
    let mut cuts: Vec<usize> = starts.map(|(at, _)| at).collect();
    cuts.push(text.len());
    cuts.windows(2).filter_map(|pair| Some(*pair.first()?..*pair.last()?)).collect()
}

fn words_and_symbols(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<(Range<usize>, bool)> = Vec::new();
    for (at, c) in text.char_indices() {
        let is_word = is_rust_word(c);
        if !is_word && is_whitespace(c) {
            continue;
        }
        let end = at + c.len_utf8();
        match found.last_mut() {
            Some((range, was_word)) if range.end == at && *was_word == is_word => range.end = end,
            _ => found.push((at..end, is_word)),
        }
    }
    found.into_iter().map(|(range, _)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(splitter: &Splitter, text: &str) -> Vec<String> {
        let ranges = splitter.split(text).unwrap();
        ranges.into_iter().map(|range| text[range].to_owned()).collect()
    }

    fn of(pattern: Pattern, behavior: SplitBehavior, invert: bool) -> Splitter {
        Splitter::of_pattern(&pattern, behavior, invert).unwrap()
    }

    #[test]
    fn behaviors() {
        use SplitBehavior::*;
        let cases: [(SplitBehavior, &[&str]); 5] = [
            (Removed, &["the", "final", "countdown"]),
            (Isolated, &["the", "-", "final", "-", "-", "countdown"]),
            (MergedWithPrevious, &["the-", "final-", "-", "countdown"]),
            (MergedWithNext, &["the", "-final", "-", "-countdown"]),
            (Contiguous, &["the", "-", "final", "--", "countdown"]),
        ];
        for (behavior, expected) in cases {
            for pattern in [Pattern::Literal("-".into()), Pattern::Regex("-".into())] {
                assert_eq!(split(&of(pattern, behavior, false), "the-final--countdown"), expected);
            }
        }
    }

    #[test]
    fn a_scanner_serves_other_behaviors_by_its_matches() {
        let numbers = || Pattern::Regex(r"\p{N}{1,3}".into());
        let removed = of(numbers(), SplitBehavior::Removed, false);
        assert_eq!(split(&removed, "a1234b"), ["a", "b"]);
        let kept = of(numbers(), SplitBehavior::Removed, true);
        assert_eq!(split(&kept, "a1234b"), ["123", "4"]);
        assert_eq!(removed.scanner(), None);
        let isolated = of(numbers(), SplitBehavior::Isolated, true);
        assert_eq!(isolated.scanner(), Some(Scanner::ThreeNumbers));
        assert_eq!(split(&isolated, "a1234b"), ["a", "123", "4", "b"]);
    }

    #[test]
    fn an_empty_literal_splits_everywhere() {
        let splitter = of(Pattern::Literal(String::new()), SplitBehavior::Isolated, false);
        assert_eq!(split(&splitter, "aé"), ["", "a", "", "é", ""]);
    }

    #[test]
    fn words_and_symbols_are_kept() {
        let splitter = Splitter::of_words_and_symbols();
        assert_eq!(
            split(&splitter, " Hi,_you! ²\u{200D}"),
            ["Hi", ",", "_you", "!", "²", "\u{200D}"]
        );
    }
}
