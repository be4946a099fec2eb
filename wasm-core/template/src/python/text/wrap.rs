//! `textwrap.wrap` of one line, as jinja2 calls it: tabs and white space stay as they are.

use std::collections::VecDeque;
use std::ops::Range;

use crate::python::fault::{Fault, Outcome};
use crate::python::numbers::integer::at_least_zero;
use crate::python::text::classes::{is_space, is_word, is_word_no_digit as is_letter};

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub width: i64,
    /// Else the width was a float: it is compared, and no word can be cut by it.
    pub whole: bool,
    pub break_long_words: bool,
    /// Whether a word that is cut is cut behind a hyphen.
    pub break_on_hyphens: bool,
    /// Whether lines may end behind any hyphen: only `True` itself says so to `textwrap`.
    pub hyphenated: bool,
}

/// The white space at which a line is broken; others are letters to it.
fn is_break(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ')
}

fn is_word_or_mark(c: char) -> bool {
    is_word(c) || "!\"'&.,?".contains(c)
}

pub fn wrap(text: &str, options: Options) -> Outcome<Vec<String>> {
    let width = at_least_zero(options.width);
    if width == 0 {
        return Err(Fault::value_error(format!("invalid width {} (must be > 0)", options.width)));
    }
    let chars: Vec<char> = text.chars().collect();
    let chunks = if options.hyphenated { hyphenated(&chars) } else { words(&chars) };
    lines(&chars, chunks, width, options)
}

fn words(chars: &[char]) -> VecDeque<Range<usize>> {
    let mut chunks = VecDeque::new();
    let mut start = 0;
    for end in 1..=chars.len() {
        let here = chars.get(end - 1).copied().map(is_break);
        if chars.get(end).copied().map(is_break) != here {
            chunks.push_back(start..end);
            start = end;
        }
    }
    chunks
}

/// The places of a line, read forwards and backwards.
struct Line<'a> {
    chars: &'a [char],
    /// How many dashes stand from each place on.
    dashes: Vec<usize>,
}

impl Line<'_> {
    fn is(&self, at: Option<usize>, test: impl Fn(char) -> bool) -> bool {
        at.and_then(|at| self.chars.get(at)).is_some_and(|c| test(*c))
    }

    /// Two or more dashes, and a word after them: where they end.
    fn long_dash(&self, at: usize) -> Option<usize> {
        let count = self.dashes.get(at).copied().filter(|&count| count >= 2)?;
        self.is(Some(at + count), is_word).then_some(at + count)
    }

    fn after_word(&self, at: usize) -> bool {
        self.is(at.checked_sub(1), is_word_or_mark)
    }

    /// A hyphen between letters.
    fn breaks_at_hyphen(&self, at: usize) -> bool {
        let letter = |at| self.is(at, is_letter);
        let before = letter(at.checked_sub(2)) && letter(at.checked_sub(1))
            || letter(at.checked_sub(3))
                && self.is(at.checked_sub(2), |c| c == '-')
                && letter(at.checked_sub(1));
        let after = letter(Some(at + 1))
            && (letter(Some(at + 2))
                || self.is(Some(at + 2), |c| c == '-') && letter(Some(at + 3)));
        self.is(Some(at), |c| c == '-') && before && after
    }

    fn word_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        loop {
            if self.breaks_at_hyphen(at) {
                return at + 1;
            }
            if !self.is(Some(at), |c| !is_break(c)) {
                return at.min(self.chars.len());
            }
            if self.after_word(at) && self.long_dash(at).is_some() {
                return at;
            }
            at += 1;
        }
    }
}

fn hyphenated(chars: &[char]) -> VecDeque<Range<usize>> {
    let mut dashes = vec![0; chars.len()];
    let mut run = 0;
    for (count, c) in dashes.iter_mut().zip(chars).rev() {
        run = if *c == '-' { run + 1 } else { 0 };
        *count = run;
    }
    let line = Line { chars, dashes };
    let mut chunks = VecDeque::new();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        let end = if is_break(c) {
            (at..chars.len()).find(|&end| !line.is(Some(end), is_break)).unwrap_or(chars.len())
        } else {
            let dash = if line.after_word(at) { line.long_dash(at) } else { None };
            dash.unwrap_or_else(|| line.word_end(at))
        };
        chunks.push_back(at..end);
        at = end;
    }
    chunks
}

fn lines(
    chars: &[char],
    mut chunks: VecDeque<Range<usize>>,
    width: usize,
    options: Options,
) -> Outcome<Vec<String>> {
    let blank = |chunk: &Range<usize>| {
        chars.get(chunk.clone()).is_some_and(|c| c.iter().all(|c| is_space(*c)))
    };
    let mut lines: Vec<String> = Vec::new();
    while !chunks.is_empty() {
        if !lines.is_empty() && chunks.front().is_some_and(blank) {
            chunks.pop_front();
        }
        let mut line: Vec<Range<usize>> = Vec::new();
        let mut length = 0;
        while let Some(chunk) = chunks.front().filter(|chunk| length + chunk.len() <= width) {
            length += chunk.len();
            line.push(chunk.clone());
            chunks.pop_front();
        }
        if let Some(chunk) = chunks.front_mut().filter(|chunk| chunk.len() > width) {
            if options.break_long_words && !options.whole {
                return Err(Fault::type_error("slice indices must be integers"));
            }
            if options.break_long_words {
                let end = chunk.start + broken_at(chars, chunk, width - length, options);
                line.push(chunk.start..end);
                chunk.start = end;
            } else if line.is_empty() {
                line.push(chunk.clone());
                chunks.pop_front();
            }
        }
        // An empty rest of a broken word counts as white space, too.
        if line.last().is_some_and(blank) {
            line.pop();
        }
        if !line.is_empty() {
            lines.push(line.into_iter().filter_map(|part| chars.get(part)).flatten().collect());
        }
    }
    Ok(lines)
}

/// After the last hyphen that fits, if something else stands before it.
fn broken_at(chars: &[char], chunk: &Range<usize>, room: usize, options: Options) -> usize {
    if !options.break_on_hyphens {
        return room;
    }
    let fitting = chars.get(chunk.start..chunk.start + room).unwrap_or(&[]);
    match fitting.iter().rposition(|c| *c == '-') {
        Some(hyphen) if fitting.iter().take(hyphen).any(|c| *c != '-') => hyphen + 1,
        _ => room,
    }
}
