//! Places in the source, as they are asked for.

/// A line of a source file, of which the path may lack its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// The file: `src/lib.rs` or `lib.rs`.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl FileLine {
    /// Reads `FILE:LINE`.
    ///
    /// # Errors
    /// Another text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wanted = || format!("expected FILE:LINE, such as src/lib.rs:12, and not `{text}`");
        let (file, line) = text.rsplit_once(':').ok_or_else(wanted)?;
        let line = line.parse().ok().filter(|line| *line > 0).ok_or_else(wanted)?;
        Ok(Self { file: file.to_owned(), line })
    }

    /// Whether it is in the file at `path`.
    pub(super) fn is_in(&self, path: &str) -> bool {
        let rest = path.strip_suffix(self.file.trim_start_matches("./"));
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_end_of_a_path_and_a_line() {
        let place = FileLine::parse("lib.rs:12").unwrap();
        assert_eq!(place, FileLine { file: "lib.rs".into(), line: 12 });
        assert!(place.is_in("src/lib.rs") && place.is_in("lib.rs") && !place.is_in("src/mylib.rs"));
        for wrong in ["lib.rs", "lib.rs:0", "lib.rs:x", "latest"] {
            let expected = format!("expected FILE:LINE, such as src/lib.rs:12, and not `{wrong}`");
            assert_eq!(FileLine::parse(wrong), Err(expected));
        }
    }
}
