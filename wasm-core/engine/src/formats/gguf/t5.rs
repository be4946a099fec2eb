//! `tokenizer.ggml.model` = `t5`: the most probable sequence of tokens.

use super::pieces::{self, Spelling};
use super::tokens::{NORMAL, UNUSED, USER_DEFINED};
use super::{finish, special, template, unsupported, File};
use crate::definition::llama::{LlamaModel, LlamaNormalizer, LlamaUnigram, UnigramNormalizer};
use crate::definition::{Definition, Model, Normalizer};
use crate::error::{Error, Result};
use crate::normalize::charsmap::Charsmap;

const CHARSMAP: &str = "tokenizer.ggml.precompiled_charsmap";
/// How much less probable than any token an unknown character is.
const PENALTY: f32 = 10.0;

pub fn read(mut file: File) -> Result<Definition> {
    file.refuse_hf()?;
    let parts = file.parts(&[("eos", 1), ("unk", 2), ("pad", 0)])?;
    let bos = special::adds(file.metadata, "bos", false, &parts)?;
    let eos = special::adds(file.metadata, "eos", true, &parts)?;
    let unk = parts.get("unk").ok_or_else(|| {
        Error::invalid("the file has no token for unknown text")
            .at_path("tokenizer.ggml.unknown_token_id")
    })?;
    let charsmap = match file.metadata.bytes(CHARSMAP)? {
        Some((blob, offset)) => {
            Charsmap::parse(blob).map_err(|error| {
                let inside = error.offset.unwrap_or(0);
                Error { offset: Some(offset + inside), ..error }.at_path(CHARSMAP)
            })?;
            Some(blob.to_vec())
        }
        None => None,
    };
    let add_space_prefix = file.flag("add_space_prefix", false)?;
    let tokens = &file.tokens;
    let user_defined: Vec<String> = tokens
        .iter()
        .filter(|(id, _)| tokens.is(*id, USER_DEFINED))
        .map(|(_, text)| text.to_owned())
        .collect();
    if let Some(token) = user_defined.iter().find(|token| !token.is_ascii()) {
        // llama.cpp leaves text alone that begins like such a token, to the byte: it may stop
        // inside of a character.
        return Err(unsupported(
            "tokenizer.ggml.model",
            "t5:user_defined",
            &format!("the user-defined token {token:?} is not ASCII"),
        ));
    }
    let normalizer = Normalizer::Llama(LlamaNormalizer::Unigram(UnigramNormalizer {
        charsmap,
        user_defined,
        add_space_prefix,
        merge_spaces: file.flag("remove_extra_whitespaces", false)?,
    }));
    let score = |id| if tokens.is(id, USER_DEFINED) { 0.0 } else { tokens.score(id) };
    let pieces = tokens
        .iter()
        .filter(|(id, _)| tokens.is(*id, NORMAL | USER_DEFINED | UNUSED))
        .map(|(id, _)| (id, score(id)))
        .collect();
    let lowest = tokens
        .iter()
        .filter(|(id, _)| tokens.is(*id, NORMAL))
        .fold(f32::MAX, |lowest, (id, _)| lowest.min(tokens.score(id)));
    let decoder = pieces::decoder(tokens, Spelling::Escaped, add_space_prefix, false);
    let post_processor = template(tokens, bos, eos);
    let shared = file.shared(&parts)?;
    let model = LlamaModel::Unigram(LlamaUnigram {
        vocab: file.tokens.vocab,
        pieces,
        unk,
        unk_score: lowest - PENALTY,
    });
    let definition = Definition {
        normalizer: vec![normalizer],
        post_processor,
        decoder: Some(decoder),
        ..Definition::new("gguf", Model::Llama(model))
    };
    Ok(finish(definition, shared))
}
