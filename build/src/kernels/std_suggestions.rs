//! Suggestions, in messages, for macros and types of std that kernels cannot use.
//!
//! Input: the name of a macro, with its `!`, or of a type. Output: what to use instead.

/// Macros that print.
const PRINTS: [&str; 5] = ["println!", "print!", "eprintln!", "eprint!", "dbg!"];

/// Macros and types that need an allocator.
const ALLOCATES: [&str; 15] = [
    "vec!",
    "format!",
    "Vec",
    "String",
    "Box",
    "Rc",
    "Arc",
    "HashMap",
    "HashSet",
    "BTreeMap",
    "BTreeSet",
    "VecDeque",
    "BinaryHeap",
    "ToString",
    "ToOwned",
];

/// What to use where rustc knows no `name`; none where it is none of std's.
pub(super) fn instead(name: &str) -> Option<&'static str> {
    if PRINTS.contains(&name) {
        return Some("device_print!(\"x[{i}] is {x}\") prints a line (use gpuprof::prelude::*)");
    }
    ALLOCATES.contains(&name).then_some(
        "a kernel has no allocator; take a buffer as an argument, use an array of a fixed length, or \
         declare shared! memory",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_and_allocating_macros_have_different_replacements() {
        assert!(instead("println!").unwrap().contains("device_print!"));
        assert!(instead("vec!").unwrap().contains("no allocator"));
        assert_eq!(instead("Vec"), instead("format!"));
        assert_eq!([instead("println"), instead("exp"), instead("Tile")], [None; 3]);
    }
}
