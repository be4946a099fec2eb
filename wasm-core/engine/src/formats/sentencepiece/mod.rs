//! SentencePiece's `.model`: pieces with scores and kinds, what trained them, how text is prepared.

mod message;
mod wire;

#[cfg(test)]
mod tests;

use crate::definition::{
    AddedToken, Blob, Decoder, Definition, Model, Normalizer, PieceAlgorithm, PieceKind,
    SentencePiece, SentencePieceDecoder, SentencePieceNormalizer,
};
use crate::error::{Error, Result};
use crate::formats::limits::Limits;
use crate::normalize::charsmap::Charsmap;
use crate::vocab::Vocab;
use message::{Model as Message, Normalizer as Spec, Trainer};

pub fn read(bytes: &[u8], limits: &Limits) -> Result<Definition> {
    let message = Message::read(bytes, limits)?;
    let trainer = &message.trainer;
    let algorithm = algorithm(trainer)?;
    let (model, added_tokens) = model(&message, algorithm)?;
    let named = |name: &str, kind: PieceKind| {
        model.vocab.id(name).filter(|&id| model.kinds.get(id as usize) == Some(&kind))
    };
    // The ids that the file states count for nothing; what counts is which pieces are control ones.
    let roles =
        [("bos", trainer.bos_piece), ("eos", trainer.eos_piece), ("pad", trainer.pad_piece)]
            .into_iter()
            .filter_map(|(role, name)| Some((role, named(name, PieceKind::Control)?)))
            .collect();
    let texts_of = |kind: PieceKind| -> Vec<String> {
        let all = (0u32..).zip(&model.kinds).filter(|(_, k)| **k == kind);
        all.filter_map(|(id, _)| model.vocab.text(id)).map(str::to_owned).collect()
    };
    let prepared = normalizer(&message.normalizer, trainer, texts_of(PieceKind::UserDefined))?;
    let denormalizer = match message.denormalizer.charsmap {
        // Without rules the reference does not denormalize at all.
        None => None,
        Some(_) => Some(SentencePieceNormalizer {
            treat_whitespace_as_suffix: false,
            ..normalizer(&message.denormalizer, trainer, Vec::new())?
        }),
    };
    let decoder = SentencePieceDecoder {
        control: texts_of(PieceKind::Control),
        unk: model.vocab.text(model.unk).unwrap_or_default().to_owned(),
        unk_surface: trainer.unk_surface.to_owned(),
        byte_fallback: trainer.byte_fallback,
        strip_dummy_prefix: prepared.add_dummy_prefix || prepared.remove_extra_whitespaces,
        strip_each: prepared.remove_extra_whitespaces,
        denormalizer,
    };
    Ok(Definition {
        added_tokens,
        ids_as_stated: true,
        normalizer: vec![Normalizer::SentencePiece(Box::new(prepared))],
        decoder: Some(vec![Decoder::SentencePiece(Box::new(decoder))]),
        roles,
        ..Definition::new("sentencepiece", Model::SentencePiece(model))
    })
}

fn algorithm(trainer: &Trainer) -> Result<PieceAlgorithm> {
    Ok(match trainer.model_type {
        1 => PieceAlgorithm::Unigram,
        2 => PieceAlgorithm::Bpe,
        3 => PieceAlgorithm::Word,
        4 => PieceAlgorithm::Char,
        other => {
            return Err(Error::unsupported(
                "sentencepiece:model_type",
                format!("the model is of type {other}; known are 1 (Unigram) to 4 (Char)"),
            ))
        }
    })
}

/// The model, and the control pieces as tokens that text never yields.
fn model(message: &Message, algorithm: PieceAlgorithm) -> Result<(SentencePiece, Vec<AddedToken>)> {
    let mut vocab = Vocab::new();
    let mut scores = Vec::with_capacity(message.pieces.len());
    let mut kinds = Vec::with_capacity(message.pieces.len());
    let mut control = Vec::new();
    let mut unk = None;
    let mut bytes = [false; 256];
    for (id, piece) in (0u32..).zip(&message.pieces) {
        let invalid = |why: String| Error::invalid(why).at_offset(piece.text.offset as u64);
        let text = piece.text.text()?;
        if text.is_empty() {
            return Err(invalid(format!("the piece with the id {id} is empty")));
        }
        if text.contains('\0') {
            return Err(invalid(format!("the piece with the id {id} holds a zero byte")));
        }
        let orders = match algorithm {
            PieceAlgorithm::Unigram => piece.score.is_finite(),
            PieceAlgorithm::Bpe => !piece.score.is_nan(),
            PieceAlgorithm::Word | PieceAlgorithm::Char => true,
        };
        if !orders {
            return Err(invalid(format!(
                "the score of the piece with the id {id} is {}, which orders nothing",
                piece.score
            )));
        }
        if let Some(other) = vocab.id(text) {
            let twin = kinds.get(other as usize).copied().unwrap_or(PieceKind::Normal);
            if is_found(twin) == is_found(piece.kind) || algorithm == PieceAlgorithm::Bpe {
                return Err(invalid(format!("the pieces {other} and {id} are both {text:?}")));
            }
            return Err(Error::unsupported(
                "sentencepiece:twins",
                format!("{text:?} is a piece that text can yield and one that it cannot"),
            )
            .at_offset(piece.text.offset as u64));
        }
        match piece.kind {
            PieceKind::Unknown => {
                if let Some(other) = unk.replace(id) {
                    return Err(invalid(format!(
                        "the pieces {other} and {id} both stand for the unknown"
                    )));
                }
            }
            PieceKind::Byte if !message.trainer.byte_fallback => {
                return Err(invalid(format!(
                    "{text:?} stands for a byte, but the model does not fall back to bytes"
                )));
            }
            PieceKind::Byte => match byte_of(text).and_then(|b| bytes.get_mut(usize::from(b))) {
                Some(seen) => *seen = true,
                None => return Err(invalid(format!("{text:?} is not the name of a byte"))),
            },
            PieceKind::Control => control.push(added(id, text)),
            PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => {}
        }
        vocab.insert(text, id)?;
        scores.push(piece.score);
        kinds.push(piece.kind);
    }
    let Some(unk) = unk else {
        return Err(Error::invalid(match vocab.len() {
            0 => "the SentencePiece model has no pieces",
            _ => "no piece of the SentencePiece model stands for the unknown",
        }));
    };
    if algorithm == PieceAlgorithm::Unigram && !kinds.iter().any(|&kind| is_found(kind)) {
        return Err(Error::invalid("the SentencePiece model has no piece that text can yield"));
    }
    let byte_fallback = message.trainer.byte_fallback;
    if let Some(missing) = bytes.iter().position(|seen| byte_fallback && !seen) {
        return Err(Error::invalid(format!(
            "the model falls back to bytes, but has no piece <0x{missing:02X}>"
        )));
    }
    Ok((SentencePiece { algorithm, vocab, scores, kinds, unk, byte_fallback }, control))
}

/// Whether the models look pieces of this kind up in text.
fn is_found(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused)
}

/// The byte that a piece is the name of, written as the reference writes it.
fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (format!("{byte:02X}") == digits).then_some(byte)
}

fn added(id: u32, content: &str) -> AddedToken {
    AddedToken {
        id,
        content: content.to_owned(),
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
        in_text: false,
    }
}

fn normalizer(
    spec: &Spec,
    trainer: &Trainer,
    user_defined: Vec<String>,
) -> Result<SentencePieceNormalizer> {
    let mut blob = Blob::default();
    if let Some(charsmap) = spec.charsmap {
        Charsmap::parse(charsmap.content).map_err(|mut error| {
            error.offset = error.offset.map(|at| at.saturating_add(charsmap.offset as u64));
            error
        })?;
        blob.0 = charsmap.content.to_vec();
    }
    Ok(SentencePieceNormalizer {
        name: spec.name.to_owned(),
        add_dummy_prefix: spec.add_dummy_prefix,
        remove_extra_whitespaces: spec.remove_extra_whitespaces,
        escape_whitespaces: spec.escape_whitespaces,
        treat_whitespace_as_suffix: trainer.treat_whitespace_as_suffix,
        charsmap: blob,
        user_defined,
    })
}
