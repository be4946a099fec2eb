//! Token texts and their ids, both ways, in one arena.
//!
//! Lookups by text go through an open-addressing table of entry numbers; lookups by id through a
//! dense array. Both stay valid when two texts share one id (the reference accepts such files):
//! by text each finds its id, by id the last one wins.

use crate::error::{Error, Result};

/// Ids above this are refused: a dense array over them would cost more than any real vocabulary.
pub const MAX_ID: u32 = (1 << 24) - 1;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    len: u32,
    id: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Vocab {
    texts: String,
    entries: Vec<Entry>,
    slots: Vec<u32>,
    by_id: Vec<u32>,
    /// A text was given a second id, and its first one still leads to it.
    reassigned: bool,
}

impl Vocab {
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One more than the largest id; 0 when empty.
    pub fn id_bound(&self) -> u32 {
        u32::try_from(self.by_id.len()).unwrap_or(NONE)
    }

    /// Adds a text, or gives an existing one a new id (as a repeated JSON key does).
    pub fn insert(&mut self, text: &str, id: u32) -> Result<()> {
        if id > MAX_ID {
            return Err(Error::limit(format!(
                "token id {id} is larger than {MAX_ID}, the largest that is served"
            )));
        }
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let slot = self.slot_of(text.as_bytes());
        let number = match self.slots.get(slot).copied().filter(|&n| n != NONE) {
            Some(existing) => {
                if let Some(entry) = self.entries.get_mut(existing as usize) {
                    self.reassigned |= entry.id != id;
                    entry.id = id;
                }
                existing
            }
            None => {
                let (Ok(number), Ok(start), Ok(len)) = (
                    u32::try_from(self.entries.len()),
                    u32::try_from(self.texts.len()),
                    u32::try_from(text.len()),
                ) else {
                    return Err(Error::limit("the vocabulary's texts exceed 4 GiB"));
                };
                self.texts.push_str(text);
                self.entries.push(Entry { start, len, id });
                if let Some(slot) = self.slots.get_mut(slot) {
                    *slot = number;
                }
                number
            }
        };
        let index = id as usize;
        if index >= self.by_id.len() {
            self.by_id.resize(index + 1, NONE);
        }
        if let Some(place) = self.by_id.get_mut(index) {
            *place = number;
        }
        Ok(())
    }

    /// Forgets the ids that a text had before it was given another one, as a repeated key of a JSON
    /// object leaves none of its earlier values.
    pub fn forget_former_ids(&mut self) {
        if !self.reassigned {
            return;
        }
        self.by_id.fill(NONE);
        for (number, entry) in (0u32..).zip(&self.entries) {
            if let Some(place) = self.by_id.get_mut(entry.id as usize) {
                *place = number;
            }
        }
        self.reassigned = false;
    }

    pub fn id(&self, text: &str) -> Option<u32> {
        self.id_of_bytes(text.as_bytes())
    }

    pub fn id_of_bytes(&self, text: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let number = *self.slots.get(self.slot_of(text))?;
        Some(self.entries.get(number as usize)?.id)
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        let number = *self.by_id.get(id as usize)?;
        self.entries.get(number as usize).map(|entry| self.text_of(entry))
    }

    /// Whether this is the id of the text, and `text` the text of the id.
    pub fn pairs(&self, text: &str, id: u32) -> bool {
        let number = self.by_id.get(id as usize).copied().unwrap_or(NONE);
        let entry = self.entries.get(number as usize);
        entry.is_some_and(|entry| entry.id == id && self.text_of(entry) == text)
    }

    /// Whether two texts have one id. It may also say so where a text that had it was given another.
    pub fn shares_ids(&self) -> bool {
        let mut numbers = 0u32..;
        !self
            .entries
            .iter()
            .all(|entry| self.by_id.get(entry.id as usize) == numbers.next().as_ref())
    }

    /// Every text with its id, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries.iter().map(|entry| (self.text_of(entry), entry.id))
    }

    fn text_of(&self, entry: &Entry) -> &str {
        let start = entry.start as usize;
        self.texts.get(start..start + entry.len as usize).unwrap_or_default()
    }

    /// The slot that holds `text`, or the empty one where it belongs.
    fn slot_of(&self, text: &[u8]) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash(text) as usize & mask;
        loop {
            match self.slots.get(slot).copied() {
                None | Some(NONE) => return slot,
                Some(number) => {
                    if let Some(entry) = self.entries.get(number as usize) {
                        if self.text_of(entry).as_bytes() == text {
                            return slot;
                        }
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, NONE);
        let mask = size - 1;
        for (number, entry) in self.entries.iter().enumerate() {
            let mut slot = hash(self.text_of(entry).as_bytes()) as usize & mask;
            while self.slots.get(slot).is_some_and(|&n| n != NONE) {
                slot = (slot + 1) & mask;
            }
            if let Some(place) = self.slots.get_mut(slot) {
                *place = number as u32;
            }
        }
    }
}

/// Eight bytes a step, multiply and fold. Not keyed: a hostile file can at worst slow its own
/// loading down, in its own sandbox, under its own deadline.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = (bytes.len() as u64).wrapping_mul(K);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = chunk.iter().rev().fold(0u64, |word, &b| word << 8 | u64::from(b));
        state = (state ^ word).wrapping_mul(K);
        state ^= state >> 29;
    }
    let tail = chunks.remainder().iter().rev().fold(0u64, |word, &b| word << 8 | u64::from(b));
    state = (state ^ tail).wrapping_mul(K);
    state ^ state >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_inserted() {
        let mut vocab = Vocab::new();
        for n in 0..5000u32 {
            vocab.insert(&format!("token {n}"), n).unwrap();
        }
        for n in 0..5000u32 {
            let text = format!("token {n}");
            assert_eq!(vocab.id(&text), Some(n));
            assert_eq!(vocab.text(n), Some(text.as_str()));
        }
        assert_eq!(vocab.id("token 5000"), None);
        assert_eq!(vocab.text(5000), None);
        assert_eq!(vocab.len(), 5000);
    }

    #[test]
    fn two_texts_may_share_an_id() {
        let mut vocab = Vocab::new();
        vocab.insert("a", 7).unwrap();
        vocab.insert("b", 7).unwrap();
        assert_eq!((vocab.id("a"), vocab.id("b")), (Some(7), Some(7)));
        assert_eq!(vocab.text(7), Some("b"));
        assert_eq!(vocab.id_bound(), 8);
        assert!(vocab.shares_ids());
        assert!(vocab.pairs("b", 7) && !vocab.pairs("a", 7));
    }

    #[test]
    fn a_text_that_is_given_another_id_leaves_the_first() {
        let mut vocab = Vocab::new();
        vocab.insert("a", 7).unwrap();
        vocab.insert("b", 3).unwrap();
        assert!(!vocab.shares_ids());
        vocab.insert("a", 5).unwrap();
        assert!(!vocab.shares_ids());
        assert!(vocab.pairs("a", 5) && !vocab.pairs("a", 7) && !vocab.pairs("a", 100));
        assert_eq!(vocab.text(7), Some("a"));
        vocab.forget_former_ids();
        assert_eq!((vocab.text(7), vocab.text(5), vocab.text(3)), (None, Some("a"), Some("b")));
    }

    #[test]
    fn an_id_that_a_text_leaves_goes_back_to_the_text_that_had_it_before() {
        let mut vocab = Vocab::new();
        for (text, id) in [("b", 0), ("a", 0), ("a", 5)] {
            vocab.insert(text, id).unwrap();
        }
        vocab.forget_former_ids();
        assert_eq!((vocab.text(0), vocab.text(5)), (Some("b"), Some("a")));
    }

    #[test]
    fn an_empty_vocabulary_answers() {
        assert_eq!(Vocab::new().id("a"), None);
        assert_eq!(Vocab::new().text(0), None);
    }

    #[test]
    fn a_giant_id_is_a_limit() {
        let error = Vocab::new().insert("a", 4_000_000_000).unwrap_err();
        assert_eq!(error.kind, crate::error::ErrorKind::LimitExceeded);
    }
}
