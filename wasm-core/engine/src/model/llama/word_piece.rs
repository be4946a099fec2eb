//! Words with `▁` in front, the longest token first; a word that has a gap is unknown as a whole.

use crate::model::token::Token;
use crate::model::trie::Trie;
use crate::vocab::Vocab;

const PHANTOM: &str = "▁";

#[derive(Debug)]
pub struct WordPiece {
    pub vocab: Vocab,
    unk: u32,
    trie: Trie,
}

impl WordPiece {
    pub fn new(vocab: Vocab, unk: u32) -> Self {
        let trie = Trie::new(vocab.iter().map(|(text, id)| (text.as_bytes(), id)));
        Self { vocab, unk, trie }
    }

    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) {
        let word = [PHANTOM, piece].concat();
        // In bytes of the piece, which has no phantom.
        let place = |at: usize| at.saturating_sub(PHANTOM.len()) as u32;
        let before = out.len();
        let mut at = 0;
        while let Some(rest) = word.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
            let Some((length, id)) = self.trie.longest_prefix(rest) else {
                out.truncate(before);
                break;
            };
            out.push(Token { id, start: place(at), end: place(at + length) });
            at += length;
        }
        if out.len() == before {
            out.push(Token { id: self.unk, start: 0, end: piece.len() as u32 });
        }
    }
}
