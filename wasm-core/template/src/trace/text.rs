//! A text with the origin of each part, and how origins walk through what is done to texts.
//!
//! Every function here is given what the plain function answered, and says only where the answer's
//! characters came from: the text itself can never differ from that of a plain render.

use crate::marks::{Marks, Origin, Part, Torn, TEMPLATE};

/// Up to byte `end` the text came from `origin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub end: usize,
    pub origin: Origin,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    plain: String,
    runs: Vec<Run>,
}

impl Text {
    /// A text that carries marks. Generation marks inside a value cannot be kept.
    pub fn read(marked: &str, marks: Marks) -> Result<Self, Torn> {
        let mut text = Self::default();
        for part in marks.parts(marked)? {
            match part {
                Part::Text(part, origin) => text.push(part, origin),
                Part::Generation { .. } => return Err(Torn),
            }
        }
        Ok(text)
    }

    #[must_use]
    pub fn write(&self, marks: Marks) -> String {
        let mut made = String::with_capacity(self.plain.len().saturating_add(24));
        for (part, origin) in self.parts() {
            marks.write(part, origin, &mut made);
        }
        made
    }

    #[must_use]
    pub fn plain(&self) -> &str {
        &self.plain
    }

    pub fn parts(&self) -> impl Iterator<Item = (&str, Origin)> {
        let mut start = 0;
        self.runs.iter().map(move |run| {
            let part = self.plain.get(start..run.end).unwrap_or_default();
            start = run.end;
            (part, run.origin)
        })
    }

    /// The origins that take part, each as often as it does.
    pub fn origins(&self) -> impl Iterator<Item = Origin> + '_ {
        self.runs.iter().map(|run| run.origin)
    }

    pub fn push(&mut self, part: &str, origin: Origin) {
        if part.is_empty() {
            return;
        }
        self.plain.push_str(part);
        let end = self.plain.len();
        match self.runs.last_mut() {
            Some(last) if last.origin == origin => last.end = end,
            _ => self.runs.push(Run { end, origin }),
        }
    }

    pub fn append(&mut self, other: &Self) {
        other.parts().for_each(|(part, origin)| self.push(part, origin));
    }

    /// Bytes `start..end`, which lie between characters.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let mut made = Self::default();
        let first = self.runs.partition_point(|run| run.end <= start);
        let mut from = start;
        for run in self.runs.get(first..).unwrap_or_default() {
            if from >= end {
                break;
            }
            let to = run.end.min(end);
            made.push(self.plain.get(from..to).unwrap_or_default(), run.origin);
            from = to;
        }
        made
    }

    /// Each character with its origin.
    pub fn characters(&self) -> impl Iterator<Item = (char, Origin)> + '_ {
        self.parts().flat_map(|(part, origin)| part.chars().map(move |one| (one, origin)))
    }

    fn from_characters<'a>(characters: impl Iterator<Item = (char, &'a Origin)>) -> Self {
        let mut made = Self::default();
        let mut buffer = [0_u8; 4];
        for (character, origin) in characters {
            made.push(character.encode_utf8(&mut buffer), *origin);
        }
        made
    }

    /// The answer of a function that cuts off both ends: its first place in the text is its place,
    /// as it begins with a character that is not cut off.
    #[must_use]
    pub fn stripped(&self, answer: &str) -> Option<Self> {
        let start = self.plain.find(answer)?;
        Some(self.slice(start, start.checked_add(answer.len())?))
    }

    /// The answer of a function that cuts off the beginning alone.
    #[must_use]
    pub fn ending(&self, answer: &str) -> Option<Self> {
        self.plain.ends_with(answer).then_some(())?;
        Some(self.slice(self.plain.len().checked_sub(answer.len())?, self.plain.len()))
    }

    /// The answer of a function that cuts off the end alone.
    #[must_use]
    pub fn beginning(&self, answer: &str) -> Option<Self> {
        self.plain.starts_with(answer).then(|| self.slice(0, answer.len()))
    }

    /// The pieces that a function took the text apart into, in order: what lies between two
    /// pieces is in no piece, so the next place of a piece is its place. With a separator, that
    /// stands between them.
    #[must_use]
    pub fn pieces(&self, answers: &[&str], separator: Option<&str>) -> Option<Vec<Self>> {
        let mut made = Vec::with_capacity(answers.len());
        let mut at = 0_usize;
        for (number, answer) in answers.iter().enumerate() {
            let rest = self.plain.get(at..)?;
            match separator {
                Some(separator) if number > 0 => {
                    at = at.checked_add(rest.strip_prefix(separator).map(|_| separator.len())?)?;
                    self.plain.get(at..)?.starts_with(answer).then_some(())?;
                }
                Some(_) => rest.starts_with(answer).then_some(())?,
                None => at = at.checked_add(rest.find(answer)?)?,
            }
            let end = at.checked_add(answer.len())?;
            made.push(self.slice(at, end));
            at = end;
        }
        Some(made)
    }

    /// The answer of a function that writes one character for each (`upper` of most texts).
    #[must_use]
    pub fn character_by_character(&self, answer: &str) -> Option<Self> {
        let origins: Vec<Origin> = self.characters().map(|(_, origin)| origin).collect();
        if answer.chars().count() != origins.len() {
            return None;
        }
        Some(Self::from_characters(answer.chars().zip(&origins)))
    }

    /// The answer of a function that puts the same indentation before some lines.
    #[must_use]
    pub fn indented(&self, answer: &str) -> Option<Self> {
        let mut made = Self::default();
        let (mut from, mut left) = (0_usize, answer);
        for line in self.plain.split_inclusive('\n') {
            let new = left.split_inclusive('\n').next()?;
            let prefix = new.strip_suffix(line)?;
            made.push(prefix, TEMPLATE);
            let to = from.checked_add(line.len())?;
            made.append(&self.slice(from, to));
            from = to;
            left = left.get(new.len()..)?;
        }
        // Indentation of an empty line behind the last break.
        made.push(left, TEMPLATE);
        (made.plain == answer).then_some(made)
    }

    /// `str.replace` with an old text that is not empty, at most `count` times.
    #[must_use]
    pub fn replaced(&self, old: &str, new: &Self, count: usize, answer: &str) -> Option<Self> {
        if old.is_empty() {
            return None;
        }
        let (mut made, mut from) = (Self::default(), 0_usize);
        for (at, _) in self.plain.match_indices(old).take(count) {
            made.append(&self.slice(from, at));
            made.append(new);
            from = at.checked_add(old.len())?;
        }
        made.append(&self.slice(from, self.plain.len()));
        (made.plain == answer).then_some(made)
    }

    /// The characters at `places`, which count from 0: what a subscript or a slice chose.
    #[must_use]
    pub fn chosen(&self, places: impl Iterator<Item = usize>) -> Option<Self> {
        let all: Vec<(char, Origin)> = self.characters().collect();
        let chosen: Option<Vec<&(char, Origin)>> = places.map(|place| all.get(place)).collect();
        Some(Self::from_characters(chosen?.into_iter().map(|(one, origin)| (*one, origin))))
    }

    #[must_use]
    pub fn joined(parts: &[Self], separator: &Self) -> Self {
        let mut made = Self::default();
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                made.append(separator);
            }
            made.append(part);
        }
        made
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
