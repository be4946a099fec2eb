//! A stable sort by an order that can fail, and that need not be one.

use crate::value::Error;

/// `less` is asked as often as the logarithm demands; its first error ends the sort.
pub fn sort<T>(
    items: Vec<T>,
    less: &mut impl FnMut(&T, &T) -> Result<bool, Error>,
) -> Result<Vec<T>, Error> {
    let mut runs: Vec<Vec<T>> = items.into_iter().map(|item| vec![item]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(left, right, less)?,
                None => left,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

/// The left one goes first unless the right one is less.
fn merge<T>(
    left: Vec<T>,
    right: Vec<T>,
    less: &mut impl FnMut(&T, &T) -> Result<bool, Error>,
) -> Result<Vec<T>, Error> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(b, a)? { right.next() } else { left.next() };
        out.extend(next);
    }
    out.extend(left);
    out.extend(right);
    Ok(out)
}

/// As Python sorts in reverse: equal items keep their places.
pub fn sort_reversed<T>(
    mut items: Vec<T>,
    reversed: bool,
    less: &mut impl FnMut(&T, &T) -> Result<bool, Error>,
) -> Result<Vec<T>, Error> {
    if reversed {
        items.reverse();
    }
    let mut sorted = sort(items, less)?;
    if reversed {
        sorted.reverse();
    }
    Ok(sorted)
}
