//! What Python answers lazily: generators, which run once, and the views of a dictionary.

use crate::semantics::iterate::pairs;
use crate::semantics::kinds::Type;
use crate::value::{Enumerator, Error, Object, Tuple, Value};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

/// Items that can be taken once. They are made at once, since nothing that makes them has an
/// effect; an error among them waits for its turn.
pub struct Generator {
    name: &'static str,
    left: Rc<RefCell<VecDeque<Value>>>,
}

/// A generator; `name` is what it says of itself in print.
#[must_use]
pub fn generator(name: &'static str, items: Vec<Value>) -> Value {
    Value::from_object(Generator { name, left: Rc::new(RefCell::new(items.into())) })
}

/// A generator that gives `items` and then fails.
#[must_use]
pub fn failing(name: &'static str, mut items: Vec<Value>, error: Error) -> Value {
    items.push(Value::from(error));
    generator(name, items)
}

impl Generator {
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The next item, as `next()` gives it.
    pub fn take(&self) -> Option<Value> {
        self.left.borrow_mut().pop_front()
    }

    /// All that is left.
    #[must_use]
    pub fn drain(&self) -> Vec<Value> {
        self.left.borrow_mut().drain(..).collect()
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<generator object {}>", self.name)
    }
}

impl Object for Generator {
    fn class(&self) -> Type {
        Type::Generator
    }

    /// There is no index, and nothing by name.
    fn get_value(&self, _: &Value) -> Option<Value> {
        Some(Value::UNDEFINED)
    }

    fn enumerate(&self) -> Enumerator {
        let left = Rc::clone(&self.left);
        Enumerator::Iter(Box::new(std::iter::from_fn(move || left.borrow_mut().pop_front())))
    }

    fn enumerator_len(&self) -> Option<usize> {
        None
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<std::cmp::Ordering> {
        super::functions::by_place(self, other)
    }

    fn is_true(&self) -> bool {
        true
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Keys,
    Values,
    Items,
}

/// `keys()`, `values()` or `items()`: has a length, runs often, has no index.
pub struct View {
    side: Side,
    dict: Value,
}

/// The entries of a dictionary, looked at from one side.
#[must_use]
pub fn view(dict: &Value, side: Side) -> Value {
    Value::from_object(View { side, dict: dict.clone() })
}

impl View {
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self.side {
            Side::Keys => "dict_keys",
            Side::Values => "dict_values",
            Side::Items => "dict_items",
        }
    }

    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// The value of a key, as the dictionary has it.
    #[must_use]
    pub fn value_of(&self, key: &Value) -> Option<Value> {
        self.dict.as_object().and_then(|map| map.get_value(key))
    }

    #[must_use]
    pub fn items(&self) -> Vec<Value> {
        let side = |(key, value)| match self.side {
            Side::Keys => key,
            Side::Values => value,
            Side::Items => Value::from(Tuple::from([key, value])),
        };
        pairs(&self.dict).into_iter().map(side).collect()
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.class())
    }
}

impl Object for View {
    fn class(&self) -> Type {
        Type::View
    }

    /// There is no index, and nothing by name.
    fn get_value(&self, _: &Value) -> Option<Value> {
        Some(Value::UNDEFINED)
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Values(self.items())
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<std::cmp::Ordering> {
        let view = other.downcast_ref::<Self>()?;
        if super::operators::compare::equal_views(self, view).ok()? {
            return Some(std::cmp::Ordering::Equal);
        }
        super::functions::by_place(self, other)
    }

    fn enumerator_len(&self) -> Option<usize> {
        self.dict.len()
    }
}
