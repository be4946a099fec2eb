//! One shape for every function that a template can call: filters, tests, methods, operators,
//! globals. So arguments are bound once as Python binds them, and one place sees every call.

use crate::eval::State;
use crate::value::{Error, Kwargs, Value};
use std::cmp::Ordering;
use std::rc::Rc;

use super::errors::type_error;
use super::session::Session;
use crate::trace::observer;

/// What a function is given: the value before `|` or `.` (undefined for a global), and arguments.
pub struct Call<'a> {
    pub state: &'a mut State,
    pub subject: &'a Value,
    pub args: &'a [Value],
    pub kwargs: Keywords<'a>,
}

pub type Function = fn(&mut Call<'_>) -> Result<Value, Error>;

/// Where a name was found; a name alone does not tell `x|join` from `x.join()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Filter,
    Test,
    Method,
    Operator,
    Global,
}

/// A function, and the name it is known by.
pub type Entry = (&'static str, Function);

/// Functions by name, in the order of their names' bytes.
#[derive(Debug, Clone, Copy)]
pub struct Table(pub &'static [(&'static str, Function)]);

impl Table {
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(&'static str, Function)> {
        let at = self.0.binary_search_by(|(known, _)| known.cmp(&name)).ok()?;
        self.0.get(at).copied()
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }

    /// What `find` needs to be true; for the tests of each table.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.0.windows(2).all(|pair| match pair {
            [(a, _), (b, _)] => a.cmp(b) == Ordering::Less,
            _ => true,
        })
    }
}

/// The arguments given by name.
#[derive(Clone, Copy, Default)]
pub struct Keywords<'a>(Option<&'a Value>);

impl Keywords<'_> {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> &[(String, Value)] {
        let named = self.0.and_then(Value::downcast_object_ref::<Kwargs>);
        named.map_or(&[], |named| &named.0)
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.all().iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// Names and values in the order in which they were written.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, Value)> {
        self.all().to_vec()
    }
}

/// Splits off the keyword arguments, which are handed over as a last argument.
#[must_use]
pub fn split(args: &[Value]) -> (&[Value], Keywords<'_>) {
    match args.split_last() {
        Some((last, rest)) if last.is_kwargs() => (rest, Keywords(Some(last))),
        _ => (args, Keywords(None)),
    }
}

/// The same the other way.
#[must_use]
pub fn joined(args: &[Value], kwargs: Vec<(String, Value)>) -> Vec<Value> {
    let mut all = args.to_vec();
    if !kwargs.is_empty() {
        all.push(Value::from(Kwargs(kwargs)));
    }
    all
}

/// The one place through which every call goes.
pub fn run(kind: Kind, (name, function): Entry, call: &mut Call<'_>) -> Result<Value, Error> {
    match call.state.session.tracing.clone() {
        None => function(call),
        Some(tracing) => observer::call(&tracing, kind, name, function, call),
    }
}

impl<'a> Call<'a> {
    /// Positional arguments and keywords by `names`, of which the first `required` must be given.
    /// `function` is the name in messages.
    ///
    /// ```text
    /// let [width, first, blank] = call.bind("do_indent", 0, ["width", "first", "blank"])?;
    /// ```
    pub fn bind<const N: usize>(
        &self,
        function: &str,
        required: usize,
        names: [&str; N],
    ) -> Result<[Option<Value>; N], Error> {
        if self.args.len() > N {
            return Err(too_many(function, N, self.args.len()));
        }
        let mut bound = [const { None }; N];
        for (slot, value) in bound.iter_mut().zip(self.args) {
            *slot = Some(value.clone());
        }
        if !self.kwargs.is_empty() {
            for (name, value) in self.kwargs.pairs() {
                let slot = names.iter().position(|known| *known == name);
                let Some(slot) = slot.and_then(|at| bound.get_mut(at)) else {
                    return Err(type_error(format!(
                        "{function}() got an unexpected keyword argument '{name}'"
                    )));
                };
                if slot.is_some() {
                    return Err(type_error(format!(
                        "{function}() got multiple values for argument '{name}'"
                    )));
                }
                *slot = Some(value);
            }
        }
        let missing = names.iter().zip(&bound).take(required).find(|(_, value)| value.is_none());
        match missing {
            None => Ok(bound),
            Some((name, _)) => Err(type_error(format!(
                "{function}() missing 1 required positional argument: '{name}'"
            ))),
        }
    }

    /// Arguments that have no names (most methods written in C), `required` of them at least.
    pub fn positional<const N: usize>(
        &self,
        function: &str,
        required: usize,
    ) -> Result<[Option<&'a Value>; N], Error> {
        self.no_keywords(function)?;
        if self.args.len() > N {
            return Err(too_many(function, N, self.args.len()));
        }
        if self.args.len() < required {
            return Err(type_error(format!(
                "{function}() expected at least {required} arguments, got {}",
                self.args.len()
            )));
        }
        let mut bound = [None; N];
        for (slot, value) in bound.iter_mut().zip(self.args) {
            *slot = Some(value);
        }
        Ok(bound)
    }

    /// The bounds and the clock of this render.
    #[must_use]
    pub fn session(&self) -> Rc<Session> {
        Rc::clone(&self.state.session)
    }

    pub fn no_keywords(&self, function: &str) -> Result<(), Error> {
        if self.kwargs.is_empty() {
            return Ok(());
        }
        Err(type_error(format!("{function}() takes no keyword arguments")))
    }
}

fn too_many(function: &str, most: usize, given: usize) -> Error {
    type_error(format!("{function}() takes at most {most} arguments ({given} given)"))
}
