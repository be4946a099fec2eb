//! `iter(x)` of Python.

use super::errors::{type_error, unsupported};
use super::generators::Generator;
use super::kinds::{type_name, Type};
use crate::value::{Error, Value};

/// All items: the characters of a string, the keys of a dictionary, what is left of a generator.
pub fn items(value: &Value) -> Result<Vec<Value>, Error> {
    if let Some(list) = value.downcast_object_ref::<Vec<Value>>() {
        return Ok(list.clone());
    }
    match Type::of(value) {
        Type::Undefined => Ok(Vec::new()),
        Type::Str | Type::Markup => Ok(characters(value)),
        Type::List | Type::Tuple | Type::Dict | Type::Range | Type::Generator | Type::View => {
            value.try_iter()?.checked().collect()
        }
        _ => Err(not_iterable(value)),
    }
}

/// The characters of a string; also those of a safe string are plain.
fn characters(value: &Value) -> Vec<Value> {
    let mut buffer = [0; 4];
    let text = value.as_str().unwrap_or_default();
    text.chars().map(|c| Value::from(&*c.encode_utf8(&mut buffer))).collect()
}

#[must_use]
pub fn not_iterable(value: &Value) -> Error {
    if Type::of(value) == Type::Loop {
        return unsupported("loop", "`loop` is walked over by something else than its own loop");
    }
    type_error(format!("'{}' object is not iterable", type_name(value)))
}

/// The items with how it ends: what Python takes one by one may fail behind what was needed.
pub fn items_then(value: &Value) -> Result<(Vec<Value>, Option<Error>), Error> {
    let Some(generator) = value.downcast_object::<Generator>() else {
        return Ok((items(value)?, None));
    };
    let mut taken = generator.drain();
    let error = taken.last().and_then(Value::invalid).cloned();
    if error.is_some() {
        taken.pop();
    }
    Ok((taken, error))
}

/// For a loop: what it walks over, with a length wherever jinja2 finds one.
pub fn for_loop(value: &Value) -> Result<Value, Error> {
    match Type::of(value) {
        Type::Str | Type::Markup => Ok(Value::from(characters(value))),
        Type::List | Type::Tuple | Type::Dict | Type::Range | Type::View => Ok(value.clone()),
        Type::Undefined => Ok(Value::from(Vec::<Value>::new())),
        Type::Generator => {
            let (taken, error) = items_then(value)?;
            Ok(match error {
                None => Value::from(taken),
                Some(error) => super::generators::failing("generator", taken, error),
            })
        }
        _ => Err(not_iterable(value)),
    }
}

/// `len(x)`; None where Python has none.
#[must_use]
pub fn length(value: &Value) -> Option<usize> {
    match Type::of(value) {
        Type::Undefined => Some(0),
        Type::Str | Type::Markup => value.as_str().map(|text| text.chars().count()),
        Type::List | Type::Tuple | Type::Dict | Type::Range | Type::View => {
            value.as_object().and_then(|object| object.enumerator_len())
        }
        // jinja2's has a length, although nothing walks over it.
        Type::Loop => value.get_attr("length").ok().and_then(|length| length.as_usize()),
        _ => None,
    }
}

/// The entries of any dictionary, in order.
#[must_use]
pub fn pairs(value: &Value) -> Vec<(Value, Value)> {
    if let Some(entries) = crate::context::entries(value) {
        return entries.to_vec();
    }
    value.as_object().map(|object| object.pairs()).unwrap_or_default()
}
