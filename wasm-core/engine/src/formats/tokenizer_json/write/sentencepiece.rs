//! SentencePiece's own parts in HuggingFace's terms: the nearest there is, with the differences.

use super::refused;
use crate::definition::{
    AddedToken, Bpe, Decoder, Merge, Model, Normalizer, Pattern, PieceAlgorithm, PieceKind,
    SentencePiece, SentencePieceDecoder, SentencePieceNormalizer, Unigram,
};
use crate::error::Result;
use crate::vocab::Vocab;

const MARK: &str = "▁";

pub fn normalizers(
    normalizer: &SentencePieceNormalizer,
    differences: &mut Vec<String>,
) -> Result<Vec<Normalizer>> {
    if normalizer.treat_whitespace_as_suffix {
        return Err(refused(
            "normalizer:suffix",
            "a mark behind each word has no normalizer in a tokenizer.json".to_owned(),
        ));
    }
    let replace = |pattern: Pattern, content: &str| Normalizer::Replace {
        pattern,
        content: content.to_owned(),
    };
    let mut steps = Vec::new();
    if !normalizer.charsmap.0.is_empty() {
        differences.push("normalizer:charsmap".to_owned());
        steps.push(Normalizer::Precompiled { charsmap: normalizer.charsmap.clone() });
    }
    if normalizer.remove_extra_whitespaces {
        // What is written for a space goes at the end, too, where the text has it.
        let at_end = if normalizer.escape_whitespaces { "[ ▁]+" } else { " +" };
        steps.push(replace(Pattern::Regex(format!(r"\A +|{at_end}\z")), ""));
        steps.push(replace(Pattern::Regex(" {2,}".to_owned()), " "));
    }
    let mark = if normalizer.escape_whitespaces { MARK } else { " " };
    if normalizer.add_dummy_prefix {
        steps.push(Normalizer::Prepend(mark.to_owned()));
    }
    if normalizer.escape_whitespaces {
        steps.push(replace(Pattern::Literal(" ".to_owned()), MARK));
    }
    // It normalizes what is between two of them as if that were a text of its own.
    if !normalizer.user_defined.is_empty() {
        differences.push("normalizer:user_defined".to_owned());
    }
    Ok(steps)
}

pub fn model(model: &SentencePiece, differences: &mut Vec<String>) -> Result<Model> {
    if model.kinds.contains(&PieceKind::Unused) {
        differences.push("model:unused".to_owned());
    }
    match model.algorithm {
        PieceAlgorithm::Unigram => {
            differences.push("model:scores".to_owned());
            unigram(model)
        }
        PieceAlgorithm::Bpe => {
            differences.push("model:ties".to_owned());
            bpe(model, merges(model))
        }
        PieceAlgorithm::Char => bpe(model, Vec::new()),
        PieceAlgorithm::Word => Err(refused(
            "model:word",
            "SentencePiece's model of whole words has no equal in a tokenizer.json".to_owned(),
        )),
    }
}

/// User-defined pieces are cut out of the text first, which is what added tokens are for.
pub fn user_defined(model: &SentencePiece) -> Vec<AddedToken> {
    let token = |(id, content): (u32, &str)| AddedToken {
        id,
        content: content.to_owned(),
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: false,
        in_text: true,
    };
    let kinds = (0u32..).zip(&model.kinds);
    kinds
        .filter(|(_, kind)| **kind == PieceKind::UserDefined)
        .filter_map(|(id, _)| Some(token((id, model.vocab.text(id)?))))
        .collect()
}

pub fn decoders(decoder: &SentencePieceDecoder, differences: &mut Vec<String>) -> Vec<Decoder> {
    let named = [
        (decoder.byte_fallback, "decode:byte_runs"),
        (decoder.unk_surface != decoder.unk, "decode:unknown"),
        (!decoder.control.is_empty(), "decode:control"),
        (decoder.strip_each, "decode:spaces"),
        (decoder.denormalizer.is_some(), "decode:denormalizer"),
    ];
    differences.extend(named.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()));
    decoders_of_marks(decoder.byte_fallback, decoder.strip_dummy_prefix)
}

/// The chain that HuggingFace gives such files.
pub fn decoders_of_marks(byte_fallback: bool, strip_space: bool) -> Vec<Decoder> {
    let mut steps = vec![Decoder::Replace {
        pattern: Pattern::Literal(MARK.to_owned()),
        content: " ".to_owned(),
    }];
    if byte_fallback {
        steps.push(Decoder::ByteFallback);
    }
    steps.push(Decoder::Fuse);
    if strip_space {
        steps.push(Decoder::Strip { content: ' ', start: 1, stop: 0 });
    }
    steps
}

/// What text can yield keeps its score. What it cannot is given the lowest of those: it cannot be
/// left out of the list, and must not make the unknown cheaper.
fn unigram(model: &SentencePiece) -> Result<Model> {
    let scores = || model.scores.iter().map(|&score| f64::from(score));
    let found = || scores().zip(&model.kinds).filter(|(_, kind)| is_found(**kind));
    let lowest = found().map(|(score, _)| score).fold(f64::INFINITY, f64::min);
    let of = |(score, kind): (f64, &PieceKind)| if is_found(*kind) { score } else { lowest };
    Ok(Model::Unigram(Unigram {
        vocab: copy(&model.vocab)?,
        scores: scores().zip(&model.kinds).map(of).collect(),
        unk: Some(model.unk),
        byte_fallback: model.byte_fallback,
    }))
}

fn bpe(model: &SentencePiece, merges: Vec<Merge>) -> Result<Model> {
    Ok(Model::Bpe(Bpe {
        vocab: copy(&model.vocab)?,
        merges,
        unk: Some(model.unk),
        fuse_unk: true,
        byte_fallback: model.byte_fallback,
        ignore_merges: false,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    }))
}

/// Every way to put a piece together from two others, the best piece first.
fn merges(model: &SentencePiece) -> Vec<Merge> {
    let usable = |id: &u32| {
        let kind = model.kinds.get(*id as usize);
        kind.is_some_and(|kind| matches!(kind, PieceKind::Normal | PieceKind::Unused))
    };
    let part = |text: &str| model.vocab.id(text).filter(usable);
    let mut products: Vec<(&str, u32)> = model.vocab.iter().filter(|(_, id)| usable(id)).collect();
    let score = |id: u32| model.scores.get(id as usize).copied().unwrap_or_default();
    products.sort_by(|a, b| score(b.1).total_cmp(&score(a.1)));
    let mut merges = Vec::new();
    for (text, product) in products {
        for (at, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at(at);
            if let (Some(left), Some(right)) = (part(left), part(right)) {
                merges.push(Merge { left, right, product });
            }
        }
    }
    merges
}

fn is_found(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Normal | PieceKind::UserDefined)
}

fn copy(vocab: &Vocab) -> Result<Vocab> {
    let mut copy = Vocab::new();
    vocab.iter().try_for_each(|(text, id)| copy.insert(text, id))?;
    Ok(copy)
}
