//! The printed text of a launch, in a readable order.
//!
//! Text is shown once the launch is over, in the order of blocks. A GPU shows it in the order in
//! which its blocks happened to come.

/// The most text of a launch: the default size of a GPU's buffer.
const MOST: usize = 1 << 20;

/// The text that a thread printed in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintfOutput {
    /// The block, by its number in the grid.
    pub block: u64,
    /// The text.
    pub text: String,
}

/// The text that a launch printed so far: the part that will be shown, and little more.
#[derive(Debug, Default)]
pub struct Printed {
    list: Vec<PrintfOutput>,
    bytes: usize,
    /// The first block with text that is not kept.
    dropped: Option<u64>,
}

impl Printed {
    /// Adds the text of one call. A block adds its texts in the order in which it printed them.
    pub fn push(&mut self, printed: PrintfOutput) {
        if printed.text.is_empty() {
            return;
        }
        self.bytes += printed.text.len();
        self.list.push(printed);
        if self.bytes > 2 * MOST {
            self.shorten();
        }
    }

    /// Adds the text of other blocks, or later text of the same ones.
    pub fn append(&mut self, other: &mut Self) {
        std::mem::take(&mut other.list).into_iter().for_each(|printed| self.push(printed));
        other.bytes = 0;
        self.dropped = self.dropped.into_iter().chain(other.dropped).min();
    }

    /// Puts the texts in the order of blocks, and drops the texts that do not fit. More text of any
    /// block can only make fewer of them fit.
    fn shorten(&mut self) {
        self.list.sort_by_key(|one| one.block);
        let mut bytes = 0;
        let mut fits = |one: &PrintfOutput| {
            bytes += one.text.len();
            bytes <= MOST
        };
        let kept = self.list.iter().take_while(|one| fits(one)).count();
        self.dropped =
            self.dropped.into_iter().chain(self.list.get(kept).map(|one| one.block)).min();
        self.list.truncate(kept);
        self.bytes = self.list.iter().map(|one| one.text.len()).sum();
    }

    /// All that was printed in blocks up to `last`, in the order of blocks; within a block in the
    /// order in which it was printed, so that barriers order it.
    pub fn in_order(mut self, last: u64) -> String {
        self.list.retain(|one| one.block <= last);
        self.shorten();
        let mut text: String = self.list.into_iter().map(|one| one.text).collect();
        if self.dropped.is_some_and(|block| block <= last) {
            text += &format!("[more prints do not fit in the {MOST} bytes of a launch]\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(all: &[(u64, &str)]) -> Printed {
        let mut printed = Printed::default();
        for &(block, text) in all {
            printed.push(PrintfOutput { block, text: text.to_owned() });
        }
        printed
    }

    #[test]
    fn text_comes_in_the_order_of_blocks_up_to_the_block_that_failed() {
        let all = || printed(&[(1, "d"), (0, "b"), (2, "e"), (0, "c"), (0, "a")]);
        assert_eq!(all().in_order(u64::MAX), "bcade");
        assert_eq!(all().in_order(1), "bcad");
    }

    #[test]
    fn printed_text_of_a_launch_is_limited_to_a_gpus_buffer() {
        let long = "x".repeat(MOST);
        let told = printed(&[(0, &long), (0, "y"), (0, "z")]).in_order(0);
        assert!(told.starts_with(&long));
        let more = "[more prints do not fit in the 1048576 bytes of a launch]\n";
        assert_eq!(&told[MOST..], more);
        assert_eq!(printed(&[(0, &long), (1, "y")]).in_order(0), long);
        assert_eq!(printed(&[(0, &long), (1, "y")]).in_order(1), long + more);
    }

    #[test]
    fn text_that_will_not_be_shown_is_not_kept() {
        let line = "x".repeat(999) + "\n";
        let (mut all, mut worker) = (Printed::default(), Printed::default());
        for block in (0..20_000).rev() {
            worker.push(PrintfOutput { block, text: line.clone() });
            worker.push(PrintfOutput { block, text: String::new() });
            if block % 1000 == 0 {
                all.append(&mut worker);
            }
            assert!(all.bytes <= 2 * MOST && worker.bytes <= 2 * MOST);
            assert!(all.list.len() + worker.list.len() < 5000);
        }
        let text = all.in_order(u64::MAX);
        assert_eq!(text.matches(&line).count(), MOST / line.len());
        assert!(text.ends_with("bytes of a launch]\n"));
    }
}
