//! The longest token first, as that reads.

use std::collections::HashMap;

/// The ids of `text`; every byte of it must be a token.
pub fn encode(tokens: &HashMap<Vec<u8>, u32>, mut text: &[u8]) -> Vec<u32> {
    let mut ids = Vec::new();
    while !text.is_empty() {
        let matching = tokens.iter().filter(|(token, _)| text.starts_with(token));
        let (token, id) = matching.max_by_key(|(token, _)| token.len()).unwrap();
        ids.push(*id);
        text = &text[token.len()..];
    }
    ids
}
