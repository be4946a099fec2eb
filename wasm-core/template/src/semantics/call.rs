//! One shape for every function that a template can call: filters, tests, methods, operators,
//! globals. So arguments are bound once as Python binds them, and one place sees every call.

use std::cmp::Ordering;
use std::sync::Arc;

use minijinja::value::Kwargs;
use minijinja::{Error, State, Value};

use super::errors::type_error;
use super::session::Session;

/// What a function is given: the value before `|` or `.` (undefined for a global), and arguments.
pub struct Call<'a, 'template, 'env> {
    pub state: &'a mut State<'template, 'env>,
    pub subject: &'a Value,
    pub args: &'a [Value],
    pub kwargs: Keywords<'a>,
}

pub type Function = fn(&mut Call<'_, '_, '_>) -> Result<Value, Error>;

/// Where a name was found; a name alone does not tell `x|join` from `x.join()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Filter,
    Test,
    Method,
    Operator,
    Global,
}

/// Sees every call of a template, and makes it (or not).
pub trait Observer: Send + Sync {
    fn call(
        &self,
        kind: Kind,
        name: &'static str,
        function: Function,
        call: &mut Call<'_, '_, '_>,
    ) -> Result<Value, Error>;

    /// What is to be printed for a value.
    fn printed(&self, _state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
        Ok(value.clone())
    }
}

/// No observer: the plain renders.
pub type Observed = Option<Arc<dyn Observer>>;

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
        self.0.and_then(Value::len).unwrap_or(0)
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0?.as_object()?.get_value_by_str(name)
    }

    /// Names and values in the order in which they were written.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, Value)> {
        let Some(pairs) = self.0.and_then(Value::as_object).and_then(|map| map.try_iter_pairs())
        else {
            return Vec::new();
        };
        pairs.map(|(name, value)| (name.as_str().unwrap_or_default().to_owned(), value)).collect()
    }
}

/// Splits off the keyword arguments, which the crate hands over as a last argument.
#[must_use]
pub fn split(args: &[Value]) -> (&[Value], Keywords<'_>) {
    match args.split_last() {
        Some((last, rest)) if last.is_kwargs() => (rest, Keywords(Some(last))),
        _ => (args, Keywords(None)),
    }
}

/// The same the other way: arguments as the crate takes them.
#[must_use]
pub fn joined(args: &[Value], kwargs: Vec<(String, Value)>) -> Vec<Value> {
    let mut all = args.to_vec();
    if !kwargs.is_empty() {
        all.push(Value::from(kwargs.into_iter().collect::<Kwargs>()));
    }
    all
}

/// The one place through which every call goes.
pub fn run(
    observed: &Observed,
    kind: Kind,
    (name, function): (&'static str, Function),
    call: &mut Call<'_, '_, '_>,
) -> Result<Value, Error> {
    match observed {
        None => function(call),
        Some(observer) => observer.call(kind, name, function, call),
    }
}

impl<'a> Call<'a, '_, '_> {
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
    pub fn session(&self) -> Arc<Session> {
        Session::of(self.state)
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
