//! Statements, in words that the crate reads as jinja2 reads the original.

use super::ast::{Body, Expr, For, Node, Signature, Statement, Statements};
use super::check::is_plain_method;
use super::emit::{level, Emitter};
use super::literal::quoted;
use super::walk::{any_statement, has_stores, reads};
use crate::carriers;
use crate::error::Result;

impl<'s> Emitter<'_, 's> {
    pub fn body(&mut self, body: &Body<'s>) -> Result<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn scoped(&mut self, body: &Body<'s>) -> Result<()> {
        if !has_stores(body) {
            return self.body(body);
        }
        self.write("{% with %}");
        self.nested(1, 0, |emitter| emitter.body(body))?;
        self.write("{% endwith %}");
        Ok(())
    }

    fn statement(&mut self, statement: &Statement<'s>) -> Result<()> {
        let at = statement.at;
        if let Statements::Data(data) = statement.kind {
            self.data(data);
            return Ok(());
        }
        self.nested(1, at, |emitter| emitter.tag(statement))
    }

    /// Text as it is, but where the crate would see a delimiter in it, or at its end.
    pub fn data(&mut self, data: &str) {
        if !data.contains('{') {
            self.write_lines(data);
            return;
        }
        let mut rest = data;
        while let Some(brace) = rest.find('{') {
            let (before, from) = rest.split_at(brace);
            self.write_lines(before);
            let after = from.get(1..).unwrap_or_default();
            if after.is_empty() || after.starts_with(['{', '%', '#']) {
                self.write("{{ \"{\" }}");
            } else {
                self.write("{");
            }
            rest = after;
        }
        self.write_lines(rest);
    }

    fn open(&mut self, word: &str, at: usize) {
        self.write("{% ");
        self.sync(at);
        self.write(word);
    }

    fn tag(&mut self, statement: &Statement<'s>) -> Result<()> {
        let at = statement.at;
        match &statement.kind {
            Statements::Data(_) => Ok(()),
            Statements::Output(value) => self.output(value, at),
            Statements::For(each) => self.for_loop(each, at),
            Statements::If { branches, otherwise } => self.branches(branches, otherwise),
            Statements::With { assignments, body } => self.with(assignments, body, at),
            Statements::Set { target, value } => {
                self.open("set ", at);
                self.target(target)?;
                self.write(" = ");
                if let Node::NamespaceAttribute(_, name) = target.node {
                    if name.starts_with('_') {
                        let message =
                            format!("setting attribute '{name}' of a namespace is unsafe");
                        self.write(&format!("none|{}({})", carriers::MISSING, quoted(&message)));
                        self.write(" %}");
                        return Ok(());
                    }
                }
                let literal = matches!(value.node, Node::Tuple(_) | Node::List(_));
                if matches!(target.node, Node::Tuple(_)) && !literal {
                    self.iterable(value)?;
                } else {
                    self.expression(value, level::ANY)?;
                }
                self.write(" %}");
                Ok(())
            }
            Statements::SetBlock { target, filter, body } => {
                self.open("set ", at);
                self.target(target)?;
                if let Some(filter) = filter {
                    self.write(" | ");
                    self.expression(filter, level::ANY)?;
                }
                self.write(" %}");
                self.scoped(body)?;
                self.write("{% endset %}");
                Ok(())
            }
            Statements::FilterBlock { filter, body } => {
                self.open("filter ", at);
                self.expression(filter, level::ANY)?;
                self.write(" %}");
                self.scoped(body)?;
                self.write("{% endfilter %}");
                Ok(())
            }
            Statements::Macro { name, signature, body } => {
                self.open("macro ", at);
                self.name(name);
                self.signature(signature);
                self.write(" %}");
                self.take_defaults(signature)?;
                self.body(body)?;
                self.write("{% endmacro %}");
                Ok(())
            }
            Statements::CallBlock { signature, call, body } => {
                self.open("call", at);
                if !signature.names.is_empty() {
                    self.signature(signature);
                }
                self.write(" ");
                self.expression(call, level::ANY)?;
                self.write(" %}");
                self.take_defaults(signature)?;
                self.body(body)?;
                self.write("{% endcall %}");
                Ok(())
            }
            Statements::Generation(body) => {
                self.write("{% with %}");
                self.write(&format!("{{{{ {}(true) }}}}", carriers::GENERATION));
                self.body(body)?;
                self.write(&format!("{{{{ {}(false) }}}}", carriers::GENERATION));
                self.write("{% endwith %}");
                Ok(())
            }
            Statements::Autoescape { body, .. } => self.scoped(body),
            Statements::Break => {
                self.open("break %}", at);
                Ok(())
            }
            Statements::Continue => {
                self.open("continue %}", at);
                Ok(())
            }
            Statements::Refused(body) => self.scoped(body),
        }
    }

    fn target(&mut self, target: &Expr<'s>) -> Result<()> {
        match &target.node {
            Node::Tuple(items) => {
                self.write("(");
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.write(", ");
                    }
                    self.target(item)?;
                }
                self.write(if items.len() == 1 { ",)" } else { ")" });
                Ok(())
            }
            _ => self.expression(target, level::ANY),
        }
    }

    fn for_loop(&mut self, each: &For<'s>, at: usize) -> Result<()> {
        // jinja2's `else` is for loops of which no pass came to its end.
        let flag =
            (!each.otherwise.is_empty() && is_left_early(&each.body)).then(|| self.temporary());
        if let Some(flag) = &flag {
            self.write(&format!("{{% with {flag} = namespace(ended=false) %}}"));
        }
        self.open("for ", at);
        self.target(&each.target)?;
        self.write(" in ");
        self.iterable(&each.iterable)?;
        // jinja2 asks the condition item by item, the crate before the first: the same, unless the
        // body changes what the condition reads.
        let inside =
            each.test.as_ref().filter(|test| is_changed(test, &each.body) && !watches(each));
        if let (Some(test), None) = (&each.test, inside) {
            self.write(" if ");
            self.expression(test, level::ANY)?;
        }
        if each.recursive {
            self.write(" recursive");
        }
        self.write(" %}");
        if let Some(test) = inside {
            self.write("{% if ");
            self.expression(test, level::OR)?;
            self.write(" %}");
        }
        self.body(&each.body)?;
        if inside.is_some() {
            self.write("{% endif %}");
        }
        if let Some(flag) = &flag {
            self.write(&format!("{{% set {flag}.ended = true %}}{{% endfor %}}"));
            self.write(&format!("{{% if not {flag}.ended %}}"));
            self.body(&each.otherwise)?;
            self.write("{% endif %}{% endwith %}");
            return Ok(());
        }
        if !each.otherwise.is_empty() {
            self.write("{% else %}");
            self.scoped(&each.otherwise)?;
        }
        self.write("{% endfor %}");
        Ok(())
    }

    fn branches(&mut self, branches: &[(Expr<'s>, Body<'s>)], otherwise: &Body<'s>) -> Result<()> {
        for (at, (test, body)) in branches.iter().enumerate() {
            self.open(if at == 0 { "if " } else { "elif " }, test.at);
            self.expression(test, level::OR)?;
            self.write(" %}");
            self.body(body)?;
        }
        if !otherwise.is_empty() {
            self.write("{% else %}");
            self.body(otherwise)?;
        }
        self.write("{% endif %}");
        Ok(())
    }

    /// All values are taken before the first name is given.
    fn with(
        &mut self,
        assignments: &[(Expr<'s>, Expr<'s>)],
        body: &Body<'s>,
        at: usize,
    ) -> Result<()> {
        let conflicts = assignments.len() > 1;
        let mut names = Vec::new();
        if conflicts {
            self.open("with ", at);
            for (number, (_, value)) in assignments.iter().enumerate() {
                if number > 0 {
                    self.write(", ");
                }
                let name = self.temporary();
                self.write(&name);
                self.write(" = ");
                self.expression(value, level::ANY)?;
                names.push(name);
            }
            self.write(" %}");
        }
        self.open("with ", at);
        for (number, (target, value)) in assignments.iter().enumerate() {
            if number > 0 {
                self.write(", ");
            }
            match &target.node {
                Node::Tuple(_) => self.target(target)?,
                _ => self.expression(target, level::ANY)?,
            }
            self.write(" = ");
            match names.get(number) {
                Some(name) => self.write(name),
                None => self.expression(value, level::ANY)?,
            }
        }
        self.write(" %}");
        self.body(body)?;
        self.write("{% endwith %}");
        if conflicts {
            self.write("{% endwith %}");
        }
        Ok(())
    }

    /// Without defaults: the body begins with them.
    fn signature(&mut self, signature: &Signature<'s>) {
        self.write("(");
        for (at, (name, _)) in signature.names.iter().enumerate() {
            if at > 0 {
                self.write(", ");
            }
            self.name(name);
        }
        self.write(")");
    }
}

/// Whether `break` or `continue` of this very loop stands in its body.
pub fn is_left_early(body: &Body<'_>) -> bool {
    body.iter().any(|statement| match &statement.kind {
        Statements::Break | Statements::Continue => true,
        Statements::For(inner) => is_left_early(&inner.otherwise),
        _ => statement.bodies().into_iter().any(is_left_early),
    })
}

/// Whether `body` changes what `test` reads, or `test` itself does something.
pub fn is_changed<'s>(test: &Expr<'s>, body: &Body<'s>) -> bool {
    let acts = test.any(&mut |part| match &part.node {
        Node::Call(target, _) => !is_plain_method(target),
        _ => false,
    });
    acts || any_statement(body, &mut |statement| {
        statement.targets().into_iter().any(|target| {
            target.any(&mut |part| match part.node {
                Node::NamespaceAttribute(name, _) => test.mentions(name),
                _ => false,
            })
        })
    })
}

/// Whether the items that the condition drops can be told by something else than the body.
pub fn watches(each: &For<'_>) -> bool {
    each.recursive || !each.otherwise.is_empty() || reads(&each.body, "loop")
}
