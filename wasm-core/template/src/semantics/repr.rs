//! Python's `repr`, of every kind of value.

use super::errors::{limit_error, unsupported};
use super::functions::Function;
use super::generators::View;
use super::globals::ranges::Range;
use super::iterate::pairs;
use super::kinds::{type_name, Type};
use super::numbers::float;
use crate::limits::Limits;
use crate::python;
use crate::value::Value;

/// Python gives up at about a thousand; a stack in a sandbox is smaller.
const DEPTH: usize = 200;

/// `repr(value)`.
pub fn repr(value: &Value) -> Result<String, crate::value::Error> {
    let mut writer = Writer::default();
    writer.push(value, 0)?;
    Ok(writer.out)
}

/// `str(value)`.
pub fn text(value: &Value) -> Result<String, crate::value::Error> {
    match Type::of(value) {
        Type::Undefined => Ok(String::new()),
        Type::Str | Type::Markup => Ok(value.as_str().unwrap_or_default().to_owned()),
        _ => repr(value),
    }
}

struct Writer {
    out: String,
    cap: usize,
}

impl Default for Writer {
    fn default() -> Self {
        Self { out: String::new(), cap: Limits::default().output }
    }
}

impl Writer {
    fn push(&mut self, value: &Value, depth: usize) -> Result<(), crate::value::Error> {
        if depth > DEPTH {
            return Err(limit_error("depth", format!("a value deeper than {DEPTH} levels")));
        }
        if self.out.len() > self.cap {
            return Err(limit_error("output", format!("a text longer than {} bytes", self.cap)));
        }
        match Type::of(value) {
            Type::Undefined => self.out.push_str("Undefined"),
            Type::None => self.out.push_str("None"),
            Type::Bool => self.out.push_str(if value.is_true() { "True" } else { "False" }),
            Type::Float => {
                self.out.push_str(&python::numbers::float::repr(float(value).unwrap_or_default()));
            }
            Type::Str => {
                self.out.push_str(&python::quoted(value.as_str().unwrap_or_default()));
            }
            Type::Markup => {
                self.out.push_str("Markup(");
                self.out.push_str(&python::quoted(value.as_str().unwrap_or_default()));
                self.out.push(')');
            }
            Type::Bytes => self.bytes(value.as_bytes().unwrap_or_default()),
            Type::List => self.sequence("[", value, "]", depth)?,
            Type::Tuple if value.len() == Some(1) => self.sequence("(", value, ",)", depth)?,
            Type::Tuple => self.sequence("(", value, ")", depth)?,
            Type::Dict => self.dictionary(value, depth)?,
            Type::Namespace => {
                self.out.push_str("<Namespace ");
                self.dictionary(value, depth)?;
                self.out.push('>');
            }
            Type::View => {
                let class = value.downcast_object_ref::<View>().map_or("dict_items", View::class);
                self.out.push_str(class);
                self.sequence("([", value, "])", depth)?;
            }
            Type::Range => {
                let range = value.downcast_object_ref::<Range>();
                self.out.push_str(&range.map(Range::to_string).unwrap_or_default());
            }
            Type::Function
                if value.downcast_object_ref::<Function>().is_some_and(Function::is_class) =>
            {
                self.out.push_str(&value.to_string());
            }
            Type::Generator | Type::Method | Type::Function | Type::Cycler | Type::Joiner => {
                return Err(unsupported(
                    "address",
                    format!("a {} prints where it is in memory", type_name(value)),
                ));
            }
            Type::Int | Type::Invalid | Type::Loop | Type::Macro => {
                self.out.push_str(&value.to_string())
            }
        }
        Ok(())
    }

    fn sequence(
        &mut self,
        open: &str,
        value: &Value,
        close: &str,
        depth: usize,
    ) -> Result<(), crate::value::Error> {
        self.out.push_str(open);
        for (at, item) in value.try_iter()?.checked().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.push(&item?, depth + 1)?;
        }
        self.out.push_str(close);
        Ok(())
    }

    fn dictionary(&mut self, value: &Value, depth: usize) -> Result<(), crate::value::Error> {
        self.out.push('{');
        for (at, (key, value)) in pairs(value).into_iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.push(&key, depth + 1)?;
            self.out.push_str(": ");
            self.push(&value, depth + 1)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
        self.out.push('b');
        self.out.push(quote);
        for &byte in bytes {
            match char::from(byte) {
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c == quote => self.out.extend(['\\', c]),
                c @ ' '..='~' => self.out.push(c),
                _ => self.out.push_str(&format!("\\x{byte:02x}")),
            }
        }
        self.out.push(quote);
    }
}
