//! Patterns that find: regular expressions and literals.

use std::ops::Range;
use std::sync::OnceLock;

use super::regex;
pub use super::regex::shown;
use super::scan::Scanner;
use crate::error::{Error, Result};
use crate::text::{FindMatches, Meeting};

/// Steps that matching may take: a flat share, and so many a byte of the text. The reference gives
/// up too (with a panic), after ten million steps without progress.
const STEPS: u64 = 20_000_000;
const STEPS_PER_BYTE: u64 = 1024;

/// A regular expression with the meaning that the reference gives it.
#[derive(Debug)]
pub struct Regex {
    pattern: String,
    engine: Engine,
    /// These are made when they are asked for first: each border of a text may ask.
    is_nullable: OnceLock<bool>,
    /// `None` where the pattern cannot be analysed.
    borders: OnceLock<Option<regex::Borders>>,
}

#[derive(Debug)]
enum Engine {
    Scanner(Scanner),
    Program(Box<regex::Program>),
}

impl Regex {
    /// With a scanner of its own if the pattern has one.
    pub fn compile(pattern: &str) -> Result<Self> {
        match Scanner::recognise(pattern) {
            Some(scanner) => Ok(Self::new(pattern, Engine::Scanner(scanner))),
            None => Self::compile_general(pattern),
        }
    }

    /// Never with a scanner: what the scanners are tested against.
    pub fn compile_general(pattern: &str) -> Result<Self> {
        let program = regex::compile(&regex::parse(pattern)?)?;
        Ok(Self::new(pattern, Engine::Program(Box::new(program))))
    }

    fn new(pattern: &str, engine: Engine) -> Self {
        let (is_nullable, borders) = (OnceLock::new(), OnceLock::new());
        Self { pattern: pattern.to_owned(), engine, is_nullable, borders }
    }

    pub fn scanner(&self) -> Option<Scanner> {
        match self.engine {
            Engine::Scanner(scanner) => Some(scanner),
            Engine::Program(_) => None,
        }
    }

    fn run(&self, program: &regex::Program, text: &str) -> Result<Vec<Range<usize>>> {
        let budget = STEPS.saturating_add((text.len() as u64).saturating_mul(STEPS_PER_BYTE));
        let mut machine = regex::Machine::new(program, text, budget);
        let mut matches: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        while let Some((start, end)) = machine.find(from).map_err(|_| self.exhausted())? {
            if start == end && matches.last().is_some_and(|last| last.end == start) {
                // Nothing, right behind a match: the reference looks on from the next character.
                let Some(skipped) = text.get(from..).and_then(|rest| rest.chars().next()) else {
                    break;
                };
                from += skipped.len_utf8();
                continue;
            }
            matches.push(start..end);
            from = end;
        }
        Ok(matches)
    }

    fn exhausted(&self) -> Error {
        Error::limit(format!(
            "the regular expression {} needs more steps or memory on this text than are allowed",
            regex::shown(&self.pattern)
        ))
    }
}

impl FindMatches for Regex {
    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>> {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.find_all(text),
            Engine::Program(program) => self.run(program, text),
        }
    }

    fn may_find_nothing(&self) -> bool {
        let parsed = || regex::parse(&self.pattern);
        *self.is_nullable.get_or_init(|| parsed().map_or(true, |node| node.is_nullable()))
    }

    fn meeting(&self, left: char, right: char) -> Option<Meeting> {
        let borders = self.borders.get_or_init(|| borders_of(&self.pattern));
        meeting(self, borders.as_ref()?, left, right)
    }
}

impl Scanner {
    /// See [`FindMatches::meeting`], which answers this.
    pub(super) fn meets(self, left: char, right: char) -> Option<Meeting> {
        // A scanner is the same for all tokenizers.
        static BORDERS: [OnceLock<Option<regex::Borders>>; Scanner::COUNT] =
            [const { OnceLock::new() }; Scanner::COUNT];
        let borders = BORDERS.get(self as usize)?;
        let borders = borders.get_or_init(|| borders_of(self.pattern()?));
        meeting(&self, borders.as_ref()?, left, right)
    }
}

fn borders_of(pattern: &str) -> Option<regex::Borders> {
    regex::Borders::of(&regex::parse(pattern).ok()?)
}

fn meeting(
    finder: &impl FindMatches,
    borders: &regex::Borders,
    left: char,
    right: char,
) -> Option<Meeting> {
    let border = borders.between(left, right)?;
    // No match goes on behind `left` here, so what an attempt at it gives is what it gives at the
    // end of a text. If it is a match, `left` lies in one: in that or in an earlier one.
    let matches_alone = |c: char| {
        let mut buffer = [0; 4];
        let text = &*c.encode_utf8(&mut buffer);
        finder.find_all(text).is_ok_and(|found| found.first() == Some(&(0..text.len())))
    };
    Some(Meeting {
        left_ends: !border.left_never && matches_alone(left),
        right_starts: !border.right_never && border.right_alone && matches_alone(right),
        left_never: border.left_never,
        right_never: border.right_never,
    })
}

/// Non-overlapping occurrences of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal(pub String);

impl FindMatches for Literal {
    /// The empty string occurs before every character and at the end.
    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>> {
        Ok(text.match_indices(&self.0).map(|(at, found)| at..at + found.len()).collect())
    }

    fn meeting(&self, left: char, right: char) -> Option<Meeting> {
        Meeting::of_literal(&self.0, left, right)
    }
}
