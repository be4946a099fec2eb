//! Writing a [`Definition`] as a tokenizer.json that HuggingFace loads.
//!
//! What its format has no place for is refused by name. Where the place is there but HuggingFace
//! gives other results than the Definition's own format, the file is written all the same and the
//! difference is named beside it: the reference ignores no unknown key, so it cannot go inside.

mod added;
mod model;
mod pipeline;
mod postprocess;
mod scored;
mod sentencepiece;

#[cfg(test)]
mod tests;

use crate::definition::llama::LlamaModel;
use crate::definition::{AddedToken, Decoder, Definition, Model, Normalizer, PreTokenizer};
use crate::error::{Error, Result};
use serde_json::Value;

/// A file, and where it gives other results than what it was made from: `added_tokens:in_text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub json: String,
    pub differences: Vec<String>,
}

impl Written {
    /// The differences as a list of JSON.
    pub fn differences_json(&self) -> String {
        Value::from(self.differences.as_slice()).to_string()
    }
}

pub fn write(definition: &Definition) -> Result<Written> {
    let mut differences = Vec::new();
    let normalizers = normalizers(definition, &mut differences)?;
    let mut added_tokens: Vec<&AddedToken> = definition.added_tokens.iter().collect();
    let (translated, user_defined);
    let model = match &definition.model {
        Model::SentencePiece(model) => {
            translated = sentencepiece::model(model, &mut differences)?;
            user_defined = sentencepiece::user_defined(model);
            added_tokens.extend(&user_defined);
            &translated
        }
        Model::Llama(LlamaModel::Texts(texts)) => {
            differences.push("model:ties".to_owned());
            translated = scored::model(texts)?;
            &translated
        }
        model => {
            if let Model::Llama(LlamaModel::Scored { .. }) = model {
                differences.push("model:ties".to_owned());
            }
            model
        }
    };
    if definition.longest_first && !added_tokens.is_empty() {
        differences.push("added_tokens:longest_first".to_owned());
    }
    let as_stated = definition.ids_as_stated;
    let added = added::plan(added_tokens, as_stated, model, &mut differences)?;
    let decoders = decoders(definition, &mut differences);

    let mut out = Object::default();
    out.value("version", &"1.0".into());
    out.value("truncation", &optional(&definition.truncation, postprocess::truncation));
    out.value("padding", &optional(&definition.padding, postprocess::padding));
    out.value("added_tokens", &added.tokens());
    let normalizers = normalizers.iter().map(pipeline::normalizer).collect::<Result<_>>()?;
    out.value("normalizer", &sequence("normalizers", normalizers));
    let pre_tokenizers = definition.pre_tokenizer.iter().map(pipeline::pre_tokenizer);
    let pre_tokenizers = pre_tokenizers.collect::<Result<_>>()?;
    out.value("pre_tokenizer", &sequence("pretokenizers", pre_tokenizers));
    let post_processors = definition.post_processor.as_ref();
    let post_processors =
        post_processors.map(|steps| steps.iter().map(postprocess::post_processor).collect());
    out.value("post_processor", &chain("processors", post_processors));
    let decoders = match decoders {
        Some(steps) => Some(steps.iter().map(pipeline::decoder).collect::<Result<_>>()?),
        None => None,
    };
    out.value("decoder", &chain("decoders", decoders));
    out.key("model");
    model::write(model, &added, &mut out.json)?;
    Ok(Written { json: out.finish(), differences })
}

fn normalizers(definition: &Definition, differences: &mut Vec<String>) -> Result<Vec<Normalizer>> {
    let mut steps = Vec::new();
    for step in &definition.normalizer {
        match step {
            Normalizer::SentencePiece(own) => {
                steps.extend(sentencepiece::normalizers(own, differences)?);
            }
            step => steps.push(step.clone()),
        }
    }
    Ok(steps)
}

fn decoders(definition: &Definition, differences: &mut Vec<String>) -> Option<Vec<Decoder>> {
    let mut steps = Vec::new();
    for step in definition.decoder.as_ref()? {
        match step {
            Decoder::SentencePiece(own) => steps.extend(sentencepiece::decoders(own, differences)),
            Decoder::TokenBytes(pieces) => {
                differences.push("decode:pieces".to_owned());
                steps.extend(instead_of_pieces(definition, pieces.strip_space));
            }
            step => steps.push(step.clone()),
        }
    }
    Some(steps)
}

/// A table of what each id decodes to has no place in the file; the vocabulary spells it nearly so.
fn instead_of_pieces(definition: &Definition, strip_space: bool) -> Vec<Decoder> {
    let byte_level = |step: &PreTokenizer| matches!(step, PreTokenizer::ByteLevel { .. });
    if definition.pre_tokenizer.iter().any(byte_level) {
        return vec![Decoder::ByteLevel];
    }
    sentencepiece::decoders_of_marks(true, strip_space)
}

/// The top level, key by key in the order that people know.
#[derive(Default)]
struct Object {
    json: String,
}

impl Object {
    fn key(&mut self, key: &str) {
        self.json.push_str(if self.json.is_empty() { "{" } else { ",\n" });
        push_string(&mut self.json, key);
        self.json.push(':');
    }

    fn value(&mut self, key: &str, value: &Value) {
        self.key(key);
        self.json.push_str(&value.to_string());
    }

    fn finish(mut self) -> String {
        self.json.push_str("}\n");
        self.json
    }
}

fn push_string(json: &mut String, text: &str) {
    json.push_str(&Value::from(text).to_string());
}

fn optional<T>(part: &Option<T>, write: impl FnOnce(&T) -> Value) -> Value {
    part.as_ref().map_or(Value::Null, write)
}

/// No steps are no component.
fn sequence(list: &str, steps: Vec<Value>) -> Value {
    chain(list, Some(steps).filter(|steps| !steps.is_empty()))
}

/// No steps are an empty sequence, which is not the same as no component.
fn chain(list: &str, steps: Option<Vec<Value>>) -> Value {
    match steps {
        None => Value::Null,
        Some(mut steps) if steps.len() == 1 => steps.pop().unwrap_or_default(),
        Some(steps) => serde_json::json!({"type": "Sequence", list: steps}),
    }
}

/// What a tokenizer.json cannot say.
fn refused(what: &str, message: String) -> Error {
    Error::unsupported(format!("convert:{what}"), message)
}
