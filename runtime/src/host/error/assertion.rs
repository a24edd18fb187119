//! The report of CUDA's driver on stderr after a kernel panicked or an assertion failed.
//!
//! Input: stderr, which the runner has in a file. Output: the message with its location, block and
//! thread. Only stderr has these: the driver's error is just `CUDA_ERROR_ASSERT`.

use std::fs;

use crate::host::error::expect_text;

/// A line of the driver's: `src/lib.rs:57: panicked: block: [0,0,0], thread: [8,1,0] Assertion
/// `the message` failed.`
struct Line<'a> {
    place: &'a str,
    block: [u32; 3],
    thread: [u32; 3],
    message: &'a str,
}

/// The driver's report on a failed assertion in this process.
pub(crate) fn find_failed() -> Option<String> {
    in_text(&fs::read_to_string("/proc/self/fd/2").ok()?)
}

/// The assertion of the lowest block and thread in `stderr`; a message may have several lines.
fn in_text(stderr: &str) -> Option<String> {
    let parts = stderr.split("` failed.");
    let lines = parts.filter_map(line);
    let first = lines.min_by_key(|line| (reversed(line.block), reversed(line.thread)))?;
    let Line { place, block, thread, message } = first;
    let source = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let filled = expect_text::filled(message, source.into_iter());
    let message = filled.as_deref().unwrap_or(message);
    let [block, thread] = [block, thread].map(|[x, y, z]| format!("({x},{y},{z})"));
    Some(format!("{place}, block {block}, thread {thread}: {message}"))
}

fn reversed([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, y, x]
}

/// The assertion at the end of `text`; its last words are already removed.
fn line(text: &str) -> Option<Line<'_>> {
    let (before, message) = text.split_once(" Assertion `")?;
    let (before, thread) = before.rsplit_once(", thread: [")?;
    let (before, block) = before.rsplit_once(": block: [")?;
    // The name of the function, which is ours.
    let (place, _) = before.rsplit_once(": ")?;
    let place = place.lines().last()?;
    let triple = |text: &str| {
        let mut numbers = text.trim_end_matches(']').split(',').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some([next()?, next()?, next()?])
    };
    Some(Line { place, block: triple(block)?, thread: triple(thread)?, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assertion_of_the_lowest_thread_is_reported() {
        let stderr = "a warning\n\
            src/lib.rs:57: panicked: block: [1,0,0], thread: [8,1,0] Assertion `later` failed.\n\
            src/lib.rs:57: panicked: block: [0,0,0], thread: [9,0,0] Assertion `left _ right\n  \
            left: _` failed.\n\
            src/lib.rs:57: panicked: block: [0,0,0], thread: [2,1,0] Assertion `other` failed.\n";
        let told = in_text(stderr).unwrap();
        assert_eq!(told, "src/lib.rs:57, block (0,0,0), thread (9,0,0): left _ right\n  left: _");
        assert_eq!(in_text("an error: CUDA_ERROR_ASSERT\n"), None);
    }
}
