//! The errors of functions: Python's kinds in the words, ours in what they are.

use crate::error;
use crate::value::Error;

fn runtime(class: &str, message: &str) -> Error {
    Error::new(format!("{class}: {message}"))
}

pub fn type_error(message: impl AsRef<str>) -> Error {
    runtime("TypeError", message.as_ref())
}

pub fn is_type_error(error: &Error) -> bool {
    error.message().starts_with("TypeError: ")
}

pub fn value_error(message: impl AsRef<str>) -> Error {
    runtime("ValueError", message.as_ref())
}

pub fn index_error(message: impl AsRef<str>) -> Error {
    runtime("IndexError", message.as_ref())
}

pub fn key_error(message: impl AsRef<str>) -> Error {
    runtime("KeyError", message.as_ref())
}

pub fn overflow_error(message: impl AsRef<str>) -> Error {
    runtime("OverflowError", message.as_ref())
}

pub fn attribute_error(message: impl AsRef<str>) -> Error {
    runtime("AttributeError", message.as_ref())
}

pub fn undefined_error(message: impl AsRef<str>) -> Error {
    runtime("UndefinedError", message.as_ref())
}

pub fn security_error(message: impl AsRef<str>) -> Error {
    runtime("SecurityError", message.as_ref())
}

pub fn filter_error(message: impl AsRef<str>) -> Error {
    runtime("FilterArgumentError", message.as_ref())
}

/// A bound was passed; `feature` is the name of the bound in `limits.rs`.
pub fn limit_error(feature: &'static str, message: impl Into<String>) -> Error {
    Error::from(error::Error::new(error::Kind::Limit, message).named(feature))
}

/// Valid in the reference, but cannot be rendered exactly here.
pub fn unsupported(feature: impl Into<String>, message: impl Into<String>) -> Error {
    Error::from(error::Error::new(error::Kind::Unsupported, message).named(feature))
}

/// `raise_exception(...)`.
pub fn raised(message: impl Into<String>) -> Error {
    Error::from(error::Error::new(error::Kind::Raised, message))
}
