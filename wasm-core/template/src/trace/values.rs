//! Values without their marks, and with them.

use super::paths::{Step, REQUEST};
use super::text::Text;
use super::tracing::Tracing;
use crate::context::{dict, list};
use crate::marks::{Origin, TEMPLATE};
use crate::semantics::errors::{limit_error, unsupported};
use crate::semantics::kinds::Type;
use crate::semantics::numbers::BigInt;
use crate::value::{Error, Tuple, Value, ValueKind};

/// No real data is this deep: the context is bounded, and so is what is printed.
const DEPTH: usize = 200;

/// What was met on the way through values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// What holds all origins met; `TEMPLATE`: none was.
    pub origin: Origin,
    /// An object whose parts cannot be read.
    pub opaque: bool,
}

impl Tracing {
    /// The text of a string; None for other values.
    pub fn text(&self, value: &Value) -> Result<Option<Text>, Error> {
        value.as_str().map(|marked| Text::read(marked, self.marks).map_err(|_| torn())).transpose()
    }

    pub fn meet(&self, seen: &mut Seen, origin: Origin) {
        if origin != TEMPLATE && origin != seen.origin {
            seen.origin = self.common(seen.origin, origin);
        }
    }

    /// The value without marks, through lists and dictionaries.
    pub fn plain(&self, value: &Value, seen: &mut Seen) -> Result<Value, Error> {
        self.plain_at(value, seen, 0)
    }

    fn plain_at(&self, value: &Value, seen: &mut Seen, depth: usize) -> Result<Value, Error> {
        let deeper = deeper(depth)?;
        match value.kind() {
            _ if is_loop(value) => Ok(value.clone()),
            ValueKind::String => {
                let Some(text) = self.text(value)? else { return Ok(value.clone()) };
                text.origins().for_each(|origin| self.meet(seen, origin));
                Ok(like(value, text.plain()))
            }
            ValueKind::Map => {
                let mut inside = Seen::default();
                let mut entries = Vec::new();
                for (key, item) in pairs(value)? {
                    let key = self.plain_at(&key, &mut inside, deeper)?;
                    entries.push((key, self.plain_at(&item, &mut inside, deeper)?));
                }
                let was_marked = inside.origin != TEMPLATE;
                if !entries.is_empty() && !was_marked {
                    // Its keys are of a sender.
                    inside.origin = REQUEST;
                }
                seen.opaque |= inside.opaque;
                self.meet(seen, inside.origin);
                Ok(if was_marked { dict(entries) } else { value.clone() })
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let mut inside = Seen::default();
                let mut items = Vec::new();
                for item in value.try_iter()? {
                    items.push(self.plain_at(&item, &mut inside, deeper)?);
                }
                seen.opaque |= inside.opaque;
                self.meet(seen, inside.origin);
                if inside.origin == TEMPLATE && value.kind() == ValueKind::Seq {
                    return Ok(value.clone());
                }
                Ok(sequence(value, items))
            }
            ValueKind::Plain => {
                seen.opaque |= is_opaque(value);
                Ok(value.clone())
            }
            _ => Ok(value.clone()),
        }
    }

    /// The answer of a function that saw plain texts, all of it of one origin.
    pub fn marked(&self, value: Value, origin: Origin) -> Result<Value, Error> {
        if origin == TEMPLATE {
            return Ok(value);
        }
        self.marked_at(value, origin, 0)
    }

    fn marked_at(&self, value: Value, origin: Origin, depth: usize) -> Result<Value, Error> {
        let deeper = deeper(depth)?;
        match value.kind() {
            _ if is_loop(&value) => Ok(value),
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                if self.marks.are_in(text) {
                    return Err(torn());
                }
                Ok(like(&value, &self.marks.marked(text, origin)))
            }
            ValueKind::Map => {
                let mut entries = Vec::new();
                for (key, item) in pairs(&value)? {
                    entries.push((key, self.marked_at(item, origin, deeper)?));
                }
                Ok(dict(entries))
            }
            ValueKind::Seq => {
                let mut items = Vec::new();
                for item in value.try_iter()? {
                    items.push(self.marked_at(item, origin, deeper)?);
                }
                Ok(sequence(&value, items))
            }
            // A generator: what its elements are, is what it is asked for.
            ValueKind::Iterable => {
                let items = value.try_iter()?.map(|item| self.marked_at(item, origin, deeper));
                Ok(list(items.collect::<Result<_, _>>()?))
            }
            ValueKind::Plain if is_opaque(&value) => Err(torn()),
            ValueKind::Bytes => Err(torn()),
            _ => Ok(value),
        }
    }

    /// A dictionary whose keys are marked, for functions through which keys come out.
    pub fn with_marked_keys(&self, value: &Value) -> Result<Value, Error> {
        let origin = self.place_of(value, 0);
        let entries = pairs(value)?.into_iter();
        Ok(dict(entries.map(|(key, item)| (self.marked_key(key, origin), item)).collect()))
    }

    /// Where a value of the caller's stands: what its texts know of it. `TEMPLATE`: nothing.
    fn place_of(&self, value: &Value, depth: usize) -> Origin {
        let Ok(deeper) = deeper(depth) else { return TEMPLATE };
        let above = |inside: &Value, step: Step| {
            let origin = self.place_of(inside, deeper);
            self.paths().above(origin, &step)
        };
        match value.kind() {
            ValueKind::String => {
                let text = self.text(value).ok().flatten();
                text.and_then(|text| text.origins().next()).unwrap_or(TEMPLATE)
            }
            ValueKind::Map => {
                let found = pairs(value).unwrap_or_default().into_iter().find_map(|(key, item)| {
                    let key = key.as_str()?;
                    above(&item, Step::Key(self.marks.without(key)))
                });
                found.unwrap_or(TEMPLATE)
            }
            ValueKind::Seq => {
                let items = value.try_iter().into_iter().flatten().enumerate();
                let mut found = items.map(|(place, item)| above(&item, Step::Index(place)));
                found.find_map(|origin| origin).unwrap_or(TEMPLATE)
            }
            _ => TEMPLATE,
        }
    }

    fn marked_key(&self, key: Value, origin: Origin) -> Value {
        match key.as_str() {
            Some(text) if !self.marks.are_in(text) => {
                Value::from(self.marks.marked(text, origin.max(REQUEST)))
            }
            _ => key,
        }
    }

    /// The same through all that is inside.
    pub fn with_all_keys_marked(&self, value: &Value, depth: usize) -> Result<Value, Error> {
        let deeper = deeper(depth)?;
        match value.kind() {
            ValueKind::Map if !is_loop(value) => {
                let shallow = self.with_marked_keys(value)?;
                let mut entries = Vec::new();
                for (key, item) in pairs(&shallow)? {
                    entries.push((key, self.with_all_keys_marked(&item, deeper)?));
                }
                Ok(dict(entries))
            }
            ValueKind::Seq => {
                let mut items = Vec::new();
                for item in value.try_iter()? {
                    items.push(self.with_all_keys_marked(&item, deeper)?);
                }
                Ok(sequence(value, items))
            }
            _ => Ok(value.clone()),
        }
    }
}

/// A text that is safe if the other is.
pub fn like(value: &Value, text: &str) -> Value {
    if value.is_safe() {
        Value::from_safe_string(text.to_owned())
    } else {
        Value::from(text)
    }
}

pub fn is_container(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Map | ValueKind::Seq | ValueKind::Iterable)
}

/// `loop`, which prints and compares as itself: nothing of its items.
fn is_loop(value: &Value) -> bool {
    Type::of(value) == Type::Loop
}

/// An object that may hold anything, and say it.
pub fn is_opaque(value: &Value) -> bool {
    value.as_object().is_some() && value.downcast_object_ref::<BigInt>().is_none()
}

/// Items in the same kind of sequence.
pub fn sequence(like: &Value, items: Vec<Value>) -> Value {
    if like.is_tuple() {
        Value::from(Tuple::from(items))
    } else {
        list(items)
    }
}

fn pairs(value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    if let Some(entries) = crate::context::entries(value) {
        return Ok(entries.to_vec());
    }
    value.try_iter()?.map(|key| Ok((key.clone(), value.get_item(&key)?))).collect()
}

fn deeper(depth: usize) -> Result<usize, Error> {
    if depth >= DEPTH {
        return Err(limit_error("depth", format!("a value is deeper than {DEPTH} levels")));
    }
    Ok(depth.saturating_add(1))
}

pub fn torn() -> Error {
    unsupported(
        "provenance",
        "the origin of the texts cannot be kept: the template takes them apart in an unusual way",
    )
}
