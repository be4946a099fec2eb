//! Pieces as the patterns themselves say, by the general engine and one step after the other.

use std::ops::Range;

use crate::error::Result;
use crate::split::Regex;
use crate::text::{cover, FindMatches as _};

/// Cuts `text` into the matches of each pattern and what is between them, then each piece by the
/// next pattern.
pub fn pieces(patterns: &[Regex], text: &str) -> Result<Vec<Range<usize>>> {
    let mut pieces: Vec<Range<usize>> = std::iter::once(0..text.len()).collect();
    for pattern in patterns {
        let mut cut = Vec::new();
        for piece in pieces {
            let part = text.get(piece.clone()).unwrap_or_default();
            let covering = cover(part.len(), &pattern.find_all(part)?);
            let ranges = covering.into_iter().map(|(range, _)| range);
            cut.extend(ranges.map(|range| piece.start + range.start..piece.start + range.end));
        }
        pieces = cut;
    }
    pieces.retain(|piece| !piece.is_empty());
    Ok(pieces)
}
