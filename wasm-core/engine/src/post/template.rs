//! `TemplateProcessing`: texts and special tokens in the order that a template states.

use crate::definition::{TemplatePiece, TemplateToken};
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::post::MAX_TOKENS;

/// The parts that a template makes of `texts`: one for each piece, a special token only if
/// `add_special_tokens`.
pub fn apply(
    template: &[TemplatePiece],
    special_tokens: &[TemplateToken],
    texts: &[Encoding],
    add_special_tokens: bool,
) -> Result<Vec<Encoding>> {
    if result_length(template, special_tokens, texts) > MAX_TOKENS {
        return Err(Error::limit(format!(
            "the template repeats the text to more than {MAX_TOKENS} ids; encode a shorter text"
        ))
        .at_path("$.post_processor"));
    }
    let mut parts = Vec::with_capacity(template.len());
    for piece in template {
        match *piece {
            TemplatePiece::Sequence { second, type_id } => {
                let mut part = text_of(texts, second)?.clone();
                part.set_type_id(type_id);
                parts.push(part);
            }
            TemplatePiece::Special { token, type_id } if add_special_tokens => {
                let special = special_token(special_tokens, token)?;
                parts.push(Encoding::special(&special.ids, &special.tokens, type_id));
            }
            TemplatePiece::Special { .. } => {}
        }
    }
    Ok(parts)
}

fn result_length(
    template: &[TemplatePiece],
    special_tokens: &[TemplateToken],
    texts: &[Encoding],
) -> usize {
    let added = added_tokens(template, special_tokens);
    template.iter().fold(added, |sum, piece| match *piece {
        TemplatePiece::Sequence { second, .. } => {
            sum.saturating_add(texts.get(usize::from(second)).map_or(0, Encoding::len))
        }
        TemplatePiece::Special { .. } => sum,
    })
}

/// How many ids the special pieces stand for.
pub fn added_tokens(template: &[TemplatePiece], special_tokens: &[TemplateToken]) -> usize {
    template.iter().fold(0, |sum: usize, piece| match *piece {
        TemplatePiece::Sequence { .. } => sum,
        TemplatePiece::Special { token, .. } => {
            sum.saturating_add(special_tokens.get(token).map_or(0, |special| special.ids.len()))
        }
    })
}

/// What loading can already say about a template.
pub fn check(template: &[TemplatePiece], special_tokens: &[TemplateToken]) -> Result<()> {
    for piece in template {
        if let TemplatePiece::Special { token, .. } = *piece {
            let special = special_token(special_tokens, token)?;
            if special.ids.len() != special.tokens.len() {
                return Err(Error::unsupported(
                    "post_processor:TemplateProcessing",
                    format!(
                        "the template token {:?} has {} ids, but {} token texts",
                        special.name,
                        special.ids.len(),
                        special.tokens.len()
                    ),
                )
                .at_path("$.post_processor"));
            }
        }
    }
    Ok(())
}

fn text_of(texts: &[Encoding], second: bool) -> Result<&Encoding> {
    texts.get(usize::from(second)).ok_or_else(|| {
        Error::invalid("the template for single texts uses $B, the second text of a pair")
            .at_path("$.post_processor")
    })
}

fn special_token(special_tokens: &[TemplateToken], token: usize) -> Result<&TemplateToken> {
    special_tokens.get(token).ok_or_else(|| {
        Error::invalid("the template names a special token that it does not define")
            .at_path("$.post_processor")
    })
}
