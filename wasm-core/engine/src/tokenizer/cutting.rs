//! Cuts of this tokenizer: see [`crate::cuts`].

use super::{Route, Scratch, Tokenizer, Wanted};
use crate::cuts::search::{Around, Asked};
use crate::cuts::{Because, Obstacle, Place, Search, Step};
use crate::error::Result;

impl Tokenizer {
    /// Whether every text may be cut between these two characters. `outer` are the ones beside them,
    /// where there are any.
    pub fn cuts_between(
        &self,
        left: char,
        right: char,
        outer: [Option<char>; 2],
    ) -> std::result::Result<(), Obstacle> {
        let at = |step: Step| move |because: Because| Obstacle { step, because };
        if self.post.frame(false).is_none() {
            return Err(at(Step::PostProcessor)("the file truncates, pads or repeats texts"));
        }
        if self.normalizers.may_unanchor() {
            return Err(at(Step::Normalizer)("something may come to stand before a text"));
        }
        let mut place = Place::new(left, right, outer);
        let beside = "one of them may lie across the cut, or look across it";
        if !self.added.raw_edges().admit(left, right) {
            return Err(at(Step::AddedTokens)(beside));
        }
        self.normalizers.meet(&mut place).map_err(at(Step::Normalizer))?;
        if !self.added.normalized_edges().admit(place.left, place.right) {
            return Err(at(Step::AddedTokens)(beside));
        }
        // Behind an added token a prefix is put in front once more.
        if place.prefixed {
            if self.added.raw_edges().ends_with(left) {
                return Err(at(Step::AddedTokens)("a prefix follows each of them"));
            }
            if let Route::Steps { track: true } = self.route {
                return Err(at(Step::Normalizer)("a prefix, and a step that asks for origins"));
            }
        }
        self.pre_tokenizers.meet(&mut place).map_err(at(Step::PreTokenizer))?;
        match place.cut {
            true => Ok(()),
            false => self.model.apart(place.left, place.right).map_err(at(Step::Model)),
        }
    }

    /// Whether `text` may be cut at this byte.
    pub fn is_cut(&self, text: &str, at: usize) -> bool {
        Around::of(text, at).is_some_and(|around| self.cuts(around))
    }

    fn cuts(&self, around: Around) -> bool {
        let Around { left, right, outer } = around;
        let ask = |outer| self.cuts_between(left, right, outer).is_ok();
        match around.is_plain_outside() {
            true => self.search.remembered(left, right, || ask([None, None])),
            false => ask(outer),
        }
    }

    /// The last cut of `text` that is not behind byte `at_most`. A search goes 64 KiB at most.
    pub fn last_cut(&self, text: &str, at_most: usize) -> Option<usize> {
        self.last_cut_behind(text, 0, at_most)
    }

    pub fn last_cut_behind(&self, text: &str, behind: usize, at_most: usize) -> Option<usize> {
        let mut asked = Asked::default();
        Search::last(text, behind, at_most, |at| asked.again(text, at, |around| self.cuts(around)))
    }

    /// The first cut of `text` that is not before byte `at_least`.
    pub fn first_cut(&self, text: &str, at_least: usize) -> Option<usize> {
        self.first_cut_before(text, at_least, text.len())
    }

    pub fn first_cut_before(&self, text: &str, at_least: usize, before: usize) -> Option<usize> {
        let mut asked = Asked::default();
        Search::first(text, at_least, before, |at| {
            asked.again(text, at, |around| self.cuts(around))
        })
    }

    /// Why no text can be cut; `None` if some can.
    pub fn why_no_cuts(&self) -> Option<Obstacle> {
        let lefts = ['a', 'Z', '1', '.', ',', ')', '\n', ' ', '漢'];
        let rights = [' ', '\n', '.', 'a', 'A', '1', '<', '漢', '。'];
        let first = self.cuts_between('a', ' ', [None, None]).err()?;
        let mut pairs = lefts.into_iter().flat_map(|l| rights.map(|r| (l, r)));
        let any = pairs.any(|(l, r)| self.cuts_between(l, r, [None, None]).is_ok());
        (!any).then_some(first)
    }

    /// The ids of a text that begins at a cut of a longer one, without those of the post-processor.
    pub fn continue_ids(
        &self,
        scratch: &mut Scratch,
        text: &str,
        wanted: Wanted,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(workspace) = scratch.workspace(self) {
            workspace.continues = true;
        }
        let result = self.text_ids(scratch, text, wanted, out);
        if let Some(workspace) = scratch.workspace(self) {
            workspace.continues = false;
        }
        result
    }
}
