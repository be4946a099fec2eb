//! What `{{ value }}` writes.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, Output, State, Value};

use super::call::Observed;

pub use super::repr::text;

/// Prints as `str` of Python does; an observer sees each value before.
pub fn install(environment: &mut Environment<'_>, observed: &Observed) {
    match observed.clone() {
        None => environment.set_formatter(|out, _, value| write(out, value)),
        Some(observer) => environment.set_formatter(
            move |out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value| {
                write(out, &observer.printed(state, value)?)
            },
        ),
    }
}

fn write(out: &mut Output<'_>, value: &Value) -> Result<(), Error> {
    let written = match value.as_str() {
        // Bytes are strings to the crate, and no text.
        Some(plain) if value.kind() == ValueKind::String => out.write_str(plain),
        _ => out.write_str(&text(value)?),
    };
    written.map_err(Error::from)
}
