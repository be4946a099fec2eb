//! Which ids are those of control tokens.

use super::guard::IdSet;
use super::AddedTokens;
use crate::definition::control::Control;
use crate::vocab::Vocab;

/// Parts of a file that begin or end a text.
const ENDS: [&str; 4] = ["bos", "eos", "eot", "eom"];
/// Unknown text becomes this token, which forges nothing.
const UNKNOWN: &str = "unk";

impl Control {
    /// The ids, with the parts and the chat templates that the file itself states.
    pub fn ids(
        &self,
        roles: &[(&str, u32)],
        templates: &[(String, String)],
        vocab: &Vocab,
        added: &AddedTokens,
    ) -> IdSet {
        let is_added = |id: &u32| added.content(*id).is_some();
        let id_of_end = |text: &String| added.id(text).or_else(|| vocab.id(text));
        let roles = roles.iter().filter(|(role, _)| *role != UNKNOWN);
        let sources = templates.iter().map(|(_, source)| source.as_str());
        let texts: Vec<&str> = sources.chain([self.literals.as_str()]).collect();
        let written = |content: &str| {
            !content.trim().is_empty() && texts.iter().any(|text| text.contains(content))
        };
        let of_added = added
            .iter()
            .filter(|(token, _)| token.special || written(&token.content))
            .map(|(_, id)| id);
        let of_roles =
            roles.filter(|(role, id)| ENDS.contains(role) || is_added(id)).map(|(_, id)| *id);
        let of_names = self.named.iter().filter_map(|text| added.id(text));
        let of_ids = self.ids.iter().copied().filter(is_added);
        let of_ends = self.ends.iter().filter_map(id_of_end);
        of_added.chain(of_roles).chain(of_names).chain(of_ids).chain(of_ends).collect()
    }
}
