//! One error type for the whole engine: what was wrong, where, and what to do about it.
//!
//! A host matches on [`ErrorKind`] and shows [`Error::message`] to people. `offset` is a byte
//! offset into the file or the text that was handed in; `path` is the place inside a structured
//! file (`$.pre_tokenizer.pretokenizers[1]`); `feature` names what an `Unsupported` lacks, in the
//! short form that logs and metrics carry (`normalizer:Precompiled`).

use std::fmt;

/// What went wrong, as a number that never changes meaning (it crosses the ABI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorKind {
    /// The file has no bytes, or nothing but white space.
    EmptyFile = 1,
    /// The file is a git-lfs pointer: the real one was never fetched.
    GitLfsPointer = 2,
    /// The file is compressed; the message says with what.
    Compressed = 3,
    /// The file is something else (a configuration, a page of HTML, weights).
    NotATokenizer = 4,
    /// Nothing known about the first bytes.
    UnknownFormat = 5,
    /// A tokenizer file that breaks the rules of its own format.
    InvalidFile = 6,
    /// Valid, but asks for something that the engine cannot do exactly. The only kind that a host
    /// answers by falling back to the reference.
    Unsupported = 7,
    /// A declared bound was exceeded (depth, id, size).
    LimitExceeded = 8,
    /// Text that is no UTF-8.
    InvalidText = 9,
    /// An id or a token that the tokenizer does not have.
    InvalidToken = 10,
    /// The host broke the calling convention (bad handle, bad length, bad flag).
    BadArgument = 11,
    /// The memory that the instance may use is exhausted.
    OutOfMemory = 12,
    /// A defect of the engine itself, caught before it could give a wrong answer.
    Internal = 13,
    /// A rank file that does not say how to cut text into pieces, nor does anything else.
    AmbiguousPattern = 14,
    /// A file of a format that may hold a tokenizer, without one.
    NoTokenizerInFile = 15,
    /// A text names a special token where the caller wants none; `feature` is the token.
    SpecialTokenInText = 16,
}

/// See the module text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub offset: Option<u64>,
    pub path: Option<String>,
    pub feature: Option<String>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), offset: None, path: None, feature: None }
    }

    /// A file that breaks its own format.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidFile, message)
    }

    /// A feature that the engine does not serve exactly; `feature` is `group:Name`.
    pub fn unsupported(feature: impl Into<String>, message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorKind::Unsupported, message);
        error.feature = Some(feature.into());
        error
    }

    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LimitExceeded, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset.get_or_insert(offset);
        self
    }

    /// Names the place inside the file; the innermost caller wins.
    #[must_use]
    pub fn at_path(mut self, path: impl Into<String>) -> Self {
        self.path.get_or_insert_with(|| path.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)?;
        if let Some(path) = &self.path {
            write!(f, " (at {path})")?;
        }
        if let Some(offset) = self.offset {
            write!(f, " (byte {offset})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
