//! What is run: the tree with names resolved to slots.

use std::rc::Rc;

use crate::front::ast::Compare;
pub use crate::semantics::call::Entry;
use crate::value::Value;

pub type Slot = usize;

/// A slot of this function, or of a function around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub up: usize,
    pub slot: Slot,
}

pub struct Expr {
    pub node: Node,
    pub line: u32,
}

pub enum Node {
    Constant(Value),
    Name(Place),
    /// What a block that is filtered has written.
    Captured,
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Compare(Box<Expr>, Vec<(Compare, Expr)>),
    Conditional(Box<[Expr; 2]>, Option<Box<Expr>>),
    /// The first one is the subject.
    Operator(Entry, Vec<Expr>),
    Attribute(Box<Expr>, Rc<str>, Lookup),
    Item(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Arguments),
    Method(Box<Expr>, Rc<str>, Arguments),
    Filter(Entry, Box<Expr>, Arguments),
    Test(Entry, Box<Expr>, Arguments),
    /// A filter or a test that does not exist.
    Missing(Box<Expr>, String),
}

/// Whether a type may have an attribute of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    Key,
    Type,
}

#[derive(Default)]
pub struct Arguments {
    pub positional: Vec<Expr>,
    pub named: Vec<(String, Expr)>,
    pub rest: Option<Box<Expr>>,
    pub named_rest: Option<Box<Expr>>,
    /// A word of Python is among the names: jinja2 then writes a dictionary, whose last value wins.
    pub merged: bool,
    /// Of a call block: its macro is an argument, too.
    pub caller: bool,
}

pub enum Target {
    Slot(Slot),
    Tuple(Vec<Target>),
    Attribute(Place, Rc<str>, u32),
}

/// What happens to slots where a frame begins and ends.
#[derive(Debug, Default)]
pub struct Frame {
    pub resolved: Vec<(Slot, usize)>,
    pub aliases: Vec<(Slot, Place)>,
    pub undefined: Vec<Slot>,
    /// Emptied at the end, parameters in another way than the others.
    pub left: Vec<Slot>,
    pub parameters: Vec<Slot>,
}

pub type Body = Vec<Statement>;

pub enum Statement {
    Text(String),
    Output(Expr),
    Set(Target, Expr),
    If(Vec<(Expr, Body)>, Body),
    For(Expr, Rc<For>),
    With(Frame, Vec<(Target, Expr)>, Body),
    /// The text of a block, through a filter perhaps, to a target or out.
    Capture {
        frame: Frame,
        body: Body,
        filter: Option<Expr>,
        target: Option<Target>,
    },
    Macro(Slot, Rc<Routine>),
    CallBlock(Rc<Routine>, Expr),
    Generation(Rc<Routine>),
    Break,
    Continue,
}

pub struct For {
    pub target: Target,
    pub test: Option<Test>,
    pub frame: Frame,
    /// Where `loop` stands, if it is read.
    pub slot: Option<Slot>,
    pub body: Body,
    pub otherwise: Option<(Frame, Body)>,
    /// Slots of the function that a recursive loop is.
    pub recursive: Option<usize>,
}

/// The condition of a loop, with names of its own.
pub struct Test {
    pub frame: Frame,
    pub target: Target,
    pub test: Expr,
}

/// A macro, or a block that is called.
pub struct Routine {
    pub name: Option<Rc<str>>,
    pub names: Vec<Rc<str>>,
    pub parameters: Vec<Slot>,
    pub defaults: Vec<Expr>,
    pub caller: Option<Slot>,
    pub kwargs: Option<Slot>,
    pub varargs: Option<Slot>,
    pub frame: Frame,
    pub body: Body,
    pub slots: usize,
}

pub struct Program {
    pub frame: Frame,
    pub body: Body,
    pub slots: usize,
    /// Names that are looked up among the variables and the functions.
    pub names: Rc<[Rc<str>]>,
}
