//! Added tokens, arranged so that HuggingFace gives them the ids that they have here.
//!
//! It does not ask the file for an id: a token that the model knows has the model's, any other one
//! is numbered behind the model's tokens. Where that is not the id stated, the token has to become
//! one of the model's.

use super::refused;
use crate::definition::{AddedToken, Model};
use crate::error::Result;
use serde_json::{json, Value};

#[derive(Debug, Default)]
pub struct Plan<'a> {
    tokens: Vec<&'a AddedToken>,
    /// What the model's vocabulary has to list, too.
    pub in_vocabulary: Vec<(&'a str, u32)>,
}

impl Plan<'_> {
    pub fn tokens(&self) -> Value {
        let each = |token: &&AddedToken| {
            json!({
                "id": token.id,
                "content": token.content,
                "single_word": token.single_word,
                "lstrip": token.lstrip,
                "rstrip": token.rstrip,
                "normalized": token.normalized,
                "special": token.special,
            })
        };
        self.tokens.iter().map(each).collect()
    }
}

/// `as_stated`: the ids of `tokens` count.
pub fn plan<'a>(
    tokens: Vec<&'a AddedToken>,
    as_stated: bool,
    model: &Model,
    differences: &mut Vec<String>,
) -> Result<Plan<'a>> {
    let mut plan = Plan { tokens, ..Plan::default() };
    if plan.tokens.iter().any(|token| !token.in_text) {
        differences.push("added_tokens:in_text".to_owned());
    }
    if !as_stated {
        return Ok(plan);
    }
    let vocab = model.vocab();
    // Nothing can be said of a token without a text, and nothing asks.
    plan.tokens.retain(|token| !token.content.is_empty());
    plan.tokens.sort_by_key(|token| token.id);
    let mut homeless = Vec::new();
    for &token in &plan.tokens {
        let clash = |other: String| {
            let AddedToken { id, content, .. } = token;
            refused(
                "added_tokens",
                format!("the added token {content:?} has the id {id}, but {other}"),
            )
        };
        match vocab.id(&token.content) {
            Some(id) if id == token.id => {}
            Some(id) => return Err(clash(format!("the model has it at {id}"))),
            None => match vocab.text(token.id) {
                Some(text) => return Err(clash(format!("the model has {text:?} there"))),
                None => homeless.push((token.content.as_str(), token.id)),
            },
        }
    }
    let size = match model {
        Model::Unigram(unigram) => unigram.scores.len(),
        model => model.vocab().len(),
    };
    let in_order = homeless.iter().map(|(_, id)| *id as usize).eq(size..size + homeless.len());
    if in_order {
        return Ok(plan);
    }
    if let Model::Unigram(_) = model {
        return Err(refused(
            "added_tokens",
            format!("a Unigram model cannot leave out ids between its {size} and the added tokens"),
        ));
    }
    // The model may now meet them in text that was not searched for added tokens.
    let met = plan.tokens.iter().any(|token| !token.in_text) && may_be_met(model);
    if met {
        differences.push("added_tokens:in_vocabulary".to_owned());
    }
    plan.in_vocabulary = homeless;
    Ok(plan)
}

/// Whether a token counts for the model although no merge leads to it.
fn may_be_met(model: &Model) -> bool {
    match model {
        Model::Bpe(bpe) => bpe.ignore_merges,
        _ => true,
    }
}
