//! What a host found in configurations beside a tokenizer, as instructions to add it.
//!
//! A host knows the rules of the library whose configurations they are; here is only what becomes
//! of a definition. The order of the tokens matters: new ones get ids one behind the other.

use crate::definition::{AddedToken, Definition, PostProcessor, TemplatePiece, TemplateToken};
use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub added_tokens: Vec<Token>,
    pub ends: Option<Ends>,
}

/// A token to be found in text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub content: String,
    /// Absent: those that it has, or none of them if it is new.
    #[serde(default)]
    pub flags: Option<Flags>,
    #[serde(default)]
    pub special: bool,
    /// A token that is there already stays as it is.
    #[serde(default)]
    pub if_new: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flags {
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
    pub normalized: bool,
}

/// A post-processor that puts these tokens around each text, in place of what the file has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ends {
    pub bos: Option<String>,
    pub eos: Option<String>,
}

impl Config {
    pub fn apply(&self, definition: &mut Definition) -> Result<()> {
        add_tokens(&self.added_tokens, definition);
        if let Some(ends) = &self.ends {
            definition.post_processor = Some(vec![ends.template(definition)?]);
        }
        Ok(())
    }
}

fn add_tokens(tokens: &[Token], definition: &mut Definition) {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, token) in definition.added_tokens.iter().enumerate() {
        places.insert(token.content.clone(), place);
    }
    let mut free = first_free_id(definition);
    for token in tokens.iter().filter(|token| !token.content.is_empty()) {
        let place = places.get(&token.content).copied();
        if let Some(known) = place.and_then(|place| definition.added_tokens.get_mut(place)) {
            if !token.if_new {
                token.change(known);
            }
            continue;
        }
        let id = definition.model.vocab().id(&token.content).unwrap_or_else(|| {
            free = free.saturating_add(1);
            free.saturating_sub(1)
        });
        places.insert(token.content.clone(), definition.added_tokens.len());
        definition.added_tokens.push(token.made(id));
    }
}

/// Behind everything known: where the reference puts a token that is new.
fn first_free_id(definition: &Definition) -> u32 {
    let added = definition.added_tokens.iter().map(|token| token.id.saturating_add(1)).max();
    let known = u32::try_from(definition.model.size()).unwrap_or(u32::MAX);
    added.unwrap_or_default().max(known)
}

impl Token {
    fn made(&self, id: u32) -> AddedToken {
        let flags = self.flags.unwrap_or_default();
        AddedToken {
            id,
            content: self.content.clone(),
            single_word: flags.single_word,
            lstrip: flags.lstrip,
            rstrip: flags.rstrip,
            normalized: flags.normalized,
            special: self.special,
            in_text: true,
        }
    }

    fn change(&self, known: &mut AddedToken) {
        match self.flags {
            Some(_) => *known = AddedToken { special: self.special, ..self.made(known.id) },
            None => {
                known.special |= self.special;
                // A token of a format that never finds it in text is found from now on.
                known.in_text = true;
            }
        }
    }
}

impl Ends {
    /// `bos $A eos`, and for a pair both around each text.
    fn template(&self, definition: &Definition) -> Result<PostProcessor> {
        let mut special_tokens = Vec::new();
        let mut place_of = |token: &Option<String>| -> Result<Option<usize>> {
            let Some(content) = token else { return Ok(None) };
            let id = id_of(content, definition).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidFile,
                    format!("the configuration adds {content:?} to texts, which is no token"),
                )
            })?;
            special_tokens.push(TemplateToken {
                name: content.clone(),
                ids: vec![id],
                tokens: vec![content.clone()],
            });
            Ok(Some(special_tokens.len() - 1))
        };
        let (bos, eos) = (place_of(&self.bos)?, place_of(&self.eos)?);
        let around = |second: bool| {
            let type_id = u32::from(second);
            let special = |token| TemplatePiece::Special { token, type_id };
            let text = TemplatePiece::Sequence { second, type_id };
            bos.map(special).into_iter().chain([text]).chain(eos.map(special))
        };
        Ok(PostProcessor::Template {
            single: around(false).collect(),
            pair: around(false).chain(around(true)).collect(),
            special_tokens,
        })
    }
}

/// The id that the token will have; see [`Definition::ids_as_stated`].
fn id_of(content: &str, definition: &Definition) -> Option<u32> {
    let vocab = definition.model.vocab();
    let added = &definition.added_tokens;
    let stated = || added.iter().find(|token| token.content == content).map(|token| token.id);
    if definition.ids_as_stated {
        return stated().or_else(|| vocab.id(content));
    }
    let mut seen = HashSet::new();
    let new = added
        .iter()
        .map(|token| token.content.as_str())
        .filter(|text| !text.is_empty() && vocab.id(text).is_none() && seen.insert(*text));
    let behind = || {
        let place = new.into_iter().position(|text| text == content)?;
        u32::try_from(definition.model.size().checked_add(place)?).ok()
    };
    vocab.id(content).or_else(behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Options;
    use crate::tokenizer::{Scratch, Tokenizer, Wanted};

    const FILE: &str = r#"{
        "added_tokens": [{"id": 3, "content": "<a>", "special": false, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": true}],
        "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "vocab": {"x": 0, "y": 1, "xy": 2}, "merges": ["x y"]}
    }"#;

    fn load(config: &str) -> Result<Tokenizer> {
        let options = Options::from_json(format!(r#"{{"config": {config}}}"#).as_bytes())?;
        Tokenizer::load_with(FILE.as_bytes(), &options)
    }

    fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let wanted = Wanted::new(true);
        tokenizer.encode_ids(&mut Scratch::default(), text, wanted, &mut ids).unwrap();
        ids
    }

    #[test]
    fn new_tokens_stand_behind_everything_known() {
        let config = r#"{"added_tokens": [
            {"content": "<b>", "special": true}, {"content": "y", "special": true},
            {"content": ""}, {"content": "<c>", "flags": {"rstrip": true}}]}"#;
        let tokenizer = load(config).unwrap();
        assert_eq!(ids(&tokenizer, "x<b>y<c>  x"), [0, 4, 1, 5, 0]);
        assert_eq!(tokenizer.id_to_token(5), Some("<c>"));
        assert_eq!(tokenizer.id_to_token(6), None);
    }

    #[test]
    fn what_is_there_is_changed_or_left_as_asked() {
        let mut definition = crate::formats::read(FILE.as_bytes(), &Options::default()).unwrap();
        let token = |json: &str| serde_json::from_str::<Token>(json).unwrap();
        let left = token(r#"{"content": "<a>", "special": true, "if_new": true}"#);
        add_tokens(&[left], &mut definition);
        assert!(!definition.added_tokens[0].special);
        add_tokens(&[token(r#"{"content": "<a>", "special": true}"#)], &mut definition);
        assert!(definition.added_tokens[0].special && definition.added_tokens[0].normalized);
        let flags = token(r#"{"content": "<a>", "flags": {"lstrip": true}}"#);
        add_tokens(&[flags], &mut definition);
        let changed = &definition.added_tokens[0];
        assert!(changed.lstrip && !changed.normalized && !changed.special);
        assert_eq!((changed.id, definition.added_tokens.len()), (3, 1));
    }

    #[test]
    fn ends_replace_the_post_processor() {
        assert_eq!(ids(&load(r#"{"ends": {}}"#).unwrap(), "xy"), [2]);
        assert_eq!(ids(&load(r#"{"ends": {"bos": "<a>"}}"#).unwrap(), "xy"), [3, 2]);
        let both = load(r#"{"ends": {"bos": "<a>", "eos": "y"}}"#).unwrap();
        assert_eq!(ids(&both, "x"), [3, 0, 1]);
        let error = load(r#"{"ends": {"bos": "<none>"}}"#).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidFile);
        assert!(load(r#"{"end": {}}"#).is_err());
    }
}
