//! The methods of `dict`, its views, `list` and `tuple` that change nothing.

use super::arguments::bound;
use crate::context::Dict;
use crate::python::text::search::place;
use crate::semantics::call::{Call, Table};
use crate::semantics::errors::value_error;
use crate::semantics::generators::{view, Side};
use crate::semantics::iterate;
use crate::semantics::operators::compare::{contains, equal, hashable};
use crate::value::{Error, Value};

type Answer = Result<Value, Error>;

pub static DICT: Table = Table(&[
    ("copy", |call| {
        call.positional::<0>("dict.copy", 0)?;
        Ok(call.subject.clone())
    }),
    ("fromkeys", fromkeys),
    ("get", get),
    ("items", |call| viewed(call, Side::Items)),
    ("keys", |call| viewed(call, Side::Keys)),
    ("values", |call| viewed(call, Side::Values)),
]);

pub static VIEW: Table = Table(&[("isdisjoint", isdisjoint)]);

pub static LIST: Table = Table(&[
    ("copy", |call| {
        call.positional::<0>("list.copy", 0)?;
        Ok(call.subject.clone())
    }),
    ("count", count),
    ("index", index),
]);

pub static TUPLE: Table = Table(&[("count", count), ("index", index)]);

pub static RANGE: Table = Table(&[
    ("count", count),
    ("index", |call| {
        // The index of a range has no bounds.
        call.positional::<1>("range.index", 1)?;
        index(call)
    }),
]);

fn get(call: &mut Call<'_>) -> Answer {
    let [key, default] = call.positional::<2>("get", 1)?;
    let key = key.unwrap_or(&Value::UNDEFINED);
    hashable(key)?;
    let found = call.subject.as_object().and_then(|map| map.get_value(key));
    Ok(found.or_else(|| default.cloned()).unwrap_or(Value::from(())))
}

fn viewed(call: &mut Call<'_>, side: Side) -> Answer {
    call.positional::<0>("dict.items", 0)?;
    Ok(view(call.subject, side))
}

fn fromkeys(call: &mut Call<'_>) -> Answer {
    let [keys, value] = call.positional::<2>("fromkeys", 1)?;
    let value = value.cloned().unwrap_or(Value::from(()));
    let mut entries = Vec::new();
    for key in iterate::items(keys.unwrap_or(&Value::UNDEFINED))? {
        hashable(&key)?;
        entries.push((key, value.clone()));
    }
    Ok(Value::from_object(Dict::new(entries)))
}

fn isdisjoint(call: &mut Call<'_>) -> Answer {
    let [other] = call.positional::<1>("isdisjoint", 1)?;
    for item in iterate::items(other.unwrap_or(&Value::UNDEFINED))? {
        if contains(call.subject, &item)? {
            return Ok(Value::from(false));
        }
    }
    Ok(Value::from(true))
}

fn count(call: &mut Call<'_>) -> Answer {
    let [wanted] = call.positional::<1>("count", 1)?;
    let wanted = wanted.unwrap_or(&Value::UNDEFINED);
    let mut found = 0;
    for item in iterate::items(call.subject)? {
        found += i64::from(equal(&item, wanted)?);
    }
    Ok(Value::from(found))
}

fn index(call: &mut Call<'_>) -> Answer {
    let [wanted, start, end] = call.positional::<3>("index", 1)?;
    let wanted = wanted.unwrap_or(&Value::UNDEFINED);
    let items = iterate::items(call.subject)?;
    let length = items.len();
    let (start, end) = (place(bound(start)?, 0, length), place(bound(end)?, length, length));
    for (at, item) in items.iter().enumerate().take(end).skip(start) {
        if equal(item, wanted)? {
            return Ok(Value::from(at));
        }
    }
    Err(value_error("the value is not in the sequence"))
}
