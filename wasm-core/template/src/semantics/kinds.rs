//! Which of Python's types a value stands for.

use minijinja::value::{DynObject, ValueKind};
use minijinja::Value;

use super::filters::Group;
use super::functions::{Function, Method};
use super::generators::{Generator, View};
use super::globals::{Cycler, Joiner};
use super::numbers::BigInt;
use super::ranges::Range;
use crate::context::Dict;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    Undefined,
    None,
    Bool,
    Int,
    Float,
    Str,
    Markup,
    Bytes,
    List,
    Tuple,
    Dict,
    Range,
    /// Runs once; `map`, `select` and the like.
    Generator,
    /// `dict.items()` and the like.
    View,
    Namespace,
    Loop,
    Macro,
    /// A method without its call.
    Method,
    /// A function of the environment.
    Function,
    Cycler,
    Joiner,
    /// A value that holds an error of the crate.
    Invalid,
}

impl Type {
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value.kind() {
            ValueKind::Undefined => Self::Undefined,
            ValueKind::None => Self::None,
            ValueKind::Bool => Self::Bool,
            ValueKind::Number if value.is_integer() => Self::Int,
            ValueKind::Number => Self::Float,
            ValueKind::String if value.is_safe() => Self::Markup,
            ValueKind::String => Self::Str,
            ValueKind::Bytes => Self::Bytes,
            ValueKind::Invalid => Self::Invalid,
            _ => value.as_object().map_or(Self::Invalid, Self::of_object),
        }
    }

    fn of_object(object: &DynObject) -> Self {
        use minijinja::value::{ObjectRepr, Tuple};
        // What nearly all are.
        if object.downcast_ref::<Dict>().is_some() {
            return Self::Dict;
        }
        if object.downcast_ref::<Vec<Value>>().is_some() {
            return Self::List;
        }
        match object.repr() {
            ObjectRepr::Seq if object.downcast_ref::<Tuple>().is_some() => Self::Tuple,
            ObjectRepr::Seq if object.downcast_ref::<Group>().is_some() => Self::Tuple,
            ObjectRepr::Seq if object.downcast_ref::<Range>().is_some() => Self::Range,
            ObjectRepr::Seq => Self::List,
            ObjectRepr::Iterable if object.downcast_ref::<View>().is_some() => Self::View,
            ObjectRepr::Iterable if object.downcast_ref::<Generator>().is_some() => Self::Generator,
            // What the crate makes of `a + b` and `a * n` knows its length.
            ObjectRepr::Iterable if object.enumerator_len().is_some() => Self::List,
            ObjectRepr::Iterable => Self::Generator,
            ObjectRepr::Map => match object.type_name() {
                name if name.ends_with("::Namespace") => Self::Namespace,
                name if name.ends_with("::Loop") => Self::Loop,
                name if name.ends_with("::Macro") => Self::Macro,
                _ => Self::Dict,
            },
            _ if object.downcast_ref::<BigInt>().is_some() => Self::Int,
            _ if object.downcast_ref::<Method>().is_some() => Self::Method,
            _ if object.downcast_ref::<Cycler>().is_some() => Self::Cycler,
            _ if object.downcast_ref::<Joiner>().is_some() => Self::Joiner,
            _ if object.downcast_ref::<Function>().is_some() => Self::Function,
            _ => Self::Function,
        }
    }

    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Str | Self::Markup)
    }

    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::Bool | Self::Int | Self::Float)
    }
}

/// `type(value).__name__`.
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
    match Type::of(value) {
        Type::Undefined => "Undefined",
        Type::None => "NoneType",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Float => "float",
        Type::Str => "str",
        Type::Markup => "Markup",
        Type::Bytes => "bytes",
        Type::List => "list",
        Type::Tuple => "tuple",
        Type::Dict => "dict",
        Type::Range => "range",
        Type::Generator => "generator",
        Type::View => value.downcast_object_ref::<View>().map_or("dict_items", View::class),
        Type::Namespace => "TemplateNamespace",
        Type::Loop => "LoopContext",
        Type::Macro => "Macro",
        Type::Method => "method",
        Type::Function => "function",
        Type::Cycler => "Cycler",
        Type::Joiner => "Joiner",
        Type::Invalid => "object",
    }
}
