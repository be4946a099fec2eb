//! The most probable sequence of tokens, character by character from the left.

use crate::definition::llama::LlamaUnigram;
use crate::model::token::Token;
use crate::model::trie::Trie;
use crate::vocab::Vocab;

#[derive(Debug)]
pub struct Unigram {
    pub vocab: Vocab,
    trie: Trie,
    /// By place in the trie: id and score.
    pieces: Vec<(u32, f32)>,
    unk: u32,
    unk_score: f32,
}

/// The best way to a place: the last token on it, and where that begins.
#[derive(Debug, Clone, Copy)]
struct Best {
    score: f64,
    id: u32,
    start: u32,
}

impl Unigram {
    pub fn new(definition: LlamaUnigram) -> Self {
        let LlamaUnigram { vocab, pieces, unk, unk_score } = definition;
        let texts = (0u32..)
            .zip(&pieces)
            .filter_map(|(place, (id, _))| vocab.text(*id).map(|text| (text.as_bytes(), place)));
        let trie = Trie::new(texts);
        Self { vocab, trie, pieces, unk, unk_score }
    }

    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) {
        let nowhere = Best { score: -f64::MAX, id: self.unk, start: 0 };
        let mut best = vec![nowhere; piece.len() + 1];
        if let Some(first) = best.first_mut() {
            first.score = 0.0;
        }
        for (at, c) in piece.char_indices() {
            let here = best.get(at).map_or(-f64::MAX, |best| best.score);
            let width = c.len_utf8();
            let mut whole_char = false;
            let mut offer = |length: usize, id: u32, score: f32| {
                let score = here + f64::from(score);
                if let Some(champion) = best.get_mut(at + length) {
                    if score > champion.score {
                        *champion = Best { score, id, start: at as u32 };
                    }
                }
            };
            let rest = piece.as_bytes().get(at..).unwrap_or_default();
            self.trie.prefixes(rest, |length, place| {
                whole_char |= length == width;
                if let Some(&(id, score)) = self.pieces.get(place as usize) {
                    offer(length, id, score);
                }
            });
            if !whole_char {
                offer(width, self.unk, self.unk_score);
            }
        }
        let before = out.len();
        let mut end = piece.len();
        while let Some(&Best { id, start, .. }) = best.get(end).filter(|_| end > 0) {
            match out.get_mut(before..).and_then(<[Token]>::last_mut) {
                // Unknown neighbours become one.
                Some(last) if id == self.unk && last.id == self.unk => last.start = start,
                _ => out.push(Token { id, start, end: end as u32 }),
            }
            end = start as usize;
        }
        if let Some(new) = out.get_mut(before..) {
            new.reverse();
        }
    }
}
