//! Text of a given width.
//!
//! Input: a text, and its width in characters. Output: the text, filled with spaces.
//! `{text:width$}` panics for widths from 65,536 on, which a name in a user's file may reach.

/// `text`, then spaces.
pub fn left(text: &str, width: usize) -> String {
    format!("{text}{}", spaces(text, width))
}

/// Spaces, then `text`.
pub fn right(text: &str, width: usize) -> String {
    format!("{}{text}", spaces(text, width))
}

/// The beginning of `text` and `…`, if it is longer than `width`.
pub fn cut(text: &str, width: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(width.saturating_sub(1)) else {
        return text.to_owned();
    };
    if text[end..].chars().nth(1).is_none() {
        return text.to_owned();
    }
    format!("{}…", text[..end].trim_end())
}

fn spaces(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_counts_characters() {
        assert_eq!((left("µs", 4), right("µs", 4)), ("µs  ".to_owned(), "  µs".to_owned()));
        assert_eq!((left("long", 2), right("long", 2)), ("long".to_owned(), "long".to_owned()));
        assert_eq!(left("", 100_000).len(), 100_000);
    }

    #[test]
    fn a_text_that_is_too_long_ends_in_an_ellipsis_within_its_width() {
        assert_eq!((cut("7 µs", 4), cut("7 µs", 3)), ("7 µs".to_owned(), "7…".to_owned()));
        assert_eq!((cut("", 0), cut("long", 0)), (String::new(), "…".to_owned()));
    }
}
