//! The room of a series in a table: a screen for one series, a few lines each for many.
//!
//! Input: the blocks of text of a series, and the number of lines they may have. Output: the blocks
//! that fit, in their order. Blocks that matter least are left out first.

use std::ops::RangeInclusive;

use gpuprof_analysis::view::View;

/// The lines of a run with one series, and of a run with many.
const SCREEN: usize = 40;
const DIGEST: usize = 150;

/// The fewest and the most lines of each of many series.
const EACH: (usize, usize) = (7, 12);

/// The most columns where no terminal sets them.
pub(super) const COLUMNS: u16 = 100;

/// How much of a series is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything.
    All,
    /// As much as fits a screen, of a single series.
    Screen,
    /// The deciding parts, of one of many series.
    Digest,
}

/// The most lines of the parts of a series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Rows of the table.
    pub rows: usize,
    /// Lines of violated thresholds, of changes, and of notes.
    pub lines: usize,
    /// Lines of each list of the conclusion.
    pub list: usize,
    /// Lines of a threshold; without a limit each violation of it has a line.
    pub threshold: Option<usize>,
}

impl Detail {
    /// The parts that `view` shows of one of `series` series.
    pub fn choose(view: &View, series: usize) -> Self {
        match series {
            _ if view.all => Self::All,
            0 | 1 => Self::Screen,
            _ => Self::Digest,
        }
    }

    /// The most columns of a table, on a terminal with `width`.
    pub fn columns(self, width: Option<u16>) -> Option<u16> {
        match self {
            Self::All => width,
            Self::Screen | Self::Digest => width.or(Some(COLUMNS)),
        }
    }

    /// The lines of each of `series` series, next to `others`; none where all are shown.
    pub fn room(self, series: usize, others: usize) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Screen => Some(SCREEN.saturating_sub(others)),
            Self::Digest => {
                Some((DIGEST.saturating_sub(others) / series.max(1)).clamp(EACH.0, EACH.1))
            }
        }
    }

    /// Whether `series` series may need more lines than a screen has.
    pub fn may_exceed_screen(self, series: usize) -> bool {
        match self {
            Self::Screen => false,
            Self::All | Self::Digest => series * EACH.0 > SCREEN,
        }
    }

    /// The limits of the parts of a series; the lower ones if room is `short`.
    pub fn limits(self, short: bool) -> Limits {
        const MOST: usize = usize::MAX;
        match (self, short) {
            (Self::All, _) => Limits { rows: MOST, lines: MOST, list: MOST, threshold: None },
            (Self::Screen, false) => Limits { rows: 16, lines: MOST, list: 10, threshold: None },
            (Self::Screen, true) => Limits { rows: 8, lines: 8, list: 10, threshold: Some(1) },
            (Self::Digest, false) => Limits { rows: 4, lines: 4, list: 8, threshold: Some(2) },
            (Self::Digest, true) => Limits { rows: 3, lines: 3, list: 8, threshold: Some(1) },
        }
    }

    /// Whether blocks of the kind `keep` are shown if there is room.
    fn shows(self, keep: Keep) -> bool {
        match self {
            Self::All | Self::Screen => true,
            Self::Digest => keep >= Keep::Remark,
        }
    }

    /// Lines between two blocks.
    fn gap(self) -> usize {
        match self {
            Self::All | Self::Screen => 1,
            Self::Digest => 0,
        }
    }
}

/// How long a block is kept if room is short, the first to go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keep {
    Grid,
    Plot,
    Others,
    Launches,
    Effect,
    Advice,
    Columns,
    Assurance,
    Passed,
    Remark,
    Change,
    Always,
}

/// Some lines that are shown together or not at all, or of which the first are shown.
#[derive(Debug)]
struct Block {
    keep: Keep,
    lines: Vec<String>,
    /// The word for lines that may be counted instead; none if all are shown.
    counted_as: Option<&'static str>,
    /// How many are.
    hidden: usize,
    /// How many are always shown.
    least: usize,
}

impl Block {
    fn height(&self, columns: Option<u16>) -> usize {
        height(&self.lines, columns) + usize::from(self.hidden > 0)
    }

    fn can_shrink(&self) -> bool {
        let left = self.lines.len().checked_sub(self.fewer());
        let enough = left.is_some_and(|left| left >= self.least);
        self.counted_as.is_some() && self.lines.len() > 1 && enough
    }

    /// How many lines are hidden next: the line that counts them takes the place of one.
    fn fewer(&self) -> usize {
        if self.hidden == 0 { 2 } else { 1 }
    }

    fn shrink(&mut self) {
        let fewer = self.fewer();
        self.lines.truncate(self.lines.len() - fewer);
        self.hidden += fewer;
    }

    fn into_lines(mut self) -> Vec<String> {
        if let Some(word) = self.counted_as.filter(|_| self.hidden > 0) {
            self.lines.push(format!(" … {} more {word}", self.hidden));
        }
        self.lines
    }
}

/// The text of a series.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    columns: Option<u16>,
    /// Whether something of the series is not in the text.
    pub left_out: bool,
    /// Lines that take no room from the others.
    pub beyond: usize,
}

impl Blocks {
    /// No blocks yet, on a screen with so many columns.
    pub fn within(columns: Option<u16>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adds a block, unless it is empty.
    pub fn add(&mut self, keep: Keep, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block { keep, lines, counted_as: None, hidden: 0, least: 0 });
        }
    }

    /// Adds a block of which at most so many lines are shown, and fewer if room is short.
    pub fn add_list(&mut self, keep: Keep, lines: Vec<String>, most: usize) {
        self.add_counted(keep, (lines, "lines"), 0..=most);
    }

    /// As [`Blocks::add_list`], for lines with this word for them, the first of which are always
    /// shown.
    pub fn add_counted(
        &mut self,
        keep: Keep,
        (lines, word): (Vec<String>, &'static str),
        shown: RangeInclusive<usize>,
    ) {
        if !lines.is_empty() {
            let (least, counted_as) = (*shown.start(), Some(word));
            let mut block = Block { keep, lines, counted_as, hidden: 0, least };
            while block.height(self.columns) > *shown.end() && block.can_shrink() {
                block.shrink();
            }
            self.blocks.push(block);
        }
    }

    /// The lines without the blocks that matter least, so that they fit `room`; and whether that,
    /// or anything, is left out.
    pub fn fit(mut self, detail: Detail, room: Option<usize>) -> (Vec<String>, bool) {
        let before = self.blocks.len();
        self.blocks.retain(|block| detail.shows(block.keep));
        while room.is_some_and(|room| self.height(detail) > room) {
            let least = self.blocks.iter().map(|block| block.keep).min();
            let Some(least) = least.filter(|keep| *keep < Keep::Always) else { break };
            let at = self.blocks.iter().rposition(|block| block.keep == least);
            at.map(|at| self.blocks.remove(at));
        }
        while room.is_some_and(|room| self.height(detail) > room) {
            let lists = self.blocks.iter_mut().filter(|block| block.can_shrink());
            let Some(longest) = lists.max_by_key(|block| block.lines.len()) else { break };
            longest.shrink();
        }
        let hidden = self.blocks.iter().any(|block| block.hidden > 0);
        let left_out = self.left_out || hidden || self.blocks.len() < before;
        let mut lines = Vec::new();
        for block in self.blocks {
            if !lines.is_empty() {
                lines.extend(std::iter::repeat_n(String::new(), detail.gap()));
            }
            lines.extend(block.into_lines());
        }
        (lines, left_out)
    }

    /// Whether all that must be shown fits `room`.
    pub fn fits(&self, detail: Detail, room: Option<usize>) -> bool {
        let must = |block: &&Block| block.keep == Keep::Always;
        let lines =
            self.blocks.iter().filter(must).map(|block| block.height(self.columns) + detail.gap());
        room.is_none_or(|room| lines.sum::<usize>() < room + detail.gap() + self.beyond)
    }

    /// The lines of all blocks, and the last line of the series.
    fn height(&self, detail: Detail) -> usize {
        let lines = self.blocks.iter().map(|block| block.height(self.columns) + detail.gap());
        (lines.sum::<usize>() + 1 - detail.gap()).saturating_sub(self.beyond)
    }
}

/// The lines of a screen with so many columns that `lines` take.
pub(super) fn height(lines: &[String], columns: Option<u16>) -> usize {
    let columns = columns.map_or(usize::MAX, usize::from).max(1);
    lines.iter().map(|line| line.chars().count().div_ceil(columns).max(1)).sum()
}

/// Cuts lines, with this word for them, to at most so many, the last of which counts the others.
pub(super) fn cap(lines: (Vec<String>, &'static str), most: usize) -> Vec<String> {
    let mut blocks = Blocks::default();
    blocks.add_counted(Keep::Always, lines, 0..=most);
    blocks.fit(Detail::All, None).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(kinds: &[(Keep, usize)]) -> Blocks {
        let mut blocks = Blocks::default();
        for (keep, lines) in kinds {
            blocks.add(*keep, vec![format!("{keep:?}"); *lines]);
        }
        blocks
    }

    #[test]
    fn the_least_important_texts_are_dropped_first() {
        let all =
            || texts(&[(Keep::Always, 2), (Keep::Plot, 3), (Keep::Advice, 2), (Keep::Remark, 1)]);
        let of = |room| {
            let (lines, left_out) = all().fit(Detail::Screen, room);
            (lines.join(" ").replace("  ", " | "), left_out)
        };
        let whole = "Always Always | Plot Plot Plot | Advice Advice | Remark";
        assert_eq!(of(None), (whole.to_owned(), false));
        assert_eq!(of(Some(12)), (whole.to_owned(), false));
        let less = "Always Always | Advice Advice | Remark";
        assert_eq!(of(Some(11)), (less.to_owned(), true));
        assert_eq!(of(Some(1)), ("Always Always".to_owned(), true));
    }

    #[test]
    fn verification_notes_have_priority_over_advice() {
        let all = texts(&[(Keep::Always, 2), (Keep::Assurance, 2), (Keep::Advice, 5)]);
        let (lines, left_out) = all.fit(Detail::Screen, Some(6));
        assert_eq!((lines.concat(), left_out), ("AlwaysAlwaysAssuranceAssurance".to_owned(), true));
    }

    #[test]
    fn many_series_are_shown_without_blank_lines() {
        let all = texts(&[(Keep::Always, 1), (Keep::Advice, 1), (Keep::Change, 1)]);
        let (lines, left_out) = all.fit(Detail::Digest, Some(12));
        assert_eq!((lines.join(" "), left_out), ("Always Change".to_owned(), true));
    }

    #[test]
    fn many_lines_of_one_kind_are_counted() {
        let mut blocks = Blocks::default();
        blocks.add_list(Keep::Always, vec![" line".to_owned(); 5], 4);
        blocks.add(Keep::Always, vec![" row".to_owned(); 2]);
        let (lines, left_out) = blocks.fit(Detail::Digest, Some(6));
        let told = " line line … 3 more lines row row".to_owned();
        assert_eq!((lines.join(""), left_out), (told, true));
    }
}
