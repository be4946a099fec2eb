//! Which of Python's types a value stands for.

use super::generators::View;
use crate::value::Value;

/// In an order that has all kinds of numbers side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// A value that holds an error.
    Invalid,
}

impl Type {
    #[must_use]
    pub fn of(value: &Value) -> Self {
        value.class()
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
    match (value.class(), value.downcast_object_ref::<View>()) {
        (Type::View, Some(view)) => view.class(),
        (class, _) => name_of(class),
    }
}

/// The same of a type.
#[must_use]
pub fn name_of(class: Type) -> &'static str {
    match class {
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
        Type::View => "dict_items",
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
