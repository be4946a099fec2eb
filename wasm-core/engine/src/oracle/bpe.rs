//! Byte-pair merging as its definition reads.

use crate::definition::{Bpe, Merge};
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::vocab::Vocab;
use std::collections::HashMap;

/// Merges the pair of smallest rank, the leftmost of them, until none is left. Answers each
/// remaining id with the index of its first symbol.
pub fn merge_slowly(symbols: &[u32], merges: &[Merge]) -> Vec<(u32, u32)> {
    let mut ranks = HashMap::new();
    for (rank, merge) in merges.iter().enumerate() {
        ranks.insert((merge.left, merge.right), (rank, merge.product));
    }
    let mut left: Vec<(u32, u32)> = symbols.iter().copied().zip(0..).collect();
    loop {
        let best = left
            .windows(2)
            .enumerate()
            .filter_map(|(at, pair)| ranks.get(&(pair[0].0, pair[1].0)).map(|&(r, p)| (r, at, p)))
            .min();
        let Some((_, at, product)) = best else { return left };
        left[at].0 = product;
        left.remove(at + 1);
    }
}

/// A byte-level vocabulary before its first merge: each byte, with itself as its id.
pub fn bytes_alone() -> Vocab {
    let mut vocab = Vocab::new();
    for (id, c) in (0..).zip(CHAR_OF_BYTE) {
        vocab.insert(&c.to_string(), id).unwrap();
    }
    vocab
}

/// A byte-level vocabulary of what `merges` make, one behind the other.
pub fn byte_level(merges: Vec<Merge>) -> Bpe {
    let mut vocab = bytes_alone();
    for Merge { left, right, product } in &merges {
        let text = format!("{}{}", vocab.text(*left).unwrap(), vocab.text(*right).unwrap());
        vocab.insert(&text, *product).unwrap();
    }
    byte_level_with(vocab, merges)
}

pub fn byte_level_with(vocab: Vocab, merges: Vec<Merge>) -> Bpe {
    Bpe {
        vocab,
        merges,
        unk: None,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    }
}
