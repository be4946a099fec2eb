//! `x.name` and `x[key]`, as jinja2's sandbox looks them up.

use crate::semantics::errors::{undefined_error, unsupported};
use crate::semantics::functions::Method;
use crate::semantics::kinds::Type;
use crate::semantics::methods;
use crate::semantics::numbers::{integer, rounded};
use crate::value::{Error, Value, ValueKind};

/// `x.name`: the attribute of the type first, then the key.
pub fn attribute(subject: &Value, name: &str) -> Result<Value, Error> {
    if is_everyones(subject, name) {
        return Ok(Value::UNDEFINED);
    }
    defined(subject)?;
    if let Some(found) = of_type(subject, name) {
        return Ok(found);
    }
    Ok(subject.get_attr(name).unwrap_or_default())
}

/// `x[key]`: the key first, then the attribute of the type.
pub fn item(subject: &Value, key: &Value) -> Result<Value, Error> {
    if let Some(items) = subject.downcast_object_ref::<Vec<Value>>() {
        // Nearly all are; an index that is none of these is looked at below.
        let index = key.as_usize().filter(|_| key.kind() == ValueKind::Number && key.is_integer());
        if let Some(item) = index.and_then(|index| items.get(index)) {
            return Ok(item.clone());
        }
    }
    defined(subject)?;
    let found = match Type::of(subject) {
        Type::Dict => subject.as_object().and_then(|map| map.get_value(key)),
        Type::Str | Type::Markup | Type::Bytes | Type::List | Type::Tuple | Type::Range => {
            integer(key).and_then(|index| at(subject, index))
        }
        Type::Namespace | Type::Loop | Type::Macro | Type::Cycler | Type::Joiner => {
            // A missing one may be a method.
            let found = key.as_str().and_then(|name| subject.get_attr(name).ok());
            found.filter(|found| !found.is_undefined())
        }
        _ => None,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    Ok(key.as_str().and_then(|name| of_type(subject, name)).unwrap_or_default())
}

/// What every object of Python has and the sandbox hides, even if there is such a key.
const HIDDEN: [&str; 24] = [
    "__class__",
    "__delattr__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__getstate__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__lt__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
];

/// And what an undefined value has besides.
const HIDDEN_OF_UNDEFINED: &str = "__add__ __aiter__ __bool__ __call__ __complex__ __div__ \
    __float__ __floordiv__ __getattr__ __getitem__ __int__ __iter__ __len__ __mod__ __module__ \
    __mul__ __neg__ __pos__ __pow__ __radd__ __rdiv__ __rfloordiv__ __rmod__ __rmul__ __rpow__ \
    __rsub__ __rtruediv__ __slots__ __sub__ __truediv__";

fn is_everyones(subject: &Value, name: &str) -> bool {
    name.starts_with("__")
        && (HIDDEN.contains(&name)
            || subject.is_undefined()
                && HIDDEN_OF_UNDEFINED.split_whitespace().any(|hidden| hidden == name))
}

fn defined(subject: &Value) -> Result<(), Error> {
    if subject.is_undefined() {
        return Err(undefined_error("a value is undefined"));
    }
    Ok(())
}

/// An item by its position, from the end if negative.
fn at(subject: &Value, index: i128) -> Option<Value> {
    let index =
        if index < 0 { index.checked_add(i128::try_from(subject.len()?).ok()?)? } else { index };
    let index = usize::try_from(index).ok()?;
    let found = subject.get_item_by_index(index).ok().filter(|found| !found.is_undefined());
    match found {
        Some(found) if subject.is_safe() => {
            Some(Value::from_safe_string(found.as_str().unwrap_or_default().to_owned()))
        }
        Some(found) => Some(found),
        // An item can itself be undefined.
        None => None,
    }
}

/// Methods that are in no table.
const OF_OBJECTS: [(Type, &str); 4] = [
    (Type::Loop, "changed"),
    (Type::Loop, "cycle"),
    (Type::Cycler, "next"),
    (Type::Cycler, "reset"),
];

/// A method without its call, or a part of a number, a range or a group.
fn of_type(subject: &Value, name: &str) -> Option<Value> {
    if let Some((name, _)) = methods::of(subject).and_then(|table| table.find(name)) {
        return Some(Value::from_object(Method { subject: subject.clone(), name }));
    }
    let kind = Type::of(subject);
    if let Some(&(_, name)) = OF_OBJECTS.iter().find(|known| **known == (kind, name)) {
        return Some(Value::from_object(Method { subject: subject.clone(), name }));
    }
    match (kind, name) {
        (Type::Int | Type::Bool, "real" | "numerator") => Some(match integer(subject) {
            Some(whole) => crate::semantics::numbers::whole(whole),
            None => subject.clone(),
        }),
        (Type::Int | Type::Bool, "imag") => Some(Value::from(0)),
        (Type::Int | Type::Bool, "denominator") => Some(Value::from(1)),
        (Type::Float, "real") => rounded(subject).map(Value::from),
        (Type::Float, "imag") => Some(Value::from(0.0)),
        (Type::View, "mapping") => Some(Value::from(unsupported(
            "the mapping of a view",
            "the dictionary under a view is not handed out",
        ))),
        // Groups are tuples whose items have names.
        (Type::Tuple, _) => subject.as_object()?.get_value_by_str(name),
        (Type::Range, "start" | "stop" | "step") => {
            let range =
                subject.downcast_object_ref::<crate::semantics::globals::ranges::Range>()?;
            Some(crate::semantics::numbers::whole(match name {
                "start" => range.start,
                "stop" => range.stop,
                _ => range.step,
            }))
        }
        _ => None,
    }
}
