//! Post-processors, truncation and padding: the reverse of `postprocess` beside this folder.

use crate::definition::{
    Padding, PostProcessor, Side, TemplatePiece, TemplateToken, Truncation, TruncationStrategy,
};
use serde_json::{json, Map, Value};

pub fn post_processor(step: &PostProcessor) -> Value {
    match step {
        PostProcessor::ByteLevel { add_prefix_space, trim_offsets } => json!({
            "type": "ByteLevel",
            "add_prefix_space": add_prefix_space,
            "trim_offsets": trim_offsets,
            "use_regex": true,
        }),
        PostProcessor::Roberta { sep, cls, trim_offsets, add_prefix_space } => json!({
            "type": "RobertaProcessing",
            "sep": sep,
            "cls": cls,
            "trim_offsets": trim_offsets,
            "add_prefix_space": add_prefix_space,
        }),
        PostProcessor::Bert { sep, cls } => {
            json!({"type": "BertProcessing", "sep": sep, "cls": cls})
        }
        PostProcessor::Template { single, pair, special_tokens } => {
            let tokens: Map<String, Value> = special_tokens
                .iter()
                .map(|TemplateToken { name, ids, tokens }| {
                    (name.clone(), json!({"id": name, "ids": ids, "tokens": tokens}))
                })
                .collect();
            json!({
                "type": "TemplateProcessing",
                "single": pieces(single, special_tokens),
                "pair": pieces(pair, special_tokens),
                "special_tokens": tokens,
            })
        }
    }
}

fn pieces(pieces: &[TemplatePiece], special_tokens: &[TemplateToken]) -> Value {
    let piece = |piece: &TemplatePiece| match piece {
        TemplatePiece::Sequence { second, type_id } => {
            let id = if *second { "B" } else { "A" };
            json!({"Sequence": {"id": id, "type_id": type_id}})
        }
        TemplatePiece::Special { token, type_id } => {
            let name = special_tokens.get(*token).map(|token| token.name.as_str());
            json!({"SpecialToken": {"id": name, "type_id": type_id}})
        }
    };
    pieces.iter().map(piece).collect()
}

pub fn truncation(truncation: &Truncation) -> Value {
    let strategy = match truncation.strategy {
        TruncationStrategy::LongestFirst => "LongestFirst",
        TruncationStrategy::OnlyFirst => "OnlyFirst",
        TruncationStrategy::OnlySecond => "OnlySecond",
    };
    json!({
        "direction": side(truncation.direction),
        "max_length": truncation.max_length,
        "strategy": strategy,
        "stride": truncation.stride,
    })
}

pub fn padding(padding: &Padding) -> Value {
    let strategy = match padding.length {
        None => json!("BatchLongest"),
        Some(length) => json!({"Fixed": length}),
    };
    json!({
        "strategy": strategy,
        "direction": side(padding.direction),
        "pad_to_multiple_of": padding.pad_to_multiple_of,
        "pad_id": padding.pad_id,
        "pad_type_id": padding.pad_type_id,
        "pad_token": padding.pad_token,
    })
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Left => "Left",
        Side::Right => "Right",
    }
}
