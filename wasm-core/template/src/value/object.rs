//! What values share: lists, dictionaries, functions.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;

use super::{Error, Value};
use crate::eval::State;
use crate::semantics::kinds::Type;

/// How an object gives its items.
pub enum Enumerator {
    NonEnumerable,
    /// By number, so many.
    Seq(usize),
    Values(Vec<Value>),
    Iter(Box<dyn Iterator<Item = Value>>),
}

pub trait Object: Any + fmt::Debug {
    fn class(&self) -> Type;

    fn get_value(&self, _key: &Value) -> Option<Value> {
        None
    }

    fn get_value_by_str(&self, key: &str) -> Option<Value> {
        self.get_value(&Value::from(key))
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn enumerator_len(&self) -> Option<usize> {
        match self.enumerate() {
            Enumerator::Seq(length) => Some(length),
            Enumerator::Values(values) => Some(values.len()),
            Enumerator::NonEnumerable | Enumerator::Iter(_) => None,
        }
    }

    fn is_true(&self) -> bool {
        self.enumerator_len() != Some(0)
    }

    /// None: as the items compare.
    fn custom_cmp(&self, _other: &dyn Object) -> Option<Ordering> {
        None
    }

    fn call(&self, _state: &mut State, _args: &[Value]) -> Result<Value, Error> {
        let class = crate::semantics::kinds::name_of(self.class());
        Err(crate::semantics::errors::type_error(format!("'{class}' object is not callable")))
    }

    /// A method that is in no table; None: there is none of this name.
    fn call_method(
        &self,
        _state: &mut State,
        _name: &str,
        _args: &[Value],
    ) -> Option<Result<Value, Error>> {
        None
    }
}

impl dyn Object {
    #[must_use]
    pub fn downcast_ref<T: Object>(&self) -> Option<&T> {
        let object: &dyn Any = self;
        object.downcast_ref()
    }

    /// Keys with their values.
    #[must_use]
    pub fn pairs(&self) -> Vec<(Value, Value)> {
        match self.enumerate() {
            Enumerator::Values(keys) => keys
                .into_iter()
                .map(|key| {
                    let value = self.get_value(&key).unwrap_or_default();
                    (key, value)
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl Object for Vec<Value> {
    fn class(&self) -> Type {
        Type::List
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        self.get(key.as_usize()?).cloned()
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Values(self.clone())
    }

    fn enumerator_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

#[derive(Debug, Clone)]
pub struct Tuple(Vec<Value>);

impl std::ops::Deref for Tuple {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for Tuple {
    fn from(items: Vec<Value>) -> Self {
        Self(items)
    }
}

impl From<&[Value]> for Tuple {
    fn from(items: &[Value]) -> Self {
        Self(items.to_vec())
    }
}

impl<const N: usize> From<[Value; N]> for Tuple {
    fn from(items: [Value; N]) -> Self {
        Self(items.into())
    }
}

impl Object for Tuple {
    fn class(&self) -> Type {
        Type::Tuple
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).cloned()
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Values(self.0.clone())
    }

    fn enumerator_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// Arguments by name, as the last of a call's arguments; no template can hold it.
#[derive(Debug, Default)]
pub struct Kwargs(pub Vec<(String, Value)>);

impl Object for Kwargs {
    fn class(&self) -> Type {
        Type::Dict
    }
}
