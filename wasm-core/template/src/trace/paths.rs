//! Where values stand in a request, by number: what origin marks speak of.

use crate::marks::{Origin, TEMPLATE};

/// One step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// The number of a path that says nothing: text of several parts of the request.
pub const REQUEST: Origin = 1;

#[derive(Debug)]
struct Node {
    parent: Origin,
    step: Option<Step>,
}

/// A tree of paths; number 1 is its root.
#[derive(Debug)]
pub struct Paths(Vec<Node>);

impl Default for Paths {
    fn default() -> Self {
        Self(vec![Node { parent: TEMPLATE, step: None }, Node { parent: TEMPLATE, step: None }])
    }
}

impl Paths {
    /// A new path; the request as a whole where there are too many.
    pub fn inside(&mut self, parent: Origin, step: Step) -> Origin {
        let Ok(number) = Origin::try_from(self.0.len()) else { return REQUEST };
        self.0.push(Node { parent, step: Some(step) });
        number
    }

    fn node(&self, origin: Origin) -> Option<&Node> {
        self.0.get(usize::try_from(origin).ok()?)
    }

    /// The steps from the request to a value.
    #[must_use]
    pub fn steps(&self, origin: Origin) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = origin;
        while let Some(Node { parent, step: Some(step) }) = self.node(at) {
            steps.push(step.clone());
            at = *parent;
        }
        steps.reverse();
        steps
    }

    /// What holds this as its `step`.
    #[must_use]
    pub fn above(&self, origin: Origin, step: &Step) -> Option<Origin> {
        let node = self.node(origin)?;
        (node.step.as_ref() == Some(step)).then_some(node.parent)
    }

    /// What holds both; text of the template and of a sender belongs to the sender.
    #[must_use]
    pub fn common(&self, a: Origin, b: Origin) -> Origin {
        if a == b || b == TEMPLATE {
            return a;
        }
        if a == TEMPLATE {
            return b;
        }
        // A parent has a lower number than what is inside it.
        let (mut low, mut high) = (a.min(b), a.max(b));
        while low != high {
            match self.node(high) {
                Some(node) if node.parent != TEMPLATE => high = node.parent,
                _ => return REQUEST,
            }
            if low > high {
                std::mem::swap(&mut low, &mut high);
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_path_of_two_values_holds_both() {
        let mut paths = Paths::default();
        let messages = paths.inside(REQUEST, Step::Key("messages".into()));
        let first = paths.inside(messages, Step::Index(0));
        let role = paths.inside(first, Step::Key("role".into()));
        let second = paths.inside(messages, Step::Index(1));
        let content = paths.inside(second, Step::Key("content".into()));
        let tools = paths.inside(REQUEST, Step::Key("tools".into()));
        assert_eq!(paths.common(role, first), first);
        assert_eq!(paths.common(role, content), messages);
        assert_eq!(paths.common(content, role), messages);
        assert_eq!(paths.common(tools, role), REQUEST);
        assert_eq!(paths.common(TEMPLATE, role), role);
        assert_eq!(paths.common(role, TEMPLATE), role);
        assert_eq!(paths.common(REQUEST, tools), REQUEST);
        let steps = [Step::Key("messages".into()), Step::Index(1), Step::Key("content".into())];
        assert_eq!(paths.steps(content), steps);
        assert_eq!(paths.steps(REQUEST), []);
    }
}
