//! The longest token first, over bytes.

use crate::model::token::Token;
use crate::model::trie::Trie;
use crate::vocab::Vocab;

#[derive(Debug)]
pub struct Longest {
    pub vocab: Vocab,
    trie: Trie,
}

impl Longest {
    /// `bytes`: what each token stands for. Every single byte has to be among them.
    pub fn new(vocab: Vocab, bytes: &[(Vec<u8>, u32)]) -> Self {
        let trie = Trie::new(bytes.iter().map(|(bytes, id)| (bytes.as_slice(), *id)));
        Self { vocab, trie }
    }

    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) {
        let mut at = 0;
        while let Some(rest) = piece.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
            let Some((length, id)) = self.trie.longest_prefix(rest) else { return };
            out.push(Token { id, start: at as u32, end: (at + length) as u32 });
            at += length;
        }
    }
}
