//! Filters for HTML and addresses.

use crate::python::quoted;
use crate::python::text::{markup, quote, search};
use crate::semantics::call::Call;
use crate::semantics::errors::{attribute_error, type_error, value_error};
use crate::semantics::iterate;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::methods::arguments::{cap, failed, is_text, soft};
use crate::semantics::methods::escaped;
use crate::semantics::repr;
use crate::value::{Error, Value};

pub fn escape(call: &mut Call<'_>) -> Result<Value, Error> {
    call.positional::<0>("escape", 0)?;
    escaped(call.subject, cap(call))
}

pub fn forceescape(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_forceescape", 0, [])?;
    let text = repr::text(call.subject)?;
    markup::escape(&text, cap(call)).map(Value::from_safe_string).map_err(failed)
}

pub fn safe(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_mark_safe", 0, [])?;
    Ok(Value::from_safe_string(repr::text(call.subject)?))
}

pub fn striptags(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_striptags", 0, [])?;
    markup::striptags(&repr::text(call.subject)?).map(Value::from).map_err(failed)
}

pub fn urlencode(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_urlencode", 0, [])?;
    let cap = cap(call);
    let quoted = |value: &Value, query| quote::url(&repr::text(value)?, query, cap).map_err(failed);
    let pairs = match Type::of(call.subject) {
        Type::Dict => iterate::pairs(call.subject),
        Type::List | Type::Tuple | Type::Range | Type::View | Type::Generator | Type::Undefined => {
            iterate::items(call.subject)?.iter().map(unpacked).collect::<Result<_, Error>>()?
        }
        _ => return quoted(call.subject, false).map(Value::from),
    };
    let mut parts = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        parts.push(format!("{}={}", quoted(&key, true)?, quoted(&value, true)?));
    }
    search::join("&", parts.iter().map(String::as_str), cap).map(Value::from).map_err(failed)
}

/// `for k, v in …`.
fn unpacked(item: &Value) -> Result<(Value, Value), Error> {
    let parts = iterate::items(item)?;
    match parts.as_slice() {
        [key, value] => Ok((key.clone(), value.clone())),
        parts => Err(value_error(format!("not exactly 2 values to unpack, but {}", parts.len()))),
    }
}

pub fn xmlattr(call: &mut Call<'_>) -> Result<Value, Error> {
    let [autospace] = call.bind("do_xmlattr", 0, ["autospace"])?;
    if Type::of(call.subject) != Type::Dict {
        return Err(attribute_error(format!(
            "'{}' object has no attribute 'items'",
            type_name(call.subject)
        )));
    }
    let cap = cap(call);
    let mut out = String::new();
    for (key, value) in iterate::pairs(call.subject) {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let Some(name) = key.as_str().filter(|_| is_text(&key)) else {
            return Err(type_error("expected string or bytes-like object"));
        };
        let invalid = |c: char| matches!(c, ' ' | '\t'..='\r' | '/' | '>' | '=');
        if name.contains(invalid) {
            return Err(value_error(format!(
                "Invalid character in attribute name: {}",
                quoted(name)
            )));
        }
        let part = |value: &Value| -> Result<String, Error> {
            Ok(soft(&escaped(value, cap)?)?.0.into_owned())
        };
        if !out.is_empty() {
            out.push(' ');
        }
        let written = format!("{}=\"{}\"", part(&key)?, part(&value)?);
        crate::python::fault::push(&mut out, &written, cap).map_err(failed)?;
    }
    if autospace.is_none_or(|space| space.is_true()) && !out.is_empty() {
        out.insert(0, ' ');
    }
    Ok(Value::from(out))
}
