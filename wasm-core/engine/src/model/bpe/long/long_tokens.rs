//! Tokens that are too long for a key, by the bytes that they begin with.
//!
//! Runs of blanks or of line breaks are made of them, so what is asked of each place has to be cheap:
//! one look into a table for the first bytes, and blocks of bytes for the rest.

use crate::model::bpe::cache::key::{Key, MAX_KEY, REACH};
use crate::simd::lane16::Wide;
use std::cmp::Reverse;

/// More tokens that begin alike could make each place of a text cost as much as it likes.
const MOST_ALIKE: usize = 128;

const EMPTY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Token {
    /// Of its first bytes.
    key: Key,
    start: u32,
    length: u32,
    id: u32,
}

#[derive(Debug, Default)]
pub struct LongTokens {
    /// The place of the first one of those that begin alike.
    slots: Vec<u32>,
    shift: u32,
    /// Those that begin alike one behind the other, the longest first.
    tokens: Vec<Token>,
    texts: Vec<u8>,
}

impl LongTokens {
    /// Each has more than [`MAX_KEY`] bytes.
    pub fn add(&mut self, text: &[u8], id: u32) {
        let (start, length) = (self.texts.len() as u32, text.len() as u32);
        self.texts.extend_from_slice(text);
        self.tokens.push(Token { key: Key::new(text, 0, MAX_KEY), start, length, id });
    }

    /// Makes them findable, once all of them are here. `None`: too many begin alike.
    pub fn settle(&mut self) -> Option<()> {
        self.tokens.sort_by_key(|token| (token.key.bytes(), Reverse(token.length)));
        let bits = (self.tokens.len() * 2).next_power_of_two().trailing_zeros().max(6);
        self.shift = u64::BITS - bits;
        self.slots = vec![EMPTY; 1 << bits];
        let mut place = 0;
        for alike in self.tokens.chunk_by(|one, other| one.key == other.key) {
            if alike.len() > MOST_ALIKE {
                return None;
            }
            let mut at = home(alike.first()?.key, self.shift);
            while *self.slots.get(at)? != EMPTY {
                at = next(at, self.slots.len());
            }
            *self.slots.get_mut(at)? = place;
            place += alike.len() as u32;
        }
        Some(())
    }

    /// Calls `take` for the tokens of up to `most` bytes that `rest` begins with, the longest first,
    /// until it takes one.
    #[inline]
    pub fn longest(
        &self,
        rest: &[u8],
        most: usize,
        mut take: impl FnMut(u32, usize) -> bool,
    ) -> Option<(u32, usize)> {
        let key = Key::new(rest, 0, MAX_KEY);
        let mut at = home(key, self.shift);
        let first = loop {
            let place = self.slots.get(at).copied().filter(|place| *place != EMPTY)?;
            let tokens = self.tokens.get(place as usize..)?;
            if tokens.first()?.key == key {
                break tokens;
            }
            at = next(at, self.slots.len());
        };
        for token in first.iter().take_while(|token| token.key == key) {
            let length = token.length as usize;
            let text = self.texts.get(token.start as usize..).and_then(|text| text.get(..length));
            let fits = length <= most && text.is_some_and(|text| begins(rest, text));
            if fits && take(token.id, length) {
                return Some((token.id, length));
            }
        }
        None
    }
}

/// Whether `rest` begins with a text of at least [`REACH`] bytes. In blocks: where hosts look at the
/// clock in each round, one a byte is most of what a run of blanks costs.
#[inline(always)]
fn begins(rest: &[u8], text: &[u8]) -> bool {
    let Some(rest) = rest.get(..text.len()) else { return false };
    let same = |one: &[u8; REACH], other: &[u8; REACH]| Wide::load(one) == Wide::load(other);
    // The last block has bytes of the one before it where they do not come out even.
    let ends = match (rest.last_chunk(), text.last_chunk()) {
        (Some(one), Some(other)) => same(one, other),
        _ => rest == text,
    };
    let blocks = rest.as_chunks().0.iter().zip(text.as_chunks().0);
    ends && blocks.into_iter().all(|(one, other)| same(one, other))
}

#[inline(always)]
fn home(key: Key, shift: u32) -> usize {
    (key.hash() >> shift) as usize
}

#[inline(always)]
fn next(at: usize, slots: usize) -> usize {
    (at + 1) & slots.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use std::collections::BTreeSet;

    /// Against a look at every token.
    #[test]
    fn the_longest_that_are_taken_are_those_of_a_list() {
        let mut random = Random::new(61);
        let (mut found, mut not_taken) = (0, 0);
        for round in 0..300 {
            let kinds = 1 + round % 3;
            let mut text = |least: usize, most: usize| -> Vec<u8> {
                let mut text = vec![b'a'; least + random.below(most - least + 1)];
                for _ in 0..random.below(3) {
                    let at = random.below(text.len());
                    text[at] = b'a' + random.below(kinds) as u8;
                }
                text
            };
            let texts: BTreeSet<Vec<u8>> =
                (0..round).map(|_| text(MAX_KEY + 1, MAX_KEY + 60)).collect();
            let mut long = LongTokens::default();
            for (text, id) in texts.iter().zip(0..) {
                long.add(text, id);
            }
            let settled = long.settle().is_some();
            let alike = |text: &[u8]| texts.iter().filter(|one| one[..15] == text[..15]).count();
            let most_alike = texts.iter().map(|text| alike(text)).max().unwrap_or_default();
            assert_eq!(settled, most_alike <= MOST_ALIKE);
            if !settled {
                continue;
            }
            for _ in 0..40 {
                let rest = text(1, 90);
                let most = rest.len().min(20 + rest.len() % 60);
                let odd = rest.len() % 5;
                let mut taken = |id: u32, _: usize| id as usize % 5 != odd;
                let got = long.longest(&rest, most, &mut taken);
                let all = (0..).zip(&texts).map(|(id, text)| (id, text.len()));
                let fitting = all
                    .zip(&texts)
                    .filter(|((_, length), text)| *length <= most && rest.starts_with(text));
                let mut fitting: Vec<(u32, usize)> = fitting.map(|(token, _)| token).collect();
                fitting.sort_by_key(|token| Reverse(token.1));
                let expected = fitting.iter().copied().find(|&(id, length)| taken(id, length));
                assert_eq!(got, expected, "{:?}", String::from_utf8_lossy(&rest));
                found += usize::from(got.is_some());
                not_taken += usize::from(got.is_some() && got != fitting.first().copied());
            }
        }
        assert!(found > 1000 && not_taken > 100, "{found} {not_taken}");
    }

    #[test]
    fn none_is_found_where_there_are_none() {
        let mut long = LongTokens::default();
        assert_eq!(long.longest(&[b'a'; 40], 40, |_, _| true), None);
        assert!(long.settle().is_some());
        assert_eq!(long.longest(&[b'a'; 40], 40, |_, _| true), None);
    }
}
