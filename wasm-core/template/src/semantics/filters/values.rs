//! Filters of any value.

use crate::python::quoted;
use crate::semantics::call::Call;
use crate::semantics::errors::{attribute_error, unsupported};
use crate::semantics::iterate;
use crate::semantics::kinds::Type;
use crate::semantics::methods::arguments::is_text;
use crate::semantics::operators::access;
use crate::semantics::repr;
use crate::value::{Error, Value};

pub fn default(call: &mut Call<'_>) -> Result<Value, Error> {
    let [default, boolean] = call.bind("do_default", 0, ["default_value", "boolean"])?;
    let replace = call.subject.is_undefined()
        || boolean.is_some_and(|boolean| boolean.is_true()) && !call.subject.is_true();
    if replace {
        return Ok(default.unwrap_or_else(|| Value::from("")));
    }
    Ok(call.subject.clone())
}

pub fn string(call: &mut Call<'_>) -> Result<Value, Error> {
    call.positional::<0>("soft_str", 0)?;
    if is_text(call.subject) {
        return Ok(call.subject.clone());
    }
    Ok(Value::from(repr::text(call.subject)?))
}

/// The attribute of a type, never the key of a dictionary.
pub fn attr(call: &mut Call<'_>) -> Result<Value, Error> {
    let [name] = call.bind("do_attr", 1, ["name"])?;
    let name = name.unwrap_or_default();
    let Some(name) = name.as_str().filter(|_| is_text(&name)) else {
        return Err(attribute_error("attribute name must be string"));
    };
    let found = access::attribute(call.subject, name)?;
    if Type::of(call.subject) == Type::Dict && Type::of(&found) != Type::Method {
        return Ok(Value::UNDEFINED);
    }
    Ok(found)
}

/// Python's width of a pretty print.
const WIDTH: usize = 80;

pub fn pprint(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_pprint", 0, [])?;
    let text = sorted_repr(call.subject, 0)?;
    let broken = is_text(call.subject) || iterate::length(call.subject).is_some();
    if broken && text.chars().count() > WIDTH {
        return Err(refused("pprint of more than one line"));
    }
    Ok(Value::from(text))
}

fn refused(feature: &str) -> Error {
    unsupported(feature, format!("{feature} is not supported"))
}

/// `repr` with the keys of dictionaries in order.
fn sorted_repr(value: &Value, depth: usize) -> Result<String, Error> {
    if depth > 100 {
        return Err(refused("pprint of more than 100 levels"));
    }
    let each = |items: Vec<Value>| {
        let parts: Result<Vec<_>, Error> =
            items.iter().map(|item| sorted_repr(item, depth + 1)).collect();
        parts.map(|parts| parts.join(", "))
    };
    Ok(match Type::of(value) {
        Type::List => format!("[{}]", each(iterate::items(value)?)?),
        Type::Tuple => {
            let items = iterate::items(value)?;
            let comma = if items.len() == 1 { "," } else { "" };
            format!("({}{comma})", each(items)?)
        }
        Type::Dict => {
            let mut pairs = iterate::pairs(value);
            if pairs.len() > 1 {
                if !pairs.iter().all(|(key, _)| is_text(key)) {
                    return Err(refused("pprint of a dictionary with other keys than texts"));
                }
                pairs.sort_by(|a, b| a.0.as_str().cmp(&b.0.as_str()));
            }
            let mut parts = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                let key = match key.as_str() {
                    Some(text) => quoted(text),
                    None => repr::repr(&key)?,
                };
                parts.push(format!("{key}: {}", sorted_repr(&value, depth + 1)?));
            }
            format!("{{{}}}", parts.join(", "))
        }
        _ => repr::repr(value)?,
    })
}
