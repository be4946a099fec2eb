//! Compiles and renders: the one way into the crate.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::eval::{lower, Program, State};
use crate::front;
use crate::limits::Limits;
use crate::prepare::Profile;
use crate::semantics::session::{self, Clock, Session};
use crate::trace::{Stretch, Tracing};
use crate::value::Value;

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
    generation: bool,
    warnings: Vec<Error>,
    program: Program,
}

impl Template {
    /// `strict`: what cannot be rendered exactly is an error and not a warning.
    pub fn compile(source: &str, strict: bool, limits: &Limits) -> Result<Self> {
        let (program, notes) = front::parse(source, limits, lower)?;
        if let (true, Some(first)) = (strict, notes.unsupported.first()) {
            return Err(first.clone());
        }
        Ok(Self {
            source: source.to_owned(),
            generation: notes.generation,
            warnings: notes.unsupported,
            program,
        })
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    #[must_use]
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// `variables` is a dictionary.
    pub fn render(&self, variables: Value, options: &Options) -> Result<Rendered> {
        let text = self.run(variables.clone(), options, None)?;
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
        let marked = self.run(marked, options, Some(Rc::clone(&tracing)))?;
        let traced = tracing.finish(&marked, &text)?;
        let generation = if options.generation { traced.generation } else { Vec::new() };
        let origins = if options.origins { traced.origins } else { Vec::new() };
        Ok(Rendered { text, generation, origins })
    }

    fn run(
        &self,
        variables: Value,
        options: &Options,
        tracing: Option<Rc<Tracing>>,
    ) -> Result<String> {
        let limits = options.limits;
        let (profile, clock) = (options.profile, options.clock.clone());
        let session = Session { profile, limits, clock, tracing };
        let room = options.room.clamp(ROOM, MOST_ROOM);
        session::bound(limits.output, || {
            State::new(session, variables, &self.program, room).render(&self.program)
        })
    }
}
