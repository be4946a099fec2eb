//! `BertProcessing` and `RobertaProcessing`: one token before the first text, one behind each.

use crate::encoding::Encoding;

type Token = (String, u32);

/// `[CLS] A [SEP] B [SEP]`, the second separator being of the second type.
pub fn bert(parts: Vec<Encoding>, cls: &Token, sep: &Token) -> Vec<Encoding> {
    let wrap = |(index, part)| match index {
        0 => wrapped(Some((cls, 0)), part, (sep, 0)),
        _ => wrapped(None, part, (sep, 1)),
    };
    parts.into_iter().enumerate().map(wrap).collect()
}

/// `<s> A </s></s> B </s>`, everything of type 0.
pub fn roberta(parts: Vec<Encoding>, cls: &Token, sep: &Token) -> Vec<Encoding> {
    let wrap = |(index, part)| {
        let before = if index == 0 { cls } else { sep };
        wrapped(Some((before, 0)), part, (sep, 0))
    };
    parts.into_iter().enumerate().map(wrap).collect()
}

/// Only the two new tokens count as special then, whatever an earlier step marked.
fn wrapped(before: Option<(&Token, u32)>, mut part: Encoding, after: (&Token, u32)) -> Encoding {
    part.special_mask.fill(0);
    part.attention_mask.fill(1);
    let mut whole = before.map(special).unwrap_or_default();
    whole.merge_with(part, false);
    whole.merge_with(special(after), false);
    whole
}

fn special(((text, id), type_id): (&Token, u32)) -> Encoding {
    Encoding::special(&[*id], std::slice::from_ref(text), type_id)
}
