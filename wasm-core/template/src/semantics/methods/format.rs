//! `%` on a string and `str.format`, with the sandbox's rules for attributes.

use super::arguments::{cap, failed, is_text, real, text_value, whole, zero_division};
use crate::python::fault::push;
use crate::python::formatting::fields::{self, Name, Step};
use crate::python::formatting::percent::{self, Amount, Field, Layout, Piece};
use crate::python::formatting::spec;
use crate::python::numbers::integer;
use crate::python::text::{classes, markup, quote};
use crate::semantics::call::Call;
use crate::semantics::errors::{index_error, key_error, overflow_error, type_error, value_error};
use crate::semantics::iterate;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::numbers;
use crate::semantics::operators::access;
use crate::semantics::repr::{self, repr};
use crate::value::{Error, Value};

/// `template % argument`.
pub fn percent(call: &Call<'_>, template: &Value, argument: &Value) -> Result<Value, Error> {
    let cap = cap(call);
    let safe = template.is_safe();
    let mut arguments = Arguments::of(argument)?;
    let mut out = String::new();
    for piece in percent::parse(template.as_str().unwrap_or_default()) {
        match piece.map_err(failed)? {
            Piece::Text(text) => out.push_str(text),
            Piece::Field(field) => push_field(&mut out, &field, &mut arguments, safe, cap)?,
        }
        if out.len() > cap {
            return Err(failed(crate::python::Fault::too_long(cap)));
        }
    }
    arguments.check_used()?;
    Ok(text_value(out, safe))
}

/// What stands to the right of `%`: a tuple gives one after the other, anything else itself, once.
struct Arguments {
    values: std::vec::IntoIter<Value>,
    mapping: Option<Value>,
}

impl Arguments {
    fn of(argument: &Value) -> Result<Self, Error> {
        let kind = Type::of(argument);
        if kind == Type::Tuple {
            return Ok(Self { values: iterate::items(argument)?.into_iter(), mapping: None });
        }
        let mapping = matches!(kind, Type::Dict | Type::List | Type::Range | Type::Undefined);
        Ok(Self {
            values: vec![argument.clone()].into_iter(),
            mapping: mapping.then(|| argument.clone()),
        })
    }

    fn next(&mut self) -> Result<Value, Error> {
        self.values.next().ok_or_else(|| type_error("not enough arguments for format string"))
    }

    fn by_key(&mut self, key: &str) -> Result<(), Error> {
        let Some(mapping) = &self.mapping else {
            return Err(type_error("format requires a mapping"));
        };
        let found = match Type::of(mapping) {
            Type::Dict => mapping.as_object().and_then(|map| map.get_value(&Value::from(key))),
            Type::Undefined => {
                return Err(crate::semantics::errors::undefined_error("a value is undefined"))
            }
            _ => return Err(type_error("list indices must be integers or slices, not str")),
        };
        let found = found.ok_or_else(|| key_error(quote::quoted(key)))?;
        self.values = vec![found].into_iter();
        Ok(())
    }

    fn amount(&mut self, amount: Option<Amount>, limit: i128) -> Result<Option<i128>, Error> {
        match amount {
            None => Ok(None),
            Some(Amount::Given(number)) => Ok(i128::try_from(number).ok()),
            Some(Amount::FromArguments) => {
                let value = self.next()?;
                match numbers::integer(&value) {
                    Some(number) if number.abs() <= limit => Ok(Some(number)),
                    Some(_) => Err(overflow_error("Python int too large to convert to C int")),
                    None => Err(type_error("* wants int")),
                }
            }
        }
    }

    fn check_used(&self) -> Result<(), Error> {
        if self.values.len() > 0 && self.mapping.is_none() {
            return Err(type_error("not all arguments converted during string formatting"));
        }
        Ok(())
    }
}

fn push_field(
    out: &mut String,
    field: &Field<'_>,
    arguments: &mut Arguments,
    safe: bool,
    cap: usize,
) -> Result<(), Error> {
    if let Some(key) = field.key {
        arguments.by_key(key)?;
    }
    let mut layout = Layout { flags: field.flags, ..Layout::default() };
    if let Some(width) = arguments.amount(field.width, i128::from(i64::MAX))? {
        layout.flags.left |= width < 0;
        layout.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
    }
    if let Some(precision) = arguments.amount(field.precision, i128::from(i32::MAX))? {
        layout.precision = Some(usize::try_from(precision).unwrap_or(0));
    }
    if field.letter == '%' {
        out.push('%');
        return Ok(());
    }
    let value = arguments.next()?;
    match field.letter {
        's' | 'r' | 'a' => {
            let text = converted(&value, field.letter)?;
            let text = if safe && !(field.letter == 's' && value.is_safe()) {
                markup::escape(&text, cap).map_err(failed)?
            } else {
                text
            };
            percent::push_text(out, &text, layout, cap)
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
            let number = counted(&value, field.letter, safe)?;
            percent::push_integer(out, &number, field.letter, layout, cap)
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let number = match real(&value) {
                Some(number) => number?,
                None if safe && is_text(&value) => {
                    crate::python::numbers::float::parse(value.as_str().unwrap_or_default())
                        .map_err(failed)?
                }
                None => {
                    return Err(type_error(format!(
                        "must be real number, not {}",
                        type_name(&value)
                    )))
                }
            };
            percent::push_float(out, number, field.letter, layout, cap)
        }
        'c' if !safe => {
            let text = character(&value)?;
            let layout = Layout { precision: None, ..layout };
            percent::push_text(out, &text, layout, cap)
        }
        'c' => return Err(type_error("%c requires int or char")),
        letter => {
            return Err(value_error(format!(
                "unsupported format character '{letter}' ({:#x}) at index {}",
                letter as u32, field.at
            )))
        }
    }
    .map_err(failed)
}

fn converted(value: &Value, letter: char) -> Result<String, Error> {
    Ok(match letter {
        's' => repr::text(value)?,
        'r' => repr(value)?,
        _ => quote::ascii(&repr(value)?),
    })
}

fn character(value: &Value) -> Result<String, Error> {
    if let Some(number) = whole(value) {
        return Ok(spec::character(&number).map_err(failed)?.to_string());
    }
    match value.as_str().filter(|text| is_text(value) && text.chars().count() == 1) {
        Some(text) => Ok(text.to_owned()),
        None => Err(type_error("%c requires int or char")),
    }
}

/// The integer of `%d` (a float is cut) and of `%x` (a float is refused).
fn counted(value: &Value, letter: char, safe: bool) -> Result<integer::Integer, Error> {
    if let Some(number) = whole(value) {
        return Ok(number);
    }
    let decimal = matches!(letter, 'd' | 'i' | 'u');
    match Type::of(value) {
        Type::Float if decimal => cut_float(numbers::float(value).unwrap_or_default()),
        _ if safe && decimal && is_text(value) => {
            integer::parse(value.as_str().unwrap_or_default(), 10).map_err(failed)
        }
        _ => {
            let wanted = if decimal { "a real number" } else { "an integer" };
            Err(type_error(format!(
                "%{letter} format: {wanted} is required, not {}",
                type_name(value)
            )))
        }
    }
}

/// `int(x)` of a float.
pub fn cut_float(value: f64) -> Result<integer::Integer, Error> {
    if value.is_nan() {
        return Err(value_error("cannot convert float NaN to integer"));
    }
    if value.is_infinite() {
        return Err(overflow_error("cannot convert float infinity to integer"));
    }
    integer::parse(&format!("{:.0}", value.trunc()), 10).map_err(failed)
}

/// `template.format(...)`.
pub fn format(call: &mut Call<'_>) -> Result<Value, Error> {
    let keywords = call.kwargs.pairs();
    let named = |name: &str| {
        let found = keywords.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| key_error(quote::quoted(name)))
    };
    formatted(call, call.args, &named)
}

/// `template.format_map(mapping)`.
pub fn format_map(call: &mut Call<'_>) -> Result<Value, Error> {
    let [mapping] = call.positional::<1>("format_map", 1)?;
    let mapping = mapping.unwrap_or(&Value::UNDEFINED);
    let named = |name: &str| {
        if mapping.is_undefined() {
            return Err(crate::semantics::errors::undefined_error("a value is undefined"));
        }
        let key = Value::from(name);
        match Type::of(mapping) {
            Type::Dict => {}
            _ => {
                return Err(type_error(format!(
                    "'{}' object is not subscriptable by text",
                    type_name(mapping)
                )))
            }
        }
        mapping
            .as_object()
            .and_then(|map| map.get_value(&key))
            .ok_or_else(|| key_error(quote::quoted(name)))
    };
    formatted(call, &[], &named)
}

fn formatted(
    call: &Call<'_>,
    args: &[Value],
    named: &dyn Fn(&str) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let safe = call.subject.is_safe();
    let mut formatter =
        Formatter { args, named, safe, cap: cap(call), numbering: Numbering::Automatic(0) };
    let text = formatter.expand(call.subject.as_str().unwrap_or_default(), 2)?;
    Ok(text_value(text, safe))
}

#[derive(Clone, Copy, PartialEq)]
enum Numbering {
    Automatic(usize),
    Manual,
}

struct Formatter<'a> {
    args: &'a [Value],
    named: &'a dyn Fn(&str) -> Result<Value, Error>,
    safe: bool,
    cap: usize,
    numbering: Numbering,
}

impl Formatter<'_> {
    /// Fields in a format specification are expanded, too, `levels` deep.
    fn expand(&mut self, template: &str, levels: i8) -> Result<String, Error> {
        if levels < 0 {
            return Err(value_error("Max string recursion exceeded"));
        }
        let mut out = String::new();
        for piece in fields::pieces(template) {
            let piece = piece.map_err(failed)?;
            push(&mut out, piece.literal, self.cap).map_err(failed)?;
            let Some(field) = piece.field else { continue };
            let value = self.value(field.name)?;
            let value = match field.conversion {
                None => value,
                Some(letter @ ('s' | 'r' | 'a')) => Value::from(converted(&value, letter)?),
                Some(letter) => {
                    return Err(value_error(format!("Unknown conversion specifier {letter}")))
                }
            };
            let format_spec = self.expand(field.spec, levels - 1)?;
            push_formatted(&mut out, &value, &format_spec, self.safe, self.cap)?;
        }
        Ok(out)
    }

    fn value(&mut self, field: &str) -> Result<Value, Error> {
        let switched = || {
            value_error(
                "cannot switch from manual field specification to automatic field numbering",
            )
        };
        let automatic;
        let field = if field.is_empty() {
            let Numbering::Automatic(next) = self.numbering else { return Err(switched()) };
            self.numbering = Numbering::Automatic(next + 1);
            automatic = next.to_string();
            &automatic
        } else {
            if classes::isdigit(field) {
                if matches!(self.numbering, Numbering::Automatic(1..)) {
                    return Err(switched());
                }
                self.numbering = Numbering::Manual;
            }
            field
        };
        let (first, steps) = fields::split(field).map_err(failed)?;
        let mut value = match first {
            Name::Number(place) => self.args.get(place).cloned().ok_or_else(|| {
                index_error(format!(
                    "Replacement index {place} out of range for positional args tuple"
                ))
            })?,
            Name::Text(name) => (self.named)(name)?,
        };
        for step in steps {
            value = match step {
                Step::Attribute(name) => access::attribute(&value, name)?,
                Step::Item(Name::Number(place)) => access::item(&value, &Value::from(place))?,
                Step::Item(Name::Text(name)) => access::item(&value, &Value::from(name))?,
            };
        }
        Ok(value)
    }
}

/// `format(value, spec)`; in a safe string what is not safe is escaped.
fn push_formatted(
    out: &mut String,
    value: &Value,
    format_spec: &str,
    safe: bool,
    cap: usize,
) -> Result<(), Error> {
    if safe && value.is_safe() {
        if !format_spec.is_empty() {
            return Err(value_error("Unsupported format specification for Markup."));
        }
        return push(out, value.as_str().unwrap_or_default(), cap).map_err(failed);
    }
    if !safe {
        return push_plain(out, value, format_spec, cap);
    }
    let mut plain = String::new();
    push_plain(&mut plain, value, format_spec, cap)?;
    let escaped = markup::escape(&plain, cap).map_err(failed)?;
    push(out, &escaped, cap).map_err(failed)
}

fn push_plain(out: &mut String, value: &Value, format_spec: &str, cap: usize) -> Result<(), Error> {
    let kind = Type::of(value);
    if format_spec.is_empty() {
        return push(out, &repr::text(value)?, cap).map_err(failed);
    }
    match kind {
        Type::Str => spec::push_str(out, value.as_str().unwrap_or_default(), format_spec, cap),
        Type::Markup => spec::push_str(out, value.as_str().unwrap_or_default(), format_spec, cap),
        Type::Int | Type::Bool => match whole(value) {
            Some(number) => spec::push_integer(out, &number, format_spec, cap),
            None => return Err(zero_division("not a number")),
        },
        Type::Float => {
            spec::push_float(out, numbers::float(value).unwrap_or_default(), format_spec, cap)
        }
        _ => {
            return Err(type_error(format!(
                "unsupported format string passed to {}.__format__",
                type_name(value)
            )))
        }
    }
    .map_err(failed)
}
