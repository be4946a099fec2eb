//! Every test of jinja2, with its answers and errors.

use crate::value::{Error, Value};
use std::cmp::Ordering;

use super::call::{Call, Table};
use super::errors::{type_error, unsupported};
use super::kinds::{type_name, Type};
use super::methods::arguments::{whole, zero_division};
use super::numbers;
use super::operators::compare::{contains, equal, hashable, order};
use super::repr;
use crate::python::text::classes;

type Answer = Result<Value, Error>;

pub static TABLE: Table = Table(&[
    ("!=", |call| Ok(Value::from(!equal(call.subject, &other(call)?)?))),
    ("<", |call| ordered(call, "<", &[Ordering::Less])),
    ("<=", |call| ordered(call, "<=", &[Ordering::Less, Ordering::Equal])),
    ("==", is_equal),
    (">", |call| ordered(call, ">", &[Ordering::Greater])),
    (">=", |call| ordered(call, ">=", &[Ordering::Greater, Ordering::Equal])),
    ("boolean", |call| is_kind(call, |kind| kind == Type::Bool)),
    ("callable", |call| is_kind(call, is_callable)),
    ("defined", |call| is_kind(call, |kind| kind != Type::Undefined)),
    ("divisibleby", divisibleby),
    ("eq", is_equal),
    ("equalto", is_equal),
    ("escaped", |call| is_kind(call, |kind| kind == Type::Markup)),
    ("even", |call| parity(call, 0)),
    ("false", |call| is_the(call, false)),
    ("filter", |call| named(call, &super::filters::TABLE)),
    ("float", |call| is_kind(call, |kind| kind == Type::Float)),
    ("ge", |call| ordered(call, ">=", &[Ordering::Greater, Ordering::Equal])),
    ("greaterthan", |call| ordered(call, ">", &[Ordering::Greater])),
    ("gt", |call| ordered(call, ">", &[Ordering::Greater])),
    ("in", |call| Ok(Value::from(contains(&other(call)?, call.subject)?))),
    ("integer", |call| is_kind(call, |kind| kind == Type::Int)),
    ("iterable", |call| is_kind(call, is_iterable)),
    ("le", |call| ordered(call, "<=", &[Ordering::Less, Ordering::Equal])),
    ("lessthan", |call| ordered(call, "<", &[Ordering::Less])),
    ("lower", |call| cased(call, classes::islower)),
    ("lt", |call| ordered(call, "<", &[Ordering::Less])),
    ("mapping", |call| is_kind(call, |kind| kind == Type::Dict)),
    ("ne", |call| Ok(Value::from(!equal(call.subject, &other(call)?)?))),
    ("none", |call| is_kind(call, |kind| kind == Type::None)),
    ("number", |call| is_kind(call, Type::is_number)),
    ("odd", |call| parity(call, 1)),
    ("sameas", sameas),
    ("sequence", |call| is_kind(call, is_sequence)),
    ("string", |call| is_kind(call, Type::is_text)),
    ("test", |call| named(call, &TABLE)),
    ("true", |call| is_the(call, true)),
    ("undefined", |call| is_kind(call, |kind| kind == Type::Undefined)),
    ("upper", |call| cased(call, classes::isupper)),
]);

fn alone(call: &Call<'_>) -> Result<(), Error> {
    call.bind("test", 0, []).map(|[]| ())
}

/// The one argument of a test.
fn other(call: &Call<'_>) -> Result<Value, Error> {
    let [other] = call.positional::<1>("test", 1)?;
    Ok(other.cloned().unwrap_or_default())
}

fn is_kind(call: &mut Call<'_>, test: fn(Type) -> bool) -> Answer {
    alone(call)?;
    Ok(Value::from(test(Type::of(call.subject))))
}

fn is_the(call: &mut Call<'_>, wanted: bool) -> Answer {
    alone(call)?;
    let right = Type::of(call.subject) == Type::Bool && call.subject.is_true() == wanted;
    Ok(Value::from(right))
}

/// Undefined and the loop are callable objects, what a call of them does is another question.
fn is_callable(kind: Type) -> bool {
    matches!(
        kind,
        Type::Method | Type::Function | Type::Macro | Type::Joiner | Type::Loop | Type::Undefined
    )
}

fn is_iterable(kind: Type) -> bool {
    matches!(
        kind,
        Type::Undefined
            | Type::Str
            | Type::Markup
            | Type::Bytes
            | Type::List
            | Type::Tuple
            | Type::Dict
            | Type::Range
            | Type::Generator
            | Type::View
            | Type::Loop
    )
}

/// What has a length and items by key or position.
fn is_sequence(kind: Type) -> bool {
    is_iterable(kind) && !matches!(kind, Type::Generator | Type::View | Type::Loop)
}

fn is_equal(call: &mut Call<'_>) -> Answer {
    Ok(Value::from(equal(call.subject, &other(call)?)?))
}

fn ordered(call: &mut Call<'_>, sign: &str, wanted: &[Ordering]) -> Answer {
    let found = order(call.subject, &other(call)?, sign)?;
    Ok(Value::from(found.is_some_and(|found| wanted.contains(&found))))
}

fn cased(call: &mut Call<'_>, test: fn(&str) -> bool) -> Answer {
    alone(call)?;
    Ok(Value::from(test(&repr::text(call.subject)?)))
}

fn named(call: &mut Call<'_>, table: &Table) -> Answer {
    alone(call)?;
    hashable(call.subject)?;
    let name = call.subject.as_str().unwrap_or_default();
    Ok(Value::from(table.find(name).is_some()))
}

fn parity(call: &mut Call<'_>, wanted: i64) -> Answer {
    alone(call)?;
    if let Some(number) = whole(call.subject) {
        let odd = number.digits.ends_with(['1', '3', '5', '7', '9']);
        return Ok(Value::from(odd == (wanted == 1)));
    }
    rest_is(call, &Value::from(2), &Value::from(wanted))
}

fn divisibleby(call: &mut Call<'_>) -> Answer {
    let [number] = call.bind("test_divisibleby", 1, ["num"])?;
    rest_is(call, &number.unwrap_or_default(), &Value::from(0))
}

/// `subject % number == wanted`.
fn rest_is(call: &Call<'_>, number: &Value, wanted: &Value) -> Answer {
    let subject = call.subject;
    if Type::of(subject).is_text() {
        let text = super::methods::format::percent(call, subject, number)?;
        return Ok(Value::from(equal(&text, wanted)?));
    }
    if !Type::of(subject).is_number() || !Type::of(number).is_number() {
        return Err(type_error(format!(
            "unsupported operand type(s) for %: '{}' and '{}'",
            type_name(subject),
            type_name(number)
        )));
    }
    let wanted = numbers::integer(wanted).unwrap_or_default();
    if let (Some(a), Some(b)) = (numbers::integer(subject), numbers::integer(number)) {
        if b == 0 {
            return Err(zero_division("integer division or modulo by zero"));
        }
        let rest = a.wrapping_rem(b);
        let rest = if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest };
        return Ok(Value::from(rest == wanted));
    }
    let whole = numbers::float(subject).is_none() && numbers::float(number).is_none();
    let both = numbers::rounded(subject).zip(numbers::rounded(number)).filter(|_| !whole);
    let Some((a, b)) = both else {
        return Err(unsupported("remainder beyond 128 bits", "a number is beyond 128 bits"));
    };
    if b == 0.0 {
        return Err(zero_division("float modulo"));
    }
    let rest = a % b;
    let rest = if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest };
    #[allow(clippy::cast_precision_loss)]
    let same = rest == wanted as f64;
    Ok(Value::from(same))
}

/// Identity. Of numbers and texts that are equal Python keeps sometimes one object, sometimes
/// several: only small numbers are always one.
fn sameas(call: &mut Call<'_>) -> Answer {
    let [other] = call.bind("test_sameas", 1, ["other"])?;
    let other = other.unwrap_or_default();
    let (left, right) = (Type::of(call.subject), Type::of(&other));
    if left != right || left == Type::Undefined {
        return Ok(Value::from(false));
    }
    if matches!(left, Type::None) {
        return Ok(Value::from(true));
    }
    if !equal(call.subject, &other)? {
        return Ok(Value::from(false));
    }
    let small = numbers::integer(&other).is_some_and(|number| (-5..=256).contains(&number));
    if left == Type::Bool || small {
        return Ok(Value::from(true));
    }
    Err(unsupported("sameas", "whether two equal values are one object cannot be told"))
}

#[cfg(test)]
mod checks {
    #[test]
    fn the_table_is_sorted() {
        assert!(super::TABLE.is_sorted());
    }
}
