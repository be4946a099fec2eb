//! The operators that front writes as carriers: filters, but for two functions.

use std::cmp::Ordering;

use minijinja::{Error, ErrorKind, Value};

use super::call::{Call, Table};
use super::compare::{contains, equal, order};
use super::errors::{limit_error, type_error, undefined_error};
use super::iterate::for_loop;
use super::kinds::{type_name, Type};
use super::print::text;
use super::session::output_cap;
use super::{access, arithmetic, slices};
use crate::carriers;

pub use super::arithmetic::add;

pub static TABLE: Table = Table(&[
    (carriers::ADD, add_call),
    (carriers::ATTRIBUTE, attribute),
    (carriers::CATCHING, super::macros::catching),
    (carriers::CONCAT, concat),
    (carriers::DIV, divide),
    (carriers::EQUAL, equals),
    (carriers::FILTERED, filtered),
    (carriers::FLOOR_DIV, floor_divide),
    (carriers::GREATER_OR_EQUAL, greater_or_equal),
    (carriers::GREATER, greater),
    (carriers::IN, within),
    (carriers::ITEM, item),
    (carriers::ITERABLE, iterable),
    (carriers::KEEP, keep),
    (carriers::LESS_OR_EQUAL, less_or_equal),
    (carriers::LOOP, super::loops::context),
    (carriers::LESS, less),
    (carriers::MISSING, missing),
    (carriers::MOD, modulo),
    (carriers::MUL, multiply),
    (carriers::NEGATIVE, negate),
    (carriers::POSITIVE, positive),
    (carriers::POW, power),
    (carriers::SLICE, slices::slice),
    (carriers::SUB, subtract),
    (carriers::TEXT, plain_text),
]);

/// Carriers that are functions.
pub static GLOBALS: Table = Table(&[
    (carriers::DICT, super::globals::dict),
    (carriers::GENERATION, generation),
    (carriers::KEPT, kept),
]);

fn iterable(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    for_loop(call.subject)
}

/// Nothing in a plain render; an observer puts its mark.
fn generation(_: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    Ok(Value::from(""))
}

/// What stands between plain texts in a sum that is printed: a text, too.
fn plain_text(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    match Type::of(call.subject) {
        Type::Str => Ok(call.subject.clone()),
        Type::Undefined => Err(undefined_error("a value is undefined")),
        _ => Err(type_error(format!(
            "can only concatenate str (not \"{}\") to str",
            type_name(call.subject)
        ))),
    }
}

/// What a filter block gives: jinja2 joins it with the texts around it.
fn filtered(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    if Type::of(call.subject).is_text() {
        return Ok(call.subject.clone());
    }
    let found = type_name(call.subject);
    Err(type_error(format!("sequence item: expected str instance, {found} found")))
}

fn slot(call: &Call<'_, '_, '_>) -> Result<String, Error> {
    Ok(format!("{}{}", carriers::KEEP, operand(call)?))
}

fn keep(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    let slot = slot(call)?;
    call.state.set_temp(&slot, call.subject.clone());
    Ok(call.subject.clone())
}

fn kept(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    Ok(call.state.get_temp(&slot(call)?).unwrap_or_default())
}

fn operand<'a>(call: &Call<'a, '_, '_>) -> Result<&'a Value, Error> {
    let [operand] = call.positional::<1>("operator", 1)?;
    operand.ok_or_else(|| type_error("an operand is missing"))
}

fn concat(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
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

fn compared(call: &Call<'_, '_, '_>, sign: &str, want: &[Ordering]) -> Result<Value, Error> {
    let order = order(call.subject, operand(call)?, sign)?;
    Ok(Value::from(order.is_some_and(|order| want.contains(&order))))
}

fn less(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    compared(call, "<", &[Ordering::Less])
}

fn less_or_equal(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    compared(call, "<=", &[Ordering::Less, Ordering::Equal])
}

fn greater(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    compared(call, ">", &[Ordering::Greater])
}

fn greater_or_equal(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    compared(call, ">=", &[Ordering::Greater, Ordering::Equal])
}

fn equals(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    equal(call.subject, operand(call)?).map(Value::from)
}

fn within(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    contains(operand(call)?, call.subject).map(Value::from)
}

fn item(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    access::item(call.subject, operand(call)?)
}

fn attribute(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    let name = operand(call)?;
    access::attribute(call.subject, name.as_str().unwrap_or_default())
}

fn capped(
    call: &Call<'_, '_, '_>,
    work: fn(&Value, &Value, usize) -> Result<Value, Error>,
) -> Result<Value, Error> {
    work(call.subject, operand(call)?, output_cap())
}

fn add_call(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    capped(call, add)
}

fn multiply(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    capped(call, arithmetic::multiply)
}

fn subtract(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    arithmetic::subtract(call.subject, operand(call)?)
}

fn divide(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    arithmetic::divide(call.subject, operand(call)?)
}

fn floor_divide(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    arithmetic::floor_divide(call.subject, operand(call)?)
}

fn power(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    arithmetic::power(call.subject, operand(call)?)
}

fn negate(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    arithmetic::negate(call.subject)
}

fn positive(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    arithmetic::positive(call.subject)
}

/// A remainder, or a text with its `%` filled in.
fn modulo(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    let (a, b) = (call.subject, operand(call)?);
    if Type::of(a).is_text() {
        return super::methods::format::percent(call, a, b);
    }
    arithmetic::modulo(a, b)
}

/// A filter or a test that does not exist, once it is asked for.
fn missing(call: &mut Call<'_, '_, '_>) -> Result<Value, Error> {
    let message = operand(call)?;
    let message = message.as_str().unwrap_or_default().to_owned();
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(TABLE.is_sorted() && GLOBALS.is_sorted());
        assert!(super::super::globals::TABLE.is_sorted());
    }
}
