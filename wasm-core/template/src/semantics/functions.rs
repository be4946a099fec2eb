//! Functions and methods as values: called later, printed, passed to macros.

use crate::eval::State;
use crate::value::{Error, Object, Value};
use std::cmp::Ordering;
use std::fmt;

use super::call::{self, Call, Entry, Kind};
use super::kinds::Type;

/// What `{{ namespace }}` prints.
const NAMESPACE_CLASS: &str = "<class 'transformers.utils.chat_template_utils.\
    _cached_compile_jinja_template.<locals>.TemplateNamespace'>";

/// By where they are: each object equals itself only.
pub fn by_place<T: Object>(one: &T, other: &dyn Object) -> Option<Ordering> {
    let other: *const T = other.downcast_ref::<T>()?;
    Some(std::ptr::from_ref(one).cmp(&other))
}

/// A function of the environment.
pub struct Function {
    pub entry: Entry,
}

impl Function {
    #[must_use]
    pub fn value(entry: Entry) -> Value {
        Value::from_object(Self { entry })
    }

    /// A class prints its name, a function where it is.
    #[must_use]
    pub fn is_class(&self) -> bool {
        matches!(self.entry.0, "cycler" | "joiner" | "namespace")
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry.0 {
            "cycler" => f.write_str("<class 'jinja2.utils.Cycler'>"),
            "joiner" => f.write_str("<class 'jinja2.utils.Joiner'>"),
            "namespace" => f.write_str(NAMESPACE_CLASS),
            name => write!(f, "<function {name}>"),
        }
    }
}

impl Object for Function {
    fn class(&self) -> Type {
        Type::Function
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<Ordering> {
        by_place(self, other)
    }

    fn call(&self, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = call::split(args);
        let subject = &Value::UNDEFINED;
        let mut call = Call { state, subject, args, kwargs };
        call::run(Kind::Global, self.entry, &mut call)
    }

    fn call_method(
        &self,
        state: &mut State,
        method: &str,
        args: &[Value],
    ) -> Option<Result<Value, Error>> {
        let entry = super::globals::attribute(self.entry.0, method)?;
        let (args, kwargs) = call::split(args);
        let subject = &Value::UNDEFINED;
        Some(call::run(Kind::Global, entry, &mut Call { state, subject, args, kwargs }))
    }
}

/// A method with the value that it belongs to: `x.items` without a call.
pub struct Method {
    pub subject: Value,
    pub name: &'static str,
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = super::kinds::type_name(&self.subject);
        write!(f, "<built-in method {} of {class} object>", self.name)
    }
}

impl Object for Method {
    fn class(&self) -> Type {
        Type::Method
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        Some(self.name.cmp(other.name).then_with(|| self.subject.cmp(&other.subject)))
    }

    fn call(&self, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        state.call_method(&self.subject, self.name, args)
    }
}
