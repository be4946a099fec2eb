//! What happens to ids behind the model.

use super::canonical::Canonical;
use crate::definition::{
    Padding, PostProcessor, Side, TemplatePiece, TemplateToken, Truncation, TruncationStrategy,
};

pub fn post_processor(out: &mut Canonical, step: &PostProcessor) {
    match step {
        PostProcessor::ByteLevel { add_prefix_space, trim_offsets } => {
            out.text("ByteLevel");
            out.flag(*add_prefix_space);
            out.flag(*trim_offsets);
        }
        PostProcessor::Roberta { sep, cls, trim_offsets, add_prefix_space } => {
            out.text("RobertaProcessing");
            named(out, sep);
            named(out, cls);
            out.flag(*trim_offsets);
            out.flag(*add_prefix_space);
        }
        PostProcessor::Bert { sep, cls } => {
            out.text("BertProcessing");
            named(out, sep);
            named(out, cls);
        }
        PostProcessor::Template { single, pair, special_tokens } => {
            out.text("TemplateProcessing");
            out.list(single, |out, piece| template_piece(out, piece, special_tokens));
            out.list(pair, |out, piece| template_piece(out, piece, special_tokens));
        }
    }
}

fn named(out: &mut Canonical, (token, id): &(String, u32)) {
    out.text(token);
    out.id(*id);
}

/// What a piece stands for, not its place in a list whose order means nothing.
fn template_piece(out: &mut Canonical, piece: &TemplatePiece, tokens: &[TemplateToken]) {
    match piece {
        TemplatePiece::Sequence { second, type_id } => {
            out.text(if *second { "B" } else { "A" });
            out.id(*type_id);
        }
        TemplatePiece::Special { token, type_id } => {
            out.text("special");
            out.optional(tokens.get(*token), |out, token| {
                // The template's own name for them.
                let TemplateToken { name: _, ids, tokens } = token;
                out.list(ids, |out, id| out.id(*id));
                out.list(tokens, |out, text| out.text(text));
            });
            out.id(*type_id);
        }
    }
}

pub fn truncation(out: &mut Canonical, truncation: &Truncation) {
    let Truncation { max_length, strategy, stride, direction } = truncation;
    out.size(*max_length);
    out.text(match strategy {
        TruncationStrategy::LongestFirst => "LongestFirst",
        TruncationStrategy::OnlyFirst => "OnlyFirst",
        TruncationStrategy::OnlySecond => "OnlySecond",
    });
    out.size(*stride);
    side(out, *direction);
}

pub fn padding(out: &mut Canonical, padding: &Padding) {
    let Padding { length, direction, pad_to_multiple_of, pad_id, pad_type_id, pad_token } = padding;
    out.optional(*length, Canonical::size);
    side(out, *direction);
    out.optional(*pad_to_multiple_of, Canonical::size);
    out.id(*pad_id);
    out.id(*pad_type_id);
    out.text(pad_token);
}

fn side(out: &mut Canonical, side: Side) {
    out.text(match side {
        Side::Left => "Left",
        Side::Right => "Right",
    });
}
