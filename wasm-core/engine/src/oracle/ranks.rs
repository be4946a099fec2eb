//! Encoding by ranks as its definition reads.

use std::collections::HashMap;

/// The ids of a piece: itself if it is a token; otherwise its bytes, of which the two neighbours
/// whose bytes together have the smallest rank are joined, the leftmost of them, until none have
/// one. `None` where a single byte is no token.
pub fn encode(ranks: &HashMap<Vec<u8>, u32>, piece: &[u8]) -> Option<Vec<u32>> {
    if let Some(&id) = ranks.get(piece) {
        return Some(vec![id]);
    }
    let mut parts: Vec<Vec<u8>> = piece.iter().map(|&byte| vec![byte]).collect();
    loop {
        let joined = parts
            .windows(2)
            .enumerate()
            .filter_map(|(at, pair)| ranks.get(&pair.concat()).map(|&rank| (rank, at)));
        let Some((_, at)) = joined.min() else { break };
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    parts.iter().map(|part| ranks.get(part).copied()).collect()
}
