//! `x[start:stop:step]`, as Python cuts.

use crate::semantics::call::Call;
use crate::semantics::errors::{is_type_error, type_error, undefined_error, value_error};
use crate::semantics::globals::ranges::Range;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::numbers::{integer, BigInt};
use crate::value::{Error, Tuple, Value};

pub fn slice(call: &mut Call<'_>) -> Result<Value, Error> {
    let [start, stop, step, computed] = call.positional::<4>("slice", 3)?;
    match cut([start, stop, step], call.subject) {
        // Of constants, in front of the render: what has no slices has none.
        Err(error) if computed.is_some() && is_type_error(&error) => Ok(Value::UNDEFINED),
        answer => answer,
    }
}

fn cut([start, stop, step]: [Option<&Value>; 3], value: &Value) -> Result<Value, Error> {
    let [start, stop, step] = [start, stop, step].map(|bound| bound.cloned().unwrap_or_default());
    match Type::of(value) {
        Type::Str | Type::Markup => {
            let text = value.as_str().unwrap_or_default();
            let cut = cut_text(text, &start, &stop, &step)?;
            Ok(if value.is_safe() { Value::from_safe_string(cut) } else { Value::from(cut) })
        }
        Type::List => Ok(Value::from(cut_items(value, &start, &stop, &step)?)),
        Type::Tuple => Ok(Value::from(Tuple::from(cut_items(value, &start, &stop, &step)?))),
        Type::Bytes => {
            let bytes = value.as_bytes().unwrap_or_default();
            let places = Places::new(bytes.len(), &start, &stop, &step)?;
            Ok(Value::from_bytes(places.filter_map(|at| bytes.get(at).copied()).collect()))
        }
        Type::Range => {
            let Some(range) = value.downcast_object_ref::<Range>() else {
                return Err(type_error("not a range"));
            };
            cut_range(*range, &start, &stop, &step)
        }
        Type::Undefined => Err(undefined_error("a value is undefined")),
        Type::Dict => Err(type_error("unhashable type: 'slice'")),
        _ => Err(type_error(format!("'{}' object is not subscriptable", type_name(value)))),
    }
}

fn cut_text(text: &str, start: &Value, stop: &Value, step: &Value) -> Result<String, Error> {
    if text.is_ascii() {
        let places = Places::new(text.len(), start, stop, step)?;
        if places.step == 1 {
            let (from, count) = (places.next, places.left);
            return Ok(text.get(from..from + count).unwrap_or_default().to_owned());
        }
        let bytes = text.as_bytes();
        return Ok(places.filter_map(|at| bytes.get(at).copied().map(char::from)).collect());
    }
    let places = Places::new(text.chars().count(), start, stop, step)?;
    if places.step == 1 {
        return Ok(text.chars().skip(places.next).take(places.left).collect());
    }
    let characters: Vec<char> = text.chars().collect();
    Ok(places.filter_map(|at| characters.get(at).copied()).collect())
}

fn cut_items(
    value: &Value,
    start: &Value,
    stop: &Value,
    step: &Value,
) -> Result<Vec<Value>, Error> {
    let gathered;
    let items: &[Value] = match value.downcast_object_ref::<Vec<Value>>() {
        Some(items) => items,
        None => {
            gathered = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
            &gathered
        }
    };
    let places = Places::new(items.len(), start, stop, step)?;
    Ok(places.filter_map(|at| items.get(at).cloned()).collect())
}

fn cut_range(range: Range, start: &Value, stop: &Value, step: &Value) -> Result<Value, Error> {
    let (from, to, by) = indices(range.len(), start, stop, step)?;
    let at = |index: i128| range.start.saturating_add(index.saturating_mul(range.step));
    let step = range.step.saturating_mul(by);
    Ok(Range { start: at(from), stop: at(to), step }.value())
}

/// `slice.indices(length)`: where it starts, where it ends, how it walks.
fn indices(
    length: usize,
    start: &Value,
    stop: &Value,
    step: &Value,
) -> Result<(i128, i128, i128), Error> {
    let length = i128::try_from(length).unwrap_or(i128::MAX);
    let step = bound(step)?.unwrap_or(1);
    if step == 0 {
        return Err(value_error("slice step cannot be zero"));
    }
    let (lowest, highest) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let place = |given: Option<i128>, left_out: i128| match given {
        None => left_out,
        Some(index) if index < 0 => index.saturating_add(length).max(lowest),
        Some(index) => index.min(highest),
    };
    let (first, last) = if step < 0 { (highest, lowest) } else { (lowest, highest) };
    Ok((place(bound(start)?, first), place(bound(stop)?, last), step))
}

fn bound(value: &Value) -> Result<Option<i128>, Error> {
    if value.is_none() {
        return Ok(None);
    }
    if let Some(whole) = integer(value) {
        return Ok(Some(whole));
    }
    if let Some(big) = value.downcast_object_ref::<BigInt>() {
        return Ok(Some(if big.integer().negative { i128::MIN } else { i128::MAX }));
    }
    Err(type_error("slice indices must be integers or None or have an __index__ method"))
}

/// The positions that a slice takes.
struct Places {
    next: usize,
    step: i128,
    left: usize,
}

impl Places {
    fn new(length: usize, start: &Value, stop: &Value, step: &Value) -> Result<Self, Error> {
        let (start, stop, step) = indices(length, start, stop, step)?;
        let left = Range { start, stop, step }.len();
        Ok(Self { next: usize::try_from(start).unwrap_or(0), step, left })
    }
}

impl Iterator for Places {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next;
        if self.left > 0 {
            let next = i128::try_from(at).ok()?.checked_add(self.step)?;
            self.next = usize::try_from(next).ok()?;
        }
        Some(at)
    }
}
