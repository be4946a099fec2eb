//! Counting and truncating without encoding more of a text than it takes.
//!
//! Ids are counted block by block, cut where the tokenizer allows it ([`crate::cuts`]). What is kept
//! of a text is the longest beginning (or end) that has few enough ids and whose ids are the first
//! (or last) of the whole text's: blocks that fit are kept; in the first one that does not, the last
//! cut that fits is found by halving, and behind it each character is tried. A tokenizer without
//! cuts has one block, the text.

use super::{Scratch, Tokenizer, Wanted};
use crate::cuts::search::{ceil, floor};
use crate::definition::Side;
use crate::error::Result;
use std::ops::Range;

/// What is counted at once.
const COUNTED: usize = 1 << 16;
/// What is truncated at once, at least and at most.
const SMALLEST: usize = 256;
const LARGEST: usize = 1 << 14;
/// Between two cuts that are no further apart, each character is tried.
const WORD: usize = 64;
/// How many characters are tried. No token of note is longer.
const TRIES: usize = 256;
/// And how many bytes are encoded for this, about; `FEWEST` places are tried in any case.
const TRIED_BYTES: usize = 4 << 20;
const FEWEST: usize = 16;
/// Where a text gets a prefix, a kept end can only begin behind a space: so many bytes behind the
/// last cut that fits are looked at, more of them if none was found.
const BEHIND: [usize; 2] = [32, 4 * TRIES];

/// What to keep of a text.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// So many ids, with those of the post-processor.
    pub limit: usize,
    /// `Right` cuts off the end of the text, `Left` its beginning.
    pub side: Side,
    /// The text at hand is the part of a longer one that is nearest to what is kept.
    pub more: bool,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub range: Range<usize>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it fits.
    Whole,
    /// The ids are the first, or the last, of those of the whole text.
    Exact,
    /// They are those of the kept text; no place near the limit was found where they are also the
    /// first, or the last, of the whole text's.
    Inexact,
    /// All that is certain of this part of the text fits: a longer one has to be looked at.
    NeedsMore,
    /// The empty text has more ids than there is room for.
    NoRoom(usize),
}

impl Tokenizer {
    /// How many ids a text has. Counting may end at the first number above `limit`. `more`: the text
    /// at hand is the beginning of a longer one, and only ids that are certain count.
    pub fn count(
        &self,
        scratch: &mut Scratch,
        text: &str,
        wanted: Wanted,
        limit: usize,
        more: bool,
    ) -> Result<usize> {
        let mut ids = Vec::new();
        let Some(frame) = self.post.frame(wanted.add_special) else {
            if !more {
                self.encode_ids(scratch, text, wanted, &mut ids)?;
            }
            return Ok(ids.len());
        };
        let mut total = frame.prefix.len() + frame.suffix.len();
        let end = if more { self.certain_end(text) } else { text.len() };
        let mut at = 0;
        while at < end && total <= limit {
            let next = self.block_end(text, at, end, COUNTED.min(block_for(limit)));
            ids.clear();
            self.part_ids(scratch, text, at..next, at > 0, wanted, &mut ids)?;
            total += ids.len();
            at = next;
        }
        Ok(total)
    }

    /// Appends the ids of what is kept to `out`.
    pub fn truncate(
        &self,
        scratch: &mut Scratch,
        text: &str,
        wanted: Wanted,
        room: Room,
        out: &mut Vec<u32>,
    ) -> Result<Kept> {
        let mut walk = Walk { tokenizer: self, scratch, text, wanted, room, left: 0 };
        let frame = self.post.frame(wanted.add_special);
        let around = match frame {
            Some(frame) => frame.prefix.len() + frame.suffix.len(),
            None => walk.measured(0..0)?,
        };
        if around > room.limit {
            return Ok(Kept { range: 0..0, outcome: Outcome::NoRoom(around) });
        }
        walk.left = room.limit - around;
        let Some(frame) = frame else { return walk.without_frame(out) };
        let mut ids = Vec::new();
        let kept = match room.side {
            Side::Right => walk.beginning(&mut ids)?,
            Side::Left => walk.end(&mut ids)?,
        };
        if kept.outcome != Outcome::NeedsMore {
            out.extend_from_slice(&frame.prefix);
            out.append(&mut ids);
            out.extend_from_slice(&frame.suffix);
        }
        Ok(kept)
    }

    /// The ids of a part of `text`, without those of the post-processor. `continues`: a cut is where
    /// it begins.
    fn part_ids(
        &self,
        scratch: &mut Scratch,
        text: &str,
        part: Range<usize>,
        continues: bool,
        wanted: Wanted,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let part = text.get(part).unwrap_or_default();
        match continues {
            true => self.continue_ids(scratch, part, wanted, out),
            false => self.text_ids(scratch, part, wanted, out),
        }
    }

    /// The last cut of the beginning of a longer text. What stands behind the character after the
    /// cut has to be known.
    fn certain_end(&self, text: &str) -> usize {
        let second_last = text.char_indices().rev().nth(1).map_or(0, |(at, _)| at);
        self.last_cut(text, second_last).unwrap_or(0)
    }

    /// The first cut of the end of a longer text; `None`: none is near.
    fn certain_start(&self, text: &str) -> Option<usize> {
        let (third, _) = text.char_indices().nth(2)?;
        self.first_cut(text, third)
    }

    /// Where a block of about `size` bytes that begins at `at` ends.
    fn block_end(&self, text: &str, at: usize, end: usize, mut size: usize) -> usize {
        loop {
            if end - at <= size {
                return end;
            }
            if let Some(cut) = self.last_cut_behind(text, at, at + size) {
                return cut;
            }
            size *= 2;
        }
    }

    /// Where a block of about `size` bytes that ends at `end` begins.
    fn block_start(&self, text: &str, start: usize, end: usize, mut size: usize) -> usize {
        loop {
            if end - start <= size {
                return start;
            }
            if let Some(cut) = self.first_cut_before(text, end - size, end) {
                return cut;
            }
            size *= 2;
        }
    }

    /// A cut inside the range, near its middle.
    fn cut_inside(&self, text: &str, range: &Range<usize>) -> Option<usize> {
        let middle = range.start + (range.end - range.start) / 2;
        self.last_cut_behind(text, range.start, middle)
            .or_else(|| self.first_cut_before(text, middle.max(range.start + 1), range.end))
    }
}

/// How many places that fit are tried, where each takes an encoding of so many bytes.
fn tries(bytes: usize) -> usize {
    (TRIED_BYTES / bytes.max(1)).clamp(FEWEST, TRIES)
}

/// Bytes that more ids than these are likely to come from.
fn block_for(ids: usize) -> usize {
    ids.saturating_mul(4).clamp(SMALLEST, usize::MAX)
}

/// One truncation.
struct Walk<'a> {
    tokenizer: &'a Tokenizer,
    scratch: &'a mut Scratch,
    text: &'a str,
    wanted: Wanted,
    room: Room,
    /// How many ids may still be kept, beside those of the post-processor.
    left: usize,
}

impl Walk<'_> {
    fn ids(&mut self, part: Range<usize>, continues: bool) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let (tokenizer, text, wanted) = (self.tokenizer, self.text, self.wanted);
        tokenizer.part_ids(self.scratch, text, part, continues, wanted, &mut ids)?;
        Ok(ids)
    }

    fn block(&self) -> usize {
        block_for(self.left).min(LARGEST)
    }

    fn beginning(&mut self, kept: &mut Vec<u32>) -> Result<Kept> {
        let (tokenizer, text) = (self.tokenizer, self.text);
        let end = if self.room.more { tokenizer.certain_end(text) } else { text.len() };
        let size = self.block();
        let mut at = 0;
        let mut next = 0;
        while at < end {
            next = tokenizer.block_end(text, at, end, size);
            if !self.keep(at..next, at > 0, kept)? {
                break;
            }
            at = next;
        }
        if at == end {
            let outcome = if self.room.more { Outcome::NeedsMore } else { Outcome::Whole };
            return Ok(Kept { range: 0..at, outcome });
        }
        while let Some(cut) = tokenizer.cut_inside(text, &(at..next)) {
            match self.keep(at..cut, at > 0, kept)? {
                true => at = cut,
                false => next = cut,
            }
        }
        let whole = self.ids(at..next, at > 0)?;
        let continues = at > 0;
        let fits = |walk: &mut Self, at_most: usize| -> Result<Option<Vec<u32>>> {
            let ids = walk.ids(at..at_most, continues)?;
            Ok((ids.len() <= walk.left).then_some(ids))
        };
        let is_first = |ids: &[u32]| whole.starts_with(ids);
        let (end, mut ids, outcome) = self.longest_beginning(at..next, fits, is_first)?;
        kept.append(&mut ids);
        Ok(Kept { range: 0..end, outcome })
    }

    /// Keeps a part if there is room for it.
    fn keep(&mut self, part: Range<usize>, continues: bool, kept: &mut Vec<u32>) -> Result<bool> {
        let mut ids = self.ids(part, continues)?;
        if ids.len() > self.left {
            return Ok(false);
        }
        self.left -= ids.len();
        kept.append(&mut ids);
        Ok(true)
    }

    /// Tries the characters of a range from its end on; answers where what is kept ends, and its ids.
    fn longest_beginning(
        &mut self,
        range: Range<usize>,
        fits: impl Fn(&mut Self, usize) -> Result<Option<Vec<u32>>>,
        is_first: impl Fn(&[u32]) -> bool,
    ) -> Result<(usize, Vec<u32>, Outcome)> {
        let (mut low, mut high) = (range.start, range.end);
        while high - low > WORD {
            let middle = floor(self.text, low + (high - low) / 2);
            match fits(self, middle)? {
                Some(_) => low = middle,
                None => high = middle,
            }
        }
        // Half a word may have more ids than a whole one: a place further on may fit again.
        let high = ceil(self.text, high.saturating_add(WORD).min(range.end));
        let mut fallback = None;
        let part = self.text.get(range.start..high).unwrap_or_default();
        let places = part.char_indices().rev().map(|(at, _)| range.start + at);
        let mut left = tries(high - range.start);
        for place in places.take(TRIES) {
            // Something is better than nothing.
            if place == 0 && fallback.is_some() {
                break;
            }
            let Some(ids) = fits(self, place)? else { continue };
            if is_first(&ids) {
                return Ok((place, ids, Outcome::Exact));
            }
            fallback.get_or_insert((place, ids, Outcome::Inexact));
            left -= 1;
            if left == 0 {
                break;
            }
        }
        Ok(fallback.unwrap_or((range.start, Vec::new(), Outcome::Exact)))
    }

    fn end(&mut self, kept: &mut Vec<u32>) -> Result<Kept> {
        let (tokenizer, text) = (self.tokenizer, self.text);
        let needs_more = Kept { range: 0..0, outcome: Outcome::NeedsMore };
        let start = match self.room.more {
            true => tokenizer.certain_start(text),
            false => Some(0),
        };
        let Some(start) = start else { return Ok(needs_more) };
        let size = self.block();
        let continues = self.room.more;
        // From the end on: where each block begins, and its ids.
        let mut blocks: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut at = text.len();
        let mut before = at;
        while at > start {
            before = tokenizer.block_start(text, start, at, size);
            if !self.keep_block(before..at, continues || before > 0, &mut blocks)? {
                break;
            }
            at = before;
        }
        if at == start {
            if self.room.more {
                return Ok(needs_more);
            }
            kept.extend(blocks.into_iter().rev().flat_map(|(_, ids)| ids));
            return Ok(Kept { range: 0..text.len(), outcome: Outcome::Whole });
        }
        while let Some(cut) = tokenizer.cut_inside(text, &(before..at)) {
            match self.keep_block(cut..at, true, &mut blocks)? {
                true => at = cut,
                false => before = cut,
            }
        }
        let mut behind = at;
        let mut found = (text.len(), Vec::new(), Outcome::Exact);
        let mut searched = None;
        for reach in BEHIND {
            // These blocks are encoded together with what is before them.
            while behind < text.len() && behind - at < reach {
                let Some((_, ids)) = blocks.pop() else { break };
                self.left += ids.len();
                behind = blocks.last().map_or(text.len(), |(start, _)| *start);
            }
            if searched.replace(behind) == Some(behind) {
                break;
            }
            let whole = self.ids(before..behind, continues || before > 0)?;
            let fits = |walk: &mut Self, place: usize| -> Result<Option<Vec<u32>>> {
                let ids = walk.ids(place..behind, false)?;
                Ok((ids.len() <= walk.left).then_some(ids))
            };
            let is_last = |ids: &[u32]| whole.ends_with(ids);
            found = self.longest_end(before..behind, fits, is_last)?;
            if found.2 == Outcome::Exact {
                break;
            }
        }
        let (place, ids, outcome) = found;
        kept.extend(ids);
        if place < text.len() {
            kept.extend(blocks.into_iter().rev().flat_map(|(_, ids)| ids));
        }
        Ok(Kept { range: place..text.len(), outcome })
    }

    fn keep_block(
        &mut self,
        part: Range<usize>,
        continues: bool,
        blocks: &mut Vec<(usize, Vec<u32>)>,
    ) -> Result<bool> {
        let start = part.start;
        let mut ids = Vec::new();
        let fits = self.keep(part, continues, &mut ids)?;
        if fits {
            blocks.push((start, ids));
        }
        Ok(fits)
    }

    /// Tries the characters of a range from its second one on.
    fn longest_end(
        &mut self,
        range: Range<usize>,
        fits: impl Fn(&mut Self, usize) -> Result<Option<Vec<u32>>>,
        is_last: impl Fn(&[u32]) -> bool,
    ) -> Result<(usize, Vec<u32>, Outcome)> {
        let (mut low, mut high) = (range.start, range.end);
        while high - low > WORD {
            let middle = ceil(self.text, low + (high - low) / 2);
            match fits(self, middle)? {
                Some(_) => high = middle,
                None => low = middle,
            }
        }
        let low = floor(self.text, low.saturating_sub(WORD).max(range.start));
        let mut fallback = None;
        let part = self.text.get(low..range.end).unwrap_or_default();
        // What comes behind the range was encoded as going on from something.
        let nothing = (range.end == self.text.len()).then_some(range.end);
        let places = part.char_indices().map(|(at, _)| low + at).skip(1).chain(nothing);
        let mut left = tries(range.end - low);
        for place in places.take(TRIES) {
            if place == self.text.len() && fallback.is_some() {
                break;
            }
            let Some(ids) = fits(self, place)? else { continue };
            if is_last(&ids) {
                return Ok((place, ids, Outcome::Exact));
            }
            fallback.get_or_insert((place, ids, Outcome::Inexact));
            left -= 1;
            if left == 0 {
                break;
            }
        }
        Ok(fallback.unwrap_or((self.text.len(), Vec::new(), Outcome::Inexact)))
    }

    /// How many ids a part of the text has when it is encoded alone.
    fn measured(&mut self, part: Range<usize>) -> Result<usize> {
        Ok(self.encoded(part)?.len())
    }

    fn encoded(&mut self, part: Range<usize>) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let part = self.text.get(part).unwrap_or_default();
        self.tokenizer.encode_ids(self.scratch, part, self.wanted, &mut ids)?;
        Ok(ids)
    }

    /// For files that truncate or pad: every candidate is encoded as the file says.
    fn without_frame(&mut self, out: &mut Vec<u32>) -> Result<Kept> {
        let whole = 0..self.text.len();
        if self.room.more {
            return Ok(Kept { range: whole, outcome: Outcome::NeedsMore });
        }
        let limit = self.room.limit;
        let all = self.encoded(whole.clone())?;
        if all.len() <= limit {
            out.extend(all);
            return Ok(Kept { range: whole, outcome: Outcome::Whole });
        }
        let body = self.ids(whole.clone(), false)?;
        let end = whole.end;
        let (range, outcome) = match self.room.side {
            Side::Right => {
                let fits = |walk: &mut Self, place: usize| {
                    let fits = walk.measured(0..place)? <= limit;
                    if fits {
                        walk.ids(0..place, false).map(Some)
                    } else {
                        Ok(None)
                    }
                };
                let is_first = |ids: &[u32]| body.starts_with(ids);
                let (place, _, outcome) = self.longest_beginning(whole, fits, is_first)?;
                (0..place, outcome)
            }
            Side::Left => {
                let fits = |walk: &mut Self, place: usize| {
                    let fits = walk.measured(place..end)? <= limit;
                    if fits {
                        walk.ids(place..end, false).map(Some)
                    } else {
                        Ok(None)
                    }
                };
                let is_last = |ids: &[u32]| body.ends_with(ids);
                let (place, _, outcome) = self.longest_end(whole, fits, is_last)?;
                (place..end, outcome)
            }
        };
        out.extend(self.encoded(range.clone())?);
        Ok(Kept { range, outcome })
    }
}
