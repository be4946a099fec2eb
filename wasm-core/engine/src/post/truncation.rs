//! The truncation that a file asks for, before the post-processors add their tokens.

use crate::definition::{Truncation, TruncationStrategy};
use crate::encoding::Encoding;
use crate::error::{Error, ErrorKind, Result};

/// Makes the texts short enough that `added` more tokens fit into the limit.
pub fn apply(
    truncation: &Truncation,
    added: usize,
    first: &mut Encoding,
    second: Option<&mut Encoding>,
) -> Result<()> {
    // The reference subtracts with wrap-around, so that a limit which the added tokens alone
    // exceed is no limit at all.
    let Some(limit) = truncation.max_length.checked_sub(added) else {
        return Ok(());
    };
    let (stride, direction) = (truncation.stride, truncation.direction);
    let total = first.len().saturating_add(second.as_ref().map_or(0, |second| second.len()));
    let excess = total.saturating_sub(limit);
    if excess == 0 {
        return Ok(());
    }
    // A limit of zero leaves nothing to choose from: the strategy is not asked.
    match (truncation.strategy, second) {
        (_, None) if limit == 0 => first.truncate(0, stride, direction),
        (_, Some(second)) if limit == 0 => {
            first.truncate(0, stride, direction)?;
            second.truncate(0, stride, direction)
        }
        (TruncationStrategy::LongestFirst, None) => first.truncate(limit, stride, direction),
        (TruncationStrategy::LongestFirst, Some(second)) => {
            let (keep_first, keep_second) = longest_first(first.len(), second.len(), limit);
            first.truncate(keep_first, stride, direction)?;
            second.truncate(keep_second, stride, direction)
        }
        (TruncationStrategy::OnlyFirst, _) => shorten(first, excess, truncation),
        (TruncationStrategy::OnlySecond, Some(second)) => shorten(second, excess, truncation),
        (TruncationStrategy::OnlySecond, None) => Err(cannot(
            truncation,
            "only the second text may be truncated, and there is none; give a pair of texts, a \
             shorter text, or another strategy",
        )),
    }
}

fn shorten(target: &mut Encoding, excess: usize, truncation: &Truncation) -> Result<()> {
    match target.len().checked_sub(excess) {
        Some(keep) if keep > 0 => target.truncate(keep, truncation.stride, truncation.direction),
        _ => Err(cannot(
            truncation,
            "the one text that may be truncated is too short to make the pair fit; shorten the \
             other text, or use the strategy LongestFirst",
        )),
    }
}

fn cannot(truncation: &Truncation, why: &str) -> Error {
    let limit = truncation.max_length;
    Error::new(ErrorKind::LimitExceeded, format!("truncation to {limit} ids failed: {why}"))
        .at_path("$.truncation")
}

/// How much of each text stays: the shorter one whole if that leaves the longer one at least as
/// much, else half each with the odd id to the longer one.
fn longest_first(first: usize, second: usize, limit: usize) -> (usize, usize) {
    let shorter = first.min(second);
    let longer = shorter.max(limit.saturating_sub(shorter));
    let (shorter, longer) = if shorter.saturating_add(longer) > limit {
        (limit / 2, limit - limit / 2)
    } else {
        (shorter, longer)
    };
    if first > second {
        (longer, shorter)
    } else {
        (shorter, longer)
    }
}

#[cfg(test)]
mod tests {
    use super::longest_first;

    #[test]
    fn longest_first_spares_the_shorter_text() {
        assert_eq!(longest_first(4, 3, 6), (3, 3));
        assert_eq!(longest_first(4, 1, 4), (3, 1));
        assert_eq!(longest_first(1, 4, 4), (1, 3));
        assert_eq!(longest_first(4, 3, 1), (1, 0));
        assert_eq!(longest_first(3, 4, 1), (0, 1));
        assert_eq!(longest_first(3, 3, 5), (2, 3));
    }
}
