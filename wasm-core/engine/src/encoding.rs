//! What a text becomes: ids and, beside each id, what callers ask about it.

use crate::definition::{Padding, Side};
use crate::error::{Error, Result};

/// Columns of equal length, one row an id.
#[derive(Default, Clone, Debug, PartialEq)]
pub struct Encoding {
    pub ids: Vec<u32>,
    pub type_ids: Vec<u32>,
    pub tokens: Vec<String>,
    /// In characters of the text that `sequence` names; `(0, 0)` where there is none.
    pub offsets: Vec<(u32, u32)>,
    /// 1 for what a post-processor or padding put there. A special token found in the text is 0,
    /// as in the reference.
    pub special_mask: Vec<u8>,
    /// 0 for padding.
    pub attention_mask: Vec<u8>,
    /// Which text the id came from: 0 the first, 1 the second, `None` neither. (The reference
    /// keeps one range a text instead, and loses track where a template repeats or drops one.)
    pub sequence: Vec<Option<u8>>,
}

impl Encoding {
    /// The encoding of one text, before any post-processing. All three are of one length.
    pub fn from_tokens(ids: Vec<u32>, tokens: Vec<String>, offsets: Vec<(u32, u32)>) -> Self {
        let length = ids.len();
        Self {
            ids,
            type_ids: vec![0; length],
            tokens,
            offsets,
            special_mask: vec![0; length],
            attention_mask: vec![1; length],
            sequence: vec![Some(0); length],
        }
    }

    /// Tokens that stand for no text.
    pub fn special(ids: &[u32], tokens: &[String], type_id: u32) -> Self {
        let length = ids.len();
        Self {
            ids: ids.to_vec(),
            type_ids: vec![type_id; length],
            tokens: tokens.to_vec(),
            offsets: vec![(0, 0); length],
            special_mask: vec![1; length],
            attention_mask: vec![1; length],
            sequence: vec![None; length],
        }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn set_type_id(&mut self, type_id: u32) {
        self.type_ids.fill(type_id);
    }

    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence.fill(Some(sequence));
    }

    /// Appends `other`. With `growing_offsets` its offsets count on from where ours end: the parts
    /// of one text that was handed in as words.
    pub fn merge_with(&mut self, other: Self, growing_offsets: bool) {
        let base = match self.offsets.last() {
            Some(&(_, end)) if growing_offsets => end,
            _ => 0,
        };
        self.ids.extend(other.ids);
        self.type_ids.extend(other.type_ids);
        self.tokens.extend(other.tokens);
        self.offsets.extend(
            other
                .offsets
                .into_iter()
                .map(|(start, end)| (start.saturating_add(base), end.saturating_add(base))),
        );
        self.special_mask.extend(other.special_mask);
        self.attention_mask.extend(other.attention_mask);
        self.sequence.extend(other.sequence);
    }

    /// Keeps the first (`Right`) or the last (`Left`) `max_length` ids. What is cut off is not
    /// kept as overflowing parts, but `stride`, their overlap, must be possible all the same.
    pub fn truncate(&mut self, max_length: usize, stride: usize, direction: Side) -> Result<()> {
        let length = self.len();
        if max_length >= length {
            return Ok(());
        }
        if max_length > 0 && stride >= max_length {
            return Err(Error::invalid(format!(
                "the truncation's stride ({stride}) is not smaller than the {max_length} ids \
                 that it leaves to the text; lower the stride or raise max_length"
            ))
            .at_path("$.truncation.stride"));
        }
        let cut = length - max_length;
        keep(&mut self.ids, cut, direction);
        keep(&mut self.type_ids, cut, direction);
        keep(&mut self.tokens, cut, direction);
        keep(&mut self.offsets, cut, direction);
        keep(&mut self.special_mask, cut, direction);
        keep(&mut self.attention_mask, cut, direction);
        keep(&mut self.sequence, cut, direction);
        Ok(())
    }

    /// Fills up to `length` ids; an encoding that is as long already stays as it is.
    pub fn pad(&mut self, length: usize, padding: &Padding) {
        let count = length.saturating_sub(self.len());
        let side = padding.direction;
        fill(&mut self.ids, count, padding.pad_id, side);
        fill(&mut self.type_ids, count, padding.pad_type_id, side);
        fill(&mut self.tokens, count, padding.pad_token.clone(), side);
        fill(&mut self.offsets, count, (0, 0), side);
        fill(&mut self.special_mask, count, 1, side);
        fill(&mut self.attention_mask, count, 0, side);
        fill(&mut self.sequence, count, None, side);
    }
}

/// Drops `cut` values (at most all) at the side that `direction` names.
fn keep<T>(column: &mut Vec<T>, cut: usize, direction: Side) {
    match direction {
        Side::Right => column.truncate(column.len().saturating_sub(cut)),
        Side::Left => {
            column.drain(..cut.min(column.len()));
        }
    }
}

fn fill<T: Clone>(column: &mut Vec<T>, count: usize, value: T, side: Side) {
    let length = column.len();
    column.resize(length.saturating_add(count), value);
    if side == Side::Left {
        column.rotate_right(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn encoding(ids: &[u32]) -> Encoding {
        let tokens = ids.iter().map(|id| format!("t{id}")).collect();
        let offsets = (0..ids.len() as u32).map(|at| (at, at + 1)).collect();
        Encoding::from_tokens(ids.to_vec(), tokens, offsets)
    }

    fn padding(direction: Side) -> Padding {
        Padding {
            length: None,
            direction,
            pad_to_multiple_of: None,
            pad_id: 9,
            pad_type_id: 3,
            pad_token: "P".into(),
        }
    }

    #[test]
    fn truncation_keeps_the_named_side_of_every_column() {
        let mut right = encoding(&[1, 2, 3, 4]);
        right.truncate(3, 2, Side::Right).unwrap();
        assert_eq!(right, encoding(&[1, 2, 3]));
        let mut left = encoding(&[1, 2, 3, 4]);
        left.truncate(1, 0, Side::Left).unwrap();
        assert_eq!((left.ids, left.offsets), (vec![4], vec![(3, 4)]));
        assert_eq!((left.tokens, left.sequence.len()), (vec!["t4".to_string()], 1));
    }

    #[test]
    fn truncation_to_nothing_ignores_the_stride() {
        let mut all = encoding(&[1, 2]);
        all.truncate(0, 5, Side::Left).unwrap();
        assert_eq!(all, Encoding::default());
    }

    #[test]
    fn a_stride_that_leaves_no_step_is_an_error_only_when_it_is_needed() {
        let mut short = encoding(&[1, 2]);
        short.truncate(2, 7, Side::Right).unwrap();
        let error = encoding(&[1, 2, 3]).truncate(2, 2, Side::Right).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidFile);
        assert_eq!(error.path.as_deref(), Some("$.truncation.stride"));
    }

    #[test]
    fn padding_fills_either_side() {
        let mut left = encoding(&[1, 2]);
        left.pad(4, &padding(Side::Left));
        assert_eq!(left.ids, [9, 9, 1, 2]);
        assert_eq!(left.type_ids, [3, 3, 0, 0]);
        assert_eq!(left.tokens, ["P", "P", "t1", "t2"]);
        assert_eq!(left.offsets, [(0, 0), (0, 0), (0, 1), (1, 2)]);
        assert_eq!(left.special_mask, [1, 1, 0, 0]);
        assert_eq!(left.attention_mask, [0, 0, 1, 1]);
        assert_eq!(left.sequence, [None, None, Some(0), Some(0)]);
        let mut right = encoding(&[1, 2]);
        right.pad(3, &padding(Side::Right));
        assert_eq!(right.ids, [1, 2, 9]);
        right.pad(1, &padding(Side::Right));
        assert_eq!(right.len(), 3);
    }

    #[test]
    fn merging_shifts_offsets_only_when_asked() {
        let mut plain = encoding(&[1, 2]);
        plain.merge_with(encoding(&[3]), false);
        assert_eq!(plain.offsets, [(0, 1), (1, 2), (0, 1)]);
        let mut growing = encoding(&[1, 2]);
        growing.merge_with(encoding(&[3]), true);
        assert_eq!(growing.offsets, [(0, 1), (1, 2), (2, 3)]);
    }
}
