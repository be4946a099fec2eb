//! `tokenizer.ggml.model` = `bert`: the longest token first, over words.

use super::pieces::{self, Spelling};
use super::tokens::{Tokens, CONTROL, UNKNOWN, USER_DEFINED};
use super::{finish, template, File};
use crate::definition::llama::{LlamaModel, LlamaNormalizer, LlamaSplit};
use crate::definition::{Decoder, Definition, Model, Normalizer, PreTokenizer, WordPiece};
use crate::error::{Error, Result};
use crate::vocab::Vocab;

pub fn read(mut file: File) -> Result<Definition> {
    let parts =
        file.parts(&[("bos", 101), ("unk", 100), ("sep", 102), ("pad", 0), ("mask", 103)])?;
    let lowercase = file.flag("normalizer.lowercase", true)?;
    let stated = file.metadata.flag("tokenizer.ggml.normalizer.strip_accents")?;
    let unk = parts.get("unk").ok_or_else(|| {
        Error::invalid("the file has no token for unknown words")
            .at_path("tokenizer.ggml.unknown_token_id")
    })?;
    // llama.cpp adds these two whatever the file says of adding tokens.
    let post_processor = template(&file.tokens, parts.get("bos"), parts.get("sep"));
    let shared = file.shared(&parts)?;
    let definition = if file.hf {
        let normalizer = Normalizer::Bert {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: stated,
            lowercase,
        };
        let decoder = Decoder::WordPiece { prefix: "##".to_owned(), cleanup: true };
        let unk_token = file.tokens.vocab.text(unk).unwrap_or_default().to_owned();
        let model = Model::WordPiece(WordPiece {
            vocab: with_hashes(&file.tokens)?,
            unk_token,
            continuing_subword_prefix: "##".to_owned(),
            max_input_chars_per_word: 100,
        });
        Definition {
            normalizer: vec![normalizer],
            pre_tokenizer: vec![PreTokenizer::Bert],
            decoder: Some(vec![decoder]),
            ..Definition::new("gguf", model)
        }
    } else {
        let strip_accents = stated.unwrap_or(lowercase);
        let normalizer = Normalizer::Llama(LlamaNormalizer::Bert { strip_accents, lowercase });
        let strips = file.flag("add_space_prefix", false)?;
        let decoder = pieces::decoder(&file.tokens, Spelling::Escaped, strips, true);
        let model = LlamaModel::WordPiece { vocab: file.tokens.vocab, unk };
        Definition {
            normalizer: vec![normalizer],
            pre_tokenizer: vec![PreTokenizer::Llama(LlamaSplit::BertWords)],
            decoder: Some(decoder),
            ..Definition::new("gguf", Model::Llama(model))
        }
    };
    Ok(finish(Definition { post_processor, ..definition }, shared))
}

/// GGUF marks the beginning of words with `▁`, where the vocabulary of BERT marks what continues
/// them with `##`.
fn with_hashes(tokens: &Tokens) -> Result<Vocab> {
    let mut vocab = Vocab::new();
    for (id, text) in tokens.iter() {
        match text.strip_prefix('▁') {
            Some(word) => vocab.insert(word, id)?,
            None if tokens.is(id, CONTROL | UNKNOWN | USER_DEFINED) => vocab.insert(text, id)?,
            None => vocab.insert(&format!("##{text}"), id)?,
        }
    }
    Ok(vocab)
}
