//! The text of PTX: the parts that both the build and the harness read.

/// `text` with spaces in place of its comments, which may contain anything. All other bytes stay
/// at their positions.
pub fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let comment = if from.starts_with("//") {
            Some(from.find('\n').unwrap_or(from.len()))
        } else if from.starts_with("/*") {
            Some(from.find("*/").map_or(from.len(), |end| end + 2))
        } else {
            None
        };
        let length = comment.unwrap_or_else(|| {
            // A name of a file in quotes may look like a comment.
            match from.strip_prefix('"') {
                Some(inside) => inside.find(['"', '\n']).map_or(from.len(), |end| end + 2),
                None => 1,
            }
        });
        let (found, after) = from.split_at(length);
        match comment {
            Some(_) => out.extend(found.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            None => out.push_str(found),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_both_kinds_go_and_the_code_around_them_stays() {
        for (text, expected) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b\nc */ d", "a     \n     d"),
            // The first mark decides the kind of a comment.
            ("a // b /* c\nd\n/* e */ f", "a          \nd\n        f"),
            ("a /* b // c */ d", "a              d"),
            ("a /* ü", "a      "),
            ("a / b /", "a / b /"),
            (".file 1 \"/*a//b\" // c", ".file 1 \"/*a//b\"     "),
            ("\"a\n// b", "\"a\n    "),
        ] {
            assert_eq!(without_comments(text), expected, "{text}");
        }
    }
}
