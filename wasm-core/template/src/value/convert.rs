//! From Rust's types and to them.

use std::rc::Rc;

use super::{Error, Kwargs, Repr, Tuple, Value};

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self(Repr::None)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self(Repr::Bool(value))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self(Repr::Int(value))
    }
}

impl From<i128> for Value {
    fn from(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(small) => Self(Repr::Int(small)),
            Err(_) => Self(Repr::Wide(Rc::new(value))),
        }
    }
}

macro_rules! small {
    ($($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(value: $number) -> Self {
                Self(Repr::Int(i64::from(value)))
            }
        }
    )*};
}

small!(u8, u32, i32);

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        i64::try_from(value).map_or(Self(Repr::Wide(Rc::new(value as i128))), Self::from)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::from(i128::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self(Repr::Float(value))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<char> for Value {
    fn from(character: char) -> Self {
        Self::from(&*character.encode_utf8(&mut [0; 4]))
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::from_object(items)
    }
}

impl From<Tuple> for Value {
    fn from(items: Tuple) -> Self {
        Self::from_object(items)
    }
}

impl From<Kwargs> for Value {
    fn from(named: Kwargs) -> Self {
        Self::from_object(named)
    }
}

impl From<Error> for Value {
    fn from(error: Error) -> Self {
        Self(Repr::Invalid(error))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(Repr::None), Into::into)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<Vec<_>>())
    }
}

impl Value {
    /// A whole number of 128 bits at most, and nothing else.
    #[must_use]
    pub fn whole(&self) -> Option<i128> {
        match &self.0 {
            Repr::Int(value) => Some(i128::from(*value)),
            Repr::Wide(value) => Some(**value),
            _ => None,
        }
    }

    /// A float, and nothing else.
    #[must_use]
    pub fn float(&self) -> Option<f64> {
        match &self.0 {
            Repr::Float(value) => Some(*value),
            _ => None,
        }
    }
}
