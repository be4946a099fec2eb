//! `tokenizer.ggml.model` = `gpt2`, `gemma4` or `whitespace`: listed merges, and a name that says
//! how text is cut.

use super::chains::SPELL_BYTES;
use super::metadata::utf8;
use super::pieces::{self, Spelling};
use super::pre::Pre;
use super::tokens::byte_of;
use super::{finish, special, template, unsupported, File};
use crate::definition::llama::{LlamaModel, LlamaNormalizer, Ranking, TextMerges, Unknown, Whole};
use crate::definition::{
    Bpe, Decoder, Definition, Merge, Model, Normalizer, Pattern, PreTokenizer,
};
use crate::error::{Error, Result};
use crate::model::llama::Texts;
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::vocab::Vocab;
use std::collections::HashSet;

const PRE: &str = "tokenizer.ggml.pre";
const MERGES: &str = "tokenizer.ggml.merges";
/// What llama.cpp takes for BOS and EOS where a file of this kind does not say.
const UNSTATED: u32 = 11;

pub fn read(mut file: File) -> Result<Definition> {
    let pre = pre(&mut file)?;
    let mut defaults = vec![("eos", UNSTATED)];
    if !pre.clears_bos() {
        defaults.push(("bos", UNSTATED));
    }
    let defaults = if file.model == "gemma4" { &[][..] } else { &defaults };
    let parts = file.parts(defaults)?;

    let is_gemma = matches!(pre.name, "gemma4" | "granite-embed-multi-311m");
    let bos = match special::adds(file.metadata, "bos", pre.add_bos(), &parts)? {
        // llama.cpp overrides what files of this kind say.
        None if is_gemma => parts.get("bos"),
        bos => bos,
    };
    let eos = special::adds(file.metadata, "eos", false, &parts)?;

    let mut shared = file.shared(&parts)?;
    let stated = |part: &str| file.metadata.get(&format!("tokenizer.ggml.{part}_token_id"));
    shared.roles.retain(|(part, id)| {
        *id != UNSTATED || !matches!(*part, "bos" | "eos") || stated(part).is_some()
    });
    let post_processor = template(&file.tokens, bos, eos);
    let lowercase = file.flag("normalizer.lowercase", pre.name != "whitespace")?;

    let (normalizer, pre_tokenizer) = match file.hf {
        true => hf_steps(pre)?,
        false => steps(file.model, pre, lowercase),
    };
    let decoder = match (file.hf, pre.byte_level()) {
        (true, _) => vec![Decoder::ByteLevel],
        (false, byte_level) => {
            // Without the alphabet and without `▁`, llama.cpp still reads tokens in the alphabet.
            let escaped = !byte_level && pre.escape_spaces();
            let spelling = if escaped { Spelling::Escaped } else { Spelling::ByteLevel };
            let strips = file.flag("add_space_prefix", false)?;
            pieces::decoder(&file.tokens, spelling, strips, pre.clean_spaces())
        }
    };
    let hf = file.hf;
    let model = model(file, pre, is_gemma)?;
    if hf && matches!(model, Model::Llama(_)) {
        return Err(unsupported(PRE, pre.name, "its merges name tokens that it does not have"));
    }
    let definition = Definition {
        normalizer,
        pre_tokenizer,
        post_processor,
        decoder: Some(decoder),
        ..Definition::new("gguf", model)
    };
    Ok(finish(definition, shared))
}

fn pre(file: &mut File) -> Result<&'static Pre> {
    let name = match file.metadata.text(PRE)? {
        _ if file.model == "gemma4" => "gemma4",
        Some(name) if !name.is_empty() => name,
        _ => {
            file.notes.push(format!(
                "the file has no {PRE}, so text is cut by llama.cpp's default, which is rarely \
                 what the model was trained with: convert the model again"
            ));
            "default"
        }
    };
    Pre::find(name).ok_or_else(|| {
        unsupported(PRE, name, "how such a model cuts text is not known, and is never guessed")
    })
}

type Steps = (Vec<Normalizer>, Vec<PreTokenizer>);

fn steps(model: &str, pre: &Pre, lowercase: bool) -> Steps {
    let mut normalizer = Vec::new();
    let mut pre_tokenizer = Vec::new();
    if pre.escape_spaces() {
        normalizer.push(Normalizer::Replace {
            pattern: Pattern::Literal(" ".to_owned()),
            content: "▁".to_owned(),
        });
    }
    if model == "whitespace" {
        if lowercase {
            normalizer.push(Normalizer::Llama(LlamaNormalizer::Lowercase));
        }
        pre_tokenizer.push(PreTokenizer::WhitespaceSplit);
    }
    pre_tokenizer.extend(pre.chain.steps());
    if pre.byte_level() {
        pre_tokenizer.push(SPELL_BYTES);
    }
    (normalizer, pre_tokenizer)
}

fn hf_steps(pre: &Pre) -> Result<Steps> {
    let hf = pre.hf.ok_or_else(|| {
        unsupported(
            "gguf_compat",
            pre.name,
            "what the tokenizer.json of such a model does is not known; leave gguf_compat out to \
             get what llama.cpp does",
        )
    })?;
    let normalizer = if hf.nfc { vec![Normalizer::Nfc] } else { Vec::new() };
    Ok((normalizer, hf.chain.steps(pre.chain)))
}

/// Merges by ids where ids say the same as texts, which is nearly always.
fn model(mut file: File, pre: &Pre, is_gemma: bool) -> Result<Model> {
    let lines = match file.metadata.strings(MERGES)? {
        Some(lines) => lines,
        None if pre.name == "kimi-k2" => super::metadata::Strings::none(),
        None => {
            return Err(Error::invalid("the file names byte-pair encoding, but has no merges")
                .at_path(MERGES))
        }
    };
    let vocab = std::mem::take(&mut file.tokens.vocab);
    let byte_level = pre.byte_level();
    let mut merges = Vec::with_capacity(lines.len());
    let mut seen = HashSet::with_capacity(lines.len());
    let mut by_id = if byte_level { spells_all(&vocab) } else { names_all_bytes(&vocab) };
    let mut product = String::new();
    for (offset, line) in lines.clone() {
        let Some((left, right)) = halves(utf8(line, offset)?) else { continue };
        product.clear();
        product.extend([left, right]);
        match (vocab.id(left), vocab.id(right), vocab.id(&product)) {
            (Some(left), Some(right), Some(product)) => {
                // Of a pair that is there twice, the first counts.
                if seen.insert((left, right)) {
                    merges.push(Merge { left, right, product });
                }
            }
            (Some(_), Some(_), None) => by_id = false,
            // No symbol is ever a longer text that is no token, unless a merge makes it.
            _ if byte_level => {}
            (left_id, right_id, _) => {
                let single = |id: Option<u32>, text: &str| id.is_none() && is_single(text);
                by_id &= !single(left_id, left) && !single(right_id, right);
            }
        }
    }
    if !byte_level {
        let is_byte = |id| vocab.text(id).and_then(byte_of).is_some();
        by_id &= !merges.iter().any(|merge| is_byte(merge.left) || is_byte(merge.right));
    }
    let only_lines = is_gemma && !pre.ignore_merges();
    if by_id && !only_lines {
        return Ok(Model::Bpe(bpe(vocab, merges, pre)));
    }

    let mut listed = Vocab::new();
    for ((offset, line), rank) in lines.zip(0..) {
        let Some((left, right)) = halves(utf8(line, offset)?) else { continue };
        let pair = format!("{left} {right}");
        if listed.id(&pair).is_none() {
            listed.insert(&pair, rank)?;
        }
    }
    let whole = match (pre.ignore_merges(), is_gemma) {
        (true, _) => Whole::All,
        (_, true) => Whole::LineFeeds,
        _ => Whole::None,
    };
    let unknown = if byte_level { Unknown::Ascii } else { Unknown::SomeBytes };
    let ranking = Ranking::Merges(listed);
    let texts = TextMerges { vocab, ranking, unknown, whole, merges: Vec::new() };
    if by_id {
        let (texts, alike) = line_feeds_merge(texts)?;
        if alike {
            return Ok(Model::Bpe(bpe(texts.vocab, merges, pre)));
        }
        return Ok(Model::Llama(LlamaModel::Texts(texts)));
    }
    Ok(Model::Llama(LlamaModel::Texts(texts)))
}

fn bpe(vocab: Vocab, merges: Vec<Merge>, pre: &Pre) -> Bpe {
    Bpe {
        vocab,
        merges,
        unk: None,
        fuse_unk: false,
        byte_fallback: !pre.byte_level(),
        ignore_merges: pre.ignore_merges(),
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    }
}

/// Whether runs of line feeds come to the same when merged and when looked up as a whole.
fn line_feeds_merge(texts: TextMerges) -> Result<(TextMerges, bool)> {
    let runs: Vec<(String, u32)> = texts
        .vocab
        .iter()
        .filter(|(text, _)| text.bytes().all(|byte| byte == b'\n'))
        .map(|(text, id)| (text.to_owned(), id))
        .collect();
    let merging = Texts::new(TextMerges { whole: Whole::None, ..texts });
    let mut alike = true;
    for (text, id) in runs {
        let mut tokens = Vec::new();
        alike &= merging.tokens(&text, &mut tokens).is_ok();
        alike &= matches!(tokens.as_slice(), [only] if only.id == id);
    }
    let texts = TextMerges { whole: Whole::LineFeeds, ..merging.into_definition() };
    Ok((texts, alike))
}

/// A merge is cut at the first space behind its first byte.
fn halves(line: &str) -> Option<(&str, &str)> {
    let space = line.bytes().skip(1).position(|byte| byte == b' ')? + 1;
    Some((line.get(..space)?, line.get(space + 1..)?))
}

fn is_single(text: &str) -> bool {
    text.chars().nth(1).is_none()
}

/// Whether every byte that UTF-8 can hold has its letter.
fn spells_all(vocab: &Vocab) -> bool {
    (0u8..=255).zip(CHAR_OF_BYTE).all(|(byte, c)| {
        matches!(byte, 0xC0 | 0xC1 | 0xF5..) || vocab.id(c.encode_utf8(&mut [0; 4])).is_some()
    })
}

fn names_all_bytes(vocab: &Vocab) -> bool {
    (0u8..=255).all(|byte| vocab.id(&format!("<0x{byte:02X}>")).is_some())
}
