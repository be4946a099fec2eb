//! What filters, tests, methods, operators and printing answer in the reference.

pub mod access;
pub mod arithmetic;
pub mod call;
pub mod compare;
pub mod errors;
pub mod filters;
pub mod functions;
pub mod generators;
pub mod globals;
pub mod iterate;
pub mod json_out;
pub mod kinds;
pub mod methods;
pub mod numbers;
pub mod operators;
pub mod print;
pub mod ranges;
pub mod repr;
pub mod session;
pub mod slices;
pub mod strftime;
pub mod tests;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use call::{Call, Kind, Observed};
use functions::Function;

/// Makes `environment` (an empty one) behave as the reference's; `observed` sees every call.
pub fn install(environment: &mut Environment<'_>, observed: &Observed) {
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax.unwrap_or_default());
    print::install(environment, observed);
    for (kind, table) in [(Kind::Filter, &filters::TABLE), (Kind::Operator, &operators::FILTERS)] {
        for &entry in table.0 {
            environment.add_filter(entry.0, piped(kind, entry, observed.clone()));
        }
    }
    for &entry in tests::TABLE.0 {
        environment.add_test(entry.0, piped(Kind::Test, entry, observed.clone()));
    }
    for (kind, table) in [(Kind::Global, &globals::TABLE), (Kind::Operator, &operators::GLOBALS)] {
        for &entry in table.0 {
            let function = Function { kind, entry, observed: observed.clone() };
            environment.add_global(entry.0, Value::from_object(function));
        }
    }
    let observed = observed.clone();
    environment.set_unknown_method_callback(move |state, subject, name, args| {
        let (kind, entry) = if name.starts_with("__") {
            (Kind::Operator, operators::TABLE.find(name))
        } else {
            (Kind::Method, methods::of(subject).and_then(|table| table.find(name)))
        };
        let Some(entry) = entry else {
            // A value under that name may be one that can be called.
            let held = subject.as_object().and_then(|object| object.get_value_by_str(name));
            return Err(match held {
                Some(_) => Error::from(ErrorKind::UnknownMethod),
                None => methods::refusal(subject, name),
            });
        };
        let (args, kwargs) = call::split(args);
        call::run(&observed, kind, entry, &mut Call { state, subject, args, kwargs })
    });
}

/// A filter or a test: the first argument is what stands before the bar.
fn piped(
    kind: Kind,
    entry: (&'static str, call::Function),
    observed: Observed,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static
{
    move |state, values| {
        let values = values.into_values();
        let (args, kwargs) = call::split(&values);
        let (subject, args) = args.split_first().unwrap_or((&Value::UNDEFINED, &[]));
        call::run(&observed, kind, entry, &mut Call { state, subject, args, kwargs })
    }
}
