//! The methods of `int` and `float` that answer numbers.

use super::arguments::{integer_value, whole};
use super::format::cut_float;
use crate::semantics::call::{Call, Table};
use crate::semantics::errors::{overflow_error, unsupported, value_error};
use crate::semantics::numbers;
use crate::value::{Error, Tuple, Value};

type Answer = Result<Value, Error>;

pub static INT: Table = Table(&[
    ("as_integer_ratio", |call| {
        call.positional::<0>("int.as_integer_ratio", 0)?;
        Ok(Value::from(Tuple::from([itself(call), Value::from(1)])))
    }),
    ("bit_count", |call| {
        call.positional::<0>("int.bit_count", 0)?;
        Ok(Value::from(bits(call).matches('1').count()))
    }),
    ("bit_length", |call| {
        call.positional::<0>("int.bit_length", 0)?;
        Ok(Value::from(bits(call).trim_start_matches('0').len()))
    }),
    ("conjugate", |call| {
        call.positional::<0>("int.conjugate", 0)?;
        Ok(itself(call))
    }),
    ("from_bytes", |_| Err(refused("int.from_bytes"))),
    ("to_bytes", |_| Err(refused("int.to_bytes"))),
]);

pub static FLOAT: Table = Table(&[
    ("as_integer_ratio", as_integer_ratio),
    ("conjugate", |call| {
        call.positional::<0>("float.conjugate", 0)?;
        Ok(call.subject.clone())
    }),
    ("fromhex", |_| Err(refused("float.fromhex"))),
    ("hex", |_| Err(refused("float.hex"))),
    ("is_integer", |call| {
        call.positional::<0>("float.is_integer", 0)?;
        let value = numbers::float(call.subject).unwrap_or_default();
        Ok(Value::from(value.is_finite() && value.fract() == 0.0))
    }),
]);

fn refused(name: &str) -> Error {
    unsupported(name, format!("{name} is not supported"))
}

/// The number; a boolean is one, too.
fn itself(call: &Call<'_>) -> Value {
    whole(call.subject).map_or_else(|| call.subject.clone(), |number| integer_value(&number))
}

fn bits(call: &Call<'_>) -> String {
    whole(call.subject).map_or_else(String::new, |number| number.in_base(2))
}

/// Halves are doubled until nothing is left behind the point.
fn as_integer_ratio(call: &mut Call<'_>) -> Answer {
    call.positional::<0>("float.as_integer_ratio", 0)?;
    let mut value = numbers::float(call.subject).unwrap_or_default();
    if value.is_nan() {
        return Err(value_error("cannot convert NaN to integer ratio"));
    }
    if value.is_infinite() {
        return Err(overflow_error("cannot convert Infinity to integer ratio"));
    }
    let mut below = 1_i128;
    while value.fract() != 0.0 {
        value *= 2.0;
        below = below
            .checked_mul(2)
            .ok_or_else(|| refused("float.as_integer_ratio beyond 128 bits"))?;
    }
    let below = crate::python::numbers::integer::Integer::from(below);
    Ok(Value::from(Tuple::from([integer_value(&cut_float(value)?), integer_value(&below)])))
}
