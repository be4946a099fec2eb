//! The tokens of jinja2.

/// One token, and the offset of its first byte in the normalised source.
#[derive(Debug, Clone, PartialEq)]
pub struct Token<'s> {
    pub kind: Kind<'s>,
    pub at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'s> {
    Data(&'s str),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(&'s str),
    Text(String),
    /// `None`: beyond what 127 bits hold.
    Integer(Option<u128>),
    Float(f64),
    Operator(Operator),
    Eof,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    Tilde,
    LeftBracket,
    RightBracket,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Assign,
    Dot,
    Colon,
    Pipe,
    Comma,
    Semicolon,
}

impl Operator {
    /// The longest operator that `text` begins with, as jinja2 sorts them.
    pub fn longest(text: &str) -> Option<(Self, usize)> {
        use Operator as O;
        let bytes = text.as_bytes();
        let two = match (bytes.first()?, bytes.get(1)) {
            (b'/', Some(b'/')) => Some(O::FloorDiv),
            (b'*', Some(b'*')) => Some(O::Pow),
            (b'=', Some(b'=')) => Some(O::Equal),
            (b'!', Some(b'=')) => Some(O::NotEqual),
            (b'>', Some(b'=')) => Some(O::GreaterOrEqual),
            (b'<', Some(b'=')) => Some(O::LessOrEqual),
            _ => None,
        };
        if let Some(two) = two {
            return Some((two, 2));
        }
        let one = match bytes.first()? {
            b'+' => O::Add,
            b'-' => O::Sub,
            b'*' => O::Mul,
            b'/' => O::Div,
            b'%' => O::Mod,
            b'~' => O::Tilde,
            b'[' => O::LeftBracket,
            b']' => O::RightBracket,
            b'(' => O::LeftParen,
            b')' => O::RightParen,
            b'{' => O::LeftBrace,
            b'}' => O::RightBrace,
            b'>' => O::Greater,
            b'<' => O::Less,
            b'=' => O::Assign,
            b'.' => O::Dot,
            b':' => O::Colon,
            b'|' => O::Pipe,
            b',' => O::Comma,
            b';' => O::Semicolon,
            _ => return None,
        };
        Some((one, 1))
    }

    pub fn text(self) -> &'static str {
        use Operator as O;
        match self {
            O::Add => "+",
            O::Sub => "-",
            O::Mul => "*",
            O::Div => "/",
            O::FloorDiv => "//",
            O::Mod => "%",
            O::Pow => "**",
            O::Tilde => "~",
            O::LeftBracket => "[",
            O::RightBracket => "]",
            O::LeftParen => "(",
            O::RightParen => ")",
            O::LeftBrace => "{",
            O::RightBrace => "}",
            O::Equal => "==",
            O::NotEqual => "!=",
            O::Greater => ">",
            O::GreaterOrEqual => ">=",
            O::Less => "<",
            O::LessOrEqual => "<=",
            O::Assign => "=",
            O::Dot => ".",
            O::Colon => ":",
            O::Pipe => "|",
            O::Comma => ",",
            O::Semicolon => ";",
        }
    }
}

impl Kind<'_> {
    /// jinja2's words for a token in its error messages.
    pub fn describe(&self) -> String {
        match self {
            Kind::Data(_) => "template data / text".to_owned(),
            Kind::VariableBegin => "begin of print statement".to_owned(),
            Kind::VariableEnd => "end of print statement".to_owned(),
            Kind::BlockBegin => "begin of statement block".to_owned(),
            Kind::BlockEnd => "end of statement block".to_owned(),
            Kind::Name(name) => (*name).to_owned(),
            Kind::Text(_) => "string".to_owned(),
            Kind::Integer(_) => "integer".to_owned(),
            Kind::Float(_) => "float".to_owned(),
            Kind::Operator(operator) => operator.text().to_owned(),
            Kind::Eof => "end of template".to_owned(),
        }
    }
}
