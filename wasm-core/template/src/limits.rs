//! Bounds that no real template touches, each named by the error that reports it.

/// See each field; the defaults are several times what the largest known template needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a template's source.
    pub source: usize,
    /// Operators, filters, attributes or subscripts in one chain.
    pub chain: usize,
    /// `elif` branches of one `if`.
    pub branches: usize,
    /// Blocks, brackets and parentheses inside each other.
    pub nesting: usize,
    /// Depth of the context and of what is printed.
    pub depth: usize,
    /// Bytes that a render may write, and that any one value may grow to.
    pub output: usize,
    /// Instructions of a render: a second bound beside the deadline.
    pub fuel: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source: 256 << 10,
            chain: 200,
            branches: 100,
            nesting: 100,
            depth: 128,
            output: 8 << 20,
            fuel: 10_000_000,
        }
    }
}
