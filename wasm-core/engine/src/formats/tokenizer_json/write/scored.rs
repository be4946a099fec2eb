//! llama.cpp's merging by scores of texts, as the listed merges that come nearest to it.

use super::refused;
use crate::definition::llama::{Ranking, TextMerges};
use crate::definition::{Bpe, Merge, Model};
use crate::error::Result;
use crate::vocab::Vocab;

/// Looking up all halves of a token costs its length squared; no real file comes near this.
const MOST_HASHED: usize = 1 << 28;

/// Every way to put a token together from two others is a merge, the best token first. Where two
/// have one score llama.cpp takes the left one, and a list cannot say that.
pub fn model(texts: &TextMerges) -> Result<Model> {
    let Ranking::Scores(ranks) = &texts.ranking else {
        return Err(refused(
            "model:texts",
            "merges that make what is no token have no place in a tokenizer.json".to_owned(),
        ));
    };
    let mut vocab = Vocab::new();
    let mut merges: Vec<(u32, Merge)> = Vec::new();
    let mut hashed = 0usize;
    for (text, product) in texts.vocab.iter() {
        vocab.insert(text, product)?;
        hashed = hashed.saturating_add(text.len().saturating_mul(text.len()));
        if hashed > MOST_HASHED {
            return Err(refused("merges", "its tokens are too long to list merges".to_owned()));
        }
        let rank = ranks.get(product as usize).copied().unwrap_or(u32::MAX);
        for (at, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at(at);
            if let (Some(left), Some(right)) = (texts.vocab.id(left), texts.vocab.id(right)) {
                merges.push((rank, Merge { left, right, product }));
            }
        }
    }
    // Stable: tokens of one score stay in the order of the file.
    merges.sort_by_key(|(rank, _)| *rank);
    Ok(Model::Bpe(Bpe {
        vocab,
        merges: merges.into_iter().map(|(_, merge)| merge).collect(),
        unk: None,
        fuse_unk: false,
        byte_fallback: true,
        ignore_merges: false,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    }))
}
