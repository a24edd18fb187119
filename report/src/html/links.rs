//! Links from every `FILE:LINE` on the page to this line in the source of a series.
//!
//! Input: the markup of the page, in which the rows of the sources have the line as [`PLACE`].
//! Output: the same with links. Text that is a link already, and code, stay as they are. If several
//! series show a line, the link leads to the series that the text is about.

use std::collections::HashMap;

use maud::{Markup, PreEscaped};

/// The attribute of the row of a line, which follows its `id`.
pub(super) const PLACE: &str = "data-place";

/// The elements whose text has no links.
const OPAQUE: [&str; 6] = ["a", "svg", "button", "summary", "h2", "td.code"];

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
            Piece::Text(text) if opaque.is_empty() => link(text, (&rows, series), &mut out),
            Piece::Text(text) => out.push_str(text),
            Piece::Tag(tag) => {
                series = series_of(tag).or(series);
                let name = name(tag);
                match opaque.last() {
                    Some(last) if tag.starts_with("</") && *last == name => drop(opaque.pop()),
                    Some(last) if !tag.starts_with("</") && *last == name => opaque.push(name),
                    None if is_opaque(tag, name) => opaque.push(name),
                    _ => {}
                }
                out.push_str(tag);
            }
        }
    }
    PreEscaped(out)
}

/// The `id`s of the rows of each line.
type Rows<'p> = HashMap<&'p str, Vec<&'p str>>;

fn rows(page: &str) -> Rows<'_> {
    let mut rows = Rows::new();
    for piece in pieces(page) {
        let Piece::Tag(tag) = piece else { continue };
        if let (Some(place), Some(id)) = (attribute(tag, PLACE), attribute(tag, "id")) {
            rows.entry(place).or_default().push(id);
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
    let is_end = |c: char| c.is_whitespace() || "();,\"".contains(c);
    for word in text.split_inclusive(is_end) {
        let place = word.trim_end_matches(|c: char| is_end(c) || c == ':' || c == '.');
        let Some(ids) = rows.get(place) else {
            out.push_str(word);
            continue;
        };
        let of_series = |id: &&&str| series.is_some_and(|it| id.split('-').next() == Some(it));
        let id = ids.iter().find(of_series).unwrap_or(&ids[0]);
        out.push_str(&format!("<a href=\"#{id}\">{place}</a>{}", &word[place.len()..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "<tr id=\"s0-0-7\" data-place=\"src/lib.rs:7\"><td class=\"number\">7</td>\
                           <td class=\"code\">as src/lib.rs:7</td></tr>\
                           <tr id=\"s1-0-7\" data-place=\"src/lib.rs:7\"></tr>";

    fn told(text: &str) -> String {
        let page = linked(&PreEscaped(text.to_owned() + SOURCES)).into_string();
        page.strip_suffix(SOURCES).expect("sources stay as they are").to_owned()
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
            assert_eq!(told(text), expected, "{text}");
        }
        let none = PreEscaped("<p>src/lib.rs:7</p>".to_owned());
        assert_eq!(linked(&none).into_string(), none.0);
    }
}
