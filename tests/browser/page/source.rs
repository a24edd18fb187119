//! Counts by line: the source next to its PTX and SASS, of two configurations and two revisions.

use serde_json::{Value, json};

use super::opened;
use gpuprof_browser_tests::runs;

/// The table of the source, as `table`.
const TABLE: &str = "const of = [...document.querySelectorAll('details.source')]; \
    const table = of.find((it) => it.querySelector('summary').textContent.startsWith('Source')).querySelector('table'); ";

#[test]
fn a_line_is_next_to_its_ptx_and_its_machine_code_and_a_second_configuration() {
    let page = opened(&runs::counted_by_line());
    let say = |script: &str| page.browser.say(&format!("{TABLE}{script}"));
    let heads = say(
        "return [...table.tHead.rows].map((row) => [...row.cells].map((cell) => cell.textContent).filter((text) => text))",
    );
    let heads: Vec<Vec<String>> = serde_json::from_value(heads).expect("rows of texts");
    let columns = ["instructions", "live registers", "sectors", "ideal sectors", "samples"];
    let codes = ["PTX", "SASS"];
    let expected = [&["line", "source"][..], &columns, &codes, &columns].concat();
    assert_eq!(heads[1], expected, "{heads:?}");
    assert_eq!(heads[0].len(), 2, "two configurations: {heads:?}");
    // Of the hottest line everything is open, and its counts are shown at the pointer.
    let line = say(
        "const row = [...table.tBodies[0].rows].find((row) => row.cells[0].textContent === '51'); \
         return [row.cells[1].textContent, row.title, row.textContent.includes('ld.global.f32'), row.textContent.includes('FADD'), row.cells[0].className]",
    );
    assert_eq!(line[0], "    let y = x[51 * i];");
    assert!(line[1].as_str().is_some_and(|title| title.contains("131,072")), "{line}");
    assert_eq!([&line[2], &line[3]], [&Value::Bool(true); 2], "{line}");
    assert!(line[4].as_str().is_some_and(|class| class.contains("heat4")), "{line}");
}

#[test]
fn two_revisions_are_side_by_side_with_the_changed_line_marked() {
    let page = opened(&runs::counted_by_line());
    let found = page.browser.say(
        "const diff = document.querySelector('table.diff'); const text = (name) => diff.querySelector('td.' + name).textContent; \
         return [text('gone').includes('ld.global.nc.f32'), text('new').includes('ld.global.f32'), diff.querySelectorAll('td.new').length]",
    );
    assert_eq!(found, json!([true, true, 1]));
    let machine = page.browser.say(
        "const diff = document.querySelector('[aria-label=SASS] table.diff'); const cells = (name) => [...diff.querySelectorAll('td.' + name)].map((cell) => cell.textContent); \
         return [cells('gone'), cells('new')]",
    );
    let (before, after) = ("LDG.E.CONSTANT R60, R60, c[0x0][0x28]", "FADD R60, R60, c[0x0][0x28]");
    assert_eq!(machine, json!([[before], [after]]));
    let cost = page.browser.say("return document.body.textContent");
    let cost = cost.as_str().expect("a page has text");
    assert!(cost.contains("src/lib.rs:51 went from 4 to 32 sectors"), "{cost}");
}

#[test]
fn a_kernel_of_ordinary_size_keeps_the_page_below_a_megabyte() {
    let length = runs::page(&runs::counted_by_line()).len();
    assert!((100_000..1_000_000).contains(&length), "{length} bytes");
}
