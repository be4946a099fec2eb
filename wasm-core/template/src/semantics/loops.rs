//! `loop` as a value: handed to a macro, kept under another name, called, printed.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object};
use minijinja::{Error, State, Value};

use super::call::{split, Call};
use super::errors::{type_error, unsupported};
use super::functions::by_place;
use super::iterate::for_loop;

/// The crate's `loop`, and what it does not know: how a recursive loop is called again, its depth,
/// and that the last pass stays the last one when the loop is over.
pub struct Loop {
    crates: Value,
    function: Option<Value>,
    depth: i64,
}

pub fn context(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    Ok(Value::from_object(Loop {
        crates: call.subject.clone(),
        function: call.args.first().cloned(),
        depth: call.args.get(1).and_then(Value::as_i64).unwrap_or(0),
    }))
}

impl Loop {
    fn number(&self, name: &str) -> Option<i64> {
        self.crates.get_attr(name).ok()?.as_i64()
    }

    fn is_over(&self) -> bool {
        match (self.number("index"), self.number("length")) {
            (Some(index), Some(length)) => index > length,
            _ => false,
        }
    }

    fn index0(&self) -> i64 {
        self.number("index0").unwrap_or(0) - i64::from(self.is_over())
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<LoopContext>")
    }
}

impl Object for Loop {
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        match name {
            "depth" => return Some(Value::from(self.depth + 1)),
            "depth0" => return Some(Value::from(self.depth)),
            _ if !self.is_over() => return self.crates.get_attr(name).ok(),
            _ => {}
        }
        Some(match name {
            "index" => Value::from(self.index0() + 1),
            "index0" => Value::from(self.index0()),
            "revindex" => Value::from(1),
            "revindex0" => Value::from(0),
            "first" => Value::from(self.index0() == 0),
            "last" => Value::from(true),
            "previtem" => {
                Value::from(unsupported("loop", "`previtem` is read when its loop is over"))
            }
            _ => return self.crates.get_attr(name).ok(),
        })
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        by_place(self, other)
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = split(args);
        let call = Call { state, subject: &Value::UNDEFINED, args, kwargs };
        let [items] = call.bind("LoopContext.__call__", 1, ["iterable"])?;
        let Some(function) = &self.function else {
            return Err(type_error("The loop must have the 'recursive' marker to be called."));
        };
        let items = for_loop(&items.unwrap_or_default())?;
        function.call(state, &[items, Value::from(self.depth + 1)])
    }

    fn call_method(
        self: &Arc<Self>,
        state: &mut State<'_, '_>,
        name: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        if name != "cycle" {
            return self.crates.call_method(state, name, args);
        }
        let (args, kwargs) = split(args);
        Call { state, subject: &Value::UNDEFINED, args, kwargs }.no_keywords("cycle")?;
        let at = usize::try_from(self.index0()).unwrap_or(0).checked_rem(args.len());
        match at.and_then(|at| args.get(at)) {
            Some(chosen) => Ok(chosen.clone()),
            None => Err(type_error("no items for cycling given")),
        }
    }
}
