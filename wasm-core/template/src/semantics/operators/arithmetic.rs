//! Python's arithmetic on integers, floats and sequences.

use crate::python::numbers::integer::Integer;
use crate::python::numbers::power;
use crate::python::text::markup;
use crate::semantics::errors::{
    limit_error, overflow_error, type_error, undefined_error, unsupported,
};
use crate::semantics::iterate::items;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::numbers::{float, integer, rounded, whole, BigInt};
use crate::semantics::operators::compare::as_set;
use crate::value::{Error, Tuple, Value};

/// Items of a list are counted so many times against the bound of a text.
const ITEM: usize = 8;

pub fn unsupported_operands(sign: &str, a: &Value, b: &Value) -> Error {
    if a.is_undefined() || b.is_undefined() {
        return undefined_error("a value is undefined");
    }
    if sign == "-" && (as_set(a).is_some() || as_set(b).is_some()) {
        return unsupported("a set", "what is left of a view is a set");
    }
    type_error(format!(
        "unsupported operand type(s) for {sign}: '{}' and '{}'",
        type_name(a),
        type_name(b)
    ))
}

/// Python has integers of any size; here they are read, compared and printed only.
fn too_large(sign: &str) -> Error {
    unsupported("integer", format!("the result of {sign} does not fit into 128 bits"))
}

fn zero_division(message: &'static str) -> Error {
    Error::new(format!("ZeroDivisionError: {message}"))
}

/// Two numbers as integers if neither is a float, else as floats.
enum Pair {
    Whole(i128, i128),
    Float(f64, f64),
}

fn numbers(sign: &str, a: &Value, b: &Value) -> Result<Pair, Error> {
    if !Type::of(a).is_number() || !Type::of(b).is_number() {
        return Err(unsupported_operands(sign, a, b));
    }
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        return Ok(Pair::Whole(a, b));
    }
    if float(a).is_none() && float(b).is_none() {
        return Err(too_large(sign));
    }
    match (rounded(a), rounded(b)) {
        (Some(a), Some(b)) => Ok(Pair::Float(a, b)),
        _ => Err(overflow_error("int too large to convert to float")),
    }
}

/// `a + b`; a text grows to `cap` bytes at most.
pub fn add(a: &Value, b: &Value, cap: usize) -> Result<Value, Error> {
    let (left, right) = (Type::of(a), Type::of(b));
    if left.is_text() && right.is_text() {
        return add_texts(a, b, cap);
    }
    match (left, right) {
        (Type::List, Type::List) => Ok(Value::from(joined(a, b, cap)?)),
        (Type::Tuple, Type::Tuple) => Ok(Value::from(Tuple::from(joined(a, b, cap)?))),
        _ => match numbers("+", a, b)? {
            Pair::Whole(a, b) => a.checked_add(b).map(whole).ok_or_else(|| too_large("+")),
            Pair::Float(a, b) => Ok(Value::from(a + b)),
        },
    }
}

fn joined(a: &Value, b: &Value, cap: usize) -> Result<Vec<Value>, Error> {
    let (mut all, more) = (items(a)?, items(b)?);
    if all.len().saturating_add(more.len()) > cap / ITEM {
        return Err(limit_error("output", format!("a list of more than {} items", cap / ITEM)));
    }
    all.extend(more);
    Ok(all)
}

/// A safe text makes the other one safe, by escaping it.
fn add_texts(a: &Value, b: &Value, cap: usize) -> Result<Value, Error> {
    let safe = a.is_safe() || b.is_safe();
    let mut out = String::new();
    for part in [a, b] {
        let plain = part.as_str().unwrap_or_default();
        if safe && !part.is_safe() {
            let escaped = markup::escape(plain, cap);
            out.push_str(&escaped.map_err(|fault| limit_error("output", fault.to_string()))?);
        } else {
            out.push_str(plain);
        }
    }
    if out.len() > cap {
        return Err(limit_error("output", format!("a text longer than {cap} bytes")));
    }
    Ok(if safe { Value::from_safe_string(out) } else { Value::from(out) })
}

pub fn subtract(a: &Value, b: &Value) -> Result<Value, Error> {
    match numbers("-", a, b)? {
        Pair::Whole(a, b) => a.checked_sub(b).map(whole).ok_or_else(|| too_large("-")),
        Pair::Float(a, b) => Ok(Value::from(a - b)),
    }
}

/// `a * b`: a product, or a sequence so many times.
pub fn multiply(a: &Value, b: &Value, cap: usize) -> Result<Value, Error> {
    let repeats = |value: &Value| {
        let kind = Type::of(value);
        kind.is_text() || matches!(kind, Type::List | Type::Tuple | Type::Bytes)
    };
    if repeats(a) {
        return repeat(a, b, cap);
    }
    if repeats(b) {
        return repeat(b, a, cap);
    }
    match numbers("*", a, b)? {
        Pair::Whole(a, b) => a.checked_mul(b).map(whole).ok_or_else(|| too_large("*")),
        Pair::Float(a, b) => Ok(Value::from(a * b)),
    }
}

fn repeat(sequence: &Value, count: &Value, cap: usize) -> Result<Value, Error> {
    if count.is_undefined() {
        return Err(undefined_error("a value is undefined"));
    }
    let count = match (integer(count), count.downcast_object_ref::<BigInt>()) {
        (Some(count), _) => count,
        (None, Some(_)) => {
            return Err(overflow_error("cannot fit 'int' into an index-sized integer"));
        }
        (None, None) => {
            return Err(type_error(format!(
                "can't multiply sequence by non-int of type '{}'",
                type_name(count)
            )));
        }
    };
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    let fits = |length: usize, most: usize| {
        let wanted = length.checked_mul(count).filter(|wanted| *wanted <= most);
        wanted.ok_or_else(|| {
            limit_error("output", format!("a repetition of more than {most} bytes or items"))
        })
    };
    if let Some(text) = sequence.as_str().filter(|_| Type::of(sequence).is_text()) {
        fits(text.len(), cap)?;
        let text = if text.is_empty() { String::new() } else { text.repeat(count) };
        return Ok(if sequence.is_safe() {
            Value::from_safe_string(text)
        } else {
            Value::from(text)
        });
    }
    if let Some(bytes) = sequence.as_bytes() {
        fits(bytes.len(), cap)?;
        let count = if bytes.is_empty() { 0 } else { count };
        return Ok(Value::from_bytes(bytes.repeat(count)));
    }
    let once = items(sequence)?;
    let wanted = fits(once.len(), cap / ITEM)?;
    let all: Vec<Value> = once.iter().cycle().take(wanted).cloned().collect();
    Ok(match Type::of(sequence) {
        Type::Tuple => Value::from(Tuple::from(all)),
        _ => Value::from(all),
    })
}

/// `a / b`, always a float.
pub fn divide(a: &Value, b: &Value) -> Result<Value, Error> {
    match numbers("/", a, b)? {
        Pair::Whole(_, 0) => Err(zero_division("division by zero")),
        Pair::Whole(a, b) => quotient(a, b).map(Value::from).ok_or_else(|| too_large("/")),
        Pair::Float(_, 0.0) => Err(zero_division("float division by zero")),
        Pair::Float(a, b) => Ok(Value::from(a / b)),
    }
}

/// The float nearest to the exact quotient.
#[allow(clippy::cast_precision_loss)]
fn quotient(a: i128, b: i128) -> Option<f64> {
    const EXACT: u128 = 1 << 53;
    let (high, low) = (a.unsigned_abs(), b.unsigned_abs());
    let size = if high == 0 || high <= EXACT && low <= EXACT {
        high as f64 / low as f64
    } else {
        // Enough bits that the last one decides nothing but a tie, which the remainder breaks.
        let shift = high.leading_zeros();
        let high = high << shift;
        let mut bits = high.checked_div(low)?;
        if bits < EXACT << 2 {
            return None;
        }
        if high.checked_rem(low)? != 0 {
            bits |= 1;
        }
        bits as f64 * 0.5_f64.powi(i32::try_from(shift).ok()?)
    };
    Some(if (a < 0) == (b < 0) { size } else { -size })
}

/// `a // b`.
pub fn floor_divide(a: &Value, b: &Value) -> Result<Value, Error> {
    match numbers("//", a, b)? {
        Pair::Whole(_, 0) => Err(zero_division("integer division or modulo by zero")),
        Pair::Whole(a, b) => {
            let quotient = a.checked_div(b).ok_or_else(|| too_large("//"))?;
            let rest = a.checked_rem(b).unwrap_or(0);
            let below = rest != 0 && (rest < 0) != (b < 0);
            Ok(whole(if below { quotient - 1 } else { quotient }))
        }
        Pair::Float(_, 0.0) => Err(zero_division("float floor division by zero")),
        Pair::Float(a, b) => Ok(Value::from(floor_and_rest(a, b).0)),
    }
}

/// `a % b` of numbers; the sign is that of the divisor.
pub fn modulo(a: &Value, b: &Value) -> Result<Value, Error> {
    match numbers("%", a, b)? {
        Pair::Whole(_, 0) => Err(zero_division("integer modulo by zero")),
        Pair::Whole(a, b) => {
            let rest = a.checked_rem(b).unwrap_or(0);
            Ok(whole(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
        }
        Pair::Float(_, 0.0) => Err(zero_division("float modulo")),
        Pair::Float(a, b) => Ok(Value::from(floor_and_rest(a, b).1)),
    }
}

/// CPython's `float_divmod`.
fn floor_and_rest(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (rest < 0.0) != (b < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

/// `a ** b`.
#[allow(clippy::cast_precision_loss)]
pub fn power(a: &Value, b: &Value) -> Result<Value, Error> {
    let (base, exponent) = match numbers("** or pow()", a, b)? {
        Pair::Whole(base, exponent) if exponent >= 0 => {
            let small = match base {
                0 | 1 => Some(if exponent == 0 { 1 } else { base }),
                -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
                _ => u32::try_from(exponent).ok().and_then(|times| base.checked_pow(times)),
            };
            return small.map(whole).ok_or_else(|| too_large("**"));
        }
        Pair::Whole(base, exponent) => (base as f64, exponent as f64),
        Pair::Float(base, exponent) => (base, exponent),
    };
    if base == 0.0 && exponent < 0.0 {
        return Err(zero_division("0.0 cannot be raised to a negative power"));
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(unsupported("complex", "a root of a negative number is complex"));
    }
    let Some(result) = power::power(base, exponent) else {
        return Err(unsupported("power", "the last digit of a power of floats is not certain"));
    };
    if result.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(overflow_error("(34, 'Numerical result out of range')"));
    }
    Ok(Value::from(result))
}

/// `-a`.
pub fn negate(a: &Value) -> Result<Value, Error> {
    if let Some(big) = a.downcast_object_ref::<BigInt>() {
        let integer = big.integer();
        let digits = integer.digits.clone();
        return Ok(BigInt::value(Integer { negative: !integer.negative, digits }));
    }
    signed("-", a, |value| value.checked_neg(), |value| -value)
}

/// `+a`: a boolean becomes a number.
pub fn positive(a: &Value) -> Result<Value, Error> {
    if a.downcast_object_ref::<BigInt>().is_some() {
        return Ok(a.clone());
    }
    signed("+", a, Some, |value| value)
}

fn signed(
    sign: &str,
    a: &Value,
    of_whole: impl Fn(i128) -> Option<i128>,
    of_float: impl Fn(f64) -> f64,
) -> Result<Value, Error> {
    if let Some(value) = integer(a) {
        return of_whole(value).map(whole).ok_or_else(|| too_large(sign));
    }
    if let Some(value) = float(a) {
        return Ok(Value::from(of_float(value)));
    }
    if a.is_undefined() {
        return Err(undefined_error("a value is undefined"));
    }
    Err(type_error(format!("bad operand type for unary {sign}: '{}'", type_name(a))))
}
