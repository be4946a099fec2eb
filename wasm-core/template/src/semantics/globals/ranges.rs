//! Python's `range`, with the limit of jinja2's sandbox.

use crate::semantics::kinds::Type;
use crate::value::{Enumerator, Error, Object, Value};
use std::fmt;

use crate::semantics::call::Call;
use crate::semantics::errors::{overflow_error, type_error, value_error};
use crate::semantics::kinds::type_name;
use crate::semantics::numbers::integer;

/// `jinja2.sandbox.MAX_RANGE`.
const MOST: usize = 100_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: i128,
    pub stop: i128,
    pub step: i128,
}

impl Range {
    #[must_use]
    pub fn len(&self) -> usize {
        let distance = if self.step > 0 {
            self.stop.saturating_sub(self.start)
        } else {
            self.start.saturating_sub(self.stop)
        };
        if distance <= 0 {
            return 0;
        }
        if self.step == 1 || self.step == -1 {
            // A division of 128 bits takes a while, and `loop` asks again and again.
            return usize::try_from(distance).unwrap_or(usize::MAX);
        }
        let step = self.step.unsigned_abs();
        let count = (distance.unsigned_abs() - 1) / step + 1;
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn at(&self, index: usize) -> Option<Value> {
        if index >= self.len() {
            return None;
        }
        let offset = i128::try_from(index).ok()?.checked_mul(self.step)?;
        Some(number(self.start.checked_add(offset)?))
    }

    /// A slice of a range is a range.
    #[must_use]
    pub fn value(self) -> Value {
        Value::from_object(self)
    }
}

fn number(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value), Value::from)
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.step == 1 {
            return write!(f, "range({}, {})", self.start, self.stop);
        }
        write!(f, "range({}, {}, {})", self.start, self.stop, self.step)
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Object for Range {
    fn class(&self) -> Type {
        Type::Range
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        self.at(key.as_usize()?)
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Seq(self.len())
    }
}

/// `range(stop)`, `range(start, stop)`, `range(start, stop, step)`.
pub fn range(call: &mut Call<'_>) -> Result<Value, Error> {
    let [first, second, third] = call.positional::<3>("range", 1)?;
    let whole = |value: &Value| match integer(value) {
        Some(value) => Ok(value),
        None if type_name(value) == "int" => {
            Err(overflow_error("Python int too large to convert to C ssize_t"))
        }
        None => Err(type_error(format!(
            "'{}' object cannot be interpreted as an integer",
            type_name(value)
        ))),
    };
    let first = first.map(whole).transpose()?.unwrap_or_default();
    let (start, stop) = match second {
        None => (0, first),
        Some(stop) => (first, whole(stop)?),
    };
    let step = third.map(whole).transpose()?.unwrap_or(1);
    if step == 0 {
        return Err(value_error("range() arg 3 must not be zero"));
    }
    let range = Range { start, stop, step };
    if range.len() > MOST {
        return Err(overflow_error(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MOST})."
        )));
    }
    Ok(range.value())
}
