//! One traced render: its marks, its origins, and what came of it.

use crate::value::{Value, ValueKind};
use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use super::paths::{Paths, Step, REQUEST};
use super::values::sequence;
use crate::context::{dict, list};
use crate::error::{Error, Kind, Result};
use crate::marks::{Marks, Origin, Part, Taken, TEMPLATE};

/// Words that say who speaks. A template may make a token of one (`<|` role `|>`), and a role that
/// is any other word is text like all text.
pub const ROLES: [&str; 12] = [
    "assistant",
    "context",
    "developer",
    "documents",
    "environment",
    "function",
    "ipython",
    "observation",
    "system",
    "tool",
    "tool_response",
    "user",
];

/// Code points `start..end` of the output that a value of the caller's put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    pub start: u32,
    pub end: u32,
    pub path: Vec<Step>,
}

/// What a traced render answers; places count code points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traced {
    pub text: String,
    /// Generation blocks, in the order in which they end.
    pub generation: Vec<(u32, u32)>,
    /// In order, without overlaps; what is in none is the template's.
    pub origins: Vec<Stretch>,
}

impl Traced {
    /// For a text that is cut off behind `length` code points.
    pub fn clip(&mut self, length: u32) {
        self.origins.retain_mut(|stretch| {
            stretch.end = stretch.end.min(length);
            stretch.start < stretch.end
        });
        self.generation.retain_mut(|span| {
            span.1 = span.1.min(length);
            span.0 <= span.1
        });
    }
}

pub struct Tracing {
    pub marks: Marks,
    paths: RefCell<Paths>,
}

impl Tracing {
    /// For a template and a context whose plain render was `plain`.
    pub fn new(sources: &[&str], context: &Value, plain: &str) -> Result<Rc<Self>> {
        let mut taken = Taken::default();
        sources.iter().for_each(|source| taken.source(source));
        taken.text(plain);
        take(&mut taken, context);
        let Some(marks) = Marks::choose(&taken) else {
            return Err(refused("the texts leave no characters that could mark them"));
        };
        Ok(Rc::new(Self { marks, paths: RefCell::default() }))
    }

    pub fn paths(&self) -> RefMut<'_, Paths> {
        self.paths.borrow_mut()
    }

    #[must_use]
    pub fn common(&self, a: Origin, b: Origin) -> Origin {
        self.paths().common(a, b)
    }

    /// The context with marks; variables named in `trusted` are the template's.
    #[must_use]
    pub fn context(&self, context: &Value, trusted: &[&str]) -> Value {
        let mut entries = Vec::new();
        for (key, value) in pairs(context) {
            let name = key.as_str().unwrap_or_default();
            if trusted.contains(&name) {
                entries.push((key, value));
                continue;
            }
            let origin = self.paths().inside(REQUEST, Step::Key(name.to_owned()));
            let value = match name {
                "messages" => self.messages(&items(&value), origin),
                _ => self.value(&value, origin),
            };
            entries.push((key, value));
        }
        dict(entries)
    }

    fn messages(&self, messages: &[Value], origin: Origin) -> Value {
        let marked = messages.iter().enumerate().map(|(number, message)| {
            let origin = self.paths().inside(origin, Step::Index(number));
            if message.kind() != ValueKind::Map {
                return self.value(message, origin);
            }
            let entries = pairs(message).into_iter().map(|(key, value)| {
                let is_role = key.as_str() == Some("role")
                    && value.as_str().is_some_and(|word| ROLES.contains(&word));
                let value = if is_role { value } else { self.at(&key, &value, origin) };
                (key, value)
            });
            dict(entries.collect())
        });
        list(marked.collect())
    }

    fn at(&self, key: &Value, value: &Value, parent: Origin) -> Value {
        // What is not marked needs no path.
        if !matches!(value.kind(), ValueKind::String | ValueKind::Map | ValueKind::Seq) {
            return value.clone();
        }
        let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        let origin = self.paths().inside(parent, Step::Key(key));
        self.value(value, origin)
    }

    fn value(&self, value: &Value, origin: Origin) -> Value {
        match value.kind() {
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                Value::from(self.marks.marked(text, origin))
            }
            ValueKind::Map => {
                let entries = pairs(value).into_iter();
                dict(
                    entries
                        .map(|(key, value)| (key.clone(), self.at(&key, &value, origin)))
                        .collect(),
                )
            }
            ValueKind::Seq => {
                let items = items(value).into_iter().enumerate().map(|(number, item)| {
                    let origin = self.paths().inside(origin, Step::Index(number));
                    self.value(&item, origin)
                });
                sequence(value, items.collect())
            }
            _ => value.clone(),
        }
    }

    /// Reads a marked output, which has to be that of the plain render.
    pub fn finish(&self, marked: &str, plain: &str) -> Result<Traced> {
        let parts = self.marks.parts(marked).map_err(|_| {
            refused("the template takes texts apart in a way that loses whose they are")
        })?;
        let mut traced = Traced::default();
        let (mut at, mut opened) = (0_u32, Vec::new());
        let mut last = TEMPLATE;
        for part in parts {
            match part {
                Part::Text(text, origin) => {
                    traced.text.push_str(text);
                    let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
                    let end = at.saturating_add(length);
                    match traced.origins.last_mut() {
                        Some(before) if origin == last && before.end == at => before.end = end,
                        _ if origin == TEMPLATE => {}
                        _ => {
                            let path = self.paths().steps(origin);
                            traced.origins.push(Stretch { start: at, end, path });
                        }
                    }
                    (at, last) = (end, origin);
                }
                Part::Generation { opens: true } => opened.push(at),
                Part::Generation { opens: false } => {
                    let start = opened.pop().ok_or_else(unbalanced)?;
                    traced.generation.push((start, at));
                }
            }
        }
        if !opened.is_empty() {
            return Err(unbalanced());
        }
        if traced.text != plain {
            return Err(refused("the template treats texts in a way that shows their marks"));
        }
        Ok(traced)
    }
}

fn refused(why: &str) -> Error {
    Error::new(Kind::Unsupported, format!("the origin of the texts cannot be kept: {why}"))
        .named("provenance")
}

fn unbalanced() -> Error {
    Error::new(Kind::Unsupported, "the template cuts a generation block in two").named("generation")
}

fn pairs(value: &Value) -> Vec<(Value, Value)> {
    if let Some(entries) = crate::context::entries(value) {
        return entries.to_vec();
    }
    let keys = value.try_iter().into_iter().flatten();
    keys.map(|key| (key.clone(), value.get_item(&key).unwrap_or_default())).collect()
}

fn items(value: &Value) -> Vec<Value> {
    value.try_iter().into_iter().flatten().collect()
}

fn take(taken: &mut Taken, value: &Value) {
    match value.kind() {
        ValueKind::String => taken.text(value.as_str().unwrap_or_default()),
        ValueKind::Map => {
            for (key, value) in pairs(value) {
                take(taken, &key);
                take(taken, &value);
            }
        }
        ValueKind::Seq => items(value).iter().for_each(|item| take(taken, item)),
        _ => {}
    }
}
