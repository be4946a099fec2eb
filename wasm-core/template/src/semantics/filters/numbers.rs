//! Filters of numbers.

use crate::python::numbers::{float as floats, integer};
use crate::semantics::call::Call;
use crate::semantics::errors::{
    filter_error, overflow_error, type_error, undefined_error, unsupported,
};
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::methods::arguments::{
    clipped, failed, integer_value, is_text, real, size, whole,
};
use crate::semantics::methods::format::cut_float;
use crate::semantics::numbers as kinds;
use crate::value::{Error, Value};

pub fn abs(call: &mut Call<'_>) -> Result<Value, Error> {
    call.positional::<0>("abs", 0)?;
    if let Some(number) = whole(call.subject) {
        return Ok(integer_value(&integer::Integer { negative: false, ..number }));
    }
    match kinds::float(call.subject) {
        Some(number) => Ok(Value::from(number.abs())),
        None => {
            Err(type_error(format!("bad operand type for abs(): '{}'", type_name(call.subject))))
        }
    }
}

pub fn int(call: &mut Call<'_>) -> Result<Value, Error> {
    let [default, base] = call.bind("do_int", 0, ["default", "base"])?;
    let default = default.unwrap_or_else(|| Value::from(0));
    let subject = call.subject;
    match Type::of(subject) {
        Type::Undefined => Err(undefined_error("a value is undefined")),
        Type::Int | Type::Bool => {
            Ok(whole(subject).map_or_else(|| subject.clone(), |number| integer_value(&number)))
        }
        Type::Float => match kinds::float(subject) {
            // Only of a NaN Python takes the default; infinity is an error.
            Some(number) if !number.is_nan() => Ok(integer_value(&cut_float(number)?)),
            _ => Ok(default),
        },
        Type::Str | Type::Markup => {
            let text = subject.as_str().unwrap_or_default();
            // What is no base at all is only seen by `int`, whose errors lead to `float`.
            let parsed = match base.as_ref().map(size).transpose() {
                Ok(base) => integer::parse(text, base.unwrap_or(10)),
                Err(_) => Err(crate::python::Fault::type_error("")),
            };
            match parsed {
                Ok(number) => Ok(integer_value(&number)),
                Err(fault) if fault.kind == crate::python::Kind::Unsupported => Err(failed(fault)),
                Err(_) => match floats::parse(text) {
                    Ok(number) if number.is_finite() => Ok(integer_value(&cut_float(number)?)),
                    _ => Ok(default),
                },
            }
        }
        _ => Ok(default),
    }
}

pub fn float(call: &mut Call<'_>) -> Result<Value, Error> {
    let [default] = call.bind("do_float", 0, ["default"])?;
    let default = default.unwrap_or_else(|| Value::from(0.0));
    if call.subject.is_undefined() {
        return Err(undefined_error("a value is undefined"));
    }
    if let Some(number) = real(call.subject) {
        return Ok(Value::from(number?));
    }
    if !is_text(call.subject) {
        return Ok(default);
    }
    let parsed = floats::parse(call.subject.as_str().unwrap_or_default());
    Ok(parsed.map_or(default, Value::from))
}

pub fn round(call: &mut Call<'_>) -> Result<Value, Error> {
    let [precision, method] = call.bind("do_round", 0, ["precision", "method"])?;
    let method = method.unwrap_or_else(|| Value::from("common"));
    let precision = precision.unwrap_or_else(|| Value::from(0));
    let up = match method.as_str() {
        Some("common") => return common(call.subject, &precision),
        Some("ceil") => true,
        Some("floor") => false,
        _ => return Err(filter_error("method must be common, ceil or floor")),
    };
    let places = size(&precision)?;
    let value = match real(call.subject) {
        Some(value) => value?,
        None => return Err(not_a_number(call.subject)),
    };
    if whole(call.subject).is_some() && places >= 0 {
        return Ok(Value::from(value));
    }
    let factor = if (-400..=400).contains(&places) {
        format!("1e{places}").parse().unwrap_or(f64::INFINITY)
    } else {
        f64::INFINITY
    };
    if !f64::is_finite(factor) {
        return Err(overflow_error("int too large to convert to float"));
    }
    if factor == 0.0 {
        return Err(crate::semantics::methods::arguments::zero_division("float division by zero"));
    }
    let scaled = value * factor;
    let cut = cut_float(if up { scaled.ceil() } else { scaled.floor() })?;
    if places >= 0 {
        // One whole number by another, rounded once.
        let quotient = format!("{cut}e-{places}").parse().unwrap_or(f64::NAN);
        return Ok(Value::from(quotient));
    }
    Ok(Value::from(cut.to_f64().map_err(failed)? / factor))
}

fn not_a_number(value: &Value) -> Error {
    if value.is_undefined() {
        return undefined_error("a value is undefined");
    }
    type_error(format!("type {} doesn't define __round__ method", type_name(value)))
}

/// Python's `round`: whole numbers stay whole.
fn common(value: &Value, precision: &Value) -> Result<Value, Error> {
    if let Some(number) = kinds::float(value) {
        if precision.is_none() {
            return Ok(integer_value(&cut_float(floats::round(number, 0))?));
        }
        let rounded = floats::round(number, places(precision)?);
        if rounded.is_infinite() && number.is_finite() {
            return Err(overflow_error("rounded value too large to represent"));
        }
        return Ok(Value::from(rounded));
    }
    let Some(number) = whole(value) else { return Err(not_a_number(value)) };
    let places = if precision.is_none() { 0 } else { places(precision)? };
    if places >= 0 {
        return Ok(integer_value(&number));
    }
    let beyond =
        || unsupported("rounding beyond 128 bits", "a number beyond 128 bits cannot be rounded");
    let small = number.to_i128().ok_or_else(beyond)?;
    let unit = u32::try_from(places.unsigned_abs()).ok().and_then(|p| 10_i128.checked_pow(p));
    let Some(unit) = unit else { return Ok(Value::from(0)) };
    let (below, rest) = (small.div_euclid(unit), small.rem_euclid(unit));
    let up = rest > unit - rest || rest == unit - rest && below % 2 != 0;
    let rounded = (below + i128::from(up)).checked_mul(unit);
    rounded.map(|number| integer_value(&number.into())).ok_or_else(beyond)
}

/// Of a precision only the size matters, once it is beyond that of numbers.
fn places(precision: &Value) -> Result<i64, Error> {
    clipped(precision).map_or_else(|| size(precision), Ok)
}

pub fn filesizeformat(call: &mut Call<'_>) -> Result<Value, Error> {
    let [binary] = call.bind("do_filesizeformat", 0, ["binary"])?;
    let binary = binary.is_some_and(|binary| binary.is_true());
    let bytes = match real(call.subject) {
        Some(bytes) => bytes?,
        None if is_text(call.subject) => {
            floats::parse(call.subject.as_str().unwrap_or_default()).map_err(failed)?
        }
        None => return Err(not_a_number(call.subject)),
    };
    let (base, letters) = if binary { (1024.0, "KMGTPEZY") } else { (1000.0, "kMGTPEZY") };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", cut_float(bytes)?)));
    }
    let mut unit = base;
    let mut shown = String::new();
    for letter in letters.chars() {
        unit *= base;
        let size = floats::format(base * bytes / unit, floats::Style::Fixed, 1, false);
        shown = format!("{size} {letter}{}", if binary { "iB" } else { "B" });
        if bytes < unit {
            break;
        }
    }
    Ok(Value::from(shown))
}
