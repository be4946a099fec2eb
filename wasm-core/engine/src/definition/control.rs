//! Which tokens are control tokens: what untrusted text may not become.
//!
//! Special added tokens are. So are tokens that the file or a configuration beside it gives a part
//! to play, and added tokens that a chat template writes, whatever their flag says.

use serde::Deserialize;

/// What stands beside the file, as a host found it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Control {
    /// Tokens that begin or end a text. They count also as entries of the model's vocabulary.
    pub ends: Vec<String>,
    /// Other tokens with a part to play. Of these, added tokens count: a padding token may be an
    /// ordinary word.
    pub named: Vec<String>,
    /// Ids that end a text. Of these, those of added tokens count: they may be another tokenizer's.
    pub ids: Vec<u32>,
    /// What chat templates write themselves.
    pub literals: String,
}
