//! Macros, as jinja2 calls them.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use super::code::Routine;
use super::state::{Scope, State};
use crate::context;
use crate::semantics::call::split;
use crate::semantics::errors::type_error;
use crate::semantics::functions::by_place;
use crate::semantics::kinds::Type;
use crate::value::{Enumerator, Error, Object, Tuple, Value};

/// A macro, or what a call block hands over, with the scope it was made in.
pub struct Macro {
    pub(super) routine: Rc<Routine>,
    pub(super) closure: Rc<Scope>,
}

impl fmt::Debug for Macro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.routine.name {
            Some(name) => write!(f, "<Macro {}>", crate::python::quoted(name)),
            None => f.write_str("<Macro anonymous>"),
        }
    }
}

impl Object for Macro {
    fn class(&self) -> Type {
        Type::Macro
    }

    fn enumerate(&self) -> Enumerator {
        let names = ["name", "arguments", "caller", "catch_varargs", "catch_kwargs"];
        Enumerator::Values(names.map(Value::from).into())
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        let routine = &self.routine;
        Some(match key.as_str()? {
            "name" => Value::from(routine.name.as_deref()),
            "arguments" => {
                context::tuple(routine.names.iter().map(|name| Value::from(&**name)).collect())
            }
            "caller" => Value::from(routine.caller.is_some()),
            "catch_varargs" => Value::from(routine.varargs.is_some()),
            "catch_kwargs" => Value::from(routine.kwargs.is_some()),
            // A parameter of this name is refused.
            "explicit_caller" => Value::from(false),
            _ => return None,
        })
    }

    fn is_true(&self) -> bool {
        true
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<Ordering> {
        by_place(self, other)
    }

    fn call(&self, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        let routine = Rc::clone(&self.routine);
        let scope = Scope::new(routine.slots, Some(Rc::clone(&self.closure)));
        let missing = self.bind(&scope, args)?;
        let ((), text) = state.call(scope, |state| {
            state.capture(|state| {
                state.enter(&routine.frame);
                let first = routine.parameters.len() - routine.defaults.len();
                for at in missing {
                    let default = at.checked_sub(first).and_then(|at| routine.defaults.get(at));
                    if let (Some(default), Some(slot)) = (default, routine.parameters.get(at)) {
                        let value = state.expression(default)?;
                        state.scope.set(*slot, value);
                    }
                }
                state.body(&routine.body).map(drop)
            })
        })?;
        Ok(Value::from(text))
    }
}

impl Macro {
    /// Gives parameters their arguments; answers which were given none.
    fn bind(&self, scope: &Scope, args: &[Value]) -> Result<Vec<usize>, Error> {
        let routine = &*self.routine;
        let name = || match &routine.name {
            Some(name) => crate::python::quoted(name),
            None => "None".to_owned(),
        };
        let (args, kwargs) = split(args);
        let most = routine.parameters.len();
        let (args, rest) = args.split_at_checked(most).unwrap_or((args, &[]));
        let mut named = kwargs.pairs();
        let mut take = |name: &str| {
            let at = named.iter().position(|(known, _)| known == name)?;
            Some(named.remove(at).1)
        };
        let mut missing = Vec::new();
        for (at, (slot, parameter)) in routine.parameters.iter().zip(&routine.names).enumerate() {
            match args.get(at).cloned().or_else(|| take(parameter)) {
                Some(value) => scope.set(*slot, value),
                None => missing.push(at),
            }
        }
        if let Some(slot) = routine.caller {
            let caller = take("caller").filter(|caller| !caller.is_none());
            scope.set(slot, caller.unwrap_or_default());
        }
        if let Some(slot) = routine.kwargs {
            let entries = named.into_iter().map(|(name, value)| (Value::from(name), value));
            scope.set(slot, context::dict(entries.collect()));
        } else if named.iter().any(|(name, _)| name == "caller") {
            return Err(type_error(format!(
                "macro {} was invoked with two values for the special caller argument. This is \
                 most likely a bug.",
                name()
            )));
        } else if let Some((other, _)) = named.first() {
            return Err(type_error(format!(
                "macro {} takes no keyword argument '{other}'",
                name()
            )));
        }
        if let Some(slot) = routine.varargs {
            scope.set(slot, Value::from(Tuple::from(rest)));
        } else if !rest.is_empty() {
            return Err(type_error(format!(
                "macro {} takes not more than {most} argument(s)",
                name()
            )));
        }
        Ok(missing)
    }
}
