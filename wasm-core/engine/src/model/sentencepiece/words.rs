//! The models that only cut: into words and into characters.

use super::{Part, Pieces};

const SPACE: char = '\u{2581}';

/// A word begins with each `▁`, and at the start of the text.
pub fn words(pieces: &Pieces, text: &str, out: &mut Vec<Part>) {
    let mut start = 0;
    for (at, _) in text.match_indices(SPACE).filter(|(at, _)| *at > 0) {
        push(pieces, text, start, at, out);
        start = at;
    }
    if start < text.len() {
        push(pieces, text, start, text.len(), out);
    }
}

/// Each user-defined symbol, else each character.
pub fn chars(pieces: &Pieces, text: &str, out: &mut Vec<Part>) {
    let mut start = 0;
    while let Some((length, _)) = pieces.symbol(text, start) {
        push(pieces, text, start, start + length, out);
        start += length;
    }
}

fn push(pieces: &Pieces, text: &str, start: usize, end: usize, out: &mut Vec<Part>) {
    let id = pieces.result(text.get(start..end).unwrap_or_default());
    out.push(Part { start: start as u32, end: end as u32, id });
}
