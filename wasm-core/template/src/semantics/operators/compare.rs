//! Python's `==`, `<` and `in`.

use crate::value::{Error, Object, Value, ValueKind};
use std::cmp::Ordering;

use crate::context::Dict;
use crate::semantics::errors::{limit_error, type_error, undefined_error};
use crate::semantics::generators::{Side, View};
use crate::semantics::iterate::{items, not_iterable, pairs};
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::numbers;

/// As deep as values print.
const DEPTH: usize = 200;

/// `a == b`.
pub fn equal(a: &Value, b: &Value) -> Result<bool, Error> {
    equal_at(a, b, 0)
}

fn too_deep() -> Error {
    limit_error("depth", format!("a comparison deeper than {DEPTH} levels"))
}

fn equal_at(a: &Value, b: &Value, depth: usize) -> Result<bool, Error> {
    if depth > DEPTH {
        return Err(too_deep());
    }
    let (left, right) = (Type::of(a), Type::of(b));
    if left.is_text() && right.is_text() {
        return Ok(a.as_str() == b.as_str());
    }
    if left.is_number() && right.is_number() {
        return Ok(numbers::compare(a, b) == Some(Ordering::Equal));
    }
    if left != right {
        return Ok(false);
    }
    match left {
        Type::List | Type::Tuple | Type::Range => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.try_iter()?.zip(b.try_iter()?) {
                if !equal_at(&a, &b, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Type::Dict => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in pairs(a) {
                let other = b.as_object().and_then(|map| map.get_value(&key));
                match other {
                    Some(other) if equal_at(&value, &other, depth + 1)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        Type::View => match a.downcast_object_ref::<View>().zip(b.downcast_object_ref::<View>()) {
            Some((a, b)) => equal_views(a, b),
            None => Ok(false),
        },
        // One object is itself, and nothing else is.
        Type::Generator | Type::Function | Type::Cycler | Type::Joiner => Ok(same_object(a, b)),
        _ => Ok(a == b),
    }
}

fn same_object(a: &Value, b: &Value) -> bool {
    use crate::semantics::functions::Function;
    use crate::semantics::generators::Generator;
    use crate::semantics::globals::{Cycler, Joiner};
    fn same<T: Object>(a: &Value, b: &Value) -> bool {
        match (a.downcast_object_ref::<T>(), b.downcast_object_ref::<T>()) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            _ => false,
        }
    }
    same::<Generator>(a, b)
        || same::<Function>(a, b)
        || same::<Cycler>(a, b)
        || same::<Joiner>(a, b)
}

/// Keys and items compare as sets, values not at all.
pub fn equal_views(a: &View, b: &View) -> Result<bool, Error> {
    if std::ptr::eq(a, b) {
        return Ok(true);
    }
    if a.side() == Side::Values
        || b.side() == Side::Values
        || a.enumerator_len() != b.enumerator_len()
    {
        return Ok(false);
    }
    is_within(a, b)
}

/// Whether all items of one view are in the other.
fn is_within(a: &View, b: &View) -> Result<bool, Error> {
    for item in a.items() {
        if !is_in_set(b, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `keys()` and `items()` are sets; `values()` are not.
pub fn as_set(value: &Value) -> Option<&View> {
    value.downcast_object_ref::<View>().filter(|view| view.side() != Side::Values)
}

/// Looks a key, or a key with its value, up in the dictionary.
fn is_in_set(view: &View, item: &Value) -> Result<bool, Error> {
    let pair;
    let (key, value) = match view.side() {
        Side::Keys => (item, None),
        _ if Type::of(item) == Type::Tuple => {
            pair = items(item)?;
            let [key, value] = pair.as_slice() else { return Ok(false) };
            (key, Some(value))
        }
        _ => return Ok(false),
    };
    hashable(key)?;
    match (view.value_of(key), value) {
        (Some(found), Some(value)) => equal(&found, value),
        (found, _) => Ok(found.is_some()),
    }
}

/// The order of two values; None where there is none (NaN). `sign` is for the message.
pub fn order(a: &Value, b: &Value, sign: &str) -> Result<Option<Ordering>, Error> {
    order_at(a, b, sign, 0)
}

/// `a < b`.
pub fn less(a: &Value, b: &Value) -> Result<bool, Error> {
    Ok(order(a, b, "<")? == Some(Ordering::Less))
}

fn order_at(a: &Value, b: &Value, sign: &str, depth: usize) -> Result<Option<Ordering>, Error> {
    if depth > DEPTH {
        return Err(too_deep());
    }
    let (left, right) = (Type::of(a), Type::of(b));
    if left.is_text() && right.is_text() {
        return Ok(Some(a.as_str().cmp(&b.as_str())));
    }
    if left.is_number() && right.is_number() {
        return Ok(numbers::compare(a, b));
    }
    if left == Type::Undefined || right == Type::Undefined {
        return Err(undefined_error("a value is undefined"));
    }
    if left == right && matches!(left, Type::List | Type::Tuple) {
        for (a, b) in a.try_iter()?.zip(b.try_iter()?) {
            if !equal_at(&a, &b, depth + 1)? {
                return order_at(&a, &b, sign, depth + 1);
            }
        }
        return Ok(Some(a.len().cmp(&b.len())));
    }
    if let (Some(a), Some(b)) = (as_set(a), as_set(b)) {
        return Ok(match (is_within(a, b)?, is_within(b, a)?) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        });
    }
    Err(type_error(format!(
        "'{sign}' not supported between instances of '{}' and '{}'",
        type_name(a),
        type_name(b)
    )))
}

/// `item in container`.
pub fn contains(container: &Value, item: &Value) -> Result<bool, Error> {
    if let (Some(map), ValueKind::String) = (container.downcast_object_ref::<Dict>(), item.kind()) {
        return Ok(item.as_str().is_some_and(|key| map.find(key).is_some()));
    }
    if let Some(view) = as_set(container) {
        return is_in_set(view, item);
    }
    match Type::of(container) {
        Type::Undefined => Ok(false),
        Type::Str | Type::Markup => match item.as_str() {
            Some(part) if Type::of(item).is_text() => {
                Ok(container.as_str().unwrap_or_default().contains(part))
            }
            _ => Err(type_error(format!(
                "'in <string>' requires string as left operand, not {}",
                type_name(item)
            ))),
        },
        Type::Dict => {
            hashable(item)?;
            Ok(container.as_object().is_some_and(|map| map.get_value(item).is_some()))
        }
        Type::List | Type::Tuple | Type::Range | Type::View | Type::Generator => {
            for other in container.try_iter()?.checked() {
                if equal(&other?, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Type::Loop => Err(not_iterable(container)),
        _ => {
            Err(type_error(format!("argument of type '{}' is not iterable", type_name(container))))
        }
    }
}

/// TypeError for what cannot be a key.
pub fn hashable(value: &Value) -> Result<(), Error> {
    match Type::of(value) {
        Type::View if as_set(value).is_none() => Ok(()),
        Type::List | Type::Dict | Type::View => {
            Err(type_error(format!("unhashable type: '{}'", type_name(value))))
        }
        Type::Tuple => value.try_iter()?.try_for_each(|item| hashable(&item)),
        _ => Ok(()),
    }
}
