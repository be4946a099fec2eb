//! Post-processors, truncation and padding of a tokenizer.json.

use super::pipeline::{flatten, unsupported};
use crate::definition::{
    Padding, PostProcessor, Side, TemplatePiece, TemplateToken, Truncation, TruncationStrategy,
};
use crate::error::{Error, Result};
use crate::formats::json::Node;

pub fn post_processors(node: &Node) -> Result<Vec<PostProcessor>> {
    flatten(node, "processors", "post_processor", &post_processor)
}

fn post_processor(kind: &str, node: &Node) -> Result<PostProcessor> {
    Ok(match kind {
        "ByteLevel" => PostProcessor::ByteLevel {
            add_prefix_space: node.field("add_prefix_space")?.bool()?,
            trim_offsets: node.field("trim_offsets")?.bool()?,
        },
        "RobertaProcessing" | "BertProcessing" => ends(node)?,
        "TemplateProcessing" => template(node)?,
        _ => return Err(unsupported("post_processor", kind, node)),
    })
}

/// The reference does not look at the type of these two: the fields decide.
fn ends(node: &Node) -> Result<PostProcessor> {
    let sep = token_and_id(&node.field("sep")?)?;
    let cls = token_and_id(&node.field("cls")?)?;
    let trim_offsets = node.optional("trim_offsets")?.map(|n| n.bool()).transpose()?;
    let add_prefix_space = node.optional("add_prefix_space")?.map(|n| n.bool()).transpose()?;
    Ok(match (trim_offsets, add_prefix_space) {
        (Some(trim_offsets), Some(add_prefix_space)) => {
            PostProcessor::Roberta { sep, cls, trim_offsets, add_prefix_space }
        }
        _ => PostProcessor::Bert { sep, cls },
    })
}

fn token_and_id(node: &Node) -> Result<(String, u32)> {
    let mut items = node.items()?;
    match (items.next(), items.next(), items.next()) {
        (Some(token), Some(id), None) => Ok((token.string()?.to_owned(), id.u32()?)),
        _ => Err(Error::invalid("expected a token and its id").at_path(node.path.clone())),
    }
}

fn template(node: &Node) -> Result<PostProcessor> {
    let mut special_tokens = Vec::new();
    for (name, entry) in node.field("special_tokens")?.entries()? {
        let ids = entry.field("ids")?.items()?.map(|id| id.u32()).collect::<Result<Vec<_>>>()?;
        let tokens = entry
            .field("tokens")?
            .items()?
            .map(|token| Ok(token.string()?.to_owned()))
            .collect::<Result<Vec<_>>>()?;
        if ids.len() != tokens.len() {
            let message = "a special token has not as many ids as tokens";
            return Err(Error::unsupported("post_processor:ids", message).at_path(entry.path));
        }
        special_tokens.push(TemplateToken { name: name.to_owned(), ids, tokens });
    }
    let single = pieces(&node.field("single")?, &special_tokens, Error::invalid)?;
    // The reference fails on pairs only.
    let missing = |message| Error::unsupported("post_processor:pair", message);
    let pair = pieces(&node.field("pair")?, &special_tokens, missing)?;
    Ok(PostProcessor::Template { single, pair, special_tokens })
}

fn pieces(
    node: &Node,
    special_tokens: &[TemplateToken],
    missing: impl Fn(String) -> Error,
) -> Result<Vec<TemplatePiece>> {
    node.items()?
        .map(|piece| {
            if let Some(sequence) = piece.optional("Sequence")? {
                let second = match sequence.field("id")?.string()? {
                    "A" => false,
                    "B" => true,
                    other => {
                        return Err(Error::invalid(format!("unknown sequence \"{other}\""))
                            .at_path(sequence.path))
                    }
                };
                return Ok(TemplatePiece::Sequence {
                    second,
                    type_id: sequence.field("type_id")?.u32()?,
                });
            }
            let special = piece.field("SpecialToken")?;
            let id = special.field("id")?.string()?;
            let Some(token) = special_tokens.iter().position(|token| token.name == id) else {
                let message = format!("\"{id}\" is missing from special_tokens");
                return Err(missing(message).at_path(special.path));
            };
            Ok(TemplatePiece::Special { token, type_id: special.field("type_id")?.u32()? })
        })
        .collect()
}

pub fn truncation(node: &Node) -> Result<Truncation> {
    let strategy = node.field("strategy")?;
    Ok(Truncation {
        max_length: node.field("max_length")?.usize()?,
        strategy: match strategy.string()? {
            "LongestFirst" => TruncationStrategy::LongestFirst,
            "OnlyFirst" => TruncationStrategy::OnlyFirst,
            "OnlySecond" => TruncationStrategy::OnlySecond,
            other => {
                return Err(Error::invalid(format!("unknown truncation strategy \"{other}\""))
                    .at_path(strategy.path))
            }
        },
        stride: node.field("stride")?.usize()?,
        direction: side(node)?,
    })
}

pub fn padding(node: &Node) -> Result<Padding> {
    let strategy = node.field("strategy")?;
    let length = if strategy.value.as_str() == Some("BatchLongest") {
        None
    } else {
        Some(strategy.field("Fixed")?.usize()?)
    };
    Ok(Padding {
        length,
        direction: side(node)?,
        pad_to_multiple_of: node.optional("pad_to_multiple_of")?.map(|n| n.usize()).transpose()?,
        pad_id: node.field("pad_id")?.u32()?,
        pad_type_id: node.field("pad_type_id")?.u32()?,
        pad_token: node.field("pad_token")?.string()?.to_owned(),
    })
}

fn side(node: &Node) -> Result<Side> {
    match node.optional("direction")? {
        None => Ok(Side::Right),
        Some(direction) => {
            match direction.string()? {
                "Left" => Ok(Side::Left),
                "Right" => Ok(Side::Right),
                other => Err(Error::invalid(format!("unknown direction \"{other}\""))
                    .at_path(direction.path)),
            }
        }
    }
}
