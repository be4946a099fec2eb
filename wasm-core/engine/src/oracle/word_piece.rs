//! WordPiece as its definition reads: every substring is looked up, the longest one first.

use crate::definition::WordPiece;
use crate::model::Token;

pub fn word_piece_slowly(model: &WordPiece, word: &str) -> Vec<Token> {
    let unknown = || {
        let id = model.vocab.id(&model.unk_token).unwrap();
        vec![Token { id, start: 0, end: word.len() as u32 }]
    };
    if word.chars().count() > model.max_input_chars_per_word {
        return unknown();
    }
    let mut tokens: Vec<Token> = Vec::new();
    let mut start = 0;
    while start < word.len() {
        let ends = (start + 1..=word.len()).rev().filter(|&end| word.is_char_boundary(end));
        let found = ends.into_iter().find_map(|end| {
            let prefix = if start > 0 { model.continuing_subword_prefix.as_str() } else { "" };
            let id = model.vocab.id(&[prefix, &word[start..end]].concat())?;
            Some(Token { id, start: start as u32, end: end as u32 })
        });
        let Some(token) = found else { return unknown() };
        start = token.end as usize;
        tokens.push(token);
    }
    tokens
}
