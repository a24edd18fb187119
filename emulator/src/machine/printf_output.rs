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

/// All that was said in blocks up to `last`, in the order of blocks; within a block in the order in
/// which it was said, so that barriers order it.
pub fn in_order(mut said: Vec<PrintfOutput>, last: u64) -> String {
    said.retain(|one| one.block <= last);
    said.sort_by_key(|one| one.block);
    let mut text = String::new();
    for (at, one) in said.iter().enumerate() {
        if text.len() + one.text.len() > MOST {
            let left = said.len() - at;
            text += &format!("[{left} more prints do not fit in the {MOST} bytes of a launch]\n");
            break;
        }
        text += &one.text;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(block: u64, text: &str) -> PrintfOutput {
        PrintfOutput { block, text: text.to_owned() }
    }

    #[test]
    fn text_comes_in_the_order_of_blocks_up_to_the_block_that_failed() {
        let all =
            || vec![output(1, "d"), output(0, "b"), output(2, "e"), output(0, "c"), output(0, "a")];
        assert_eq!(in_order(all(), u64::MAX), "bcade");
        assert_eq!(in_order(all(), 1), "bcad");
    }

    #[test]
    fn printed_text_of_a_launch_is_limited_to_a_gpus_buffer() {
        let long = "x".repeat(MOST);
        let told = in_order(vec![output(0, &long), output(0, "y"), output(0, "z")], 0);
        assert!(told.starts_with(&long));
        assert_eq!(&told[MOST..], "[2 more prints do not fit in the 1048576 bytes of a launch]\n");
    }
}
