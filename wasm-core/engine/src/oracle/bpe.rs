//! Byte-pair merging as its definition reads.

use crate::definition::Merge;
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
