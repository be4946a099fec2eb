//! Macros that take more arguments than they name.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, Tuple};
use minijinja::{Error, State, Value};

use super::call::{joined, split, Call};
use super::errors::type_error;
use super::functions::by_place;
use crate::context;

/// The crate's macro with the parameters `varargs` and `kwargs`, and what jinja2 gives them.
pub struct Macro {
    function: Value,
    name: String,
    parameters: Vec<String>,
    varargs: bool,
    kwargs: bool,
    caller: bool,
}

pub fn catching(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    let [name, varargs, kwargs, caller, parameters @ ..] = call.args else {
        return Err(type_error("a macro has a name"));
    };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Value::from_object(Macro {
        function: call.subject.clone(),
        name: word(name),
        parameters: parameters.iter().map(word).collect(),
        varargs: varargs.is_true(),
        kwargs: kwargs.is_true(),
        caller: caller.is_true(),
    }))
}

impl fmt::Debug for Macro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<Macro '{}'>", self.name)
    }
}

impl Object for Macro {
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["name", "arguments", "caller", "catch_varargs", "catch_kwargs"])
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(match key.as_str()? {
            "name" => Value::from(self.name.as_str()),
            "arguments" => self.parameters.iter().map(String::as_str).map(Value::from).collect(),
            "caller" => Value::from(self.caller),
            "catch_varargs" => Value::from(self.varargs),
            "catch_kwargs" => Value::from(self.kwargs),
            _ => return None,
        })
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        by_place(self, other)
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = split(args);
        let (args, rest) = args.split_at_checked(self.parameters.len()).unwrap_or((args, &[]));
        let mut passed = Vec::new();
        let mut others = Vec::new();
        for (name, value) in kwargs.pairs() {
            let place = self.parameters.iter().position(|parameter| *parameter == name);
            let is_parameter = place.is_some_and(|place| place >= args.len());
            if is_parameter || self.caller && name == "caller" {
                passed.push((name, value));
            } else if self.kwargs {
                others.push((Value::from(name), value));
            } else {
                let name_of = &self.name;
                return Err(type_error(format!(
                    "macro '{name_of}' takes no keyword argument '{name}'"
                )));
            }
        }
        if self.varargs {
            passed.push(("varargs".to_owned(), Value::from(Tuple::from(rest.to_vec()))));
        } else if !rest.is_empty() {
            return Err(type_error(format!(
                "macro '{}' takes not more than {} argument(s)",
                self.name,
                self.parameters.len()
            )));
        }
        if self.kwargs {
            passed.push(("kwargs".to_owned(), context::dict(others)));
        }
        self.function.call(state, &joined(args, passed))
    }
}
