//! `attribute=` of many filters: a path with dots, whose digits are positions.

use crate::python::numbers::integer;
use crate::python::text::{case, classes};
use crate::semantics::methods::arguments::{failed, integer_value, is_text};
use crate::semantics::operators::access;
use crate::value::{Error, Value};

/// The keys of a path; none for None, which is the item itself.
pub struct Path(Vec<Value>);

impl Path {
    pub fn of(attribute: Option<&Value>) -> Result<Self, Error> {
        let Some(attribute) = attribute.filter(|attribute| !attribute.is_none()) else {
            return Ok(Self(Vec::new()));
        };
        match attribute.as_str().filter(|_| is_text(attribute)) {
            Some(path) => Self::parse(path),
            None => Ok(Self(vec![attribute.clone()])),
        }
    }

    /// Several paths apart by commas.
    pub fn several(attribute: Option<&Value>) -> Result<Vec<Self>, Error> {
        match attribute.and_then(|attribute| attribute.as_str()) {
            Some(paths) => paths.split(',').map(Self::parse).collect(),
            None => Ok(vec![Self::of(attribute)?]),
        }
    }

    fn parse(path: &str) -> Result<Self, Error> {
        let key = |part: &str| {
            if classes::isdigit(part) {
                return Ok(integer_value(&integer::parse(part, 10).map_err(failed)?));
            }
            Ok(Value::from(part))
        };
        path.split('.').map(key).collect::<Result<_, Error>>().map(Self)
    }

    pub fn get(&self, item: &Value) -> Result<Value, Error> {
        self.0.iter().try_fold(item.clone(), |item, key| access::item(&item, key))
    }

    /// `default` stands for what is undefined on the way.
    pub fn get_or(&self, item: &Value, default: Option<&Value>) -> Result<Value, Error> {
        let mut item = item.clone();
        for key in &self.0 {
            item = access::item(&item, key)?;
            if let Some(default) = default.filter(|_| item.is_undefined()) {
                item = default.clone();
            }
        }
        Ok(item)
    }
}

/// A string in small letters, anything else as it is.
pub fn ignore_case(value: Value, case_sensitive: bool) -> Value {
    if case_sensitive || !is_text(&value) {
        return value;
    }
    Value::from(case::lower(value.as_str().unwrap_or_default()))
}
