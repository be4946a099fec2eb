//! Functions and methods as values: called later, printed, passed to macros.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Object, ObjectRepr};
use minijinja::{Error, State, Value};

use super::call::{self, Call, Kind, Observed};

/// What `{{ namespace }}` prints.
const NAMESPACE_CLASS: &str = "<class 'transformers.utils.chat_template_utils.\
    _cached_compile_jinja_template.<locals>.TemplateNamespace'>";

/// By where they are: each object equals itself only.
pub(super) fn by_place<T: 'static>(one: &Arc<T>, other: &DynObject) -> Option<Ordering> {
    let other: *const T = other.downcast_ref::<T>()?;
    Some(Arc::as_ptr(one).cmp(&other))
}

/// A function of the environment.
pub struct Function {
    pub kind: Kind,
    pub entry: (&'static str, call::Function),
    pub observed: Observed,
}

impl Function {
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
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        by_place(self, other)
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = call::split(args);
        let subject = &Value::UNDEFINED;
        let mut call = Call { state, subject, args, kwargs };
        call::run(&self.observed, self.kind, self.entry, &mut call)
    }

    fn call_method(
        self: &Arc<Self>,
        state: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        let Some(entry) = super::globals::attribute(self.entry.0, method) else {
            return Err(Error::from(minijinja::ErrorKind::UnknownMethod));
        };
        let (args, kwargs) = call::split(args);
        let subject = &Value::UNDEFINED;
        let mut call = Call { state, subject, args, kwargs };
        call::run(&self.observed, self.kind, entry, &mut call)
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
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        self.subject.call_method(state, self.name, args)
    }
}
