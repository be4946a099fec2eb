//! jinja2's statements.

use super::ast::{Body, Expr, For, Node, Signature, Statement, Statements};
use super::expression::{Items, Tuple};
use super::stream::Parser;
use super::token::{Kind, Operator as O};
use crate::error::Result;

type Ends = &'static [&'static str];

impl<'s> Parser<'_, 's> {
    pub fn template(&mut self) -> Result<Body<'s>> {
        self.check_failure()?;
        self.subparse(&[])
    }

    fn subparse(&mut self, ends: Ends) -> Result<Body<'s>> {
        let mut body = Vec::new();
        loop {
            let at = self.at();
            match *self.current() {
                Kind::Eof => return Ok(body),
                Kind::Data(data) => {
                    self.advance()?;
                    body.push(Statement { kind: Statements::Data(data), at });
                }
                Kind::VariableBegin => {
                    self.advance()?;
                    let value = self.tuple(Tuple::FULL)?;
                    self.expect_kind(&Kind::VariableEnd)?;
                    body.push(Statement { kind: Statements::Output(value), at });
                }
                _ => {
                    self.advance()?;
                    if ends.iter().any(|end| self.is_name(end)) {
                        return Ok(body);
                    }
                    self.nested(|parser| parser.statement(&mut body))?;
                    self.expect_kind(&Kind::BlockEnd)?;
                }
            }
        }
    }

    /// The body of a block, up to one of the words that end it, which is then current.
    fn statements(&mut self, ends: Ends) -> Result<Body<'s>> {
        self.skip(O::Colon)?;
        self.expect_kind(&Kind::BlockEnd)?;
        self.expected.push(ends);
        let body = self.subparse(ends)?;
        if matches!(self.current(), Kind::Eof) {
            return self.unclosed(None, self.at());
        }
        self.expected.pop();
        Ok(body)
    }

    fn last_statements(&mut self, ends: Ends) -> Result<Body<'s>> {
        let body = self.statements(ends)?;
        self.advance()?;
        Ok(body)
    }

    fn unclosed<T>(&self, tag: Option<&str>, at: usize) -> Result<T> {
        let mut message = match tag {
            Some(tag) => format!("Encountered unknown tag '{tag}'."),
            None => "Unexpected end of template.".to_owned(),
        };
        if let Some(ends) = self.expected.last() {
            let words: Vec<String> = ends.iter().map(|end| format!("'{end}'")).collect();
            let words = words.join(" or ");
            let misplaced =
                tag.is_some_and(|tag| self.expected.iter().any(|ends| ends.contains(&tag)));
            message.push_str(&if misplaced {
                format!(
                    " You probably made a nesting mistake. Jinja is expecting this tag, \
                     but currently looking for {words}."
                )
            } else {
                format!(" Jinja was looking for the following tags: {words}.")
            });
        }
        if let Some(innermost) = self.tags.last() {
            message.push_str(&format!(
                " The innermost block that needs to be closed is '{innermost}'."
            ));
        }
        self.fail(message, at)
    }

    fn statement(&mut self, body: &mut Body<'s>) -> Result<()> {
        let at = self.at();
        let Kind::Name(name) = *self.current() else {
            return self.fail("tag name expected", at);
        };
        self.tags.push(name);
        let kind = match name {
            "for" => self.for_loop()?,
            "if" => self.condition_block()?,
            "set" => self.set()?,
            "with" => self.with()?,
            "macro" => self.macro_block()?,
            "call" => self.call_block()?,
            "filter" => self.filter_block()?,
            "autoescape" => self.autoescape()?,
            "print" => {
                self.print(body)?;
                self.tags.pop();
                return Ok(());
            }
            "generation" => {
                self.advance()?;
                Statements::Generation(self.last_statements(&["endgeneration"])?)
            }
            "break" => {
                self.advance()?;
                Statements::Break
            }
            "continue" => {
                self.advance()?;
                Statements::Continue
            }
            "block" => self.block(at)?,
            "extends" => self.extends(at)?,
            "include" => self.include(at)?,
            "import" => self.import(at)?,
            "from" => self.names_import(at)?,
            _ => {
                self.tags.pop();
                return self.unclosed(Some(name), at);
            }
        };
        self.tags.pop();
        body.push(Statement { kind, at });
        Ok(())
    }

    fn target(&mut self, namespaces: bool) -> Result<Expr<'s>> {
        let how = Tuple { items: Items::Targets { namespaces }, parenthesized: false };
        let target = self.tuple(how)?;
        match unassignable(&target) {
            Some((kind, at)) => self.fail(format!("can't assign to '{kind}'"), at),
            None => Ok(target),
        }
    }

    fn target_name(&mut self) -> Result<&'s str> {
        let at = self.at();
        let name = self.expect_name()?;
        if matches!(name, "true" | "false" | "none" | "True" | "False" | "None") {
            return self.fail("can't assign to 'name'", at);
        }
        Ok(name)
    }

    fn set(&mut self) -> Result<Statements<'s>> {
        self.advance()?;
        let target = self.target(true)?;
        if self.skip(O::Assign)? {
            let value = self.tuple(Tuple::FULL)?;
            return Ok(Statements::Set { target, value });
        }
        let mut filter = None;
        while self.skip(O::Pipe)? {
            filter = Some(self.filter(filter)?);
        }
        let body = self.last_statements(&["endset"])?;
        Ok(Statements::SetBlock { target, filter, body })
    }

    fn for_loop(&mut self) -> Result<Statements<'s>> {
        self.advance()?;
        let target = self.target(false)?;
        self.expect_word("in")?;
        let how = Tuple { items: Items::Plain, parenthesized: false };
        let iterable = self.tuple(how)?;
        let test = if self.skip_name("if")? { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive")?;
        let body = self.statements(&["endfor", "else"])?;
        let otherwise = if self.is_name("else") {
            self.advance()?;
            self.last_statements(&["endfor"])?
        } else {
            self.advance()?;
            Vec::new()
        };
        Ok(Statements::For(Box::new(For { target, iterable, test, recursive, body, otherwise })))
    }

    fn condition_block(&mut self) -> Result<Statements<'s>> {
        let start = self.at();
        let mut branches = Vec::new();
        let how = Tuple { items: Items::Plain, parenthesized: false };
        loop {
            self.advance()?;
            let test = self.tuple(how)?;
            let body = self.statements(&["elif", "else", "endif"])?;
            branches.push((test, body));
            if branches.len() > self.limits.branches {
                return Err(self.source.limit("branches", self.limits.branches, start));
            }
            if !self.is_name("elif") {
                break;
            }
        }
        let last = self.is_name("else");
        self.advance()?;
        let otherwise = if last { self.last_statements(&["endif"])? } else { Vec::new() };
        Ok(Statements::If { branches, otherwise })
    }

    fn with(&mut self) -> Result<Statements<'s>> {
        self.advance()?;
        let mut assignments = Vec::new();
        while !matches!(self.current(), Kind::BlockEnd) {
            if !assignments.is_empty() {
                self.expect(O::Comma)?;
            }
            let target = self.target(false)?;
            self.expect(O::Assign)?;
            assignments.push((target, self.expression()?));
        }
        let body = self.last_statements(&["endwith"])?;
        Ok(Statements::With { assignments, body })
    }

    fn autoescape(&mut self) -> Result<Statements<'s>> {
        self.advance()?;
        let enabled = self.expression()?;
        let body = self.last_statements(&["endautoescape"])?;
        Ok(Statements::Autoescape { enabled, body })
    }

    fn signature(&mut self) -> Result<Signature<'s>> {
        self.expect(O::LeftParen)?;
        let mut read = Signature::default();
        while !self.is(O::RightParen) {
            if !read.names.is_empty() {
                self.expect(O::Comma)?;
            }
            let at = self.at();
            let name = self.target_name()?;
            if read.names.iter().any(|(other, _)| *other == name) {
                return self
                    .fail(format!("duplicate argument '{name}' in function definition"), at);
            }
            if self.skip(O::Assign)? {
                read.defaults.push(self.expression()?);
            } else if !read.defaults.is_empty() {
                return self.fail("non-default argument follows default argument", self.at());
            }
            read.names.push((name, at));
            if read.names.len() > self.limits.chain {
                return Err(self.source.limit("chain", self.limits.chain, at));
            }
        }
        self.expect(O::RightParen)?;
        Ok(read)
    }

    fn macro_block(&mut self) -> Result<Statements<'s>> {
        self.advance()?;
        let name = self.target_name()?;
        let signature = self.signature()?;
        let body = self.last_statements(&["endmacro"])?;
        Ok(Statements::Macro { name, signature, body })
    }

    fn call_block(&mut self) -> Result<Statements<'s>> {
        let at = self.at();
        self.advance()?;
        let signature =
            if self.is(O::LeftParen) { self.signature()? } else { Signature::default() };
        let call = self.expression()?;
        if !matches!(call.node, Node::Call(..)) {
            return self.fail("expected call", at);
        }
        let body = self.last_statements(&["endcall"])?;
        Ok(Statements::CallBlock { signature, call, body })
    }

    fn filter_block(&mut self) -> Result<Statements<'s>> {
        self.advance()?;
        let mut filter = self.filter(None)?;
        while self.skip(O::Pipe)? {
            filter = self.filter(Some(filter))?;
        }
        let body = self.last_statements(&["endfilter"])?;
        Ok(Statements::FilterBlock { filter, body })
    }

    fn print(&mut self, body: &mut Body<'s>) -> Result<()> {
        self.advance()?;
        let mut first = true;
        while !matches!(self.current(), Kind::BlockEnd) {
            if !first {
                self.expect(O::Comma)?;
            }
            first = false;
            let at = self.at();
            let value = self.expression()?;
            body.push(Statement { kind: Statements::Output(value), at });
        }
        Ok(())
    }

    fn block(&mut self, at: usize) -> Result<Statements<'s>> {
        self.refuse("the tag `block`", at);
        self.advance()?;
        let name = self.expect_name()?;
        self.skip_name("scoped")?;
        self.skip_name("required")?;
        if self.is(O::Sub) {
            let message =
                "Block names in Jinja have to be valid Python identifiers and may not contain \
                           hyphens, use an underscore instead.";
            return self.fail(message, self.at());
        }
        let body = self.last_statements(&["endblock"])?;
        self.skip_name(name)?;
        Ok(Statements::Refused(body))
    }

    fn extends(&mut self, at: usize) -> Result<Statements<'s>> {
        self.refuse("the tag `extends`", at);
        self.advance()?;
        self.expression()?;
        Ok(Statements::Refused(Vec::new()))
    }

    fn include(&mut self, at: usize) -> Result<Statements<'s>> {
        self.refuse("the tag `include`", at);
        self.advance()?;
        self.expression()?;
        if self.is_name("ignore") && self.looks_name("missing") {
            self.advance()?;
            self.advance()?;
        }
        self.import_context()?;
        Ok(Statements::Refused(Vec::new()))
    }

    fn import(&mut self, at: usize) -> Result<Statements<'s>> {
        self.refuse("the tag `import`", at);
        self.advance()?;
        self.expression()?;
        self.expect_word("as")?;
        self.target_name()?;
        self.import_context()?;
        Ok(Statements::Refused(Vec::new()))
    }

    fn import_context(&mut self) -> Result<bool> {
        let found = (self.is_name("with") || self.is_name("without")) && self.looks_name("context");
        if found {
            self.advance()?;
            self.advance()?;
        }
        Ok(found)
    }

    fn names_import(&mut self, at: usize) -> Result<Statements<'s>> {
        self.refuse("the tag `from`", at);
        self.advance()?;
        self.expression()?;
        self.expect_word("import")?;
        let mut first = true;
        loop {
            if !first {
                self.expect(O::Comma)?;
            }
            first = false;
            if self.import_context()? {
                break;
            }
            let at = self.at();
            if self.target_name()?.starts_with('_') {
                return self.fail("names starting with an underline can not be imported", at);
            }
            if self.skip_name("as")? {
                self.target_name()?;
            }
            if self.import_context()? || !self.is(O::Comma) {
                break;
            }
        }
        Ok(Statements::Refused(Vec::new()))
    }
}

/// jinja2's name for a node that cannot be a target, and where it is.
fn unassignable(target: &Expr<'_>) -> Option<(&'static str, usize)> {
    let kind = match &target.node {
        Node::Name(_) | Node::NamespaceAttribute(..) => return None,
        Node::Tuple(items) => {
            return items
                .iter()
                .any(|item| unassignable(item).is_some())
                .then_some(("tuple", target.at));
        }
        Node::List(_) => "list",
        Node::Dict(_) => "dict",
        Node::Text(_) | Node::Integer(_) | Node::Float(_) | Node::Bool(_) | Node::None => "const",
        Node::Attribute(..) => "getattr",
        Node::Item(..) => "getitem",
        Node::Call(..) => "call",
        _ => "expression",
    };
    Some((kind, target.at))
}
