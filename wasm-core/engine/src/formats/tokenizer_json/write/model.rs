//! The model: the large part, written entry by entry.

use super::added::Plan;
use super::{push_string, refused};
use crate::definition::llama::LlamaModel;
use crate::definition::{Bpe, Model, Unigram, WordLevel, WordPiece};
use crate::error::Result;
use crate::vocab::Vocab;
use serde_json::Value;

pub fn write(model: &Model, added: &Plan, json: &mut String) -> Result<()> {
    let mut out = Fields { json };
    out.value("type", type_of(model));
    match model {
        Model::Bpe(bpe) | Model::Llama(LlamaModel::Scored { bpe, .. }) => out.bpe(bpe, added)?,
        Model::WordLevel(word_level) => out.word_level(word_level, added),
        Model::WordPiece(word_piece) => out.word_piece(word_piece, added),
        Model::Unigram(unigram) => out.unigram(unigram)?,
        other => {
            let name = other.name();
            let message = format!("a tokenizer.json has no place for the model {name}");
            return Err(refused(&format!("model:{name}"), message));
        }
    }
    json.push('}');
    Ok(())
}

fn type_of(model: &Model) -> &'static str {
    match model {
        // Its merges are listed, in the order of their ranks.
        Model::Llama(LlamaModel::Scored { .. }) => "BPE",
        model => model.name(),
    }
}

/// Writes the fields of an object. The first one is the type.
struct Fields<'a> {
    json: &'a mut String,
}

impl Fields<'_> {
    fn key(&mut self, key: &str) {
        self.json.push(if key == "type" { '{' } else { ',' });
        push_string(self.json, key);
        self.json.push(':');
    }

    fn value(&mut self, key: &str, value: impl Into<Value>) {
        self.key(key);
        self.json.push_str(&value.into().to_string());
    }

    fn bpe(&mut self, bpe: &Bpe, added: &Plan) -> Result<()> {
        let vocab = &bpe.vocab;
        let unk = match bpe.unk {
            None => None,
            Some(id) => Some(name_of(vocab, id, "unk_token")?),
        };
        self.value("dropout", Value::Null);
        self.value("unk_token", unk);
        self.value("continuing_subword_prefix", bpe.continuing_subword_prefix.as_deref());
        self.value("end_of_word_suffix", bpe.end_of_word_suffix.as_deref());
        self.value("fuse_unk", bpe.fuse_unk);
        self.value("byte_fallback", bpe.byte_fallback);
        self.value("ignore_merges", bpe.ignore_merges);
        self.vocab(vocab, added);
        self.merges(bpe)
    }

    /// HuggingFace works a merge's result out from the texts of its parts.
    fn merges(&mut self, bpe: &Bpe) -> Result<()> {
        self.key("merges");
        let prefix = bpe.continuing_subword_prefix.as_deref().unwrap_or_default();
        let mut joined = String::new();
        let mut open = '[';
        for merge in &bpe.merges {
            let left = name_of(&bpe.vocab, merge.left, "merges")?;
            let right = name_of(&bpe.vocab, merge.right, "merges")?;
            joined.clear();
            joined.push_str(left);
            joined.push_str(right.get(prefix.len()..).unwrap_or_default());
            if bpe.vocab.id(&joined) != Some(merge.product) {
                return Err(refused(
                    "merges",
                    format!("the merge of {left:?} and {right:?} does not give {joined:?}"),
                ));
            }
            self.json.push(open);
            self.json.push('[');
            push_string(self.json, left);
            self.json.push(',');
            push_string(self.json, right);
            self.json.push(']');
            open = ',';
        }
        self.json.push_str(if bpe.merges.is_empty() { "[]" } else { "]" });
        Ok(())
    }

    fn word_level(&mut self, model: &WordLevel, added: &Plan) {
        self.vocab(&model.vocab, added);
        self.value("unk_token", model.unk_token.as_str());
    }

    fn word_piece(&mut self, model: &WordPiece, added: &Plan) {
        self.value("unk_token", model.unk_token.as_str());
        self.value("continuing_subword_prefix", model.continuing_subword_prefix.as_str());
        self.value("max_input_chars_per_word", model.max_input_chars_per_word);
        self.vocab(&model.vocab, added);
    }

    fn unigram(&mut self, model: &Unigram) -> Result<()> {
        self.value("unk_id", model.unk);
        self.value("byte_fallback", model.byte_fallback);
        self.key("vocab");
        let mut open = '[';
        for (id, score) in (0u32..).zip(&model.scores) {
            let text = model.vocab.text(id).ok_or_else(|| {
                refused("vocab", format!("the id {id} has no text, and Unigram lists all of them"))
            })?;
            self.json.push(open);
            self.json.push('[');
            push_string(self.json, text);
            self.json.push(',');
            self.json.push_str(&Value::from(*score).to_string());
            self.json.push(']');
            open = ',';
        }
        self.json.push_str(if model.scores.is_empty() { "[]" } else { "]" });
        Ok(())
    }

    fn vocab(&mut self, vocab: &Vocab, added: &Plan) {
        self.key("vocab");
        let mut open = '{';
        for (text, id) in vocab.iter().chain(added.in_vocabulary.iter().copied()) {
            self.json.push(open);
            push_string(self.json, text);
            self.json.push(':');
            self.json.push_str(&id.to_string());
            open = ',';
        }
        self.json.push_str(if open == '{' { "{}" } else { "}" });
    }
}

/// The text that says which token is meant: the file knows tokens by text only.
fn name_of<'a>(vocab: &'a Vocab, id: u32, place: &str) -> Result<&'a str> {
    let text = vocab.text(id).filter(|text| vocab.id(text) == Some(id));
    text.ok_or_else(|| refused(place, format!("the token {id} has no text of its own")))
}
