//! Which line of the original a line of what was written belongs to.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// From this line on, so many lines too many.
    shifts: Vec<(u32, u32)>,
}

impl Lines {
    pub fn shift(&self) -> u32 {
        self.shifts.last().map_or(0, |(_, shift)| *shift)
    }

    /// From `line` on, `more` lines were written that the original does not have.
    pub fn add(&mut self, line: u32, more: u32) {
        if more > 0 {
            self.shifts.push((line, self.shift().saturating_add(more)));
        }
    }

    #[must_use]
    pub fn original(&self, line: u32) -> u32 {
        let behind = self.shifts.partition_point(|(from, _)| *from <= line);
        let before = self.shifts.get(..behind).and_then(<[_]>::last);
        line.saturating_sub(before.map_or(0, |(_, shift)| *shift)).max(1)
    }
}
