//! Normalizers, pre-tokenizers and decoders of a tokenizer.json.

use super::MAX_DEPTH;
use crate::definition::{
    Blob, Decoder, Normalizer, Pattern, PreTokenizer, PrependScheme, SplitBehavior,
};
use crate::error::{Error, Result};
use crate::formats::base64;
use crate::formats::json::Node;

/// Of the pieces of `FixedLength`, where the file does not say.
const DEFAULT_LENGTH: usize = 5;

pub fn normalizers(node: &Node) -> Result<Vec<Normalizer>> {
    flatten(node, "normalizers", "normalizer", &normalizer)
}

pub fn pre_tokenizers(node: &Node) -> Result<Vec<PreTokenizer>> {
    flatten(node, "pretokenizers", "pre_tokenizer", &pre_tokenizer)
}

pub fn decoders(node: &Node) -> Result<Vec<Decoder>> {
    flatten(node, "decoders", "decoder", &decoder)
}

/// Reads one component or a tree of `Sequence`s into the flat list that it amounts to.
pub(super) fn flatten<T>(
    node: &Node,
    list: &str,
    group: &str,
    leaf: &dyn Fn(&str, &Node) -> Result<T>,
) -> Result<Vec<T>> {
    let mut out = Vec::new();
    flatten_into(node, list, group, leaf, 0, &mut out)?;
    Ok(out)
}

fn flatten_into<T>(
    node: &Node,
    list: &str,
    group: &str,
    leaf: &dyn Fn(&str, &Node) -> Result<T>,
    depth: usize,
    out: &mut Vec<T>,
) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Error::limit(format!("more than {MAX_DEPTH} nested sequences"))
            .at_path(node.path.clone()));
    }
    let Some(kind) = node.optional("type")? else {
        // Files of very old versions leave the type out and let the reference guess it.
        return Err(Error::unsupported(
            format!("{group}:untyped"),
            format!("a {group} without a \"type\" has to be guessed"),
        )
        .at_path(node.path.clone()));
    };
    let kind = kind.string()?;
    if kind == "Sequence" {
        for item in node.field(list)?.items()? {
            flatten_into(&item, list, group, leaf, depth + 1, out)?;
        }
    } else {
        out.push(leaf(kind, node)?);
    }
    Ok(())
}

pub(super) fn unsupported(group: &str, kind: &str, node: &Node) -> Error {
    Error::unsupported(
        format!("{group}:{kind}"),
        format!("the {group} \"{kind}\" is not served by the core"),
    )
    .at_path(node.path.clone())
}

fn normalizer(kind: &str, node: &Node) -> Result<Normalizer> {
    Ok(match kind {
        "NFC" => Normalizer::Nfc,
        "NFD" => Normalizer::Nfd,
        "NFKC" => Normalizer::Nfkc,
        "NFKD" => Normalizer::Nfkd,
        "Lowercase" => Normalizer::Lowercase,
        "StripAccents" => Normalizer::StripAccents,
        "Strip" => Normalizer::Strip {
            left: node.field("strip_left")?.bool()?,
            right: node.field("strip_right")?.bool()?,
        },
        "Replace" => Normalizer::Replace {
            pattern: pattern(&node.field("pattern")?)?,
            content: node.field("content")?.string()?.to_owned(),
        },
        "Prepend" => Normalizer::Prepend(node.field("prepend")?.string()?.to_owned()),
        "BertNormalizer" | "Bert" => Normalizer::Bert {
            clean_text: node.field("clean_text")?.bool()?,
            handle_chinese_chars: node.field("handle_chinese_chars")?.bool()?,
            strip_accents: node.optional("strip_accents")?.map(|n| n.bool()).transpose()?,
            lowercase: node.field("lowercase")?.bool()?,
        },
        "Precompiled" => Normalizer::Precompiled { charsmap: charsmap(node)? },
        "Nmt" => Normalizer::Nmt,
        "ByteLevel" => Normalizer::ByteLevel,
        _ => return Err(unsupported("normalizer", kind, node)),
    })
}

fn pre_tokenizer(kind: &str, node: &Node) -> Result<PreTokenizer> {
    Ok(match kind {
        "ByteLevel" => PreTokenizer::ByteLevel {
            add_prefix_space: node.field("add_prefix_space")?.bool()?,
            use_regex: node.flag("use_regex", true)?,
        },
        "Split" => PreTokenizer::Split {
            pattern: pattern(&node.field("pattern")?)?,
            behavior: behavior(&node.field("behavior")?)?,
            invert: node.field("invert")?.bool()?,
        },
        "Metaspace" => {
            let (replacement, prepend) = metaspace(node)?;
            PreTokenizer::Metaspace { replacement, prepend, split: node.flag("split", true)? }
        }
        "Digits" => PreTokenizer::Digits { individual: node.field("individual_digits")?.bool()? },
        "Punctuation" => PreTokenizer::Punctuation {
            behavior: match node.optional("behavior")? {
                Some(node) => behavior(&node)?,
                None => SplitBehavior::Isolated,
            },
        },
        "Whitespace" => PreTokenizer::Whitespace,
        "WhitespaceSplit" => PreTokenizer::WhitespaceSplit,
        "CharDelimiterSplit" => {
            PreTokenizer::CharDelimiterSplit { delimiter: node.field("delimiter")?.char()? }
        }
        "BertPreTokenizer" => PreTokenizer::Bert,
        "UnicodeScripts" => PreTokenizer::UnicodeScripts,
        "FixedLength" => {
            let length = node.optional("length")?.map_or(Ok(DEFAULT_LENGTH), |n| n.usize())?;
            if length == 0 {
                // The reference loads it and panics on the first text.
                return Err(Error::unsupported(
                    "pre_tokenizer:FixedLength",
                    "pieces of 0 characters come to no end",
                )
                .at_path(format!("{}.length", node.path)));
            }
            PreTokenizer::FixedLength { length }
        }
        _ => return Err(unsupported("pre_tokenizer", kind, node)),
    })
}

fn decoder(kind: &str, node: &Node) -> Result<Decoder> {
    Ok(match kind {
        "ByteLevel" => Decoder::ByteLevel,
        "ByteFallback" => Decoder::ByteFallback,
        "Fuse" => Decoder::Fuse,
        "Strip" => Decoder::Strip {
            content: node.field("content")?.char()?,
            start: node.field("start")?.usize()?,
            stop: node.field("stop")?.usize()?,
        },
        "Replace" => Decoder::Replace {
            pattern: pattern(&node.field("pattern")?)?,
            content: node.field("content")?.string()?.to_owned(),
        },
        "Metaspace" => {
            let (replacement, prepend) = metaspace(node)?;
            Decoder::Metaspace { replacement, prepend }
        }
        "BPEDecoder" => Decoder::Bpe { suffix: node.field("suffix")?.string()?.to_owned() },
        "WordPiece" => Decoder::WordPiece {
            prefix: node.field("prefix")?.string()?.to_owned(),
            cleanup: node.field("cleanup")?.bool()?,
        },
        "CTC" => Decoder::Ctc {
            pad_token: node.field("pad_token")?.string()?.to_owned(),
            word_delimiter_token: node.field("word_delimiter_token")?.string()?.to_owned(),
            cleanup: node.field("cleanup")?.bool()?,
        },
        _ => return Err(unsupported("decoder", kind, node)),
    })
}

fn charsmap(node: &Node) -> Result<Blob> {
    let node = node.field("precompiled_charsmap")?;
    let bytes = base64::decode(node.string()?).map_err(|error| error.at_path(&node.path))?;
    Ok(Blob(bytes))
}

/// The two generations of Metaspace fields: `prepend_scheme`, and `add_prefix_space` before it.
fn metaspace(node: &Node) -> Result<(char, PrependScheme)> {
    let replacement = node.field("replacement")?.char()?;
    let scheme = match node.optional("prepend_scheme")? {
        None => PrependScheme::Always,
        Some(scheme) => match scheme.string()? {
            "always" => PrependScheme::Always,
            "never" => PrependScheme::Never,
            "first" => PrependScheme::First,
            other => {
                return Err(Error::invalid(format!("unknown prepend_scheme \"{other}\""))
                    .at_path(scheme.path))
            }
        },
    };
    if !node.flag("add_prefix_space", true)? {
        // The reference accepts the pair only where both say "never".
        if scheme != PrependScheme::Never {
            return Err(Error::invalid("add_prefix_space contradicts prepend_scheme")
                .at_path(node.path.clone()));
        }
        return Ok((replacement, PrependScheme::Never));
    }
    Ok((replacement, scheme))
}

fn pattern(node: &Node) -> Result<Pattern> {
    if let Some(text) = node.optional("String")? {
        return Ok(Pattern::Literal(text.string()?.to_owned()));
    }
    if let Some(regex) = node.optional("Regex")? {
        return Ok(Pattern::Regex(regex.string()?.to_owned()));
    }
    Err(Error::invalid("a pattern is {\"String\": ...} or {\"Regex\": ...}")
        .at_path(node.path.clone()))
}

fn behavior(node: &Node) -> Result<SplitBehavior> {
    Ok(match node.string()? {
        "Removed" => SplitBehavior::Removed,
        "Isolated" => SplitBehavior::Isolated,
        "MergedWithPrevious" => SplitBehavior::MergedWithPrevious,
        "MergedWithNext" => SplitBehavior::MergedWithNext,
        "Contiguous" => SplitBehavior::Contiguous,
        other => {
            return Err(Error::invalid(format!("unknown split behavior \"{other}\""))
                .at_path(node.path.clone()))
        }
    })
}
