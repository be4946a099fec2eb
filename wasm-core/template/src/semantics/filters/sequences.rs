//! Filters of lists and what can be walked over.

use super::attributes::Path;
use crate::python::numbers::integer::at_least_zero;
use crate::python::text::search;
use crate::semantics::call::Call;
use crate::semantics::errors::{filter_error, type_error};
use crate::semantics::generators::{failing, generator, Generator};
use crate::semantics::iterate;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::methods::arguments::{
    cap, failed, size, text_value, too_many, zero_division,
};
use crate::semantics::operators::arithmetic::add;
use crate::semantics::operators::compare::{equal, less};
use crate::semantics::repr;
use crate::value::{Error, Value};

pub fn length(call: &mut Call<'_>) -> Result<Value, Error> {
    call.positional::<0>("len", 0)?;
    match iterate::length(call.subject) {
        Some(length) => Ok(Value::from(length)),
        None => {
            Err(type_error(format!("object of type '{}' has no len()", type_name(call.subject))))
        }
    }
}

pub fn list(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_list", 0, [])?;
    Ok(Value::from(iterate::items(call.subject)?))
}

/// Of a generator only the first item is taken.
pub fn first(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_first", 0, [])?;
    if let Some(generator) = call.subject.downcast_object_ref::<Generator>() {
        let taken = Value::from(generator.take().into_iter().collect::<Vec<_>>());
        return Ok(taken.try_iter()?.checked().next().transpose()?.unwrap_or_default());
    }
    Ok(iterate::items(call.subject)?.into_iter().next().unwrap_or_default())
}

pub fn last(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_last", 0, [])?;
    if Type::of(call.subject) == Type::Generator {
        return Err(type_error("'generator' object is not reversible"));
    }
    let last = iterate::items(call.subject)?.pop().unwrap_or_default();
    // Backwards Python takes the characters by their places, and those of a safe string are safe.
    match last.as_str().filter(|_| call.subject.is_safe()) {
        Some(text) => Ok(text_value(text, true)),
        None => Ok(last),
    }
}

/// A string, an iterator, or of a generator a list.
pub fn reverse(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_reverse", 0, [])?;
    let kind = Type::of(call.subject);
    if kind.is_text() {
        let text = call.subject.as_str().unwrap_or_default();
        let reversed: String = text.chars().rev().collect();
        return Ok(text_value(reversed, call.subject.is_safe()));
    }
    let mut items = match iterate::items(call.subject) {
        Ok(items) => items,
        Err(_) if kind != Type::Generator => return Err(filter_error("argument must be iterable")),
        Err(error) => return Err(error),
    };
    items.reverse();
    Ok(match kind {
        Type::Generator => Value::from(items),
        Type::List => generator("list_reverseiterator", items),
        Type::Dict => generator("dict_reversekeyiterator", items),
        Type::Range => generator("range_iterator", items),
        _ => generator("reversed", items),
    })
}

pub fn join(call: &mut Call<'_>) -> Result<Value, Error> {
    let [separator, attribute] = call.bind("do_join", 0, ["d", "attribute"])?;
    let path = Path::of(attribute.as_ref())?;
    let mut parts = Vec::new();
    for item in iterate::items(call.subject)? {
        parts.push(repr::text(&path.get(&item)?)?);
    }
    let separator = separator.as_ref().map(repr::text).transpose()?.unwrap_or_default();
    let joined = search::join(&separator, parts.iter().map(String::as_str), cap(call));
    joined.map(Value::from).map_err(failed)
}

/// Nothing of what is undefined; for what is no dictionary an error, when its items are read.
pub fn items(call: &mut Call<'_>) -> Result<Value, Error> {
    const NAME: &str = "do_items";
    call.bind(NAME, 0, [])?;
    match Type::of(call.subject) {
        Type::Undefined => Ok(generator(NAME, Vec::new())),
        Type::Dict => {
            let pairs = iterate::pairs(call.subject).into_iter();
            let pairs =
                pairs.map(|(key, value)| Value::from(crate::value::Tuple::from([key, value])));
            Ok(generator(NAME, pairs.collect()))
        }
        _ => {
            let error = type_error("Can only get item pairs from a mapping.");
            Ok(failing(NAME, Vec::new(), error))
        }
    }
}

pub fn sum(call: &mut Call<'_>) -> Result<Value, Error> {
    let [attribute, start] = call.bind("do_sum", 0, ["attribute", "start"])?;
    let path = Path::of(attribute.as_ref())?;
    let mut total = start.unwrap_or_else(|| Value::from(0));
    if Type::of(&total).is_text() {
        return Err(type_error("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    let cap = cap(call);
    for item in iterate::items(call.subject)? {
        total = add(&total, &path.get(&item)?, cap)?;
    }
    Ok(total)
}

/// Lists of at most `linecount` items; the last one may be filled up.
pub fn batch(call: &mut Call<'_>) -> Result<Value, Error> {
    const NAME: &str = "do_batch";
    let [count, fill] = call.bind(NAME, 1, ["linecount", "fill_with"])?;
    let count = count.unwrap_or_default();
    let fill = fill.filter(|fill| !fill.is_none());
    let mut rows = Vec::new();
    Ok(match batched(call, &count, fill, &mut rows) {
        Ok(()) => generator(NAME, rows),
        Err(error) => failing(NAME, rows, error),
    })
}

/// The count is only compared with lengths, so that it can be anything as long as nothing is filled.
fn batched(
    call: &Call<'_>,
    count: &Value,
    fill: Option<Value>,
    rows: &mut Vec<Value>,
) -> Result<(), Error> {
    let mut row: Vec<Value> = Vec::new();
    let (items, end) = iterate::items_then(call.subject)?;
    for item in items {
        if equal(&Value::from(row.len()), count)? {
            rows.push(Value::from(std::mem::take(&mut row)));
        }
        row.push(item);
    }
    if let Some(error) = end {
        return Err(error);
    }
    if row.is_empty() {
        return Ok(());
    }
    if let Some(fill) = fill {
        if less(&Value::from(row.len()), count)? {
            let count = at_least_zero(size(count)?);
            check_count(call, count)?;
            row.resize(count, fill);
        }
    }
    rows.push(Value::from(row));
    Ok(())
}

/// A value takes some bytes, so that so many of them take as many as the largest answer may.
fn check_count(call: &Call<'_>, count: usize) -> Result<(), Error> {
    if count > cap(call) / std::mem::size_of::<Value>() {
        return Err(too_many(count));
    }
    Ok(())
}

/// So many lists, of lengths that differ by one at most.
pub fn slice(call: &mut Call<'_>) -> Result<Value, Error> {
    const NAME: &str = "sync_do_slice";
    let [slices, fill] = call.bind("do_slice", 1, ["slices", "fill_with"])?;
    let fill = fill.filter(|fill| !fill.is_none());
    Ok(match sliced(call, &slices.unwrap_or_default(), fill) {
        Ok(rows) => generator(NAME, rows),
        Err(error) => failing(NAME, Vec::new(), error),
    })
}

fn sliced(call: &Call<'_>, slices: &Value, fill: Option<Value>) -> Result<Vec<Value>, Error> {
    let items = iterate::items(call.subject)?;
    let slices = size(slices)?;
    let count = at_least_zero(slices);
    check_count(call, count)?;
    if slices == 0 {
        return Err(zero_division("integer division or modulo by zero"));
    }
    let length = items.len().checked_div(count).unwrap_or(0);
    let longer = items.len().checked_rem(count).unwrap_or(0);
    let mut rest = items.into_iter();
    let rows = (0..count).map(|at| {
        let mut row: Vec<Value> = rest.by_ref().take(length + usize::from(at < longer)).collect();
        row.extend(fill.clone().filter(|_| at >= longer));
        Value::from(row)
    });
    Ok(rows.collect())
}
