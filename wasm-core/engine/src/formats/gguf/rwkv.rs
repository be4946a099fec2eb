//! `tokenizer.ggml.model` = `rwkv`: the longest token first, over bytes.

use super::pieces::{self, Spelling};
use super::{finish, File};
use crate::definition::llama::LlamaModel;
use crate::definition::{Definition, Model};
use crate::error::{Error, Result};

pub fn read(mut file: File) -> Result<Definition> {
    file.refuse_hf()?;
    let parts = file.parts(&[])?;
    let mut bytes: Vec<(Vec<u8>, u32)> = Vec::with_capacity(file.tokens.count as usize);
    let mut singles = [false; 256];
    for (id, text) in file.tokens.iter() {
        let mut token = Vec::with_capacity(text.len());
        pieces::unescape(text, &mut token);
        if let &[byte] = token.as_slice() {
            singles[usize::from(byte)] = true;
        }
        bytes.push((token, id));
    }
    if let Some(byte) = singles.iter().position(|there| !there) {
        // On text with such a byte llama.cpp answers no token, or never.
        return Err(Error::invalid(format!("no token stands for the byte {byte:#04x} alone"))
            .at_path("tokenizer.ggml.tokens"));
    }
    let strips = file.flag("add_space_prefix", false)?;
    let decoder = pieces::decoder(&file.tokens, Spelling::Backslashes, strips, false);
    let shared = file.shared(&parts)?;
    let model = LlamaModel::Longest { vocab: file.tokens.vocab, bytes };
    let definition =
        Definition { decoder: Some(decoder), ..Definition::new("gguf", Model::Llama(model)) };
    Ok(finish(definition, shared))
}
