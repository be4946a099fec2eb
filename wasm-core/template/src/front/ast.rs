//! jinja2's syntax tree, as far as chat templates can have it.

use std::borrow::Cow;

#[derive(Debug)]
pub struct Expr<'s> {
    pub node: Node<'s>,
    /// Offset in the normalised source.
    pub at: usize,
    /// Nodes on the longest way down: what a recursive walk needs of the stack.
    pub height: usize,
}

#[derive(Debug)]
pub enum Node<'s> {
    Name(&'s str),
    Text(String),
    Integer(u128),
    Float(f64),
    Bool(bool),
    None,
    Tuple(Vec<Expr<'s>>),
    List(Vec<Expr<'s>>),
    Dict(Vec<(Expr<'s>, Expr<'s>)>),
    Binary(Binary, Box<Expr<'s>>, Box<Expr<'s>>),
    Concat(Vec<Expr<'s>>),
    Compare(Box<Expr<'s>>, Vec<(Compare, Expr<'s>)>),
    Unary(Unary, Box<Expr<'s>>),
    Conditional {
        test: Box<Expr<'s>>,
        value: Box<Expr<'s>>,
        otherwise: Option<Box<Expr<'s>>>,
    },
    Attribute(Box<Expr<'s>>, &'s str),
    Item(Box<Expr<'s>>, Box<Expr<'s>>),
    /// Only as the key of an item.
    Slice([Option<Box<Expr<'s>>>; 3]),
    Call(Box<Expr<'s>>, Arguments<'s>),
    /// Without a subject where a block is filtered.
    Filter(Option<Box<Expr<'s>>>, Cow<'s, str>, Arguments<'s>),
    Test(Box<Expr<'s>>, Cow<'s, str>, Arguments<'s>),
    /// `ns.name` as a target.
    NamespaceAttribute(&'s str, &'s str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Or,
    And,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    Not,
    Negative,
    Positive,
}

#[derive(Debug, Default)]
pub struct Arguments<'s> {
    pub positional: Vec<Expr<'s>>,
    pub named: Vec<(&'s str, Expr<'s>)>,
    pub rest: Option<Box<Expr<'s>>>,
    pub named_rest: Option<Box<Expr<'s>>>,
}

#[derive(Debug)]
pub struct Statement<'s> {
    pub kind: Statements<'s>,
    pub at: usize,
}

pub type Body<'s> = Vec<Statement<'s>>;

#[derive(Debug)]
pub enum Statements<'s> {
    Data(&'s str),
    Output(Expr<'s>),
    For(Box<For<'s>>),
    If {
        branches: Vec<(Expr<'s>, Body<'s>)>,
        otherwise: Body<'s>,
    },
    With {
        assignments: Vec<(Expr<'s>, Expr<'s>)>,
        body: Body<'s>,
    },
    Set {
        target: Expr<'s>,
        value: Expr<'s>,
    },
    SetBlock {
        target: Expr<'s>,
        filter: Option<Expr<'s>>,
        body: Body<'s>,
    },
    FilterBlock {
        filter: Expr<'s>,
        body: Body<'s>,
    },
    Macro {
        name: &'s str,
        signature: Signature<'s>,
        body: Body<'s>,
    },
    CallBlock {
        signature: Signature<'s>,
        call: Expr<'s>,
        body: Body<'s>,
    },
    Generation(Body<'s>),
    Autoescape {
        enabled: Expr<'s>,
        body: Body<'s>,
    },
    Break,
    Continue,
    /// Parsed, so that its mistakes are found, and refused by name.
    Refused(Body<'s>),
}

#[derive(Debug)]
pub struct For<'s> {
    pub target: Expr<'s>,
    pub iterable: Expr<'s>,
    pub test: Option<Expr<'s>>,
    pub recursive: bool,
    pub body: Body<'s>,
    pub otherwise: Body<'s>,
}

#[derive(Debug, Default)]
pub struct Signature<'s> {
    pub names: Vec<(&'s str, usize)>,
    /// Of the last names.
    pub defaults: Vec<Expr<'s>>,
}
