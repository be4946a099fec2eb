//! Compiles and renders: the one way into the crate.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, OnceLock};

use minijinja::value::Object;
use minijinja::{Environment, ErrorKind, Value};

use crate::context::Dict;
use crate::error::{Error, Kind, Result};
use crate::front::{translate, Dialect, Lines};
use crate::limits::Limits;
use crate::prepare::Profile;
use crate::semantics::session::{Clock, Session};
use crate::semantics::{self, session};
use crate::trace::{Stretch, Tracer, Tracing};

/// Under which a template stands in its environment.
const NAME: &str = "chat_template";

/// Bytes of output that short chats stay below.
const ROOM: usize = 2048;
/// The most that is taken before anything is written.
const MOST_ROOM: usize = 256 << 10;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub limits: Limits,
    /// None: a template that asks for the time is refused.
    pub clock: Option<Clock>,
    pub profile: Profile,
    /// Whether the places of generation blocks are wanted.
    pub generation: bool,
    /// Whether it is to be told whose each text is.
    pub origins: bool,
    /// Variables that are the template's own words, not the caller's.
    pub trusted: Vec<String>,
    /// Bytes of output that are expected.
    pub room: usize,
}

/// Places count code points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub generation: Vec<(u32, u32)>,
    pub origins: Vec<Stretch>,
}

pub struct Template {
    source: String,
    limits: Limits,
    generation: bool,
    warnings: Vec<Error>,
    plain: Program,
    /// The same template in words that show every operation; made when it is first asked for.
    traced: OnceLock<Result<Program>>,
}

impl Template {
    /// `strict`: what cannot be rendered exactly is an error and not a warning.
    pub fn compile(source: &str, dialect: Dialect, strict: bool, limits: &Limits) -> Result<Self> {
        let translated = translate(source, Dialect::Sandbox, limits)?;
        if let (true, Some(first)) = (strict, translated.unsupported.first()) {
            return Err(first.clone());
        }
        let template = Self {
            source: source.to_owned(),
            limits: *limits,
            generation: translated.generation,
            warnings: translated.unsupported,
            plain: Program::new(plain_habits(), translated.source, translated.lines, limits)?,
            traced: OnceLock::new(),
        };
        if dialect == Dialect::Traced {
            template.traced()?;
        }
        Ok(template)
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    #[must_use]
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// Whether there are generation blocks.
    #[must_use]
    pub fn has_generation(&self) -> bool {
        self.generation
    }

    /// `variables` is a dictionary.
    pub fn render(&self, variables: Value, options: &Options) -> Result<Rendered> {
        let text = self.plain.run(variables.clone(), options, None)?;
        let spans = options.generation && self.generation;
        if !options.origins && !spans {
            return Ok(Rendered { text, ..Rendered::default() });
        }
        let tracing = Tracing::new(&[&self.source], &variables, &text)?;
        let marked = if options.origins {
            let trusted: Vec<&str> = options.trusted.iter().map(String::as_str).collect();
            tracing.context(&variables, &trusted)
        } else {
            variables
        };
        let marked = self.traced()?.run(marked, options, Some(Arc::clone(&tracing)))?;
        let traced = tracing.finish(&marked, &text)?;
        let generation = if options.generation { traced.generation } else { Vec::new() };
        let origins = if options.origins { traced.origins } else { Vec::new() };
        Ok(Rendered { text, generation, origins })
    }

    fn traced(&self) -> Result<&Program> {
        let made = self.traced.get_or_init(|| {
            let translated = translate(&self.source, Dialect::Traced, &self.limits)?;
            Program::new(traced_habits(), translated.source, translated.lines, &self.limits)
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// Filters, tests and functions are the same for every template: made once, shared by reference.
fn plain_habits() -> &'static Environment<'static> {
    static HABITS: OnceLock<Environment<'static>> = OnceLock::new();
    HABITS.get_or_init(|| {
        let mut environment = Environment::empty();
        semantics::install(&mut environment, &None);
        environment
    })
}

fn traced_habits() -> &'static Environment<'static> {
    static HABITS: OnceLock<Environment<'static>> = OnceLock::new();
    HABITS.get_or_init(|| {
        let mut environment = Environment::empty();
        semantics::install(&mut environment, &Some(Arc::new(Tracer)));
        environment
    })
}

/// A template as the crate runs it.
struct Program {
    environment: Environment<'static>,
    lines: Lines,
}

impl Program {
    fn new(
        habits: &Environment<'static>,
        source: String,
        lines: Lines,
        limits: &Limits,
    ) -> Result<Self> {
        let mut environment = habits.clone();
        environment.set_fuel(Some(limits.fuel));
        environment
            .add_template_owned(NAME, source)
            .map_err(|error| ours(&error, &lines, limits))?;
        Ok(Self { environment, lines })
    }

    fn run(
        &self,
        variables: Value,
        options: &Options,
        tracing: Option<Arc<Tracing>>,
    ) -> Result<String> {
        let limits = &options.limits;
        let refuelled;
        let environment = if self.environment.fuel() == Some(limits.fuel) {
            &self.environment
        } else {
            let mut other = self.environment.clone();
            other.set_fuel(Some(limits.fuel));
            refuelled = other;
            &refuelled
        };
        let session = Session {
            profile: options.profile,
            limits: *limits,
            clock: options.clock.clone(),
            tracing,
        };
        let root = Root { variables, session: Value::from_object(session) };
        let mut out = Capped {
            bytes: Vec::with_capacity(options.room.clamp(ROOM, MOST_ROOM)),
            cap: limits.output,
        };
        session::bound(limits.output, || {
            environment
                .get_template(NAME)
                .and_then(|template| {
                    template.render_captured_to(Value::from_object(root), &mut out)
                })
                .map(|_| ())
                .map_err(|error| ours(&error, &self.lines, limits))
        })?;
        String::from_utf8(out.bytes)
            .map_err(|_| Error::new(Kind::Internal, "the output is no UTF-8"))
    }
}

/// The variables of a render, and its session under a name that no template can write.
#[derive(Debug)]
struct Root {
    variables: Value,
    session: Value,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let found = match self.variables.downcast_object_ref::<Dict>() {
            Some(variables) => variables.find(key).cloned(),
            None => self.variables.as_object()?.get_value_by_str(key),
        };
        found.or_else(|| (key == session::NAME).then(|| self.session.clone()))
    }
}

/// Collects the output up to its bound.
struct Capped {
    bytes: Vec<u8>,
    cap: usize,
}

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.cap.saturating_sub(self.bytes.len()) {
            return Err(io::Error::other(output_limit(self.cap)));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn output_limit(cap: usize) -> Error {
    Error::new(Kind::Limit, format!("the output is longer than {cap} bytes")).named("output")
}

/// An error of the crate as one of ours: the one inside it, if there is one.
fn ours(error: &minijinja::Error, lines: &Lines, limits: &Limits) -> Error {
    let mut found = None;
    let mut line = error.line();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(inner) = inner.downcast_ref::<Error>() {
            found = Some(inner.clone());
            break;
        }
        if let Some(inner) = inner.downcast_ref::<minijinja::Error>() {
            line = inner.line().or(line);
        }
        if let Some(inner) = inner.downcast_ref::<io::Error>() {
            let inner = inner.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
            found = inner.cloned();
            break;
        }
        cause = inner.source();
    }
    let mut found = found.unwrap_or_else(|| named(error, limits));
    if found.line.is_none() && found.kind != Kind::Raised {
        let line = line.and_then(|line| u32::try_from(line).ok());
        found.line = line.map(|line| lines.original(line));
    }
    found
}

fn named(error: &minijinja::Error, limits: &Limits) -> Error {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.kind() {
        ErrorKind::OutOfFuel => {
            let message = format!("the template ran for more than {} instructions", limits.fuel);
            Error::new(Kind::Limit, message).named("fuel")
        }
        ErrorKind::WriteFailure => output_limit(limits.output),
        ErrorKind::SyntaxError | ErrorKind::BadEscape => Error::new(Kind::Syntax, detail),
        ErrorKind::InvalidOperation if detail == "recursion limit exceeded" => {
            Error::new(Kind::Limit, "macros or loops call themselves too often").named("recursion")
        }
        ErrorKind::InvalidOperation => Error::new(Kind::Runtime, detail),
        _ if error.detail().is_some() => {
            Error::new(Kind::Runtime, format!("{}: {detail}", error.kind()))
        }
        _ => Error::new(Kind::Runtime, detail),
    }
}
