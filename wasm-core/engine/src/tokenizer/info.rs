//! What a file holds, for people and for hosts.

use super::{Route, Tokenizer};
use crate::added::AddedTokens;
use crate::definition::llama::LlamaModel;
use crate::definition::{Decoder, Definition, Model, PostProcessor};
use serde_json::{json, Value};

/// Kept from the definition, whose parts have become tables.
#[derive(Debug)]
pub struct Summary {
    format: &'static str,
    normalizers: Vec<String>,
    pre_tokenizers: Vec<String>,
    post_processors: Option<Vec<String>>,
    decoders: Option<Vec<String>>,
    model: &'static str,
    merges: usize,
    flags: Vec<&'static str>,
    truncation: Option<usize>,
    /// The length to pad to, if it does not depend on the batch.
    padding: Option<Option<usize>>,
    roles: Vec<(&'static str, String, u32)>,
    ends: Vec<u32>,
    chat_templates: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Summary {
    pub fn new(definition: &Definition) -> Self {
        Self {
            format: definition.format,
            normalizers: definition.normalizer.iter().map(short).collect(),
            pre_tokenizers: definition.pre_tokenizer.iter().map(short).collect(),
            post_processors: definition
                .post_processor
                .as_ref()
                .map(|p| p.iter().map(kind).collect()),
            decoders: definition.decoder.as_ref().map(|d| d.iter().map(decoder).collect()),
            model: definition.model.name(),
            merges: merges(&definition.model),
            flags: flags(&definition.model),
            truncation: definition.truncation.as_ref().map(|t| t.max_length),
            padding: definition.padding.as_ref().map(|padding| padding.length),
            roles: roles(definition),
            ends: definition.ends.clone(),
            chat_templates: definition.chat_templates.clone(),
            notes: definition.notes.clone(),
        }
    }
}

impl Summary {
    /// Names the added tokens that have another id than the file states.
    pub fn note_other_ids(&mut self, added: &AddedTokens) {
        const NAMED: usize = 8;
        let mut others = added.iter().filter(|(token, id)| token.id != *id);
        let named: Vec<String> = others
            .by_ref()
            .take(NAMED)
            .map(|(token, id)| format!("{:?} has {id}, not {}", token.content, token.id))
            .collect();
        if named.is_empty() {
            return;
        }
        let more = match others.count() {
            0 => String::new(),
            count => format!(", and {count} more"),
        };
        self.notes.push(format!(
            "added tokens have other ids than the file states, as the reference numbers them: {}{more}",
            named.join(", ")
        ));
    }
}

fn merges(model: &Model) -> usize {
    match model {
        Model::Bpe(bpe) => bpe.merges.len(),
        Model::Llama(LlamaModel::Scored { bpe, .. }) => bpe.merges.len(),
        _ => 0,
    }
}

fn flags(model: &Model) -> Vec<&'static str> {
    let flags = match model {
        Model::Bpe(bpe) => vec![
            (bpe.byte_fallback, "byte_fallback"),
            (bpe.fuse_unk, "fuse_unk"),
            (bpe.ignore_merges, "ignore_merges"),
        ],
        Model::Unigram(unigram) => vec![(unigram.byte_fallback, "byte_fallback")],
        Model::SentencePiece(model) => vec![(model.byte_fallback, "byte_fallback")],
        Model::WordLevel(_) | Model::WordPiece(_) | Model::Greedy(_) | Model::Llama(_) => {
            Vec::new()
        }
    };
    flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1).collect()
}

/// The tokens that the file itself gives a part to play. A name such as `<s>` says nothing.
fn roles(definition: &Definition) -> Vec<(&'static str, String, u32)> {
    let vocab = definition.model.vocab();
    let text_of = |id: u32| {
        let added = definition.added_tokens.iter().find(|token| token.id == id);
        added.map(|token| token.content.as_str()).or_else(|| vocab.text(id))
    };
    let mut found = Vec::new();
    let unk = definition.model.unk().map(|id| ("unk", id));
    for (role, id) in unk.into_iter().chain(definition.roles.iter().copied()) {
        let known = found.iter().any(|(name, _, known)| *name == role && *known == id);
        if let Some(text) = text_of(id).filter(|_| !known) {
            found.push((role, text.to_owned(), id));
        }
    }
    if let Some(padding) = &definition.padding {
        found.push(("pad", padding.pad_token.clone(), padding.pad_id));
    }
    for step in definition.post_processor.iter().flatten() {
        if let PostProcessor::Roberta { sep, cls, .. } | PostProcessor::Bert { sep, cls } = step {
            found.push(("sep", sep.0.clone(), sep.1));
            found.push(("cls", cls.0.clone(), cls.1));
        }
    }
    found
}

/// A component as its Debug form, cut where a pattern gets long.
fn short(component: &impl std::fmt::Debug) -> String {
    const LIMIT: usize = 120;
    let text = format!("{component:?}");
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// A table of a hundred thousand pieces has no form for people.
fn decoder(decoder: &Decoder) -> String {
    match decoder {
        Decoder::TokenBytes(_) => "TokenBytes".to_owned(),
        other => short(other),
    }
}

/// The name of a component without its fields, which for templates are long.
fn kind(component: &impl std::fmt::Debug) -> String {
    let text = format!("{component:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

impl Tokenizer {
    /// A JSON object; see docs/abi.md for its keys.
    pub fn info_json(&self) -> String {
        let mut added: Vec<_> = self.added.iter().collect();
        added.sort_by_key(|(_, id)| *id);
        let added: Vec<Value> = added
            .into_iter()
            .map(|(token, id)| {
                json!({
                    "id": id,
                    "content": token.content,
                    "special": token.special,
                    "normalized": token.normalized,
                    "lstrip": token.lstrip,
                    "rstrip": token.rstrip,
                    "single_word": token.single_word,
                })
            })
            .collect();
        let summary = &self.summary;
        json!({
            "format": summary.format,
            "model": summary.model,
            "model_flags": summary.flags,
            "merges": summary.merges,
            "vocab_size": self.model.size(),
            "vocab_size_with_added": self.vocab_len(),
            "added_tokens": added,
            "normalizers": summary.normalizers,
            "pre_tokenizers": summary.pre_tokenizers,
            "post_processors": summary.post_processors,
            "decoders": summary.decoders,
            "stream_held_by": self.stream_held_by(),
            "truncation": summary.truncation,
            "padding": summary.padding.map(|length| json!({"length": length})),
            "frame": self.post.frame(true).map(|frame| {
                json!({"prefix": frame.prefix, "suffix": frame.suffix})
            }),
            "roles": summary.roles,
            "ends": summary.ends,
            "chat_templates": summary.chat_templates,
            "notes": summary.notes,
            "route": match &self.route {
                Route::Scanner(scanner) => format!("scanner:{scanner:?}"),
                Route::Ranges(_) => "ranges".to_owned(),
                Route::Blanks(_) => "blanks".to_owned(),
                Route::Steps { .. } => "steps".to_owned(),
            },
        })
        .to_string()
    }
}
