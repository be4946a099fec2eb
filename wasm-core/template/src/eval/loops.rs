//! `loop`, as a value.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use super::code::For;
use super::state::{Scope, State};
use crate::semantics::call::{split, Call};
use crate::semantics::errors::type_error;
use crate::semantics::functions::by_place;
use crate::semantics::kinds::Type;
use crate::semantics::operators::compare::equal;
use crate::value::{Error, Object, Value};

/// The function that a recursive loop is.
#[derive(Clone)]
pub struct Recursion {
    pub code: Rc<For>,
    pub closure: Rc<Scope>,
}

/// jinja2's `LoopContext`.
pub struct Loop {
    items: Vec<Value>,
    /// What the items end with instead of their end.
    end: Option<Error>,
    recursion: Option<Recursion>,
    depth: usize,
    /// How many items were taken.
    taken: Cell<usize>,
    changed: RefCell<Option<Vec<Value>>>,
}

impl Loop {
    pub fn new(
        items: Vec<Value>,
        end: Option<Error>,
        recursion: Option<Recursion>,
        depth: usize,
    ) -> Self {
        let (taken, changed) = (Cell::new(0), RefCell::new(None));
        Self { items, end, recursion, depth, taken, changed }
    }

    pub fn next(&self) {
        self.taken.set(self.taken.get() + 1);
    }

    fn index0(&self) -> usize {
        self.taken.get().saturating_sub(1)
    }

    /// What asks for the length meets the error at the end.
    fn counted(&self, count: impl FnOnce(usize) -> usize) -> Value {
        match &self.end {
            Some(error) => Value::from(error.clone()),
            None => Value::from(count(self.items.len())),
        }
    }

    fn after(&self) -> Option<Value> {
        let next = self.items.get(self.taken.get()).cloned();
        next.or_else(|| self.end.clone().map(Value::from))
    }

    fn has_changed(&self, values: &[Value]) -> Result<bool, Error> {
        if let Some(before) = &*self.changed.borrow() {
            let mut same = before.len() == values.len();
            for (a, b) in before.iter().zip(values) {
                same = same && equal(a, b)?;
            }
            if same {
                return Ok(false);
            }
        }
        *self.changed.borrow_mut() = Some(values.to_vec());
        Ok(true)
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<LoopContext {}/{}>", self.taken.get(), self.items.len())
    }
}

impl Object for Loop {
    fn class(&self) -> Type {
        Type::Loop
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(&self, key: &str) -> Option<Value> {
        let (taken, index0) = (self.taken.get(), self.index0());
        Some(match key {
            "index" => Value::from(taken),
            "index0" => Value::from(index0),
            "length" => self.counted(|length| length),
            "revindex" => self.counted(|length| length.saturating_sub(index0)),
            "revindex0" => self.counted(|length| length.saturating_sub(taken)),
            "first" => Value::from(index0 == 0),
            "last" => match self.after() {
                Some(error) if error.invalid().is_some() => error,
                next => Value::from(next.is_none()),
            },
            "previtem" => index0.checked_sub(1).and_then(|at| self.items.get(at)).cloned()?,
            "nextitem" => self.after()?,
            "depth" => Value::from(self.depth + 1),
            "depth0" => Value::from(self.depth),
            _ => return None,
        })
    }

    fn is_true(&self) -> bool {
        !self.items.is_empty()
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<Ordering> {
        by_place(self, other)
    }

    fn call(&self, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = split(args);
        let call = Call { state, subject: &Value::UNDEFINED, args, kwargs };
        let [items] = call.bind("LoopContext.__call__", 1, ["iterable"])?;
        let Some(recursion) = &self.recursion else {
            return Err(type_error("The loop must have the 'recursive' marker to be called."));
        };
        let recursion = recursion.clone();
        state.recurse(&recursion, &items.unwrap_or_default(), self.depth + 1)
    }

    fn call_method(
        &self,
        state: &mut State,
        name: &str,
        args: &[Value],
    ) -> Option<Result<Value, Error>> {
        let (args, kwargs) = split(args);
        let call = Call { state, subject: &Value::UNDEFINED, args, kwargs };
        match name {
            "cycle" => Some(call.no_keywords("cycle").and_then(|()| {
                let at = self.index0().checked_rem(args.len());
                match at.and_then(|at| args.get(at)) {
                    Some(chosen) => Ok(chosen.clone()),
                    None => Err(type_error("no items for cycling given")),
                }
            })),
            "changed" => Some(
                call.no_keywords("changed").and_then(|()| self.has_changed(args)).map(Value::from),
            ),
            _ => None,
        }
    }
}
