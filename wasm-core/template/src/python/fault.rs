//! What Python would have raised.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Type,
    Value,
    Index,
    Key,
    Overflow,
    ZeroDivision,
    /// The answer would pass a declared bound; Python would have given it.
    Limit,
    /// Python has an answer that is not given here.
    Unsupported,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    pub message: String,
}

pub type Outcome<T> = Result<T, Fault>;

impl Fault {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new(Kind::Type, message)
    }

    pub fn value_error(message: impl Into<String>) -> Self {
        Self::new(Kind::Value, message)
    }

    pub fn unsupported(feature: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, feature)
    }

    pub fn too_long(cap: usize) -> Self {
        Self::new(Kind::Limit, format!("a text would be longer than {cap} bytes"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// `count` copies of `unit`, if they and `already` bytes stay within `cap`.
pub fn push_repeated(out: &mut String, unit: &str, count: usize, cap: usize) -> Outcome<()> {
    let bytes = unit.len().checked_mul(count).and_then(|more| more.checked_add(out.len()));
    match bytes {
        Some(bytes) if bytes <= cap => {
            out.reserve(bytes - out.len());
            for _ in 0..count {
                out.push_str(unit);
            }
            Ok(())
        }
        _ => Err(Fault::too_long(cap)),
    }
}

pub fn push(out: &mut String, text: &str, cap: usize) -> Outcome<()> {
    push_repeated(out, text, 1, cap)
}
