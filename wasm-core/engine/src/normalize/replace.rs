//! Replacing what a literal or a regular expression finds.

use std::ops::Range;

use memchr::memmem;

use super::{CompileRegex, Plain};
use crate::definition::Pattern;
use crate::error::{Error, Result};
use crate::text::{AlignedText, FindMatches, Meeting};

#[derive(Debug)]
pub struct Replacement {
    finder: Finder,
    content: String,
}

#[derive(Debug)]
enum Finder {
    Literal(Box<memmem::Finder<'static>>),
    /// An empty literal: matches between all characters, and at either end.
    Everywhere,
    Regex(Box<dyn FindMatches>),
}

impl Replacement {
    pub fn new(pattern: &Pattern, content: &str, compile: CompileRegex<'_>) -> Result<Self> {
        let finder = match pattern {
            Pattern::Literal(literal) if literal.is_empty() => Finder::Everywhere,
            Pattern::Literal(literal) => {
                Finder::Literal(Box::new(memmem::Finder::new(literal).into_owned()))
            }
            Pattern::Regex(regex) => Finder::Regex(compile(regex)?),
        };
        Ok(Self { finder, content: content.to_owned() })
    }

    /// Whether something may come to stand before the first character: by a match of nothing at
    /// the start.
    pub fn may_stand_first(&self) -> bool {
        let empty_match = match &self.finder {
            Finder::Literal(_) => false,
            Finder::Everywhere => true,
            Finder::Regex(regex) => regex.may_find_nothing(),
        };
        empty_match && !self.content.is_empty()
    }

    /// Whether a match at the start is replaced by a text that is aligned to the start: the
    /// reference aligns it to the last character of the match.
    pub fn keeps_start(&self) -> bool {
        let one_character = match &self.finder {
            Finder::Literal(finder) => {
                std::str::from_utf8(finder.needle()).is_ok_and(|text| text.chars().count() == 1)
            }
            Finder::Everywhere | Finder::Regex(_) => false,
        };
        one_character && !self.content.is_empty()
    }

    pub fn plain(&self, text: &str) -> Result<Plain> {
        let mut new = String::new();
        let mut copied = 0;
        let mut replace = |range: Range<usize>| -> Result<()> {
            if new.capacity() == 0 {
                new.reserve(text.len());
            }
            new.push_str(text.get(copied..range.start).ok_or_else(not_ascending)?);
            new.push_str(&self.content);
            copied = range.end;
            Ok(())
        };
        let mut found = false;
        if let Finder::Literal(finder) = &self.finder {
            let length = finder.needle().len();
            for start in finder.find_iter(text.as_bytes()) {
                found = true;
                replace(start..start + length)?;
            }
        } else {
            let matches = self.find_all(text)?;
            if matches.first().is_some_and(|first| first.end == 0) && !self.content.is_empty() {
                return Ok(Plain::Unanchored);
            }
            found = !matches.is_empty();
            matches.into_iter().try_for_each(&mut replace)?;
        }
        if !found {
            return Ok(Plain::Same);
        }
        new.push_str(text.get(copied..).ok_or_else(not_ascending)?);
        Ok(Plain::Changed(new))
    }

    pub fn aligned(&self, text: &mut AlignedText) -> Result<()> {
        let matches = self.find_all(text.as_str())?;
        text.replace_matches(&matches, &self.content)
    }

    /// What the last character before a border and the first behind it become, in every text that
    /// has these two there; `None` for one that vanishes. `None` altogether: not certain.
    pub fn meeting(&self, left: char, right: char) -> Option<(Option<char>, Option<char>)> {
        let meeting = match &self.finder {
            Finder::Literal(finder) => {
                let literal = std::str::from_utf8(finder.needle()).ok()?;
                Meeting::of_literal(literal, left, right)?
            }
            Finder::Everywhere => return None,
            Finder::Regex(regex) if regex.may_find_nothing() => return None,
            Finder::Regex(regex) => regex.meeting(left, right)?,
        };
        let new =
            |never: bool, always: bool, old: char, content: Option<char>| match (never, always) {
                (true, _) => Some(Some(old)),
                (false, true) => Some(content),
                (false, false) => None,
            };
        let (first, last) = (self.content.chars().next(), self.content.chars().next_back());
        Some((
            new(meeting.left_never, meeting.left_ends, left, last)?,
            new(meeting.right_never, meeting.right_starts, right, first)?,
        ))
    }

    /// Whether printable ASCII characters that stand side by side stay so: one text takes the place
    /// of another, so that none comes beside them that was not there.
    pub fn keeps_plain(&self) -> bool {
        let is_literal = matches!(self.finder, Finder::Literal(_));
        is_literal
            && !self.content.is_empty()
            && self.content.chars().all(|c| matches!(c, ' '..='~'))
    }

    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        match &self.finder {
            Finder::Literal(finder) => {
                let length = finder.needle().len();
                let starts = finder.find_iter(text.as_bytes());
                Ok(starts.map(|start| start..start + length).collect())
            }
            Finder::Everywhere => {
                let starts = text.char_indices().map(|(at, _)| at);
                Ok(starts.chain([text.len()]).map(|at| at..at).collect())
            }
            Finder::Regex(regex) => regex.find_all(text),
        }
    }
}

fn not_ascending() -> Error {
    Error::internal("matches overlap, or do not lie on character boundaries")
}
