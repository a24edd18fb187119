//! What a launch printed, in an order that people can read.
//!
//! Text is shown once the launch is over, in the order of blocks. A GPU shows it in the order in
//! which its blocks happened to come.

/// What a launch prints at most, as a GPU's buffer holds by default.
const MOST: usize = 1 << 20;

/// What a thread printed in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The block, by its number in the grid.
    pub block: u64,
    /// The text.
    pub text: String,
}

/// All that was said in blocks up to `last`, in the order of blocks; within a block in the order in
/// which it was said, so that barriers order it.
pub fn in_order(mut said: Vec<Said>, last: u64) -> String {
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

    fn said(block: u64, text: &str) -> Said {
        Said { block, text: text.to_owned() }
    }

    #[test]
    fn text_comes_in_the_order_of_blocks_up_to_the_block_that_failed() {
        let all = || vec![said(1, "d"), said(0, "b"), said(2, "e"), said(0, "c"), said(0, "a")];
        assert_eq!(in_order(all(), u64::MAX), "bcade");
        assert_eq!(in_order(all(), 1), "bcad");
    }

    #[test]
    fn a_launch_says_no_more_than_a_gpus_buffer_holds() {
        let long = "x".repeat(MOST);
        let told = in_order(vec![said(0, &long), said(0, "y"), said(0, "z")], 0);
        assert!(told.starts_with(&long));
        assert_eq!(&told[MOST..], "[2 more prints do not fit in the 1048576 bytes of a launch]\n");
    }
}
