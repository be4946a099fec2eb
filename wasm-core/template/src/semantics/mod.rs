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
pub mod loops;
pub mod macros;
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
use minijinja::value::ArgType;
use minijinja::{Environment, Error, ErrorKind, State, Value};

use call::{Call, Kind, Observed};
use functions::Function;

/// Makes `environment` (an empty one) behave as the reference's; `observed` sees every call.
pub fn install(environment: &mut Environment<'_>, observed: &Observed) {
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax.unwrap_or_default());
    print::install(environment, observed);
    for (kind, table) in [(Kind::Filter, &filters::TABLE), (Kind::Operator, &operators::TABLE)] {
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
        let Some(entry) = methods::of(subject).and_then(|table| table.find(name)) else {
            // A value under that name may be one that can be called.
            let held = subject.as_object().and_then(|object| object.get_value_by_str(name));
            return Err(match held {
                Some(_) => Error::from(ErrorKind::UnknownMethod),
                None => methods::refusal(subject, name),
            });
        };
        let (args, kwargs) = call::split(args);
        call::run(&observed, Kind::Method, entry, &mut Call { state, subject, args, kwargs })
    });
}

/// Everything that a function is given, where it lies: the crate's own type for this copies it twice.
struct Given<'a>(&'a [Value]);

impl<'a> ArgType<'a> for Given<'_> {
    type Output = Given<'a>;

    fn from_value(value: Option<&'a Value>) -> Result<Given<'a>, Error> {
        Ok(Given(value.map_or(&[], std::slice::from_ref)))
    }

    fn from_state_and_values_mut(
        _: Option<&State<'_, '_>>,
        values: &'a [Value],
        offset: usize,
    ) -> Result<(Given<'a>, usize), Error> {
        let given = values.get(offset..).unwrap_or_default();
        Ok((Given(given), given.len()))
    }
}

/// A filter or a test: the first argument is what stands before the bar.
fn piped(
    kind: Kind,
    entry: (&'static str, call::Function),
    observed: Observed,
) -> impl Fn(&mut State<'_, '_>, Given<'_>) -> Result<Value, Error> + Send + Sync + 'static {
    move |state: &mut State<'_, '_>, Given(values): Given<'_>| {
        let (args, kwargs) = call::split(values);
        let (subject, args) = args.split_first().unwrap_or((&Value::UNDEFINED, &[]));
        call::run(&observed, kind, entry, &mut Call { state, subject, args, kwargs })
    }
}
