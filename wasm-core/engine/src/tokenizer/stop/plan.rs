//! What stops a text, as the caller says it and as the tokenizer understands it.

use super::matcher::{Matcher, Sequence};
use crate::error::{Error, ErrorKind, Result};
use crate::tokenizer::Tokenizer;
use crate::vocab;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The caller's JSON. Ids and sequences that are not visible end the text without being in it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    stop_tokens: Vec<u32>,
    visible_stop_tokens: Vec<u32>,
    /// Hidden stops like `stop_tokens`, but for those that another list names.
    eos_tokens: Vec<u32>,
    stop_sequences: Vec<String>,
    visible_stop_sequences: Vec<String>,
    min_tokens: u64,
    ignore_eos: bool,
}

#[derive(Debug)]
pub struct StopPlan {
    pub min_tokens: u64,
    pub matcher: Matcher,
    /// Whether each of them is visible.
    tokens: BTreeMap<u32, bool>,
    /// The same for special tokens whose text is a stop sequence. Where special tokens are left out
    /// of the text such a sequence can not match, and the id stops in its place.
    special: BTreeMap<u32, bool>,
    /// Tells configurations apart.
    pub identity: u64,
}

impl StopPlan {
    pub fn new(tokenizer: &Tokenizer, config: &[u8]) -> Result<Self> {
        let identity = vocab::hash(config);
        // Through a map: a structure would be read from a list, too.
        let config: Config = serde_json::from_slice::<Map<String, Value>>(config)
            .and_then(|config| serde_json::from_value(Value::Object(config)))
            .map_err(|error| {
                Error::new(ErrorKind::BadArgument, format!("the stop configuration: {error}"))
            })?;
        let mut plan = Self {
            min_tokens: config.min_tokens,
            matcher: Matcher::new(sequences(&config))?,
            tokens: BTreeMap::new(),
            special: special_texts(tokenizer, &config),
            identity,
        };
        // What is in both lists is hidden.
        let visible = config.visible_stop_tokens.iter().map(|&id| (id, true));
        plan.tokens.extend(visible.chain(config.stop_tokens.iter().map(|&id| (id, false))));
        if !config.ignore_eos {
            for &id in &config.eos_tokens {
                plan.tokens.entry(id).or_insert(false);
            }
        }
        Ok(plan)
    }

    /// Whether the id stops the text, and if so whether it is shown.
    pub fn token(&self, id: u32, special_left_out: bool) -> Option<bool> {
        let special = || self.special.get(&id).filter(|_| special_left_out);
        self.tokens.get(&id).or_else(special).copied()
    }

    /// The notes as a list in JSON.
    pub fn notes_json(&self, tokenizer: &Tokenizer, special_left_out: bool) -> String {
        Value::from(self.notes(tokenizer, special_left_out)).to_string()
    }

    /// What the caller may not expect, in sentences.
    pub fn notes(&self, tokenizer: &Tokenizer, special_left_out: bool) -> Vec<String> {
        let ids =
            self.special.keys().filter(|id| special_left_out && !self.tokens.contains_key(id));
        ids.map(|&id| {
            let text = tokenizer.id_to_token(id).unwrap_or_default();
            format!(
                "the stop sequence {text:?} is the special token {id}, whose text is left out of \
                 the output: its id is a stop token, too"
            )
        })
        .collect()
    }
}

fn special_texts(tokenizer: &Tokenizer, config: &Config) -> BTreeMap<u32, bool> {
    let visible = config.visible_stop_sequences.iter().map(|text| (text, true));
    let hidden = config.stop_sequences.iter().map(|text| (text, false));
    visible
        .chain(hidden)
        .filter_map(|(text, visible)| Some((tokenizer.special_id(text)?, visible)))
        .collect()
}

/// The hidden ones first: where a text is in both lists it is hidden.
fn sequences(config: &Config) -> Vec<Sequence> {
    let hidden = (0..).zip(&config.stop_sequences).map(|(index, text)| (index, text, false));
    let visible =
        (0..).zip(&config.visible_stop_sequences).map(|(index, text)| (index, text, true));
    hidden
        .chain(visible)
        .map(|(index, text, visible)| Sequence { text: text.clone(), visible, index })
        .collect()
}
