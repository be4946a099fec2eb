//! GGUF, the file format of llama.cpp: a container of keys and values, of which those of the
//! tokenizer are read.
//!
//! A file means what llama.cpp makes of it, to the last approximation; on request it means what the
//! tokenizer.json of the same model does, as far as that is known.

mod bert;
mod bpe;
mod chains;
mod container;
mod metadata;
mod pieces;
mod pre;
mod rwkv;
mod special;
mod spm;
mod t5;
mod tokens;

pub use container::extent;

use crate::definition::{Definition, PostProcessor, TemplatePiece, TemplateToken};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::options::GgufCompat;
use crate::formats::options::Options;
use crate::formats::tokenizer_json;
use metadata::Metadata;
use special::Parts;
use tokens::Tokens;

const MODEL: &str = "tokenizer.ggml.model";

pub fn read(bytes: &[u8], options: &Options) -> Result<Definition> {
    let metadata = Metadata::new(container::read(bytes, &options.limits)?);
    let mut definition = match metadata.text("tokenizer.huggingface.json")? {
        Some(json) => embedded(json)?,
        None => File::open(&metadata, options)?.read()?,
    };
    definition.format = "gguf";
    definition.chat_templates = chat_templates(&metadata)?;
    Ok(definition)
}

/// Some files carry a whole tokenizer.json, which says more than the other keys can.
fn embedded(json: &str) -> Result<Definition> {
    let mut definition = tokenizer_json::read(json.as_bytes())
        .map_err(|error| error.at_path("tokenizer.huggingface.json"))?;
    definition.notes.push(
        "the file carries the tokenizer.json of its model, which is used instead of the other \
         keys of the tokenizer"
            .to_owned(),
    );
    Ok(definition)
}

/// The keys of a tokenizer, on their way into a definition.
struct File<'a> {
    metadata: &'a Metadata<'a>,
    model: &'a str,
    tokens: Tokens,
    hf: bool,
    notes: Vec<String>,
}

impl<'a> File<'a> {
    fn open(metadata: &'a Metadata<'a>, options: &Options) -> Result<Self> {
        let none = |message: &str| Err(Error::new(ErrorKind::NoTokenizerInFile, message));
        let model = match metadata.text(MODEL)? {
            Some("no_vocab" | "none") => {
                return none("the file says that it holds no vocabulary; use the one of its model");
            }
            Some(model) => model,
            None => return none("the file has no tokenizer; use the one of its model"),
        };
        if !matches!(model, "llama" | "gpt2" | "gemma4" | "whitespace" | "bert" | "t5" | "rwkv") {
            return Err(unsupported(MODEL, model, "tokenizers of this kind are not served"));
        }
        let tokens = Tokens::read(metadata, &options.limits)?;
        let hf = options.gguf_compat == GgufCompat::HuggingFace;
        Ok(Self { metadata, model, tokens, hf, notes: Vec::new() })
    }

    fn read(self) -> Result<Definition> {
        match self.model {
            "llama" => spm::read(self),
            "bert" => bert::read(self),
            "t5" => t5::read(self),
            "rwkv" => rwkv::read(self),
            _ => bpe::read(self),
        }
    }

    fn parts(&mut self, defaults: &[(&'static str, u32)]) -> Result<Parts> {
        Parts::read(self.metadata, &mut self.tokens, defaults, !self.hf, &mut self.notes)
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool> {
        Ok(self.metadata.flag(&format!("tokenizer.ggml.{key}"))?.unwrap_or(default))
    }

    /// For what no tokenizer.json is known to do.
    fn refuse_hf(&self) -> Result<()> {
        match self.hf {
            true => Err(unsupported(
                "gguf_compat",
                self.model,
                "what the tokenizer.json of such a model does is not known; leave gguf_compat out \
                 to get what llama.cpp does",
            )),
            false => Ok(()),
        }
    }
}

/// Fills in what all kinds of models have.
fn finish(mut definition: Definition, file: Shared) -> Definition {
    definition.added_tokens = file.added_tokens;
    definition.ids_as_stated = true;
    definition.longest_first = !file.hf;
    definition.roles = file.roles;
    definition.ends = file.ends;
    definition.notes = file.notes;
    definition
}

/// What [`finish`] needs.
struct Shared {
    added_tokens: Vec<crate::definition::AddedToken>,
    roles: Vec<(&'static str, u32)>,
    ends: Vec<u32>,
    notes: Vec<String>,
    hf: bool,
}

impl File<'_> {
    fn shared(&mut self, parts: &Parts) -> Result<Shared> {
        Ok(Shared {
            added_tokens: special::added_tokens(self.metadata, &self.tokens)?,
            roles: parts.all().to_vec(),
            ends: parts.ends.clone(),
            notes: std::mem::take(&mut self.notes),
            hf: self.hf,
        })
    }
}

/// `first`, the text, `last`; a second text likewise.
fn template(tokens: &Tokens, first: Option<u32>, last: Option<u32>) -> Option<Vec<PostProcessor>> {
    if first.is_none() && last.is_none() {
        return None;
    }
    let mut special_tokens: Vec<TemplateToken> = Vec::new();
    let mut add = |id: Option<u32>| {
        let id = id?;
        let text = tokens.vocab.text(id).unwrap_or_default().to_owned();
        special_tokens.push(TemplateToken {
            name: text.clone(),
            ids: vec![id],
            tokens: vec![text],
        });
        Some(special_tokens.len() - 1)
    };
    let (first, last) = (add(first), add(last));
    let around = |second: bool| {
        let type_id = u32::from(second);
        let special = move |token| TemplatePiece::Special { token, type_id };
        let text = TemplatePiece::Sequence { second, type_id };
        first.map(special).into_iter().chain([text]).chain(last.map(special))
    };
    Some(vec![PostProcessor::Template {
        single: around(false).collect(),
        pair: around(false).chain(around(true)).collect(),
        special_tokens,
    }])
}

fn chat_templates(metadata: &Metadata) -> Result<Vec<(String, String)>> {
    let mut templates = Vec::new();
    if let Some(template) = metadata.text("tokenizer.chat_template")? {
        templates.push(("default".to_owned(), template.to_owned()));
    }
    for (offset, name) in metadata.strings("tokenizer.chat_templates")?.into_iter().flatten() {
        let name = metadata::utf8(name, offset)?;
        if let Some(template) = metadata.text(&format!("tokenizer.chat_template.{name}"))? {
            templates.push((name.to_owned(), template.to_owned()));
        }
    }
    Ok(templates)
}

/// `name` comes from a stranger: into the feature, which goes into logs, only if it is harmless.
fn unsupported(key: &str, name: &str, why: &str) -> Error {
    let harmless = name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let feature = if harmless { format!("{key}:{name}") } else { key.to_owned() };
    let shown: String = name.chars().take(64).collect();
    Error::unsupported(feature, format!("{key} is {shown:?}: {why}")).at_path(key)
}
