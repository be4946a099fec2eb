//! Parts of a long piece, merged as if each of them were a piece.
//!
//! What a part becomes is mostly also what the piece becomes there, but for a token or two at the
//! ends. And parts can be merged in turns ([`crate::model::bpe::merge::interleaved`]), while one row
//! of tokens waits for each table that it looks into. So a row ([`super::backtrack`]) first takes
//! tokens from here: those of one part stay apart, and only where parts meet is that checked.
//!
//! Where tokens are long, as in runs of one letter, finding the longest is quicker. So the row goes a
//! little way by itself, and its tokens are counted, before parts are merged.

use super::backtrack::Tables;
use crate::model::bpe::merge::interleaved::{LongGroup, PIECES};
use crate::model::bpe::merge::merger::fits_short;
use crate::model::bpe::merge::pairs::NONE;

/// How far a row goes by itself until its tokens are counted, and how many bytes they have in the mean
/// where parts are not worth it.
const WALK: usize = 256;
const LONG: usize = 4;

/// Fewer bytes are not worth it: few parts have little to share.
const LEAST: usize = 8 * LongGroup::LONGEST;

/// A part ends at one of its last places, where two bytes merge late or never.
const CHOICE: usize = 8;

#[derive(Debug, Default)]
pub struct Premerge {
    group: Option<Box<LongGroup>>,
    /// Where each part starts, and the last one ends.
    starts: Vec<usize>,
    /// The part that was asked last.
    current: usize,
    /// Where tokens are counted next.
    next: usize,
    /// Where they were counted last, and how many there were.
    counted: (usize, usize),
}

impl Premerge {
    /// For a new piece.
    pub fn clear(&mut self) {
        self.starts.clear();
        (self.next, self.counted) = (WALK, (0, 0));
    }

    /// Whether there are parts of this piece.
    pub fn are_used(&self) -> bool {
        !self.starts.is_empty()
    }

    /// A row of `count` tokens has come to `at`: merges what follows, if that is worth it.
    #[inline(always)]
    pub fn look_ahead(&mut self, tables: Tables<'_>, piece: &[u8], at: usize, count: usize) {
        if at >= self.next && piece.len() - at >= LEAST {
            self.judge(tables, piece, at, count);
        }
    }

    #[inline(never)]
    fn judge(&mut self, tables: Tables<'_>, piece: &[u8], at: usize, count: usize) {
        let (since, before) = self.counted;
        let are_short = count.saturating_sub(before) * LONG > at - since;
        let filled = are_short && self.fill(tables, piece, at).is_some();
        self.next = match self.starts.last() {
            Some(end) if filled => *end,
            _ => at + WALK,
        };
        self.counted = (at, count);
    }

    /// Merges parts of `piece` from `at` on, if it can.
    fn fill(&mut self, tables: Tables<'_>, piece: &[u8], at: usize) -> Option<()> {
        let Tables { pairs, bytes, .. } = tables;
        let serves = bytes.are_packed && fits_short(pairs) && tables.chars.is_none();
        let packed = pairs.packed().filter(|_| serves)?;
        let group = self.group.get_or_insert_default();
        group.clear();
        self.starts.clear();
        self.starts.push(at);
        let mut rest = piece.get(at..)?;
        for _ in 0..PIECES {
            let Some((part, behind)) = rest.split_at_checked(first_part(tables, rest)) else {
                break;
            };
            if part.is_empty() {
                break;
            }
            group.push_bytes(bytes, part);
            rest = behind;
            self.starts.push(piece.len() - rest.len());
        }
        group.merge(packed);
        self.current = 0;
        Some(())
    }

    /// The part that `at` is in, and its place in there.
    #[inline(always)]
    fn place(&mut self, at: usize) -> Option<(usize, usize)> {
        while *self.starts.get(self.current)? > at {
            self.current = self.current.checked_sub(1)?;
        }
        while *self.starts.get(self.current + 1)? <= at {
            self.current += 1;
        }
        Some((self.current, at - self.starts.get(self.current)?))
    }

    /// The token that starts at `at` in its part, and where it ends.
    #[inline(always)]
    pub fn token(&mut self, at: usize) -> Option<(u32, usize)> {
        let (part, place) = self.place(at)?;
        let (id, length) = self.group.as_ref()?.token(part, place)?;
        Some((id, at + length))
    }

    /// Calls `each` for the tokens of this part from `at` on, with where they start; answers where the
    /// part ends.
    #[inline(always)]
    pub fn tokens(&mut self, at: usize, mut each: impl FnMut(u32, usize)) -> Option<usize> {
        let (part, place) = self.place(at)?;
        let start = at - place;
        self.group.as_ref()?.tokens(part, place, |id, place| each(id, start + place));
        self.starts.get(part + 1).copied()
    }
}

/// How long the first part of `rest` is.
#[inline(always)]
fn first_part(tables: Tables<'_>, rest: &[u8]) -> usize {
    if rest.len() <= LongGroup::LONGEST {
        return rest.len();
    }
    let (mut best, mut latest) = (LongGroup::LONGEST, 0);
    for length in (LongGroup::LONGEST - CHOICE..=LongGroup::LONGEST).rev() {
        let pair = rest.get(length - 1..).and_then(<[u8]>::first_chunk);
        let rank = pair.map_or(0, |&[left, right]| tables.bytes.first_rank(left, right));
        if rank > latest {
            (best, latest) = (length, rank);
        }
        if rank == NONE {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Merge;
    use crate::model::bpe::merge::merger::Merger;
    use crate::model::bpe::{Bpe, Reading};
    use crate::oracle::bpe::byte_level;
    use crate::oracle::random::Random;

    /// Each part is what it is as a piece, wherever it is entered, and whichever was asked before.
    #[test]
    fn parts_are_pieces() {
        let mut random = Random::new(71);
        let (mut merger, mut parts, mut not_worth_it) = (Merger::default(), 0, 0);
        for _ in 0..200 {
            let mut merges: Vec<Merge> = Vec::new();
            let mut known: Vec<u32> = b"abcdef".iter().map(|&byte| byte.into()).collect();
            for product in 256..256 + random.below(30) as u32 {
                let (left, right) = (*random.pick(&known), *random.pick(&known));
                if merges.iter().all(|merge| (merge.left, merge.right) != (left, right)) {
                    merges.push(Merge { left, right, product });
                    known.push(product);
                }
            }
            let bpe = Bpe::new(byte_level(merges), Reading::Bytes);
            let tables = bpe.tables().unwrap();
            let length = WALK + LEAST + random.below(5000);
            let piece: Vec<u8> = (0..length).map(|_| b'a' + random.below(7) as u8).collect();
            let mut premerge = Premerge::default();
            premerge.clear();
            let at = random.below(length - LEAST);
            premerge.look_ahead(tables, &piece, at, if at < WALK { at } else { at / LONG });
            assert!(!premerge.are_used());
            not_worth_it += usize::from(at >= WALK);
            premerge.clear();
            premerge.look_ahead(tables, &piece, WALK, WALK / LONG + 1);
            assert!(premerge.are_used() && premerge.next <= length);
            assert_eq!((premerge.starts[0], premerge.token(WALK - 1)), (WALK, None));
            assert_eq!(premerge.token(premerge.next), None);
            for _ in 0..100 {
                let part = random.below(premerge.starts.len() - 1);
                let (start, end) = (premerge.starts[part], premerge.starts[part + 1]);
                assert!((1..=LongGroup::LONGEST).contains(&(end - start)));
                let mut expected = Vec::new();
                tables.bytes.merge(tables.pairs, &mut merger, &piece[start..end], &mut expected);
                let (mut at, mut got) = (start, Vec::new());
                while at < end {
                    let (id, to) = premerge.token(at).unwrap();
                    let mut rest = Vec::new();
                    assert_eq!(premerge.tokens(at, |id, at| rest.push((id, at))), Some(end));
                    assert_eq!(rest[0], (id, at));
                    assert!(rest.get(1).is_none_or(|token| token.1 == to));
                    assert!((at + 1..to).all(|inside| premerge.token(inside).is_none()));
                    got.push(id);
                    at = to;
                }
                assert_eq!(got, expected);
                parts += usize::from(got.len() < end - start);
            }
        }
        assert!(parts > 10_000 && not_worth_it > 100, "{parts} {not_worth_it}");
    }
}
