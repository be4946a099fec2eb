//! What a template can do wrong, as kinds that cross the ABI, with the place in the source.

use std::fmt;

/// Numbers never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// The source is no template.
    Syntax = 1,
    /// It failed while it was rendered, as it does in the reference.
    Runtime = 2,
    /// `raise_exception(...)`: the message is the template's own, unchanged.
    Raised = 3,
    /// Valid, but cannot be rendered exactly; `feature` names the construct.
    Unsupported = 4,
    /// A declared bound was passed; `feature` names it.
    Limit = 5,
    /// The context is no JSON, or makes no sense (a continued message that is not there).
    Context = 6,
    /// A defect of the renderer itself.
    Internal = 7,
    /// A packed request holds something else than plain data; the host has to make it plain.
    NotPlain = 8,
    /// The host broke the calling convention.
    BadArgument = 9,
    /// What one instance may use is exhausted (and an allocation could say so).
    OutOfMemory = 10,
}

/// `line` and `column` count from 1, in characters of the source as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: Kind,
    pub message: String,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub feature: Option<String>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), line: None, column: None, feature: None }
    }

    #[must_use]
    pub fn at(mut self, line: u32, column: u32) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    #[must_use]
    pub fn named(mut self, feature: impl Into<String>) -> Self {
        self.feature = Some(feature.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(line) = self.line {
            write!(f, " (line {line}")?;
            if let Some(column) = self.column {
                write!(f, ", column {column}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
