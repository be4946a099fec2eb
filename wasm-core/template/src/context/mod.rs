//! What a template is given: plain data, in order, with exact numbers.

mod dict;
mod json;

use crate::error::{Error, Kind, Result};
use crate::semantics::numbers::BigInt;
use crate::value::{Tuple, Value};

pub use dict::Dict;
pub use json::parse_json;

/// Python refuses to read or write longer integers.
const INTEGER_DIGITS: usize = 4300;

/// A dictionary in this order; of equal keys the last value wins, at the first one's place.
#[must_use]
pub fn dict(entries: Vec<(Value, Value)>) -> Value {
    Value::from_object(Dict::new(entries))
}

/// The same of keys that are known to differ.
#[must_use]
pub fn dict_of_unique(entries: Vec<(Value, Value)>) -> Value {
    Value::from_object(Dict::unique(entries))
}

#[must_use]
pub fn list(items: Vec<Value>) -> Value {
    Value::from(items)
}

#[must_use]
pub fn tuple(items: Vec<Value>) -> Value {
    Value::from(Tuple::from(items))
}

/// An integer of any size from decimal digits with an optional minus.
pub fn int_from_decimal(text: &str) -> Result<Value> {
    if let Ok(small) = text.parse::<i64>() {
        return Ok(Value::from(small));
    }
    if let Ok(wide) = text.parse::<i128>() {
        return Ok(Value::from(wide));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::new(Kind::Context, "not an integer"));
    }
    if digits.len() > INTEGER_DIGITS {
        let message = format!("an integer of {} digits; at most {INTEGER_DIGITS}", digits.len());
        return Err(Error::new(Kind::Context, message).named("integer"));
    }
    Ok(BigInt::from_decimal(text))
}

/// The entries of a dictionary made by [`dict`].
#[must_use]
pub fn entries(value: &Value) -> Option<&[(Value, Value)]> {
    value.downcast_object_ref::<Dict>().map(Dict::entries)
}

/// The items of a list made by [`list`].
#[must_use]
pub fn items(value: &Value) -> Option<&[Value]> {
    value.downcast_object_ref::<Vec<Value>>().map(Vec::as_slice)
}
