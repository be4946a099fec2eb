//! What a tokenizer is, as a hash: of everything in its definition that encoding depends on, and,
//! apart from it, of everything that decoding depends on.
//!
//! It is made from the [`Definition`], not from the bytes of a file: what a file may write in two
//! ways is one thing here. A field that is added to the definition does not compile until this
//! module says what becomes of it.

mod canonical;
mod models;
mod pipeline;
mod post;

#[cfg(test)]
mod tests;

use crate::added::AddedTokens;
use crate::definition::{AddedToken, Definition};
use crate::error::Result;
use crate::formats::{self, Options};
use crate::normalize::Normalizers;
use crate::tokenizer::compile;
use canonical::Canonical;
use serde_json::json;
use std::borrow::Cow;

/// A new number for each change of the canonical bytes, for old fingerprints must not be taken for
/// new ones.
const ENCODING: &str = "pwt1";
const DECODING: &str = "pwtd1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprints {
    /// Of what ids, offsets and masks depend on.
    pub encoding: String,
    /// Of what texts depend on.
    pub decoding: String,
}

impl Fingerprints {
    /// Of a file of any format that is served.
    pub fn of_file(bytes: &[u8], options: &Options) -> Result<Self> {
        Self::of(&formats::read_with_config(bytes, options)?)
    }

    pub fn of(definition: &Definition) -> Result<Self> {
        let added = effective_added_tokens(definition)?;
        Ok(Self {
            encoding: format!("{ENCODING}:{}", encoding(definition, &added)),
            decoding: format!("{DECODING}:{}", decoding(definition, &added)),
        })
    }

    pub fn to_json(&self) -> String {
        json!({"fingerprint": self.encoding, "decoding": self.decoding}).to_string()
    }
}

/// With the ids that they really get, which the file need not say.
fn effective_added_tokens(definition: &Definition) -> Result<AddedTokens> {
    let normalizers = Normalizers::new(&definition.normalizer, &compile)?;
    AddedTokens::new(
        &definition.added_tokens,
        definition.ids_as_stated,
        definition.model.vocab(),
        definition.model.size(),
        |text| normalizers.apply_plain(text).map(Cow::into_owned),
    )
}

fn encoding(definition: &Definition, added: &AddedTokens) -> String {
    let Definition {
        // Names and notes for people, and texts that are no part of tokenizing.
        format: _,
        notes: _,
        roles: _,
        ends: _,
        chat_templates: _,
        // Who may write a token, and not what a text means.
        control: _,
        // Of the decoding fingerprint.
        decoder: _,
        // In the effective ids.
        added_tokens: _,
        ids_as_stated: _,
        longest_first,
        normalizer,
        pre_tokenizer,
        model,
        post_processor,
        truncation,
        padding,
    } = definition;
    let mut out = Canonical::new(ENCODING);
    let mut tokens: Vec<(&AddedToken, u32)> = added.iter().collect();
    // Two of one text are one. Of one id, they are told apart by their text.
    tokens.sort_by_key(|(token, id)| (*id, token.content.as_str()));
    out.list(tokens, |out, (token, id)| added_token(out, token, id));
    out.flag(*longest_first);
    out.list(normalizer, pipeline::normalizer);
    out.list(pre_tokenizer, pipeline::pre_tokenizer);
    models::model(&mut out, model);
    out.optional(post_processor.as_ref(), |out, steps| out.list(steps, post::post_processor));
    out.optional(truncation.as_ref(), post::truncation);
    out.optional(padding.as_ref(), post::padding);
    out.hexadecimal()
}

fn added_token(out: &mut Canonical, token: &AddedToken, id: u32) {
    // The stated id is not the effective one.
    let AddedToken { id: _, content, single_word, lstrip, rstrip, normalized, special, in_text } =
        token;
    out.id(id);
    out.text(content);
    for flag in [single_word, lstrip, rstrip, normalized, special, in_text] {
        out.flag(*flag);
    }
}

fn decoding(definition: &Definition, added: &AddedTokens) -> String {
    let vocab = definition.model.vocab();
    let mut out = Canonical::new(DECODING);
    let mut ids: Vec<u32> = vocab.iter().chain(added.contents()).map(|(_, id)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    out.list(ids, |out, id| {
        let text = added.text(id).or_else(|| vocab.text(id));
        out.id(id);
        out.optional(text, Canonical::text);
        out.flag(text.is_some_and(|text| added.is_special(id, text)));
    });
    out.optional(definition.decoder.as_ref(), |out, steps| out.list(steps, pipeline::decoder));
    out.hexadecimal()
}
