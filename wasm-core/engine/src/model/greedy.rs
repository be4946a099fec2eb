//! The longest token that the text begins with, again and again.
//!
//! Tokens are bytes, spelled in the byte alphabet; the trie has the bytes themselves. Every byte
//! that a text may hold is a token, so something always matches.

use super::token::Token;
use super::trie::Trie;
use crate::definition::Greedy as Definition;
use crate::split::byte_level::byte_of_char;
use crate::vocab::Vocab;

#[derive(Debug)]
pub struct Greedy {
    pub vocab: Vocab,
    trie: Trie,
    /// The bytes that some token has side by side: bit `left * 256 + right`.
    joined: Vec<u64>,
}

impl Greedy {
    pub fn new(definition: Definition) -> Self {
        let vocab = definition.vocab;
        let mut keys: Vec<(Vec<u8>, u32)> = Vec::with_capacity(vocab.len());
        keys.extend(vocab.iter().map(|(text, id)| (bytes_of(text), id)));
        let trie = Trie::new(keys.iter().map(|(key, id)| (key.as_slice(), *id)));
        let mut joined = vec![0u64; 256 * 256 / 64];
        for (key, _) in &keys {
            for (left, right) in key.iter().zip(key.iter().skip(1)) {
                let (word, bit) = place(*left, *right);
                if let Some(word) = joined.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        Self { vocab, trie, joined }
    }

    /// Whether no token has these two side by side, as they are spelled. The longest token from any
    /// place then ends between them, whatever comes behind.
    pub fn apart(&self, left: char, right: char) -> bool {
        let (Some(left), Some(right)) = (byte_of_char(left), byte_of_char(right)) else {
            return false;
        };
        let (word, bit) = place(left, right);
        self.joined.get(word).is_some_and(|word| word & bit == 0)
    }

    /// Calls `each` with the id and the bytes of every token of `piece`. A byte that no token
    /// begins with is passed over.
    fn walk(&self, piece: &[u8], mut each: impl FnMut(u32, usize, usize)) {
        let mut at = 0;
        while let Some(rest) = piece.get(at..).filter(|rest| !rest.is_empty()) {
            at = match self.trie.longest_prefix(rest) {
                Some((length, id)) => {
                    each(id, at, at + length);
                    at + length
                }
                None => at + 1,
            };
        }
    }

    /// The ids of raw bytes.
    pub fn byte_ids(&self, piece: &[u8], out: &mut Vec<u32>) {
        self.walk(piece, |id, _, _| out.push(id));
    }

    /// The ids of a piece that is spelled in the byte alphabet.
    pub fn ids(&self, piece: &str, out: &mut Vec<u32>) {
        self.byte_ids(&bytes_of(piece), out);
    }

    /// The same with the bytes of the spelled piece that each token covers.
    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) {
        let ends: Vec<u32> = piece.char_indices().map(|(at, _)| at as u32).collect();
        let place = |byte: usize| ends.get(byte).copied().unwrap_or(piece.len() as u32);
        self.walk(&bytes_of(piece), |id, start, end| {
            out.push(Token { id, start: place(start), end: place(end) });
        });
    }
}

/// What a text in the byte alphabet stands for.
fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().filter_map(byte_of_char).collect()
}

fn place(left: u8, right: u8) -> (usize, u64) {
    let at = usize::from(left) << 8 | usize::from(right);
    (at >> 6, 1 << (at & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ranks::spell;
    use crate::oracle;
    use crate::oracle::random::Random;
    use std::collections::HashMap;

    #[test]
    fn equals_the_definition() {
        let mut random = Random::new(4);
        for round in 0..200 {
            let mut tokens: HashMap<Vec<u8>, u32> = HashMap::new();
            for byte in 0..=255u8 {
                tokens.insert(vec![byte], u32::from(byte));
            }
            for id in 0..random.below(60) as u32 {
                let token =
                    (0..1 + random.below(6)).map(|_| 0x7F + random.below(3) as u8).collect();
                tokens.entry(token).or_insert(1000 + id);
            }
            let mut vocab = Vocab::new();
            let mut text = String::new();
            for (token, &id) in &tokens {
                spell(token, &mut text);
                vocab.insert(&text, id).unwrap();
            }
            let model = Greedy::new(Definition { vocab });
            for _ in 0..30 {
                let piece: Vec<u8> =
                    (0..random.below(30)).map(|_| 0x7F + random.below(3) as u8).collect();
                let expected = oracle::greedy::encode(&tokens, &piece);
                let mut ids = Vec::new();
                model.byte_ids(&piece, &mut ids);
                assert_eq!(ids, expected, "round {round}: {piece:?}");
                spell(&piece, &mut text);
                let mut found = Vec::new();
                model.tokens(&text, &mut found);
                assert_eq!(found.iter().map(|token| token.id).collect::<Vec<_>>(), expected);
                // One token begins where the one before it ends.
                let mut at = 0;
                for token in found {
                    assert_eq!(token.start, at);
                    at = token.end;
                }
                assert_eq!(at as usize, text.len());
            }
        }
    }
}
