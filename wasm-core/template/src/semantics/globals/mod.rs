//! The functions that a template finds without being given them.

pub mod ranges;
pub mod strftime;

use crate::eval::State;
use crate::value::{Enumerator, Error, Object, Value};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use self::ranges::range;
use self::strftime::strftime_now;
use crate::context;
use crate::prepare::Profile;
use crate::semantics::call::{self, Call, Function, Table};
use crate::semantics::errors::{raised, security_error, type_error, unsupported, value_error};
use crate::semantics::iterate::{items, pairs};
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::operators::compare::hashable;
use crate::semantics::repr::text;

pub static TABLE: Table = Table(&[
    ("cycler", cycler),
    ("dict", dict_class),
    ("joiner", joiner),
    ("lipsum", lipsum),
    ("namespace", namespace),
    ("raise_exception", raise_exception),
    ("range", range),
    ("strftime_now", strftime_now),
]);

/// What a function has as an attribute: `dict.fromkeys`.
#[must_use]
pub fn attribute(function: &str, name: &str) -> Option<(&'static str, Function)> {
    match (function, name) {
        ("dict", "fromkeys") => Some(("dict.fromkeys", from_keys)),
        _ => None,
    }
}

fn raise_exception(call: &mut Call<'_>) -> Result<Value, Error> {
    let [message] = call.bind("raise_exception", 1, ["message"])?;
    Err(raised(text(&message.unwrap_or_default())?))
}

/// Random words: no two renders would be the same.
fn lipsum(_: &mut Call<'_>) -> Result<Value, Error> {
    Err(unsupported("lipsum", "lipsum() writes random text"))
}

/// In transformers 5 it is an object of a class written in Python, whose `self` has been given.
fn dict_class(call: &mut Call<'_>) -> Result<Value, Error> {
    let written_in_python = call.session().profile == Profile::Hf5;
    if written_in_python && call.kwargs.pairs().iter().any(|(name, _)| name == "self") {
        return Err(type_error("TemplateDict.__call__() got multiple values for argument 'self'"));
    }
    dict(call)
}

pub fn dict(call: &mut Call<'_>) -> Result<Value, Error> {
    if call.args.len() > 1 {
        return Err(type_error(format!(
            "dict expected at most 1 argument, got {}",
            call.args.len()
        )));
    }
    let mut entries = match call.args.first() {
        None => Vec::new(),
        Some(given) => entries_of(given)?,
    };
    entries.extend(call.kwargs.pairs().into_iter().map(|(name, value)| (Value::from(name), value)));
    Ok(context::dict(entries))
}

/// A dictionary's entries, or the pairs of anything else.
fn entries_of(given: &Value) -> Result<Vec<(Value, Value)>, Error> {
    match Type::of(given) {
        Type::Dict => return Ok(pairs(given)),
        Type::Undefined => {
            return Err(crate::semantics::errors::undefined_error("a value is undefined"))
        }
        _ => {}
    }
    let mut entries = Vec::new();
    for (at, item) in items(given)?.iter().enumerate() {
        let pair = items(item).map_err(|_| {
            type_error(format!(
                "cannot convert dictionary update sequence element #{at} to a sequence"
            ))
        })?;
        let [key, value] = pair.as_slice() else {
            return Err(value_error(format!(
                "dictionary update sequence element #{at} has length {}; 2 is required",
                pair.len()
            )));
        };
        hashable(key)?;
        entries.push((key.clone(), value.clone()));
    }
    Ok(entries)
}

fn from_keys(call: &mut Call<'_>) -> Result<Value, Error> {
    let [keys, value] = call.positional::<2>("fromkeys", 1)?;
    let value = value.cloned().unwrap_or_else(|| Value::from(()));
    let mut entries = Vec::new();
    for key in items(keys.unwrap_or(&Value::UNDEFINED))? {
        hashable(&key)?;
        entries.push((key, value.clone()));
    }
    Ok(context::dict(entries))
}

fn namespace(call: &mut Call<'_>) -> Result<Value, Error> {
    let checked = call.session().profile == Profile::Hf5;
    let made = dict(call)?;
    for (name, _) in pairs(&made) {
        let Some(name) = name.as_str() else {
            return Err(unsupported(
                "namespace",
                format!("a namespace with a name of type {}", type_name(&name)),
            ));
        };
        if checked && name.starts_with('_') {
            return Err(security_error(format!(
                "Chat templates cannot store underscore-prefixed attributes on a namespace, but \
                 got {}. Please rename the attribute.",
                crate::python::quoted(name)
            )));
        }
    }
    let made = Rc::new(Namespace(RefCell::new(pairs(&made))));
    call.state.remember(&made);
    Ok(Value::from_rc(made))
}

/// What a template may change: attributes by name, in the order in which they came.
pub struct Namespace(RefCell<Vec<(Value, Value)>>);

impl Namespace {
    /// It may hold itself: at the end of a render it holds nothing.
    pub fn empty(&self) {
        drop(self.0.take());
    }

    pub fn set(&self, name: &str, value: Value) -> Result<(), Error> {
        if name.starts_with('_') {
            return Err(Error::new(format!("setting attribute '{name}' of a namespace is unsafe")));
        }
        let mut entries = self.0.borrow_mut();
        let before = match entries.iter_mut().find(|(known, _)| known.as_str() == Some(name)) {
            Some(entry) => std::mem::replace(&mut entry.1, value),
            None => {
                entries.push((Value::from(name), value));
                return Ok(());
            }
        };
        drop(entries);
        drop(before);
        Ok(())
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<Namespace>")
    }
}

impl Object for Namespace {
    fn class(&self) -> Type {
        Type::Namespace
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(&self, key: &str) -> Option<Value> {
        let entries = self.0.borrow();
        entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value.clone())
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Values(self.0.borrow().iter().map(|(name, _)| name.clone()).collect())
    }

    fn is_true(&self) -> bool {
        true
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<std::cmp::Ordering> {
        crate::semantics::functions::by_place(self, other)
    }
}

/// `cycler('a', 'b')`: `next()`, `reset()`, `current`.
pub struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

fn cycler(call: &mut Call<'_>) -> Result<Value, Error> {
    call.no_keywords("cycler")?;
    if call.args.is_empty() {
        return Err(Error::new("RuntimeError: at least one item has to be provided"));
    }
    Ok(Value::from_object(Cycler { items: call.args.to_vec(), at: AtomicUsize::new(0) }))
}

impl Cycler {
    fn current(&self) -> Value {
        self.items.get(self.at.load(Ordering::Relaxed)).cloned().unwrap_or_default()
    }
}

impl fmt::Debug for Cycler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<jinja2.utils.Cycler object>")
    }
}

impl Object for Cycler {
    fn class(&self) -> Type {
        Type::Cycler
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<std::cmp::Ordering> {
        crate::semantics::functions::by_place(self, other)
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "current" => Some(self.current()),
            "pos" => Some(Value::from(self.at.load(Ordering::Relaxed))),
            "items" => Some(context::tuple(self.items.clone())),
            _ => None,
        }
    }

    fn call_method(
        &self,
        _: &mut State,
        method: &str,
        args: &[Value],
    ) -> Option<Result<Value, Error>> {
        if !args.is_empty() && matches!(method, "next" | "reset") {
            return Some(Err(type_error(format!("Cycler.{method}() takes no arguments"))));
        }
        match method {
            "next" => {
                let current = self.current();
                let next = (self.at.load(Ordering::Relaxed) + 1) % self.items.len().max(1);
                self.at.store(next, Ordering::Relaxed);
                Some(Ok(current))
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Some(Ok(Value::from(())))
            }
            _ => None,
        }
    }
}

/// `joiner(', ')`: nothing the first time, the separator from then on.
pub struct Joiner {
    separator: Value,
    used: AtomicBool,
}

fn joiner(call: &mut Call<'_>) -> Result<Value, Error> {
    let [separator] = call.bind("joiner", 0, ["sep"])?;
    let separator = separator.unwrap_or_else(|| Value::from(", "));
    Ok(Value::from_object(Joiner { separator, used: AtomicBool::new(false) }))
}

impl fmt::Debug for Joiner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<jinja2.utils.Joiner object>")
    }
}

impl Object for Joiner {
    fn class(&self) -> Type {
        Type::Joiner
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<std::cmp::Ordering> {
        crate::semantics::functions::by_place(self, other)
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "sep" => Some(self.separator.clone()),
            "used" => Some(Value::from(self.used.load(Ordering::Relaxed))),
            _ => None,
        }
    }

    fn call(&self, _: &mut State, args: &[Value]) -> Result<Value, Error> {
        if !call::split(args).0.is_empty() {
            return Err(type_error("Joiner.__call__() takes 1 positional argument"));
        }
        if self.used.swap(true, Ordering::Relaxed) {
            return Ok(self.separator.clone());
        }
        Ok(Value::from(""))
    }
}
