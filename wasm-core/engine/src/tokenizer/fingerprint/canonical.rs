//! The bytes that a fingerprint is the hash of. `docs/hashes.md` describes them for others.
//!
//! Each value is written in one way only, and none is the beginning of another: texts and lists say
//! their length first, and what may be absent says whether it is there.

use crate::saved::{put_bytes, put_number};
use sha2::{Digest, Sha256};

/// Bytes that are gathered before they are hashed.
const GATHERED: usize = 1 << 14;

pub struct Canonical {
    hash: Sha256,
    pending: Vec<u8>,
}

impl Canonical {
    /// `domain` keeps hashes of different things apart.
    pub fn new(domain: &str) -> Self {
        let mut made = Self { hash: Sha256::new(), pending: Vec::with_capacity(2 * GATHERED) };
        made.text(domain);
        made
    }

    pub fn number(&mut self, number: u64) {
        put_number(&mut self.pending, number);
        self.drain();
    }

    pub fn id(&mut self, id: u32) {
        self.number(u64::from(id));
    }

    pub fn size(&mut self, size: usize) {
        self.number(size as u64);
    }

    pub fn flag(&mut self, flag: bool) {
        self.pending.push(u8::from(flag));
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn character(&mut self, character: char) {
        self.number(u64::from(u32::from(character)));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        put_bytes(&mut self.pending, bytes);
        self.drain();
    }

    /// The bits: two scores that differ in the last one may give different ids.
    pub fn double(&mut self, value: f64) {
        self.pending.extend_from_slice(&value.to_bits().to_le_bytes());
        self.drain();
    }

    pub fn float(&mut self, value: f32) {
        self.pending.extend_from_slice(&value.to_bits().to_le_bytes());
        self.drain();
    }

    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let items = items.into_iter();
        self.size(items.len());
        for item in items {
            write(self, item);
        }
    }

    pub fn hexadecimal(mut self) -> String {
        self.hash.update(&self.pending);
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn drain(&mut self) {
        if self.pending.len() >= GATHERED {
            self.hash.update(&self.pending);
            self.pending.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_hash_of_the_documented_bytes() {
        let mut canonical = Canonical::new("d");
        canonical.number(300);
        canonical.flag(true);
        canonical.optional(None::<u32>, Canonical::id);
        canonical.list([7, 8], Canonical::id);
        canonical.double(1.0);
        let bytes = [1, b'd', 0xAC, 2, 1, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F];
        let expected = Sha256::digest(bytes);
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(canonical.hexadecimal(), expected);
    }

    #[test]
    fn long_input_is_the_same_in_any_portions() {
        let long = "x".repeat(3 * GATHERED);
        let mut canonical = Canonical::new(&long);
        canonical.text(&long);
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, long.as_bytes());
        put_bytes(&mut bytes, long.as_bytes());
        let expected: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(canonical.hexadecimal(), expected);
    }
}
