//! Every method of Python's types that jinja2's sandbox lets through.

pub mod arguments;
#[cfg(test)]
mod cases;
mod containers;
pub mod format;
mod numbers;
mod text;

use crate::value::{Error, Value};
pub use text::escaped;

use super::call::Table;
use super::errors::{attribute_error, security_error, undefined_error};
use super::kinds::{type_name, Type};

/// The methods that the type of `subject` has; None for what has no methods.
#[must_use]
pub fn of(subject: &Value) -> Option<&'static Table> {
    match Type::of(subject) {
        Type::Str => Some(&text::STR),
        Type::Markup => Some(&text::MARKUP),
        Type::Dict => Some(&containers::DICT),
        Type::List => Some(&containers::LIST),
        Type::Tuple => Some(&containers::TUPLE),
        Type::Range => Some(&containers::RANGE),
        Type::View => Some(&containers::VIEW),
        Type::Int | Type::Bool => Some(&numbers::INT),
        Type::Float => Some(&numbers::FLOAT),
        _ => None,
    }
}

const CHANGE_LIST: [&str; 8] =
    ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
const CHANGE_DICT: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];

/// Why a method that is in no table cannot be called.
#[must_use]
pub fn refusal(subject: &Value, name: &str) -> Error {
    let class = type_name(subject);
    let changes = match Type::of(subject) {
        Type::Undefined => return undefined_error("a value is undefined"),
        Type::List => CHANGE_LIST.contains(&name),
        Type::Dict => CHANGE_DICT.contains(&name),
        _ => false,
    };
    if changes || name.starts_with('_') {
        return security_error(format!(
            "access to attribute '{name}' of '{class}' object is unsafe."
        ));
    }
    attribute_error(format!("'{class}' object has no attribute '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::names::{has, ATTRIBUTES};

    #[test]
    fn tables_are_sorted_and_their_names_are_attributes() {
        for table in [
            &text::STR,
            &*text::MARKUP,
            &containers::DICT,
            &containers::LIST,
            &containers::TUPLE,
            &containers::RANGE,
            &containers::VIEW,
            &numbers::INT,
            &numbers::FLOAT,
        ] {
            assert!(table.is_sorted(), "{:?}", table.names().collect::<Vec<_>>());
            // Else an attribute is taken for a key.
            let unknown: Vec<_> = table.names().filter(|name| !has(ATTRIBUTES, name)).collect();
            assert!(unknown.is_empty(), "{unknown:?}");
        }
    }
}
