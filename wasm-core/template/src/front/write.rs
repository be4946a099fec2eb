//! Statements, in words that the crate reads as jinja2 reads the original.

use super::ast::{Body, Expr, For, Node, Signature, Statement, Statements};
use super::check::is_plain_method;
use super::emit::{level, Emitter};
use super::literal::quoted;
use super::scopes::{names, Loop};
use super::walk::{any_statement, has_stores, holds_loop, is_left_early, reads};
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
        if is_left_early(body) {
            let leave = self.leave_begins(body);
            self.leavable(&leave, body)?;
            self.leave_ends(leave);
            return Ok(());
        }
        self.write("{% with %}");
        self.nested(1, 0, |emitter| emitter.frame(&[], body))?;
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
                self.unpacked(target, value)?;
                self.write(" %}");
                Ok(())
            }
            Statements::SetBlock { target, filter, body } => {
                if is_left_early(body) {
                    let text = self.captured(body, at)?;
                    self.open("set ", at);
                    self.target(target)?;
                    self.write(" = ");
                    self.filtered(&text, filter.as_ref())?;
                    self.write(" %}");
                    return Ok(());
                }
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
                if is_left_early(body) {
                    let text = self.captured(body, at)?;
                    self.open_output(at);
                    self.filtered(&text, Some(filter))?;
                    self.write(FILTERED);
                    self.write(" }}");
                    return Ok(());
                }
                self.open("filter ", at);
                self.expression(filter, level::ANY)?;
                self.write(FILTERED);
                self.write(" %}");
                self.scoped(body)?;
                self.write("{% endfilter %}");
                Ok(())
            }
            Statements::Macro { name, signature, body } => {
                let catches = Catches::of(signature, body);
                if catches.any() {
                    let function = self.catching(signature, body, catches, at)?;
                    self.write("{% set ");
                    self.name(name);
                    self.write(" = ");
                    self.caught(&function, name, signature, catches);
                    self.write(" %}");
                    return Ok(());
                }
                self.open("macro ", at);
                self.name(name);
                self.signature(signature, Catches::default());
                self.write(" %}");
                self.function(signature, body)?;
                self.write("{% endmacro %}");
                Ok(())
            }
            Statements::CallBlock { signature, call, body } => {
                let catches = Catches::of(signature, body);
                if catches.any() {
                    let function = self.catching(signature, body, catches, at)?;
                    self.open_output(at);
                    self.expression(call, level::ANY)?;
                    // The last thing that a call ends with is its parenthesis.
                    self.out.pop();
                    self.write(if self.out.ends_with('(') { "caller=" } else { ", caller=" });
                    self.caught(&function, "caller", signature, catches);
                    self.write(") }}");
                    return Ok(());
                }
                self.open("call", at);
                if !signature.names.is_empty() {
                    self.signature(signature, Catches::default());
                }
                self.write(" ");
                self.expression(call, level::ANY)?;
                self.write(" %}");
                self.function(signature, body)?;
                self.write("{% endcall %}");
                Ok(())
            }
            Statements::Generation(body) => {
                self.write("{% with %}");
                self.write(&format!("{{{{ {}(true) }}}}", carriers::GENERATION));
                self.frame(&[], body)?;
                self.write(&format!("{{{{ {}(false) }}}}", carriers::GENERATION));
                self.write("{% endwith %}");
                Ok(())
            }
            Statements::Autoescape { body, .. } => self.scoped(body),
            Statements::Break => {
                self.leave("break", at);
                Ok(())
            }
            Statements::Continue => {
                self.leave("continue", at);
                Ok(())
            }
            Statements::Refused(body) => self.scoped(body),
        }
    }

    fn open_output(&mut self, at: usize) {
        self.write("{{ ");
        self.sync(at);
    }

    /// `text | filter | ...`
    fn filtered(&mut self, text: &str, filter: Option<&Expr<'s>>) -> Result<()> {
        self.write(text);
        if let Some(filter) = filter {
            self.write(" | ");
            self.expression(filter, level::ANY)?;
        }
        Ok(())
    }

    /// The text of a block that a loop may be left from; the name that holds it.
    fn captured(&mut self, body: &Body<'s>, at: usize) -> Result<String> {
        let text = self.temporary();
        let leave = self.leave_begins(body);
        self.open("set ", at);
        self.write(&text);
        self.write(" %}");
        self.leavable(&leave, body)?;
        self.write("{% endset %}");
        self.leave_ends(leave);
        Ok(text)
    }

    /// Inside of a macro or a call block.
    fn function(&mut self, signature: &Signature<'s>, body: &Body<'s>) -> Result<()> {
        let (leaving, caller_name) = (self.leaving.take(), self.caller_name.take());
        let parameters: Vec<&'s str> = signature.names.iter().map(|(name, _)| *name).collect();
        self.keep(&parameters, body);
        self.take_defaults(signature)?;
        self.frame(&parameters, body)?;
        (self.leaving, self.caller_name) = (leaving, caller_name);
        Ok(())
    }

    /// A macro that takes more arguments than it names, under a name of ours.
    fn catching(
        &mut self,
        signature: &Signature<'s>,
        body: &Body<'s>,
        catches: Catches,
        at: usize,
    ) -> Result<String> {
        let function = self.temporary();
        self.open("macro ", at);
        self.write(&function);
        self.signature(signature, catches);
        self.write(" %}");
        self.function(signature, body)?;
        self.write("{% endmacro %}");
        Ok(function)
    }

    /// `function|__catching(name, varargs, kwargs, caller, parameters...)`
    fn caught(&mut self, function: &str, name: &str, signature: &Signature<'s>, catches: Catches) {
        self.write(&format!(
            "{function}|{}({}, {}, {}, {}",
            carriers::CATCHING,
            quoted(name),
            catches.varargs,
            catches.kwargs,
            catches.caller
        ));
        for (name, _) in &signature.names {
            self.write(", ");
            self.write(&quoted(name));
        }
        self.write(")");
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

    /// What a target is given.
    fn unpacked(&mut self, target: &Expr<'s>, value: &Expr<'s>) -> Result<()> {
        let literal = matches!(value.node, Node::Tuple(_) | Node::List(_));
        if matches!(target.node, Node::Tuple(_)) && !literal {
            return self.iterable(value);
        }
        self.expression(value, level::ANY)
    }

    fn for_loop(&mut self, each: &For<'s>, at: usize) -> Result<()> {
        if !each.recursive {
            return self.plain_loop(each, at, None);
        }
        // A function of its items and its depth, as in jinja2.
        let (function, depth, items) = (self.temporary(), self.temporary(), self.temporary());
        let caller_name = self.caller_name.clone();
        if [&each.body, &each.otherwise].into_iter().any(|body| reads(body, "caller")) {
            let name = self.temporary();
            self.write(&format!("{{% set {name} = "));
            self.name("caller");
            self.write(" %}");
            self.caller_name = Some(name);
        }
        self.open("macro ", at);
        self.write(&format!("{function}({items}, {depth}) %}}"));
        self.keep(&names(&each.target), &each.body);
        self.keep(&[], &each.otherwise);
        let leaving = self.leaving.take();
        self.plain_loop(each, at, Some((Loop { function: function.clone(), depth }, items)))?;
        (self.leaving, self.caller_name) = (leaving, caller_name);
        self.write("{% endmacro %}");
        self.open_output(at);
        self.write(&format!("{function}("));
        self.iterable(&each.iterable)?;
        self.write(", 0) }}");
        Ok(())
    }

    fn plain_loop(
        &mut self,
        each: &For<'s>,
        at: usize,
        recursive: Option<(Loop, String)>,
    ) -> Result<()> {
        // jinja2's `else` is for loops of which no pass came to its end.
        let flag =
            (!each.otherwise.is_empty() && is_left_early(&each.body)).then(|| self.temporary());
        if let Some(flag) = &flag {
            self.write(&format!("{{% set {flag} = namespace(ended=false) %}}"));
        }
        // One object for all passes.
        let holder = holds_loop(&each.body).then(|| self.temporary());
        if let Some(holder) = &holder {
            self.write(&format!("{{% set {holder} = namespace() %}}"));
        }
        self.open("for ", at);
        self.target(&each.target)?;
        self.write(" in ");
        let recursive = match recursive {
            Some((of, items)) => {
                self.write(&items);
                Some(of)
            }
            None => {
                self.iterable(&each.iterable)?;
                None
            }
        };
        // jinja2 asks the condition item by item, the crate before the first: the same, unless the
        // body changes what the condition reads.
        let inside =
            each.test.as_ref().filter(|test| is_changed(test, &each.body) && !watches(each));
        if let (Some(test), None) = (&each.test, inside) {
            self.write(" if ");
            self.expression(test, level::ANY)?;
        }
        self.write(" %}");
        let (leaving, loop_name) = (self.leaving.take(), self.loop_name.take());
        if let Some(holder) = holder {
            let name = self.temporary();
            let own =
                recursive.as_ref().map(|Loop { function, depth }| format!("{function}, {depth}"));
            self.write(&format!(
                "{{% if loop.first %}}{{% set {holder}.loop = loop|{}({}) %}}{{% endif %}}\
                 {{% set {name} = {holder}.loop %}}",
                carriers::LOOP,
                own.unwrap_or_default()
            ));
            self.loop_name = Some(name);
        }
        self.loops.push(recursive);
        if let Some(test) = inside {
            self.write("{% if ");
            self.expression(test, level::OR)?;
            self.write(" %}");
        }
        self.frame(&names(&each.target), &each.body)?;
        if inside.is_some() {
            self.write("{% endif %}");
        }
        self.loops.pop();
        (self.leaving, self.loop_name) = (leaving, loop_name);
        if let Some(flag) = &flag {
            self.write(&format!("{{% set {flag}.ended = true %}}{{% endfor %}}"));
            self.write(&format!("{{% if not {flag}.ended %}}"));
            self.scoped(&each.otherwise)?;
            self.write("{% endif %}");
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
        let leave = self.leave_begins(body);
        let mut names = Vec::new();
        if conflicts {
            self.open("with ", at);
            for (number, (target, value)) in assignments.iter().enumerate() {
                if number > 0 {
                    self.write(", ");
                }
                let name = self.temporary();
                self.write(&name);
                self.write(" = ");
                self.unpacked(target, value)?;
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
                None => self.unpacked(target, value)?,
            }
        }
        self.write(" %}");
        let targets: Vec<&'s str> =
            assignments.iter().flat_map(|(target, _)| super::scopes::names(target)).collect();
        if leave.is_some() {
            self.leavable(&leave, body)?;
        } else {
            self.frame(&targets, body)?;
        }
        self.write("{% endwith %}");
        if conflicts {
            self.write("{% endwith %}");
        }
        self.leave_ends(leave);
        Ok(())
    }

    /// Without defaults: the body begins with them.
    fn signature(&mut self, signature: &Signature<'s>, catches: Catches) {
        self.write("(");
        let names = signature.names.iter().map(|(name, _)| *name);
        let more = [(catches.varargs, "varargs"), (catches.kwargs, "kwargs")];
        let more = more.into_iter().filter(|(caught, _)| *caught).map(|(_, name)| name);
        for (at, name) in names.chain(more).enumerate() {
            if at > 0 {
                self.write(", ");
            }
            self.name(name);
        }
        self.write(")");
    }
}

/// A filter block prints texts only.
const FILTERED: &str = "|__filtered()";

/// What a macro takes beside its parameters.
#[derive(Debug, Clone, Copy, Default)]
struct Catches {
    varargs: bool,
    kwargs: bool,
    caller: bool,
}

impl Catches {
    fn of(signature: &Signature<'_>, body: &Body<'_>) -> Self {
        let read = |name: &str| {
            signature.names.iter().all(|(parameter, _)| *parameter != name) && reads(body, name)
        };
        Self { varargs: read("varargs"), kwargs: read("kwargs"), caller: read("caller") }
    }

    fn any(self) -> bool {
        self.varargs || self.kwargs
    }
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
