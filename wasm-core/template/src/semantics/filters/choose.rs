//! `map`, `select`, `reject` and what looks at an attribute: generators, as in jinja2.

use super::attributes::Path;
use crate::eval::State;
use crate::semantics::call::{joined, Call};
use crate::semantics::errors::filter_error;
use crate::semantics::generators::{failing, generator};
use crate::semantics::iterate::items_then;
use crate::value::{Error, Value};

/// A generator of what `each` makes of the items. An error waits until the items before it are
/// taken, and is never seen if they are not taken.
pub fn lazily(
    name: &'static str,
    subject: &Value,
    mut each: impl FnMut(Value) -> Result<Option<Value>, Error>,
) -> Value {
    let (items, end) = match items_then(subject) {
        Ok(found) => found,
        Err(error) => return failing(name, Vec::new(), error),
    };
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        match each(item) {
            Ok(made) => out.extend(made),
            Err(error) => return failing(name, out, error),
        }
    }
    match end {
        None => generator(name, out),
        Some(error) => failing(name, out, error),
    }
}

pub fn map(call: &mut Call<'_>) -> Result<Value, Error> {
    const NAME: &str = "sync_do_map";
    // A value that is false is not even looked at.
    if !call.subject.is_true() {
        return Ok(generator(NAME, Vec::new()));
    }
    let subject = call.subject;
    let mapped = match Mapping::of(call) {
        Ok(mapping) => lazily(NAME, subject, |item| mapping.apply(call.state, item).map(Some)),
        Err(error) => failing(NAME, Vec::new(), error),
    };
    Ok(mapped)
}

enum Mapping {
    Attribute { path: Path, default: Option<Value> },
    Filter { name: String, args: Vec<Value> },
}

impl Mapping {
    fn of(call: &Call<'_>) -> Result<Self, Error> {
        if call.args.is_empty() {
            if let Some(attribute) = call.kwargs.get("attribute") {
                let known = |name: &str| name == "attribute" || name == "default";
                if let Some((name, _)) = call.kwargs.pairs().iter().find(|(name, _)| !known(name)) {
                    return Err(filter_error(format!("Unexpected keyword argument '{name}'")));
                }
                let default = call.kwargs.get("default").filter(|default| !default.is_none());
                return Ok(Self::Attribute { path: Path::of(Some(&attribute))?, default });
            }
        }
        let Some((name, args)) = call.args.split_first() else {
            return Err(filter_error("map requires a filter argument"));
        };
        let name = crate::semantics::repr::text(name)?;
        Ok(Self::Filter { name, args: joined(args, call.kwargs.pairs()) })
    }

    fn apply(&self, state: &mut State, item: Value) -> Result<Value, Error> {
        match self {
            Self::Attribute { path, default } => path.get_or(&item, default.as_ref()),
            Self::Filter { name, args } => {
                let mut all = Vec::with_capacity(args.len() + 1);
                all.push(item);
                all.extend_from_slice(args);
                state.apply_filter(name, &all)
            }
        }
    }
}

/// Keeps what passes (`wanted`) or what does not; `by_attribute` looks at an attribute.
pub fn choose(call: &mut Call<'_>, wanted: bool, by_attribute: bool) -> Result<Value, Error> {
    const NAME: &str = "select_or_reject";
    if !call.subject.is_true() {
        return Ok(generator(NAME, Vec::new()));
    }
    let subject = call.subject;
    let chosen = match Choice::of(call, by_attribute) {
        Ok(choice) => lazily(NAME, subject, |item| {
            Ok((choice.passes(call.state, &item)? == wanted).then_some(item))
        }),
        Err(error) => failing(NAME, Vec::new(), error),
    };
    Ok(chosen)
}

struct Choice {
    path: Option<Path>,
    /// None: whether the item is true.
    test: Option<(String, Vec<Value>)>,
}

impl Choice {
    fn of(call: &Call<'_>, by_attribute: bool) -> Result<Self, Error> {
        let mut args = call.args;
        let mut path = None;
        if by_attribute {
            let Some((attribute, rest)) = args.split_first() else {
                return Err(filter_error("Missing parameter for attribute name"));
            };
            path = Some(Path::of(Some(attribute))?);
            args = rest;
        }
        let test = match args.split_first() {
            None => None,
            Some((name, rest)) => {
                Some((crate::semantics::repr::text(name)?, joined(rest, call.kwargs.pairs())))
            }
        };
        Ok(Self { path, test })
    }

    fn passes(&self, state: &mut State, item: &Value) -> Result<bool, Error> {
        let value = match &self.path {
            Some(path) => path.get(item)?,
            None => item.clone(),
        };
        let Some((name, args)) = &self.test else { return Ok(value.is_true()) };
        let mut all = Vec::with_capacity(args.len() + 1);
        all.push(value);
        all.extend_from_slice(args);
        state.perform_test(name, &all)
    }
}
