//! The best sequence of pieces, found by trying every sequence.

use crate::definition::Unigram;
use crate::model::unigram::UNKNOWN_PENALTY;
use crate::model::Token;

/// A way through the text: its score, and its pieces as (id, start, end).
type Way = (f64, Vec<(u32, usize, usize)>);

pub fn unigram_slowly(model: &Unigram, text: &str) -> Vec<Token> {
    let way = best(model, text, text.len()).1;
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&(id, start, mut end)) = way.get(at) {
        at += 1;
        if Some(id) != model.unk {
            out.push(Token { id, start: start as u32, end: end as u32 });
            continue;
        }
        while let Some(&(_, _, further)) = way.get(at).filter(|next| Some(next.0) == model.unk) {
            end = further;
            at += 1;
        }
        let token = |id| Token { id, start: start as u32, end: end as u32 };
        let unknown = &text[start..end];
        let bytes: Option<Vec<u32>> =
            unknown.bytes().map(|byte| model.vocab.id(&format!("<0x{byte:02X}>"))).collect();
        match (model.vocab.id(unknown), bytes) {
            (Some(id), _) => out.push(token(id)),
            (None, Some(ids)) if model.byte_fallback => out.extend(ids.into_iter().map(token)),
            (None, _) => out.push(token(id)),
        }
    }
    out
}

/// The best way to `end`; of equal ones that whose last piece begins first.
fn best(model: &Unigram, text: &str, end: usize) -> Way {
    let mut found: Option<Way> = None;
    if end == 0 {
        return (0.0, Vec::new());
    }
    for start in (0..end).filter(|&start| text.is_char_boundary(start)) {
        let piece = &text[start..end];
        let step = match model.vocab.id(piece) {
            Some(id) => (id, model.scores[id as usize]),
            None if piece.chars().count() == 1 => {
                let lowest = model.scores.iter().copied().fold(f64::INFINITY, f64::min);
                (model.unk.unwrap(), lowest - UNKNOWN_PENALTY)
            }
            None => continue,
        };
        let (before, mut way) = best(model, text, start);
        let score = step.1 + before;
        if found.as_ref().is_none_or(|(best, _)| score > *best) {
            way.push((step.0, start, end));
            found = Some((score, way));
        }
    }
    found.unwrap()
}
