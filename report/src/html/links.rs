//! Links from every `FILE:LINE` on the page to this line in the source of a series, or to the next
//! line with a row in the series that the text is about.
//!
//! Input: the markup of the page, in which the rows of the sources have the line as [`PLACE`].
//! Output: the same with links. Text that is a link already, and code, stay as they are, except
//! the call next to code. If several series show a line, the link leads to the series that the text
//! is about.

use std::collections::HashMap;

use maud::{Markup, PreEscaped};

/// The attribute of the row of a line, which follows its `id`.
pub(super) const PLACE: &str = "data-place";

/// The elements without links in their text.
const OPAQUE: [&str; 6] = ["a", "svg", "button", "summary", "h2", "td.code"];

/// The element in a cell of code with links in its text.
const CALL: (&str, &str) = ("td", "small");

/// `page` with links.
pub(super) fn linked(page: &Markup) -> Markup {
    let page = page.0.as_str();
    let rows = rows(page);
    if rows.is_empty() {
        return PreEscaped(page.to_owned());
    }
    let mut out = String::with_capacity(page.len());
    // The elements without links that are open, and the series that the text is about.
    let (mut opaque, mut series): (Vec<&str>, Option<&str>) = (Vec::new(), None);
    for piece in pieces(page) {
        match piece {
            Piece::Text(text) if opaque.last().is_none_or(|last| *last == CALL.1) => {
                link(text, (&rows, series), &mut out);
            }
            Piece::Text(text) => out.push_str(text),
            Piece::Tag(tag) => {
                series = series_of(tag).or(series);
                let name = name(tag);
                match opaque.last() {
                    Some(last) if tag.starts_with("</") && *last == name => drop(opaque.pop()),
                    Some(last)
                        if !tag.starts_with("</") && (*last == name || (*last, name) == CALL) =>
                    {
                        opaque.push(name);
                    }
                    None if is_opaque(tag, name) => opaque.push(name),
                    _ => {}
                }
                out.push_str(tag);
            }
        }
    }
    PreEscaped(out)
}

/// The rows of each file.
type Rows<'p> = HashMap<&'p str, Vec<Row<'p>>>;

/// The row of a line.
struct Row<'p> {
    line: u32,
    id: &'p str,
}

fn rows(page: &str) -> Rows<'_> {
    let mut rows = Rows::new();
    for piece in pieces(page) {
        let Piece::Tag(tag) = piece else { continue };
        let place = attribute(tag, PLACE).and_then(|place| place.rsplit_once(':'));
        if let (Some((file, line)), Some(id)) = (place, attribute(tag, "id")) {
            let row = line.parse().map(|line| Row { line, id });
            rows.entry(file).or_default().extend(row);
        }
    }
    rows
}

/// A part of a page.
enum Piece<'p> {
    Tag(&'p str),
    Text(&'p str),
}

/// The parts of `page`. In text and in attributes angle brackets are escaped.
fn pieces(page: &str) -> impl Iterator<Item = Piece<'_>> {
    page.split_inclusive('>').flat_map(|part| {
        let at = if part.ends_with('>') { part.find('<').unwrap_or(0) } else { part.len() };
        let (text, tag) = part.split_at(at);
        [Piece::Text(text), Piece::Tag(tag)]
    })
}

fn name(tag: &str) -> &str {
    let inner = tag.trim_start_matches(['<', '/']);
    inner.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
}

fn is_opaque(tag: &str, name: &str) -> bool {
    let class = attribute(tag, "class").unwrap_or_default();
    let is = |known: &&str| match known.split_once('.') {
        Some((of, wanted)) => of == name && class.split(' ').any(|it| it == wanted),
        None => *known == name,
    };
    !tag.starts_with("</") && OPAQUE.iter().any(is)
}

fn attribute<'p>(tag: &'p str, name: &str) -> Option<&'p str> {
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

/// The `id` of the series that begins at `tag`, or to which it leads.
fn series_of(tag: &str) -> Option<&str> {
    let target = attribute(tag, "href").and_then(|href| href.strip_prefix('#'));
    let id = attribute(tag, "aria-labelledby").or(target)?;
    let digits = id.strip_prefix('s')?;
    digits.bytes().all(|it| it.is_ascii_digit()).then_some(id)
}

/// Writes `text` with its links.
fn link(text: &str, (rows, series): (&Rows<'_>, Option<&str>), out: &mut String) {
    let mut done = 0;
    for (colon, _) in text.match_indices(':') {
        let rest = text[colon + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        let end = text.len() - rest.len();
        let Ok(line) = text[colon + 1..end].parse() else { continue };
        let file = rows.keys().filter(|file| ends_with(&text[done..colon], file));
        let Some(file) = file.max_by_key(|file| file.len()) else { continue };
        let Some(id) = row_of(&rows[file], line, series) else { continue };
        let start = colon - file.len();
        out.push_str(&format!("{}<a href=\"#{id}\">{}</a>", &text[done..start], &text[start..end]));
        done = end;
    }
    out.push_str(&text[done..]);
}

/// Whether `text` ends with the whole path `file`, which may contain spaces.
fn ends_with(text: &str, file: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "();,\"".contains(c);
    text.strip_suffix(file).is_some_and(|before| before.is_empty() || before.ends_with(is_end))
}

/// The `id` of the row of `line`, else of the next row that the series has.
fn row_of<'p>(rows: &[Row<'p>], line: u32, series: Option<&str>) -> Option<&'p str> {
    let is_other = |row: &Row<'_>| row.id.split('-').next() != series;
    let after = rows.iter().filter(|row| row.line == line || row.line > line && !is_other(row));
    Some(after.min_by_key(|row| (row.line, is_other(row)))?.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "<tr id=\"s0-0-7\" data-place=\"src/lib.rs:7\"><td class=\"number\">7</td>\
                           <td class=\"code\">as src/lib.rs:7</td></tr>\
                           <tr id=\"s1-0-7\" data-place=\"src/lib.rs:7\"></tr>";

    fn linked_text(text: &str) -> String {
        let page = linked(&PreEscaped(text.to_owned() + SOURCES)).into_string();
        page.strip_suffix(SOURCES).expect("sources stay as they are").to_owned()
    }

    #[test]
    fn a_path_with_spaces_and_the_call_next_to_code_are_links() {
        let row = "<tr id=\"s0-1-6\" data-place=\"my dir/a &amp; b.rs:6\">\
                   <td class=\"code\">my dir/a &amp; b.rs:6<small>  (CALL)</small></td></tr>\
                   <tr id=\"s0-2-6\" data-place=\"b.rs:6\"></tr>";
        let page = format!("<p>most by my dir/a &amp; b.rs:6: 8 of 9; b.rs:6, b.rs:6:7</p>{row}");
        let [long, short] = [("s0-1-6", "my dir/a &amp; b.rs:6"), ("s0-2-6", "b.rs:6")]
            .map(|(id, text)| format!("<a href=\"#{id}\">{text}</a>"));
        let text = format!("<p>most by {long}: 8 of 9; {short}, {short}:7</p>");
        let page = page.replace("CALL", "inlined at b.rs:6 and 1 more");
        let row = row.replace("CALL", &format!("inlined at {short} and 1 more"));
        assert_eq!(linked(&PreEscaped(page)).into_string(), text + &row);
    }

    #[test]
    fn a_place_without_a_row_links_to_the_next_row_of_its_series() {
        let own = "<section aria-labelledby=\"s1\">";
        let link = |line: u32| format!("{own}<a href=\"#s1-0-7\">src/lib.rs:{line}</a>");
        assert_eq!(linked_text(&format!("{own}src/lib.rs:5")), link(5));
        assert_eq!(linked_text(&format!("{own}src/lib.rs:7")), link(7));
        for none in ["src/lib.rs:5", "<section aria-labelledby=\"s2\">src/lib.rs:5", "<p>lib.rs:7"]
        {
            assert_eq!(linked_text(none), none);
        }
        assert_eq!(linked_text(&format!("{own}src/lib.rs:8")), format!("{own}src/lib.rs:8"));
    }

    #[test]
    fn every_place_with_a_row_is_a_link() {
        let link = |id: &str| format!("<a href=\"#{id}\">src/lib.rs:7</a>");
        for (text, expected) in [
            ("<p>most by src/lib.rs:7: 8 of 9</p>", "<p>most by {0}: 8 of 9</p>"),
            ("<p>(src/lib.rs:7), src/lib.rs:71.</p>", "<p>({0}), src/lib.rs:71.</p>"),
            ("<a href=\"#s1\">k</a> src/lib.rs:7", "<a href=\"#s1\">k</a> {1}"),
            ("<a href=\"#s1r2\"><b>k</b></a> src/lib.rs:7.", "<a href=\"#s1r2\"><b>k</b></a> {0}."),
            ("<section aria-labelledby=\"s1\">src/lib.rs:7", "<section aria-labelledby=\"s1\">{1}"),
            ("<a href=\"#x\">src/lib.rs:7</a>", "<a href=\"#x\">src/lib.rs:7</a>"),
            ("<i title=\"src/lib.rs:7\"></i>", "<i title=\"src/lib.rs:7\"></i>"),
        ] {
            let expected = expected.replace("{0}", &link("s0-0-7")).replace("{1}", &link("s1-0-7"));
            assert_eq!(linked_text(text), expected, "{text}");
        }
        let none = PreEscaped("<p>src/lib.rs:7</p>".to_owned());
        assert_eq!(linked(&none).into_string(), none.0);
    }
}
