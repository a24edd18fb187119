//! The text of PTX: the parts that both the build and the harness read.

/// `text` without its comments, which may contain anything. Lines keep their order.
pub fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if from.starts_with("/*") {
            from.find("*/").map_or(from.len(), |end| end + 2)
        } else {
            // A name of a file in quotes may look like a comment.
            let length = match from.strip_prefix('"') {
                Some(inside) => inside.find(['"', '\n']).map_or(from.len(), |end| end + 2),
                None => 1,
            };
            out.push_str(&from[..length]);
            length
        };
        rest = &from[length..];
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
            ("a // b\nc", "a \nc"),
            ("a /* b\nc */ d", "a  d"),
            // The first mark decides the kind of a comment.
            ("a // b /* c\nd\n/* e */ f", "a \nd\n f"),
            ("a /* b // c */ d", "a  d"),
            ("a /* b", "a "),
            ("a / b /", "a / b /"),
            (".file 1 \"/*a//b\" // c", ".file 1 \"/*a//b\" "),
            ("\"a\n// b", "\"a\n"),
        ] {
            assert_eq!(without_comments(text), expected, "{text}");
        }
    }
}
