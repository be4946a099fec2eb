//! Python's numbers as values, integers of any size among them.

use crate::semantics::kinds::Type;
use crate::value::{Object, Value};
use std::cmp::Ordering;
use std::fmt;

use crate::python::numbers::integer::Integer;

/// An integer beyond 128 bits: exact in print and comparison, refused by arithmetic.
pub struct BigInt(Integer);

impl BigInt {
    /// From decimal digits with an optional minus.
    #[must_use]
    pub fn from_decimal(text: &str) -> Value {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        Self::value(Integer { negative, digits: digits.trim_start_matches('0').to_owned() })
    }

    /// The value of an integer, an ordinary one if 128 bits hold it.
    #[must_use]
    pub fn value(integer: Integer) -> Value {
        if integer.digits.is_empty() {
            return Value::from(0);
        }
        integer.to_i128().map_or_else(|| Value::from_object(Self(integer)), whole)
    }

    #[must_use]
    pub fn integer(&self) -> &Integer {
        &self.0
    }

    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.0, &other.0);
        let size = (a.digits.len(), &a.digits).cmp(&(b.digits.len(), &b.digits));
        match (a.negative, b.negative) {
            (false, false) => size,
            (true, true) => size.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl fmt::Debug for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Object for BigInt {
    fn class(&self) -> Type {
        Type::Int
    }

    fn is_true(&self) -> bool {
        true
    }

    fn custom_cmp(&self, other: &dyn Object) -> Option<Ordering> {
        Some(self.compare(other.downcast_ref::<Self>()?))
    }
}

/// The shortest kind of value that holds an integer.
#[must_use]
pub fn whole(value: i128) -> Value {
    Value::from(value)
}

/// A number as an integer, if it is one of 128 bits (`True` is 1, and a float never is).
#[must_use]
pub fn integer(value: &Value) -> Option<i128> {
    match value.class() {
        Type::Bool => Some(i128::from(value.is_true())),
        _ => value.whole(),
    }
}

/// A float, and nothing else.
#[must_use]
pub fn float(value: &Value) -> Option<f64> {
    value.float()
}

/// Any number as a float, rounded where it has to be.
#[must_use]
pub fn rounded(value: &Value) -> Option<f64> {
    if let Some(big) = value.downcast_object_ref::<BigInt>() {
        return big.0.to_f64().ok();
    }
    #[allow(clippy::cast_precision_loss)]
    float(value).or_else(|| integer(value).map(|whole| whole as f64))
}

/// Python compares an integer with a float exactly; None is NaN.
#[must_use]
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (float(a), float(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        (Some(a), None) => with_float(b, a).map(Ordering::reverse),
        (None, Some(b)) => with_float(a, b),
        (None, None) => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            (a_whole, b_whole) => {
                let (big_a, big_b) = (big(a), big(b));
                match (big_a, big_b) {
                    (Some(a), Some(b)) => Some(a.compare(b)),
                    (Some(a), None) if b_whole.is_some() => Some(sign(a)),
                    (None, Some(b)) if a_whole.is_some() => Some(sign(b).reverse()),
                    _ => None,
                }
            }
        },
    }
}

fn big(value: &Value) -> Option<&BigInt> {
    value.downcast_object_ref::<BigInt>()
}

/// Against every number of 128 bits.
fn sign(big: &BigInt) -> Ordering {
    if big.0.negative {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

fn with_float(whole: &Value, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    // Every float beyond 2**53 is whole: its exact digits decide.
    let floor = exact(float.floor());
    let below = compare(whole, &BigInt::value(floor))?;
    let fraction = float.floor() < float;
    Some(if below == Ordering::Equal && fraction { Ordering::Less } else { below })
}

/// The digits of a float without a fraction.
fn exact(float: f64) -> Integer {
    let text = format!("{:.0}", float.abs());
    Integer { negative: float < 0.0, digits: text.trim_start_matches('0').to_owned() }
}
