//! What every model makes of a piece, where offsets are wanted.

/// A token of a piece: its id and the bytes of the piece it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    pub start: u32,
    pub end: u32,
}
