//! Tokens of bytes whose ids are their ranks: the byte-pair model that such a list amounts to.
//!
//! The reference of rank files knows no merges. It joins the two neighbours whose bytes together
//! are the token of the smallest rank, the leftmost of them, again and again. Listed merges say the
//! same thing, one for each token: when two neighbours are joined into a token, nothing has crossed
//! the borders of its bytes before, so what is inside was joined exactly as those bytes would be on
//! their own, and on their own they are joined in one way. So a token has at most one pair that
//! ever makes it: the last step of encoding its own bytes. A token whose bytes do not come down to
//! two parts is never made; only a piece that is the token as a whole yields it.
//!
//! To find that step for a token, the pairs of all smaller ranks are enough where they leave two
//! parts. Where they leave more, a larger rank may have a part in it (a list need not come from
//! training), and the token is encoded by the definition.

use crate::definition::{AddedToken, Decoder};
use crate::definition::{Bpe, Definition, Merge, Model, Pattern, PreTokenizer, SplitBehavior};
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::vocab::Vocab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// Writes bytes in the byte alphabet.
pub fn spell(bytes: &[u8], out: &mut String) {
    out.clear();
    out.extend(bytes.iter().map(|&byte| CHAR_OF_BYTE[usize::from(byte)]));
}

/// The first byte that a text may hold and that is no token.
pub fn missing_byte(vocab: &Vocab) -> Option<u8> {
    let mut buffer = [0; 4];
    (0u8..=255)
        // UTF-8 never has the others.
        .filter(|byte| !matches!(byte, 0xC0 | 0xC1 | 0xF5..))
        .find(|&byte| vocab.id(CHAR_OF_BYTE[usize::from(byte)].encode_utf8(&mut buffer)).is_none())
}

/// A byte-level definition around a vocabulary and its [`merges`].
pub fn definition(
    format: &'static str,
    vocab: Vocab,
    merges: Vec<Merge>,
    pattern: Cut,
) -> Definition {
    let model = Model::Bpe(Bpe {
        vocab,
        merges,
        unk: None,
        fuse_unk: false,
        byte_fallback: false,
        // The reference looks a whole piece up first.
        ignore_merges: true,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    });
    Definition {
        ids_as_stated: true,
        pre_tokenizer: vec![
            pattern.step(),
            PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: false },
        ],
        decoder: Some(vec![Decoder::ByteLevel]),
        ..Definition::new(format, model)
    }
}

/// A special token as rank files have them.
pub fn special(content: String, id: u32, in_text: bool) -> AddedToken {
    AddedToken {
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
        in_text,
    }
}

/// How text is cut into pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// As the engine and HuggingFace's library read it.
    pub pattern: String,
    /// Whether it matches every character, so that nothing lies between the matches.
    pub covers: bool,
}

impl Cut {
    pub fn step(self) -> PreTokenizer {
        // Text that no match covers is dropped by the reference.
        let behavior = if self.covers { SplitBehavior::Isolated } else { SplitBehavior::Removed };
        PreTokenizer::Split {
            pattern: Pattern::Regex(self.pattern),
            behavior,
            invert: !self.covers,
        }
    }
}

/// The one pair that makes each token, for those that have one, in the order of the ids.
pub fn merges(vocab: &Vocab) -> Vec<Merge> {
    let mut tokens: Vec<(&str, u32)> = vocab.iter().collect();
    tokens.sort_unstable_by_key(|token| token.1);
    let mut units = [NONE; 0x180];
    for &(text, id) in &tokens {
        let mut chars = text.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            if let Some(place) = units.get_mut(c as usize) {
                *place = id;
            }
        }
    }
    let mut pairs = Pairs::for_tokens(tokens.len());
    let mut merges = Vec::with_capacity(tokens.len());
    let mut work = Work::default();
    for (text, product) in tokens {
        if !work.begin(text, &units) {
            continue;
        }
        work.join(|left, right| pairs.get(left.id, right.id));
        if work.parts.len() > 2 {
            work.begin(text, &units);
            work.join(|left, right| {
                let joined = text.get(left.start as usize..right.end as usize);
                joined.and_then(|joined| vocab.id(joined)).unwrap_or(NONE)
            });
        }
        if let [left, right] = work.parts.as_slice() {
            pairs.insert(left.id, right.id, product);
            merges.push(Merge { left: left.id, right: right.id, product });
        }
    }
    merges
}

/// A part of a token: an id and the bytes of the spelled text that it covers.
#[derive(Debug, Clone, Copy)]
struct Part {
    id: u32,
    start: u32,
    end: u32,
}

/// Joins parts until two are left, or no more can be joined.
#[derive(Debug, Default)]
struct Work {
    parts: Vec<Part>,
    ranks: Vec<u32>,
}

/// Beyond so many parts, looking at all of them for the smallest rank takes longer than a heap.
const FEW: usize = 48;

impl Work {
    /// One part for each byte. False: a single byte, or one that is no token.
    fn begin(&mut self, text: &str, units: &[u32; 0x180]) -> bool {
        self.parts.clear();
        for (start, c) in text.char_indices() {
            let id = units.get(c as usize).copied().unwrap_or(NONE);
            let end = start + c.len_utf8();
            self.parts.push(Part { id, start: start as u32, end: end as u32 });
        }
        self.parts.len() > 1 && self.parts.iter().all(|part| part.id != NONE)
    }

    fn join(&mut self, rank: impl FnMut(&Part, &Part) -> u32) {
        match self.parts.len() {
            ..=FEW => self.join_few(rank),
            _ => self.join_many(rank),
        }
    }

    fn join_few(&mut self, mut rank: impl FnMut(&Part, &Part) -> u32) {
        self.ranks.clear();
        self.ranks.extend(self.parts.windows(2).map(|pair| match pair {
            [left, right] => rank(left, right),
            _ => NONE,
        }));
        while self.parts.len() > 2 {
            let smallest = self.ranks.iter().copied().enumerate().min_by_key(|&(_, rank)| rank);
            let Some((at, id)) = smallest.filter(|&(_, rank)| rank != NONE) else { return };
            let right = self.parts.remove(at + 1);
            self.ranks.remove(at);
            let Some(left) = self.parts.get_mut(at) else { return };
            *left = Part { id, start: left.start, end: right.end };
            let joined = *left;
            for neighbour in [at.checked_sub(1), Some(at)].into_iter().flatten() {
                let other = if neighbour == at { at + 1 } else { neighbour };
                let (Some(other), Some(place)) =
                    (self.parts.get(other), self.ranks.get_mut(neighbour))
                else {
                    continue;
                };
                *place = if neighbour == at { rank(&joined, other) } else { rank(other, &joined) };
            }
        }
    }

    /// The same with a heap of ranks, entries of which may be out of date.
    fn join_many(&mut self, mut rank: impl FnMut(&Part, &Part) -> u32) {
        let count = self.parts.len();
        let mut next: Vec<usize> = (1..=count).collect();
        let mut previous: Vec<usize> = (0..count).map(|at| at.wrapping_sub(1)).collect();
        let mut heap = BinaryHeap::new();
        self.ranks.clear();
        self.ranks.resize(count, NONE);
        for (at, pair) in self.parts.windows(2).enumerate() {
            let [left, right] = pair else { continue };
            let rank = rank(left, right);
            if let Some(place) = self.ranks.get_mut(at) {
                *place = rank;
            }
            heap.push(Reverse((rank, at)));
        }
        let mut left_over = count;
        while left_over > 2 {
            let Some(Reverse((id, at))) = heap.pop() else { break };
            if id == NONE {
                break;
            }
            if self.ranks.get(at) != Some(&id) {
                continue;
            }
            let Some(&right) = next.get(at) else { break };
            let Some(&after) = next.get(right) else { break };
            let Some(end) = self.parts.get(right).map(|part| part.end) else { break };
            let Some(left) = self.parts.get_mut(at) else { break };
            *left = Part { id, start: left.start, end };
            left_over -= 1;
            set(&mut next, at, after);
            set(&mut previous, after, at);
            set(&mut self.ranks, right, NONE);
            set(&mut self.ranks, at, NONE);
            let before = previous.get(at).copied().unwrap_or(usize::MAX);
            for (left, right) in [(before, at), (at, after)] {
                let (Some(one), Some(other)) = (self.parts.get(left), self.parts.get(right)) else {
                    continue;
                };
                let rank = rank(one, other);
                set(&mut self.ranks, left, rank);
                heap.push(Reverse((rank, left)));
            }
        }
        let mut at = 0;
        let mut parts = Vec::with_capacity(left_over);
        while let Some(part) = self.parts.get(at) {
            parts.push(*part);
            at = next.get(at).copied().unwrap_or(count);
        }
        self.parts = parts;
    }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(place) = list.get_mut(at) {
        *place = value;
    }
}

/// The pairs that were found so far. Never grown: there is at most one a token.
#[derive(Debug)]
struct Pairs {
    slots: Vec<(u64, u32)>,
    shift: u32,
}

/// No pair of tokens has it: an id is never [`NONE`].
const EMPTY: u64 = u64::MAX;

impl Pairs {
    fn for_tokens(count: usize) -> Self {
        let bits = (count * 2).next_power_of_two().trailing_zeros().max(4);
        Self { slots: vec![(EMPTY, NONE); 1 << bits], shift: 64 - bits }
    }

    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    fn place(&self, key: u64) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = self.home(key);
        while self.slots.get(at).is_some_and(|slot| slot.0 != EMPTY && slot.0 != key) {
            at = (at + 1) & mask;
        }
        at
    }

    fn get(&self, left: u32, right: u32) -> u32 {
        self.slots.get(self.place(key(left, right))).map_or(NONE, |slot| slot.1)
    }

    fn insert(&mut self, left: u32, right: u32, product: u32) {
        let at = self.place(key(left, right));
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = (key(left, right), product);
        }
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

#[cfg(test)]
mod tests;
