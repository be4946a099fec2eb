//! Values of a template: Python's types. Small ones are kept where they stand, the others shared.

mod convert;
mod object;

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

pub use object::{Enumerator, Kwargs, Object, Tuple};

use crate::error;
use crate::eval::State;
use crate::semantics::kinds::Type;
use crate::semantics::numbers;

/// Why a call failed: small, because every call may.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<error::Error>);

impl Error {
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(error::Error::new(error::Kind::Runtime, message)))
    }

    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The line on which it happened, unless it is known, or the error is the template's own.
    #[must_use]
    pub fn on(mut self, line: u32) -> Self {
        if self.0.line.is_none() && self.0.kind != error::Kind::Raised {
            self.0.line = Some(line);
        }
        self
    }

    #[must_use]
    pub fn into_inner(self) -> error::Error {
        *self.0
    }
}

impl From<error::Error> for Error {
    fn from(inner: error::Error) -> Self {
        Self(Box::new(inner))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Error {}

#[derive(Clone, Default)]
enum Repr {
    #[default]
    Undefined,
    None,
    Bool(bool),
    Int(i64),
    Wide(Rc<i128>),
    Float(f64),
    Text(Rc<str>),
    /// A text that was marked as safe.
    Safe(Rc<str>),
    Bytes(Rc<[u8]>),
    Object(Rc<dyn Object>),
    /// An error that waits for its turn.
    Invalid(Error),
    /// What a block has left where its parameters were: jinja2 would show its own mark.
    Gone,
}

#[derive(Clone, Default)]
pub struct Value(Repr);

/// What a value is to a walk through plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Undefined,
    None,
    Bool,
    Number,
    String,
    Bytes,
    Seq,
    Map,
    Iterable,
    Plain,
    Invalid,
}

impl Value {
    pub const UNDEFINED: Self = Self(Repr::Undefined);
    pub const GONE: Self = Self(Repr::Gone);

    pub fn from_object(object: impl Object) -> Self {
        Self(Repr::Object(Rc::new(object)))
    }

    pub fn from_rc(object: Rc<dyn Object>) -> Self {
        Self(Repr::Object(object))
    }

    #[must_use]
    pub fn from_safe_string(text: String) -> Self {
        Self(Repr::Safe(text.into()))
    }

    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(Repr::Bytes(bytes.into()))
    }

    #[must_use]
    pub fn class(&self) -> Type {
        match &self.0 {
            Repr::Undefined => Type::Undefined,
            Repr::None => Type::None,
            Repr::Bool(_) => Type::Bool,
            Repr::Int(_) | Repr::Wide(_) => Type::Int,
            Repr::Float(_) => Type::Float,
            Repr::Text(_) => Type::Str,
            Repr::Safe(_) => Type::Markup,
            Repr::Bytes(_) => Type::Bytes,
            Repr::Object(object) => object.class(),
            Repr::Invalid(_) | Repr::Gone => Type::Invalid,
        }
    }

    #[must_use]
    pub fn kind(&self) -> ValueKind {
        match &self.0 {
            Repr::Undefined => ValueKind::Undefined,
            Repr::None => ValueKind::None,
            Repr::Bool(_) => ValueKind::Bool,
            Repr::Int(_) | Repr::Wide(_) | Repr::Float(_) => ValueKind::Number,
            Repr::Text(_) | Repr::Safe(_) => ValueKind::String,
            Repr::Bytes(_) => ValueKind::Bytes,
            Repr::Invalid(_) | Repr::Gone => ValueKind::Invalid,
            Repr::Object(object) => match object.class() {
                Type::List | Type::Tuple | Type::Range => ValueKind::Seq,
                Type::Dict | Type::Namespace | Type::Loop | Type::Macro => ValueKind::Map,
                Type::Generator | Type::View => ValueKind::Iterable,
                _ => ValueKind::Plain,
            },
        }
    }

    #[must_use]
    pub fn is_undefined(&self) -> bool {
        matches!(self.0, Repr::Undefined)
    }

    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.0, Repr::Gone)
    }

    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self.0, Repr::None)
    }

    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self.0, Repr::Int(_) | Repr::Wide(_) | Repr::Float(_))
    }

    /// A whole number of 128 bits at most.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self.0, Repr::Int(_) | Repr::Wide(_))
    }

    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.0, Repr::Safe(_))
    }

    #[must_use]
    pub fn is_tuple(&self) -> bool {
        self.class() == Type::Tuple
    }

    #[must_use]
    pub fn is_kwargs(&self) -> bool {
        self.downcast_object_ref::<Kwargs>().is_some()
    }

    #[must_use]
    pub fn is_true(&self) -> bool {
        match &self.0 {
            Repr::Undefined | Repr::None | Repr::Invalid(_) | Repr::Gone => false,
            Repr::Bool(value) => *value,
            Repr::Int(value) => *value != 0,
            Repr::Wide(value) => **value != 0,
            Repr::Float(value) => *value != 0.0,
            Repr::Text(text) | Repr::Safe(text) => !text.is_empty(),
            Repr::Bytes(bytes) => !bytes.is_empty(),
            Repr::Object(object) => object.is_true(),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) | Repr::Safe(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Bytes(bytes) => Some(bytes),
            _ => self.as_str().map(str::as_bytes),
        }
    }

    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_usize(&self) -> Option<usize> {
        self.as_i64().and_then(|value| usize::try_from(value).ok())
    }

    #[must_use]
    pub fn as_object(&self) -> Option<&dyn Object> {
        match &self.0 {
            Repr::Object(object) => Some(&**object),
            _ => None,
        }
    }

    #[must_use]
    pub fn downcast_object_ref<T: Object>(&self) -> Option<&T> {
        let object: &dyn std::any::Any = self.as_object()?;
        object.downcast_ref()
    }

    #[must_use]
    pub fn downcast_object<T: Object>(&self) -> Option<Rc<T>> {
        let Repr::Object(object) = &self.0 else { return None };
        let object: Rc<dyn std::any::Any> = Rc::clone(object) as _;
        object.downcast().ok()
    }

    /// None: it has no length.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> Option<usize> {
        match &self.0 {
            Repr::Text(text) | Repr::Safe(text) => Some(text.chars().count()),
            Repr::Bytes(bytes) => Some(bytes.len()),
            Repr::Object(object) => object.enumerator_len(),
            _ => None,
        }
    }

    /// The value under a name; undefined where there is none.
    pub fn get_attr(&self, name: &str) -> Result<Self, Error> {
        match &self.0 {
            Repr::Object(object) => Ok(object.get_value_by_str(name).unwrap_or_default()),
            Repr::Undefined => {
                Err(crate::semantics::errors::undefined_error("a value is undefined"))
            }
            _ => Ok(Self::UNDEFINED),
        }
    }

    pub fn get_item(&self, key: &Self) -> Result<Self, Error> {
        match &self.0 {
            Repr::Object(object) => Ok(object.get_value(key).unwrap_or_default()),
            Repr::Undefined => self.get_attr(""),
            _ => match key.as_usize() {
                Some(index) => self.get_item_by_index(index),
                None => Ok(Self::UNDEFINED),
            },
        }
    }

    pub fn get_item_by_index(&self, index: usize) -> Result<Self, Error> {
        Ok(match &self.0 {
            Repr::Text(text) | Repr::Safe(text) => {
                text.chars().nth(index).map(Self::from).unwrap_or_default()
            }
            Repr::Bytes(bytes) => {
                bytes.get(index).map(|byte| Self::from(*byte)).unwrap_or_default()
            }
            Repr::Object(object) => object.get_value(&Self::from(index)).unwrap_or_default(),
            _ => Self::UNDEFINED,
        })
    }

    /// What Python's `iter` gives; an error that waits among it is one of the values.
    pub fn try_iter(&self) -> Result<Values, Error> {
        let inner: Box<dyn Iterator<Item = Self>> = match &self.0 {
            Repr::Undefined => Box::new(std::iter::empty()),
            Repr::Text(text) | Repr::Safe(text) => {
                let text: Vec<Self> = text.chars().map(Self::from).collect();
                Box::new(text.into_iter())
            }
            Repr::Object(object) => match object.enumerate() {
                Enumerator::NonEnumerable => return Err(self.no_items()),
                Enumerator::Seq(length) => {
                    let object = Rc::clone(object);
                    let at = move |at: usize| object.get_value(&Self::from(at)).unwrap_or_default();
                    Box::new((0..length).map(at))
                }
                Enumerator::Values(values) => Box::new(values.into_iter()),
                Enumerator::Iter(values) => values,
            },
            _ => return Err(self.no_items()),
        };
        Ok(Values(inner))
    }

    fn no_items(&self) -> Error {
        crate::semantics::iterate::not_iterable(self)
    }

    /// The error that waits here.
    #[must_use]
    pub fn invalid(&self) -> Option<&Error> {
        match &self.0 {
            Repr::Invalid(error) => Some(error),
            _ => None,
        }
    }

    pub fn call(&self, state: &mut State, args: &[Self]) -> Result<Self, Error> {
        let Repr::Object(object) = &self.0 else { return Err(self.not_callable()) };
        object.call(state, args)
    }

    #[must_use]
    pub fn not_callable(&self) -> Error {
        if self.is_undefined() {
            return crate::semantics::errors::undefined_error("a value is undefined");
        }
        let class = crate::semantics::kinds::type_name(self);
        crate::semantics::errors::type_error(format!("'{class}' object is not callable"))
    }
}

/// The items of a value.
pub struct Values(Box<dyn Iterator<Item = Value>>);

impl Iterator for Values {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        self.0.next()
    }
}

impl Values {
    /// An error among the items is one.
    pub fn checked(self) -> impl Iterator<Item = Result<Value, Error>> {
        self.map(|value| match value.0 {
            Repr::Invalid(error) => Err(error),
            _ => Ok(value),
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Undefined | Repr::Gone => Ok(()),
            Repr::None => f.write_str("none"),
            Repr::Bool(value) => fmt::Display::fmt(value, f),
            Repr::Int(value) => fmt::Display::fmt(value, f),
            Repr::Wide(value) => fmt::Display::fmt(value, f),
            Repr::Float(value) => fmt::Display::fmt(value, f),
            Repr::Text(text) | Repr::Safe(text) => f.write_str(text),
            Repr::Bytes(bytes) => fmt::Debug::fmt(bytes, f),
            Repr::Object(object) => fmt::Debug::fmt(object, f),
            Repr::Invalid(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Undefined => f.write_str("undefined"),
            Repr::Text(text) | Repr::Safe(text) => fmt::Debug::fmt(text, f),
            _ => fmt::Display::fmt(self, f),
        }
    }
}

impl PartialEq for Value {
    /// What is no number equals nothing.
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal && !self.float().is_some_and(f64::is_nan)
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    /// Any order in which equal keys of a dictionary are equal.
    fn cmp(&self, other: &Self) -> Ordering {
        let is_number =
            |value: &Self| value.is_number() || matches!(value.class(), Type::Bool | Type::Int);
        if let (Some(a), Some(b)) = (self.as_str(), other.as_str()) {
            return a.cmp(b);
        }
        if is_number(self) && is_number(other) {
            return numbers::compare(self, other).unwrap_or_else(|| {
                let float = |value: &Self| numbers::rounded(value).unwrap_or(f64::INFINITY);
                float(self).total_cmp(&float(other))
            });
        }
        match (&self.0, &other.0) {
            (Repr::Bytes(a), Repr::Bytes(b)) => return a.cmp(b),
            (Repr::Object(a), Repr::Object(b)) if a.class() == b.class() => {
                if let Some(order) = a.custom_cmp(&**b) {
                    return order;
                }
                if let (ValueKind::Seq, ValueKind::Seq) = (self.kind(), other.kind()) {
                    let items = |value: &Self| value.try_iter().into_iter().flatten();
                    return items(self).cmp(items(other));
                }
                return self.address().cmp(&other.address());
            }
            _ => {}
        }
        self.class().cmp(&other.class())
    }
}

impl Value {
    /// Where an object is; nothing is equal to a value that is none.
    fn address(&self) -> usize {
        match &self.0 {
            Repr::Object(object) => Rc::as_ptr(object).cast::<()>() as usize,
            _ => std::ptr::from_ref(self) as usize,
        }
    }
}
