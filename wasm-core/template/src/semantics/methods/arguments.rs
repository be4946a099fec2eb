//! From values to what Python's functions written in C take, with their errors.

use crate::value::{Error, Value};
use std::borrow::Cow;

use crate::python::numbers::integer::{self, Integer};
use crate::python::{Fault, Kind};
use crate::semantics::call::Call;
use crate::semantics::errors;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::numbers;
use crate::semantics::repr;
use crate::semantics::session::output_cap;

/// An error of the algorithms as one of a template.
pub fn failed(fault: Fault) -> Error {
    match fault.kind {
        Kind::Type => errors::type_error(fault.message),
        Kind::Value => errors::value_error(fault.message),
        Kind::Index => errors::index_error(fault.message),
        Kind::Key => errors::key_error(fault.message),
        Kind::Overflow => errors::overflow_error(fault.message),
        Kind::ZeroDivision => zero_division(&fault.message),
        Kind::Limit => errors::limit_error("output", fault.message),
        Kind::Unsupported => errors::unsupported(fault.message.clone(), fault.message),
    }
}

pub fn zero_division(message: &str) -> Error {
    Error::new(format!("ZeroDivisionError: {message}"))
}

/// How many bytes an answer may have.
pub fn cap(_: &Call<'_>) -> usize {
    output_cap()
}

/// A list of `count` items would pass the bound of an answer.
pub fn too_many(count: usize) -> Error {
    errors::limit_error("output", format!("a list would have {count} items"))
}

/// A string, safe if what it was made of was.
pub fn text_value(text: impl AsRef<str>, safe: bool) -> Value {
    if safe {
        return Value::from_safe_string(text.as_ref().to_owned());
    }
    Value::from(text.as_ref())
}

/// A part of what `value` says; mostly that is all of it, and then nothing is copied.
pub fn part_value(value: &Value, part: &str) -> Value {
    match value.as_str() {
        Some(whole) if whole.len() == part.len() => value.clone(),
        _ => text_value(part, value.is_safe()),
    }
}

pub fn subject_text<'a>(call: &Call<'a>) -> &'a str {
    call.subject.as_str().unwrap_or_default()
}

/// `soft_str`: a string as it is, anything else as it prints.
pub fn soft(value: &Value) -> Result<(Cow<'_, str>, bool), Error> {
    match value.as_str().filter(|_| Type::of(value).is_text()) {
        Some(text) => Ok((Cow::Borrowed(text), value.is_safe())),
        None => Ok((Cow::Owned(repr::text(value)?), false)),
    }
}

pub fn is_text(value: &Value) -> bool {
    Type::of(value).is_text()
}

/// An argument that has to be a string.
pub fn text<'a>(value: &'a Value, function: &str) -> Result<&'a str, Error> {
    match value.as_str().filter(|_| is_text(value)) {
        Some(text) => Ok(text),
        None => Err(errors::type_error(format!(
            "{function}() argument must be str, not {}",
            type_name(value)
        ))),
    }
}

/// A string or None.
pub fn optional_text<'a>(
    value: Option<&'a Value>,
    function: &str,
) -> Result<Option<&'a str>, Error> {
    value.filter(|value| !value.is_none()).map(|value| text(value, function)).transpose()
}

/// `__index__`, as it fits a size.
pub fn size(value: &Value) -> Result<i64, Error> {
    match Type::of(value) {
        Type::Int | Type::Bool => numbers::integer(value)
            .and_then(|number| i64::try_from(number).ok())
            .ok_or_else(|| errors::overflow_error("Python int too large to convert to C ssize_t")),
        _ => Err(errors::type_error(format!(
            "'{}' object cannot be interpreted as an integer",
            type_name(value)
        ))),
    }
}

/// A flag of a function written in C: a number, zero for no.
pub fn flag(value: Option<&Value>) -> Result<bool, Error> {
    let Some(value) = value else { return Ok(false) };
    match i32::try_from(size(value)?) {
        Ok(number) => Ok(number != 0),
        Err(_) => Err(errors::overflow_error("Python int too large to convert to C int")),
    }
}

/// A bound of a search: None or a number, of any size.
pub fn bound(value: Option<&Value>) -> Result<Option<i64>, Error> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    match clipped(value) {
        Some(number) => Ok(Some(number)),
        None => Err(errors::type_error(
            "slice indices must be integers or None or have an __index__ method",
        )),
    }
}

/// An integer of any size as the nearest of 64 bits.
pub fn clipped(value: &Value) -> Option<i64> {
    let number = whole(value)?;
    Some(match number.to_i128().map(i64::try_from) {
        Some(Ok(number)) => number,
        _ if number.negative => i64::MIN,
        _ => i64::MAX,
    })
}

/// An integer of any size, booleans among them.
pub fn whole(value: &Value) -> Option<Integer> {
    match Type::of(value) {
        Type::Int | Type::Bool => match numbers::integer(value) {
            Some(number) => Some(Integer::from(number)),
            None => integer::parse(&value.to_string(), 10).ok(),
        },
        _ => None,
    }
}

/// An integer as a value, of any size.
pub fn integer_value(number: &Integer) -> Value {
    match number.to_i128() {
        Some(number) => match i64::try_from(number) {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(number),
        },
        None => numbers::BigInt::from_decimal(&number.to_string()),
    }
}

/// `float(x)` of a number.
pub fn real(value: &Value) -> Option<Result<f64, Error>> {
    match Type::of(value) {
        Type::Float => numbers::float(value).map(Ok),
        Type::Int | Type::Bool => whole(value).map(|number| number.to_f64().map_err(failed)),
        _ => None,
    }
}
