//! Looking for a cut near a place of a text.

use std::sync::atomic::{AtomicU8, Ordering};

/// How far a search goes, in bytes.
const WINDOW: usize = 1 << 16;
/// How many questions a search asks whose answers are not remembered. Each takes about a microsecond.
const MOST_ASKED: usize = 512;
const ASCII: usize = 128;

/// All that decides whether a border is a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Around {
    pub left: char,
    pub right: char,
    /// The ones beside them, where there are any.
    pub outer: [Option<char>; 2],
}

impl Around {
    /// `None` where no character ends, or nothing is on one of the sides.
    pub fn of(text: &str, at: usize) -> Option<Self> {
        let (mut before, mut behind) = (text.get(..at)?.chars().rev(), text.get(at..)?.chars());
        let (left, right) = (before.next()?, behind.next()?);
        Some(Self { left, right, outer: [before.next(), behind.next()] })
    }

    /// Whether the outer ones do not matter beyond this.
    pub fn is_plain_outside(&self) -> bool {
        self.outer.iter().flatten().all(|c| matches!(c, ' '..='~'))
    }

    fn is_remembered(&self) -> bool {
        self.left.is_ascii() && self.right.is_ascii() && self.is_plain_outside()
    }
}

/// The questions of one search.
#[derive(Debug, Default)]
pub struct Asked {
    /// The last one and its answer: in a run of one character all questions are the same.
    last: Option<(Around, bool)>,
    not_remembered: usize,
}

impl Asked {
    /// `None` where enough was asked.
    #[inline]
    pub fn again(
        &mut self,
        text: &str,
        at: usize,
        ask: impl FnOnce(Around) -> bool,
    ) -> Option<bool> {
        let Some(around) = Around::of(text, at) else { return Some(false) };
        if let Some((_, answer)) = self.last.filter(|(known, _)| *known == around) {
            return Some(answer);
        }
        self.not_remembered += usize::from(!around.is_remembered());
        if self.not_remembered > MOST_ASKED {
            return None;
        }
        let answer = ask(around);
        self.last = Some((around, answer));
        Some(answer)
    }
}

/// What is known of pairs of ASCII characters, asked for one by one.
#[derive(Debug)]
pub struct Search {
    known: Box<[AtomicU8]>,
}

const YES: u8 = 1;
const NO: u8 = 2;

impl Default for Search {
    fn default() -> Self {
        Self { known: (0..ASCII * ASCII).map(|_| AtomicU8::new(0)).collect() }
    }
}

impl Search {
    /// The answer of `ask` for a pair that needs no look at what is around it.
    pub fn remembered(&self, left: char, right: char, ask: impl FnOnce() -> bool) -> bool {
        let place = match (left.is_ascii(), right.is_ascii()) {
            (true, true) => self.known.get(left as usize * ASCII + right as usize),
            _ => None,
        };
        let Some(place) = place else { return ask() };
        match place.load(Ordering::Relaxed) {
            0 => {
                let answer = ask();
                place.store(if answer { YES } else { NO }, Ordering::Relaxed);
                answer
            }
            answer => answer == YES,
        }
    }

    /// The last border in `text` for which `is_cut` holds, not behind byte `at_most` and behind
    /// byte `behind`. The search ends where `is_cut` answers `None`.
    pub fn last(
        text: &str,
        behind: usize,
        at_most: usize,
        mut is_cut: impl FnMut(usize) -> Option<bool>,
    ) -> Option<usize> {
        let end = floor(text, at_most.min(text.len().saturating_sub(1)));
        let start = floor(text, behind.max(end.saturating_sub(WINDOW)));
        let part = text.get(start..end)?;
        std::iter::once(end)
            .chain(part.char_indices().rev().map(|(at, _)| start + at))
            .take_while(|&at| at > behind)
            .map_while(|at| Some((at, is_cut(at)?)))
            .find_map(|(at, is_cut)| is_cut.then_some(at))
    }

    /// The first one, not before byte `at_least` and before byte `before`.
    pub fn first(
        text: &str,
        at_least: usize,
        before: usize,
        mut is_cut: impl FnMut(usize) -> Option<bool>,
    ) -> Option<usize> {
        let start = ceil(text, at_least.max(1));
        let end = ceil(text, before.min(text.len()).min(start.saturating_add(WINDOW)));
        text.get(start..end)?
            .char_indices()
            .map(|(at, _)| start + at)
            .take_while(|&at| at < before)
            .map_while(|at| Some((at, is_cut(at)?)))
            .find_map(|(at, is_cut)| is_cut.then_some(at))
    }
}

/// The start of the character that `at` lies in.
pub fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The end of the character that `at` lies in.
pub fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> (usize, usize) {
        let (mut calls, mut borders) = (0, 0);
        let mut asked = Asked::default();
        let found = Search::first(text, 1, text.len(), |at| {
            borders += 1;
            asked.again(text, at, |_| {
                calls += 1;
                false
            })
        });
        assert_eq!(found, None);
        (calls, borders)
    }

    #[test]
    fn a_search_ends_after_many_questions() {
        let control: String = (0..20_000).map(|n| char::from(1 + (n * n % 29) as u8)).collect();
        assert!(asked(&control).0 <= MOST_ASKED);
        let han: String = (0..20_000).filter_map(|n| char::from_u32(0x4E00 + n)).collect();
        assert!(asked(&han).0 <= MOST_ASKED);
    }

    #[test]
    fn a_run_of_one_character_is_one_question() {
        let run = "漢".repeat(20_000);
        let (calls, borders) = asked(&run);
        assert!(calls <= 5 && borders == 19_999, "{calls} {borders}");
    }
}
