//! A piece of text that remembers which bytes of the original each of its bytes came from.
//!
//! Alignments follow the reference to the letter, oddities included, because token offsets are
//! read from them. Three of those oddities shape this file:
//!
//! * A character inserted before everything else is aligned to nothing: the empty range at the
//!   start of the piece. Whole-text edits then leave such a head of the text alone and edit what
//!   is behind it, although they computed their edits for the whole. Where that makes the
//!   reference index out of bounds and panic, [`AlignedText::transform`] answers an error.
//! * An empty range of the text converts to itself, shifted to the piece's origin.
//! * A slice starts where its first byte's original starts, so two slices may share an original.
//!
//! Without tracking only the text is kept; it still comes out the same.

use std::ops::Range;

use crate::definition::SplitBehavior;
use crate::error::{Error, Result};

/// The longest text that offsets can speak of; longer ones are refused where texts come in.
pub const MAX_TEXT: usize = u32::MAX as usize;

/// Something that finds non-overlapping ranges in a text, in ascending order.
pub trait FindMatches: std::fmt::Debug + Send + Sync {
    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>>;

    /// False only if no range is ever empty.
    fn may_find_nothing(&self) -> bool {
        true
    }

    /// What is certain of the ranges at a border between `left` and `right`, in every text that has
    /// these two characters side by side: above all, that none crosses it, and that the ranges of a
    /// text are those of its two halves. `None`: nothing is certain.
    fn meeting(&self, _left: char, _right: char) -> Option<Meeting> {
        None
    }
}

/// See [`FindMatches::meeting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meeting {
    /// The character before the border always lies in a range, which ends at the border.
    pub left_ends: bool,
    /// The character behind it always lies in a range, which begins there.
    pub right_starts: bool,
    /// The character before it never lies in a range.
    pub left_never: bool,
    pub right_never: bool,
}

impl Meeting {
    /// Of the occurrences of a string, from the left and without overlap.
    pub fn of_literal(literal: &str, left: char, right: char) -> Option<Self> {
        let mut chars = literal.chars();
        let first = chars.next()?;
        if chars.next().is_none() {
            return Some(Self::of_chars(first == left, first == right));
        }
        let pairs = literal.chars().zip(literal.chars().skip(1));
        let joined = pairs.into_iter().any(|pair| pair == (left, right));
        (!joined).then(|| Self {
            left_ends: false,
            right_starts: false,
            left_never: !literal.contains(left),
            right_never: !literal.contains(right),
        })
    }

    /// Where each range is one character of a kind.
    pub fn of_chars(left: bool, right: bool) -> Self {
        Self { left_ends: left, right_starts: right, left_never: !left, right_never: !right }
    }
}

/// See the module text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedText {
    text: String,
    /// For each byte of `text` its range of the original. `None`: not tracked, and no byte is
    /// aligned to nothing.
    alignments: Option<Vec<(u32, u32)>>,
    origin: (u32, u32),
    /// For each byte of `text` whether untrusted text had a part in it. `None`: not asked for. An
    /// alignment does not tell: where several characters become one it names the first or the last.
    untrusted: Option<Vec<bool>>,
}

impl AlignedText {
    /// `origin_start`: where in the whole original text this piece starts.
    pub fn new(text: &str, origin_start: usize, track: bool) -> Self {
        Self {
            text: text.to_owned(),
            alignments: track.then(|| identity(text, origin_start)),
            origin: (offset(origin_start), offset(origin_start.saturating_add(text.len()))),
            untrusted: None,
        }
    }

    /// Keeps track of untrusted bytes too; one flag for each byte of the text.
    #[must_use]
    pub fn with_untrusted(mut self, flags: Vec<bool>) -> Self {
        debug_assert_eq!(flags.len(), self.text.len());
        self.untrusted = Some(flags);
        self
    }

    /// Whether untrusted text had a part in these bytes. Without flags nothing is untrusted.
    pub fn is_untrusted(&self, range: Range<usize>) -> bool {
        let flags = self.untrusted.as_ref().and_then(|all| all.get(range));
        flags.is_some_and(|flags| flags.contains(&true))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn into_string(self) -> String {
        self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_tracked(&self) -> bool {
        self.alignments.is_some()
    }

    /// Whether whole-text edits reach the whole text, which they do unless something was inserted
    /// before its first character.
    pub fn is_anchored(&self) -> bool {
        self.editable() == Some(0..self.text.len())
    }

    /// Replaces the text of an untracked piece.
    pub(crate) fn set_untracked(&mut self, text: String) {
        debug_assert!(!self.is_tracked(), "alignments would no longer fit");
        self.text = text;
    }

    /// The bytes of the original that this piece covers. Meaningless unless tracked.
    pub fn origin(&self) -> (usize, usize) {
        (self.origin.0 as usize, self.origin.1 as usize)
    }

    /// The bytes of the original that `range` of the current text came from. A range that the
    /// text does not have is answered with itself. Meaningless unless tracked.
    pub fn offsets_of(&self, range: Range<usize>) -> (usize, usize) {
        let start = self.origin.0 as usize;
        if range.start == range.end {
            return (start + range.start, start + range.end);
        }
        match self.alignments.as_ref().and_then(|all| all.get(range.clone())) {
            Some([first, .., last]) => (first.0 as usize, last.1 as usize),
            Some([only]) => (only.0 as usize, only.1 as usize),
            _ => (range.start, range.end),
        }
    }

    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let text = self.get(range.clone())?;
        let alignments = match &self.alignments {
            Some(all) => Some(all.get(range.clone()).ok_or_else(out_of_bounds)?.to_vec()),
            None => None,
        };
        let kept = range.clone();
        let (start, end) = match &alignments {
            Some(_) => self.offsets_of(range),
            None => (0, 0),
        };
        let untrusted = match &self.untrusted {
            Some(all) => Some(all.get(kept).ok_or_else(out_of_bounds)?.to_vec()),
            None => None,
        };
        let origin = (offset(start), offset(end));
        Ok(Self { text: text.to_owned(), alignments, origin, untrusted })
    }

    /// Cuts the text at `matches`, which [`cover`] it. May produce empty pieces.
    pub fn split(
        &self,
        matches: &[(Range<usize>, bool)],
        behavior: SplitBehavior,
    ) -> Result<Vec<Self>> {
        apply_behavior(matches, behavior).into_iter().map(|range| self.slice(range)).collect()
    }

    /// Replaces the text by `edits`: characters that stand for the next one (0), are new (1), or
    /// stand for the next one and for N more that vanish (-N). `skipped` characters at the very
    /// start vanish before the first edit.
    pub fn transform(
        &mut self,
        edits: impl IntoIterator<Item = (char, isize)>,
        skipped: usize,
    ) -> Result<()> {
        self.edit(skipped, |editor| {
            edits.into_iter().try_for_each(|(c, change)| editor.push(c, change))
        })
    }

    /// Rewrites each character on its own: `rewrite` pushes what it becomes.
    pub fn rewrite(
        &mut self,
        mut rewrite: impl FnMut(char, &mut Editor<'_>) -> Result<()>,
    ) -> Result<()> {
        self.edit(0, |editor| editor.old.chars().try_for_each(|c| rewrite(c, editor)))
    }

    pub fn map(&mut self, map: impl Fn(char) -> char) -> Result<()> {
        self.rewrite(|c, editor| editor.push(map(c), 0))
    }

    /// Removes the characters that are not to be kept.
    pub fn filter(&mut self, keep: impl Fn(char) -> bool) -> Result<()> {
        if self.is_anchored() && self.text.chars().all(&keep) {
            return Ok(());
        }
        let skipped = self.text.chars().take_while(|&c| !keep(c)).count();
        self.edit(skipped, |editor| {
            let mut pending = None;
            let mut removed = 0usize;
            for c in editor.old.chars() {
                if !keep(c) {
                    removed += 1;
                    continue;
                }
                if let Some(previous) = pending.replace(c) {
                    editor.push_before_removed(previous, removed)?;
                }
                removed = 0;
            }
            pending.map_or(Ok(()), |last| editor.push_before_removed(last, removed))
        })
    }

    /// Removes white space at either end.
    pub fn strip(
        &mut self,
        left: bool,
        right: bool,
        is_space: impl Fn(char) -> bool,
    ) -> Result<()> {
        let spaces_before =
            if left { self.text.chars().take_while(|&c| is_space(c)).count() } else { 0 };
        let spaces_after =
            if right { self.text.chars().rev().take_while(|&c| is_space(c)).count() } else { 0 };
        if spaces_before == 0 && spaces_after == 0 {
            return Ok(());
        }
        let kept = self.text.chars().count().saturating_sub(spaces_before + spaces_after);
        self.edit(spaces_before, |editor| {
            editor.old.chars().skip(spaces_before).take(kept).try_for_each(|c| editor.push(c, 0))
        })
    }

    /// Puts `content` before the text; an empty text stays empty.
    pub fn prepend(&mut self, content: &str) {
        let Some(first) = self.text.chars().next() else { return };
        if content.is_empty() {
            // The reference takes the first character out and puts it back as a new one.
            let start = self.origin.0;
            for alignment in self.tracked().iter_mut().take(first.len_utf8()) {
                *alignment = (start, start);
            }
            return;
        }
        if let Some(alignments) = &mut self.alignments {
            let align = alignments.first().copied().unwrap_or((self.origin.0, self.origin.0));
            alignments.splice(0..0, std::iter::repeat_n(align, content.len()));
        }
        if let Some(flags) = &mut self.untrusted {
            // It is the file's.
            flags.splice(0..0, std::iter::repeat_n(false, content.len()));
        }
        self.text.insert_str(0, content);
    }

    /// Replaces each of `matches` (ascending, not overlapping) by `content`.
    pub fn replace_matches(&mut self, matches: &[Range<usize>], content: &str) -> Result<()> {
        if matches.is_empty() {
            return Ok(());
        }
        if !content.is_empty() && matches.first().is_some_and(|first| first.end == 0) {
            self.tracked();
        }
        let mut text = String::with_capacity(self.text.len());
        let mut kept_until = 0;
        for range in matches {
            self.get(range.clone())?;
            text.push_str(self.get(kept_until..range.start)?);
            text.push_str(content);
            kept_until = range.end;
        }
        text.push_str(self.get(kept_until..self.text.len())?);
        if let Some(old) = &self.alignments {
            let nothing = (self.origin.0, self.origin.0);
            let mut alignments = Vec::with_capacity(text.len());
            let mut kept_until = 0;
            for range in matches {
                alignments.extend_from_slice(old.get(kept_until..range.start).unwrap_or_default());
                let align = range.end.checked_sub(1).and_then(|last| old.get(last));
                alignments.extend(std::iter::repeat_n(*align.unwrap_or(&nothing), content.len()));
                kept_until = range.end;
            }
            alignments.extend_from_slice(old.get(kept_until..).unwrap_or_default());
            self.alignments = Some(alignments);
        }
        if let Some(old) = &self.untrusted {
            let mut flags = Vec::with_capacity(text.len());
            let mut kept_until = 0;
            for range in matches {
                flags.extend_from_slice(old.get(kept_until..range.start).unwrap_or_default());
                let replaced = self.is_untrusted(range.clone());
                flags.extend(std::iter::repeat_n(replaced, content.len()));
                kept_until = range.end;
            }
            flags.extend_from_slice(old.get(kept_until..).unwrap_or_default());
            self.untrusted = Some(flags);
        }
        self.text = text;
        Ok(())
    }

    /// Replaces the whole text. `starts` has, for each byte of the new text and for its end, the
    /// place of the old one where what it stands for begins; a byte covers the old text up to the
    /// place of the next one.
    pub fn replace_by(&mut self, text: String, starts: &[usize]) -> Result<()> {
        if self.alignments.is_some() {
            let place = |at: usize| -> Result<u32> {
                let old = self.alignments.as_deref().unwrap_or_default();
                match old.get(at) {
                    Some(align) => Ok(align.0),
                    None if at == old.len() => Ok(old.last().map_or(self.origin.0, |a| a.1)),
                    None => Err(out_of_bounds()),
                }
            };
            let places = starts.iter().map(|&at| place(at)).collect::<Result<Vec<u32>>>()?;
            let new: Vec<_> = places.iter().copied().zip(places.iter().copied().skip(1)).collect();
            if new.len() != text.len() {
                return Err(Error::internal("a replaced text and its origins differ in length"));
            }
            self.alignments = Some(new);
        }
        if self.untrusted.is_some() {
            // Bytes of one place stand for all of the old text up to the next place.
            let mut flags = vec![false; text.len()];
            let mut place = starts.last().copied().unwrap_or_default();
            let mut end = place;
            for (flag, &start) in flags.iter_mut().zip(starts).rev() {
                if start != place {
                    (place, end) = (start, place);
                }
                *flag = self.is_untrusted(start..end.max(start));
            }
            self.untrusted = Some(flags);
        }
        self.text = text;
        Ok(())
    }

    pub fn tracks_untrusted(&self) -> bool {
        self.untrusted.is_some()
    }

    /// Puts better flags in the place of those that a change of the text left; for steps that know
    /// more about what came from where than the reference's count of changes says.
    pub fn set_untrusted(&mut self, flags: Vec<bool>) -> Result<()> {
        if flags.len() != self.text.len() {
            return Err(Error::internal("a text and its untrusted bytes differ in length"));
        }
        self.untrusted = Some(flags);
        Ok(())
    }

    fn get(&self, range: Range<usize>) -> Result<&str> {
        self.text.get(range).ok_or_else(out_of_bounds)
    }

    /// The alignments. If they were not tracked until now they are made up: from here on it
    /// matters which bytes are aligned to nothing, and no other does.
    fn tracked(&mut self) -> &mut Vec<(u32, u32)> {
        let start = self.origin.0 as usize;
        let end = offset(start.saturating_add(self.text.len()));
        if self.alignments.is_none() {
            self.origin.1 = end;
        }
        self.alignments.get_or_insert_with(|| identity(&self.text, start))
    }

    /// The part of the text that a whole-text edit replaces; `None`: the edit does nothing.
    fn editable(&self) -> Option<Range<usize>> {
        let end = self.text.len();
        let Some(alignments) = &self.alignments else { return Some(0..end) };
        if self.origin.0 == self.origin.1 {
            return Some(0..0);
        }
        if alignments.is_empty() {
            return None;
        }
        let start = alignments.iter().position(|(start, end)| start != end).unwrap_or(end);
        Some(start..end)
    }

    fn edit(
        &mut self,
        skipped: usize,
        write: impl FnOnce(&mut Editor<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(range) = self.editable() else { return Ok(()) };
        let replaced = self.get(range.clone())?;
        if self.untrusted.is_some() && range != (0..self.text.len()) {
            // The edits speak of the whole text, and what they are applied to is a part of it:
            // which byte comes from where is unknown.
            return Err(inserted_before_start("which leaves open what is untrusted"));
        }
        let mut editor = Editor {
            old: &self.text,
            replaced: replaced.chars(),
            at: range.start,
            nothing: (self.origin.0, self.origin.0),
            old_alignments: self.alignments.as_deref(),
            old_untrusted: self.untrusted.as_deref(),
            text: String::with_capacity(self.text.len()),
            alignments: Vec::with_capacity(self.alignments.as_ref().map_or(0, Vec::len)),
            untrusted: Vec::with_capacity(self.untrusted.as_ref().map_or(0, Vec::len)),
        };
        editor.text.push_str(self.get(0..range.start)?);
        if let Some(old) = editor.old_alignments {
            editor.alignments.extend_from_slice(old.get(..range.start).unwrap_or_default());
            editor.skip(skipped);
        }
        write(&mut editor)?;
        let Editor { mut text, mut alignments, untrusted, .. } = editor;
        text.push_str(self.get(range.end..self.text.len())?);
        if let Some(old) = &mut self.alignments {
            alignments.extend_from_slice(old.get(range.end..).unwrap_or_default());
            *old = alignments;
        }
        if let Some(old) = &mut self.untrusted {
            *old = untrusted;
        }
        self.text = text;
        Ok(())
    }
}

/// Writes the new text of an [`AlignedText`] while it walks along the old one.
#[derive(Debug)]
pub struct Editor<'a> {
    old: &'a str,
    /// What is left of the characters that are being replaced.
    replaced: std::str::Chars<'a>,
    /// The byte of the old text that `replaced` has come to.
    at: usize,
    nothing: (u32, u32),
    old_alignments: Option<&'a [(u32, u32)]>,
    old_untrusted: Option<&'a [bool]>,
    text: String,
    alignments: Vec<(u32, u32)>,
    untrusted: Vec<bool>,
}

impl Editor<'_> {
    /// `change` as in [`AlignedText::transform`].
    #[inline]
    pub fn push(&mut self, c: char, change: isize) -> Result<()> {
        self.text.push(c);
        let Some(old) = self.old_alignments else { return Ok(()) };
        let align = if change > 0 {
            match self.at.checked_sub(1) {
                Some(previous) => old.get(previous),
                None => Some(&self.nothing),
            }
        } else {
            old.get(self.at)
        };
        let align = *align.ok_or_else(reference_panics)?;
        let from = self.at;
        if change <= 0 {
            self.skip(1 + change.unsigned_abs());
        }
        self.alignments.extend(std::iter::repeat_n(align, c.len_utf8()));
        if self.old_untrusted.is_some() {
            // What is new stands for the character before.
            let stands_for = if change > 0 { from.saturating_sub(1)..from } else { from..self.at };
            self.push_untrusted(stands_for, c);
        }
        Ok(())
    }

    /// A character that stays, and the number of those behind it that vanish: no part of them is in
    /// it.
    fn push_before_removed(&mut self, c: char, removed: usize) -> Result<()> {
        let flags = self.old_untrusted.take();
        let from = self.at;
        let outcome = self.push(c, 0isize.saturating_sub_unsigned(removed));
        self.old_untrusted = flags;
        if flags.is_some() {
            self.push_untrusted(from..from.saturating_add(c.len_utf8()), c);
        }
        outcome
    }

    fn push_untrusted(&mut self, stands_for: Range<usize>, c: char) {
        let flags = self.old_untrusted.and_then(|all| all.get(stands_for));
        let untrusted = flags.is_some_and(|flags| flags.contains(&true));
        self.untrusted.extend(std::iter::repeat_n(untrusted, c.len_utf8()));
    }

    fn skip(&mut self, count: usize) {
        self.at += self.replaced.by_ref().take(count).map(char::len_utf8).sum::<usize>();
    }
}

/// The ranges of a text of `len` bytes that are matches, and those between them that are not.
pub fn cover(len: usize, matches: &[Range<usize>]) -> Vec<(Range<usize>, bool)> {
    if len == 0 {
        return vec![(0..0, false)];
    }
    let mut all = Vec::with_capacity(matches.len() * 2 + 1);
    let mut covered = 0;
    for range in matches {
        if covered != range.start {
            all.push((covered..range.start, false));
        }
        all.push((range.clone(), true));
        covered = range.end;
    }
    if covered != len {
        all.push((covered..len, false));
    }
    all
}

/// What is left of the covering `matches`, after `behavior` has merged or removed the delimiters.
pub fn apply_behavior(
    matches: &[(Range<usize>, bool)],
    behavior: SplitBehavior,
) -> Vec<Range<usize>> {
    match behavior {
        SplitBehavior::Removed => {
            let kept = matches.iter().filter(|(_, is_match)| !is_match);
            kept.map(|(range, _)| range.clone()).collect()
        }
        SplitBehavior::Isolated => matches.iter().map(|(range, _)| range.clone()).collect(),
        SplitBehavior::Contiguous => merge(matches.iter(), |is, was| is == was),
        SplitBehavior::MergedWithPrevious => merge(matches.iter(), |is, was| is && !was),
        SplitBehavior::MergedWithNext => {
            let mut ranges = merge(matches.iter().rev(), |is, was| is && !was);
            ranges.reverse();
            ranges
        }
    }
}

/// Joins a range to the one before it where `joins(it is a match, that was one)`.
fn merge<'a>(
    matches: impl Iterator<Item = &'a (Range<usize>, bool)>,
    joins: impl Fn(bool, bool) -> bool,
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut was_match = false;
    for (range, is_match) in matches {
        match ranges.last_mut() {
            Some(last) if joins(*is_match, was_match) => {
                *last = last.start.min(range.start)..last.end.max(range.end);
            }
            _ => ranges.push(range.clone()),
        }
        was_match = *is_match;
    }
    ranges
}

fn identity(text: &str, start: usize) -> Vec<(u32, u32)> {
    let mut alignments = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let first = start.saturating_add(at);
        let align = (offset(first), offset(first.saturating_add(c.len_utf8())));
        alignments.extend(std::iter::repeat_n(align, c.len_utf8()));
    }
    alignments
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn out_of_bounds() -> Error {
    Error::internal("a range does not lie on the character boundaries of its text")
}

fn reference_panics() -> Error {
    inserted_before_start("which makes the reference fail in the next step")
}

fn inserted_before_start(consequence: &str) -> Error {
    let what = "a step of the normalizer inserted text before the first character";
    Error::unsupported("normalizer:InsertedBeforeStart", format!("{what}, {consequence}"))
}

#[cfg(test)]
mod tests;
