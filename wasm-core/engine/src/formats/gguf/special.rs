//! Which tokens play a part, and which are found in text: what llama.cpp makes of the keys of a
//! file and of the names of its tokens.

use super::metadata::Metadata;
use super::tokens::{Tokens, CONTROL, NORMAL, UNKNOWN, USER_DEFINED};
use crate::definition::AddedToken;
use crate::error::{Error, Result};

/// Key in front of `_token_id`, the part, and tokens that play it under one of these names where
/// the file does not say which does.
const PARTS: &[(&[&str], &str, &[&str])] = &[
    (&["bos"], "bos", &[]),
    (&["eos"], "eos", &[]),
    (&["eot"], "eot", EOT),
    (&["eom"], "eom", &["<|eom_id|>", "<|call|>", "<|calls|>"]),
    (&["unknown"], "unk", &[]),
    // The spelling of the format.
    (&["seperator"], "sep", &[]),
    (&["padding"], "pad", &[]),
    (&["mask"], "mask", &[]),
    (&["cls"], "cls", &[]),
    (&["fim_pre", "prefix"], "fim_pre", FIM_PRE),
    (&["fim_suf", "suffix"], "fim_suf", FIM_SUF),
    (&["fim_mid", "middle"], "fim_mid", FIM_MID),
    (&["fim_pad"], "fim_pad", &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"]),
    (
        &["fim_rep"],
        "fim_rep",
        &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
    ),
    (&["fim_sep"], "fim_sep", &["<|file_sep|>"]),
];

const EOT: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];
const FIM_PRE: &[&str] = &[
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
];
const FIM_SUF: &[&str] = &[
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
];
const FIM_MID: &[&str] = &[
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
];
/// Tokens that end a turn under whatever type the file gives them: they become control tokens.
const ENDS: &[&str] = &[
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "<|eom_id|>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "[e~[",
];
/// What gpt-oss talks in: always found in text.
const CHANNELS: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// The parts that tokens play.
#[derive(Debug, Default)]
pub struct Parts {
    found: Vec<(&'static str, u32)>,
    /// Tokens that end a text for llama.cpp, whatever part they play.
    pub ends: Vec<u32>,
}

impl Parts {
    pub fn get(&self, part: &str) -> Option<u32> {
        self.found.iter().find(|(name, _)| *name == part).map(|(_, id)| *id)
    }

    fn set(&mut self, part: &'static str, id: Option<u32>) {
        self.found.retain(|(name, _)| *name != part);
        self.found.extend(id.map(|id| (part, id)));
    }

    pub fn all(&self) -> &[(&'static str, u32)] {
        &self.found
    }

    /// Asks the file; what it does not say is as in `defaults`. With `overrule`, names of tokens
    /// overrule the types that the file gives them, as in llama.cpp.
    pub fn read(
        metadata: &Metadata,
        tokens: &mut Tokens,
        defaults: &[(&'static str, u32)],
        overrule: bool,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let mut parts = Self::default();
        for &(part, id) in defaults {
            parts.set(part, Some(id).filter(|&id| id < tokens.count));
        }
        for &(keys, part, _) in PARTS {
            for key in keys {
                let key = format!("tokenizer.ggml.{key}_token_id");
                match metadata.number(&key)? {
                    Some(id) if id < tokens.count => parts.set(part, Some(id)),
                    Some(id) => notes.push(format!(
                        "{key} is {id}, but there are only {} tokens: ignored, as llama.cpp does",
                        tokens.count
                    )),
                    None => {}
                }
            }
        }
        parts.find_by_name(tokens, overrule);
        Ok(parts)
    }

    /// llama.cpp looks for parts that the file leaves open among the names of the tokens, and makes
    /// control tokens of what it finds. It takes any of several; here the first of the list.
    fn find_by_name(&mut self, tokens: &mut Tokens, overrule: bool) {
        let inner = end_of_message(tokens);
        // Also where the file says so: llama.cpp goes on behind it.
        if self.get("eot") == inner {
            self.set("eot", None);
        }
        for &(_, part, names) in PARTS {
            if self.get(part).is_none() {
                let mut ids = names.iter().filter_map(|name| tokens.vocab.id(name));
                let id = ids.find(|&id| Some(id) != inner);
                self.set(part, id);
                if overrule {
                    mark(tokens, id, CONTROL);
                }
            }
        }
        if overrule {
            self.mark_by_name(tokens);
        }
    }

    /// What llama.cpp knows better than the file.
    fn mark_by_name(&mut self, tokens: &mut Tokens) {
        let names = ENDS.iter().chain(EOT);
        let mut ends: Vec<u32> = names.filter_map(|name| tokens.vocab.id(name)).collect();
        for &id in &ends {
            mark(tokens, Some(id), CONTROL);
        }
        for name in CHANNELS {
            become_only(tokens, tokens.vocab.id(name), USER_DEFINED);
        }
        let responds = tokens.vocab.id("<|tool_response>").is_some();
        let closing = tokens.vocab.id("</s>").filter(|_| responds);
        let inner = end_of_message(tokens);
        become_only(tokens, inner, USER_DEFINED);
        become_only(tokens, closing, NORMAL);
        ends.extend(["fim_pad", "fim_rep", "fim_sep"].iter().filter_map(|part| self.get(part)));
        ends.retain(|&id| Some(id) != inner && Some(id) != closing);
        ends.sort_unstable();
        self.ends = ends;
    }
}

/// `<|end|>` where it ends a message and no turn, as in gpt-oss: others end the turn there.
fn end_of_message(tokens: &Tokens) -> Option<u32> {
    let has = |names: [&str; 2]| names.iter().any(|name| tokens.vocab.id(name).is_some());
    let others = has(["<|call|>", "<|calls|>"]) && has(["<|return|>", "<|flush|>"]);
    tokens.vocab.id("<|end|>").filter(|_| others)
}

fn mark(tokens: &mut Tokens, id: Option<u32>, kind: u8) {
    if let Some(place) = id.and_then(|id| tokens.kinds.get_mut(id as usize)) {
        *place |= kind;
    }
}

fn become_only(tokens: &mut Tokens, id: Option<u32>, kind: u8) {
    if let Some(place) = id.and_then(|id| tokens.kinds.get_mut(id as usize)) {
        *place = kind;
    }
}

/// The tokens that llama.cpp cuts out of a text, each with the white space that it takes along.
pub fn added_tokens(metadata: &Metadata, tokens: &Tokens) -> Result<Vec<AddedToken>> {
    let strips = Strips::read(metadata)?;
    let wanted = tokens.iter().filter(|(id, _)| tokens.is(*id, CONTROL | UNKNOWN | USER_DEFINED));
    Ok(wanted
        .map(|(id, content)| AddedToken {
            id,
            content: content.to_owned(),
            single_word: false,
            lstrip: strips.left.contains(&content),
            rstrip: strips.right && !matches!(content, "<unk>" | "<s>" | "<|endoftext|>"),
            normalized: false,
            special: tokens.is(id, CONTROL | UNKNOWN),
            in_text: true,
        })
        .collect())
}

/// The white space around tokens, which GGUF cannot state: llama.cpp goes by the names of models.
struct Strips {
    left: &'static [&'static str],
    right: bool,
}

impl Strips {
    fn read(metadata: &Metadata) -> Result<Self> {
        let text = |key| Ok::<&str, Error>(metadata.text(key)?.unwrap_or_default());
        let (pre, name) = (text("tokenizer.ggml.pre")?, text("general.name")?.to_ascii_lowercase());
        let architecture = text("general.architecture")?;
        let jina = ["jina-v2-de", "jina-v2-es", "jina-v2-code"];
        let architectures = ["nomic-bert-moe", "jina-bert-v3"];
        let none: &[&str] = &[];
        Ok(
            if jina.iter().any(|name| pre.contains(name))
                || architectures.iter().any(|name| architecture.contains(name))
            {
                Self { left: &["<mask>"], right: false }
            } else if name.contains("phi-3") || name.contains("phi3") {
                Self { left: none, right: true }
            } else if name.contains("modern-bert") {
                Self { left: &["[MASK]"], right: false }
            } else {
                Self { left: none, right: false }
            },
        )
    }
}

/// `add_bos_token` and its kin: what the file says, else `default`. A token that is to be added has
/// to exist.
pub fn adds(metadata: &Metadata, part: &str, default: bool, parts: &Parts) -> Result<Option<u32>> {
    let key = format!("tokenizer.ggml.add_{part}_token");
    if !metadata.flag(&key)?.unwrap_or(default) {
        return Ok(None);
    }
    match parts.get(part) {
        Some(id) => Ok(Some(id)),
        None => Err(Error::invalid(format!(
            "the {part} token is to be added to texts, but the file has none"
        ))
        .at_path(key)),
    }
}
