//! Wraps text at the width of the terminal.
//!
//! Input: a text and the column it begins in. Output: the same, broken between words; continuation
//! lines are indented. Without a width, as in a file or a pipe, a line is as long as its text.

/// The least room for text next to an indent; with less, lines are not indented.
const LEAST: usize = 24;

/// `text`, which begins in column `first`, broken at `width`; other lines begin in column `indent`.
/// A word that is longer than a line stays whole, so that it can be copied.
pub fn wrapped(text: &str, width: Option<u16>, first: usize, indent: usize) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let indent = if width.saturating_sub(indent) < LEAST { 2 } else { indent };
    let next_line = |out: &mut String| {
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
        indent
    };
    let (mut out, mut column) = (String::new(), first);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            column = next_line(&mut out);
        }
        for (at, word) in line.split(' ').enumerate() {
            let long = word.chars().count();
            let space = usize::from(at > 0);
            let fits = column.saturating_add(space + long) <= width;
            if !fits && column > indent && !word.is_empty() {
                column = next_line(&mut out);
            } else if at > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += long;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_the_width_between_words() {
        let text = "one two  three a-word-that-is-longer-than-any-line-has-room-for end";
        let broken = wrapped(text, Some(30), 20, 4);
        assert_eq!(
            broken,
            "one two\n    three\n    a-word-that-is-longer-than-any-line-has-room-for\n    end"
        );
        assert_eq!(wrapped(text, None, 20, 4), text);
        assert_eq!(wrapped(text, Some(200), 20, 4), text);
        assert_eq!(wrapped("a\nb", None, 0, 2), "a\n  b", "its own lines are indented as well");
        // An indent that leaves no room is ignored.
        assert_eq!(wrapped("one two three", Some(30), 29, 28), "\n  one two three");
    }
}
