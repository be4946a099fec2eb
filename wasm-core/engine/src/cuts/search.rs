//! Looking for a cut near a place of a text.

use std::sync::atomic::{AtomicU8, Ordering};

/// How far a search goes, in bytes.
const WINDOW: usize = 1 << 16;
/// How many pairs beyond ASCII a search asks about. Each takes about a microsecond.
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
}

/// The last question and its answer: in a run of one character all questions are the same.
#[derive(Debug, Default)]
pub struct Asked(Option<(Around, bool)>);

impl Asked {
    #[inline]
    pub fn again(&mut self, text: &str, at: usize, ask: impl FnOnce(Around) -> bool) -> bool {
        let Some(around) = Around::of(text, at) else { return false };
        match self.0 {
            Some((known, answer)) if known == around => answer,
            _ => {
                let answer = ask(around);
                self.0 = Some((around, answer));
                answer
            }
        }
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
    /// byte `behind`.
    pub fn last(
        text: &str,
        behind: usize,
        at_most: usize,
        mut is_cut: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let end = floor(text, at_most.min(text.len().saturating_sub(1)));
        let start = floor(text, behind.max(end.saturating_sub(WINDOW)));
        let part = text.get(start..end)?;
        let mut asked = 0;
        let bytes = text.as_bytes();
        std::iter::once(end)
            .chain(part.char_indices().rev().map(|(at, _)| start + at))
            .take_while(|&at| at > behind)
            .take_while(|&at| {
                asked += usize::from(bytes.get(at).is_some_and(|byte| !byte.is_ascii()));
                asked < MOST_ASKED
            })
            .find(|&at| is_cut(at))
    }

    /// The first one, not before byte `at_least` and before byte `before`.
    pub fn first(
        text: &str,
        at_least: usize,
        before: usize,
        mut is_cut: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let start = ceil(text, at_least.max(1));
        let end = ceil(text, before.min(text.len()).min(start.saturating_add(WINDOW)));
        let mut asked = 0;
        text.get(start..end)?
            .char_indices()
            .map(|(at, c)| (start + at, c))
            .take_while(|(_, c)| {
                asked += usize::from(!c.is_ascii());
                asked < MOST_ASKED
            })
            .map(|(at, _)| at)
            .take_while(|&at| at < before)
            .find(|&at| is_cut(at))
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
