//! The operators, and what else of the syntax computes.

pub mod access;
pub mod arithmetic;
pub mod compare;
pub mod slices;

use crate::value::{Error, Value};
use std::cmp::Ordering;

use self::compare::{contains, equal, order};
use crate::semantics::call::{Call, Entry};
use crate::semantics::errors::{limit_error, type_error};
use crate::semantics::iterate::for_loop;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::repr::text;
use crate::semantics::session::output_cap;

pub use self::arithmetic::add;

pub const ADD: Entry = ("__add", add_call);
pub const CONCAT: Entry = ("__concat", concat);
pub const DIV: Entry = ("__div", divide);
pub const EQUAL: Entry = ("__eq", equals);
pub const FILTERED: Entry = ("__filtered", filtered);
pub const FLOOR_DIV: Entry = ("__floordiv", floor_divide);
pub const GREATER_OR_EQUAL: Entry = ("__ge", greater_or_equal);
pub const GREATER: Entry = ("__gt", greater);
pub const IN: Entry = ("__in", within);
pub const ITEM: Entry = ("__item", item);
pub const ITERABLE: Entry = ("__iterable", iterable);
pub const LESS_OR_EQUAL: Entry = ("__le", less_or_equal);
pub const LESS: Entry = ("__lt", less);
pub const MOD: Entry = ("__mod", modulo);
pub const MUL: Entry = ("__mul", multiply);
pub const NEGATIVE: Entry = ("__neg", negate);
pub const POSITIVE: Entry = ("__pos", positive);
pub const POW: Entry = ("__pow", power);
pub const SLICE: Entry = ("__slice", slices::slice);
pub const SUB: Entry = ("__sub", subtract);

fn iterable(call: &mut Call<'_>) -> Result<Value, Error> {
    for_loop(call.subject)
}

/// What a filter block gives: jinja2 joins it with the texts around it.
fn filtered(call: &mut Call<'_>) -> Result<Value, Error> {
    if Type::of(call.subject).is_text() {
        return Ok(call.subject.clone());
    }
    let found = type_name(call.subject);
    Err(type_error(format!("sequence item: expected str instance, {found} found")))
}

fn operand<'a>(call: &Call<'a>) -> Result<&'a Value, Error> {
    let [operand] = call.positional::<1>("operator", 1)?;
    operand.ok_or_else(|| type_error("an operand is missing"))
}

fn concat(call: &mut Call<'_>) -> Result<Value, Error> {
    let cap = output_cap();
    let mut out = text(call.subject)?;
    for part in call.args {
        match part.as_str() {
            Some(plain) if Type::of(part).is_text() => out.push_str(plain),
            _ => out.push_str(&text(part)?),
        }
        if out.len() > cap {
            return Err(limit_error("output", format!("a text longer than {cap} bytes")));
        }
    }
    Ok(Value::from(out))
}

fn compared(call: &Call<'_>, sign: &str, want: &[Ordering]) -> Result<Value, Error> {
    let order = order(call.subject, operand(call)?, sign)?;
    Ok(Value::from(order.is_some_and(|order| want.contains(&order))))
}

fn less(call: &mut Call<'_>) -> Result<Value, Error> {
    compared(call, "<", &[Ordering::Less])
}

fn less_or_equal(call: &mut Call<'_>) -> Result<Value, Error> {
    compared(call, "<=", &[Ordering::Less, Ordering::Equal])
}

fn greater(call: &mut Call<'_>) -> Result<Value, Error> {
    compared(call, ">", &[Ordering::Greater])
}

fn greater_or_equal(call: &mut Call<'_>) -> Result<Value, Error> {
    compared(call, ">=", &[Ordering::Greater, Ordering::Equal])
}

fn equals(call: &mut Call<'_>) -> Result<Value, Error> {
    equal(call.subject, operand(call)?).map(Value::from)
}

fn within(call: &mut Call<'_>) -> Result<Value, Error> {
    contains(operand(call)?, call.subject).map(Value::from)
}

fn item(call: &mut Call<'_>) -> Result<Value, Error> {
    access::item(call.subject, operand(call)?)
}

fn capped(
    call: &Call<'_>,
    work: fn(&Value, &Value, usize) -> Result<Value, Error>,
) -> Result<Value, Error> {
    work(call.subject, operand(call)?, output_cap())
}

fn add_call(call: &mut Call<'_>) -> Result<Value, Error> {
    capped(call, add)
}

fn multiply(call: &mut Call<'_>) -> Result<Value, Error> {
    capped(call, arithmetic::multiply)
}

fn subtract(call: &mut Call<'_>) -> Result<Value, Error> {
    arithmetic::subtract(call.subject, operand(call)?)
}

fn divide(call: &mut Call<'_>) -> Result<Value, Error> {
    arithmetic::divide(call.subject, operand(call)?)
}

fn floor_divide(call: &mut Call<'_>) -> Result<Value, Error> {
    arithmetic::floor_divide(call.subject, operand(call)?)
}

fn power(call: &mut Call<'_>) -> Result<Value, Error> {
    arithmetic::power(call.subject, operand(call)?)
}

fn negate(call: &mut Call<'_>) -> Result<Value, Error> {
    arithmetic::negate(call.subject)
}

fn positive(call: &mut Call<'_>) -> Result<Value, Error> {
    arithmetic::positive(call.subject)
}

/// A remainder, or a text with its `%` filled in.
fn modulo(call: &mut Call<'_>) -> Result<Value, Error> {
    let (a, b) = (call.subject, operand(call)?);
    if Type::of(a).is_text() {
        return crate::semantics::methods::format::percent(call, a, b);
    }
    arithmetic::modulo(a, b)
}
