//! The features of the script: sorting, filtering, choosing and copying.

use serde_json::{Value, json};

use super::{Opened, opened};
use gpuprof_browser_tests::runs;

/// The texts of a column of the rows that are shown.
fn column(page: &Opened, name: &str) -> Vec<String> {
    let found = page.browser.say(&format!(
        "const table = document.querySelector('table.rows'); \
         const at = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent.startsWith({})); \
         return [...table.tBodies[0].rows].filter((r) => r.checkVisibility()).map((r) => r.cells[at].textContent.trim());",
        json!(name)
    ));
    let texts = found.as_array().cloned().unwrap_or_default();
    texts.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}

fn numbers(page: &Opened, name: &str) -> Vec<f64> {
    let plain = |text: &String| text.replace(['★', '~', ' ', ','], "").parse().expect("a number");
    column(page, name).iter().map(plain).collect()
}

/// Types a condition; returns the page's message, and whether the page marks it as wrong.
fn filter(page: &Opened, condition: &str) -> (String, bool) {
    let told = page.browser.say(&format!(
        "const box = document.querySelector('.tools input'); box.value = {}; \
         box.dispatchEvent(new Event('input')); \
         return [document.querySelector('.tools output').textContent, box.getAttribute('aria-invalid') === 'true'];",
        json!(condition)
    ));
    (told[0].as_str().unwrap_or_default().to_owned(), told[1] == Value::Bool(true))
}

#[test]
fn clicks_on_a_heading_sort_in_both_directions() {
    let page = opened(&runs::saxpy());
    page.browser.click("table.rows th button", "duration");
    let up = numbers(&page, "duration");
    assert_eq!(up.len(), 15);
    assert!(up.is_sorted(), "{up:?}");
    page.browser.click("table.rows th button", "duration");
    let down = numbers(&page, "duration");
    assert!(down.iter().rev().is_sorted() && down != up, "{down:?}");
    let sorted = "return document.querySelectorAll('th[aria-sort=\"descending\"]').length";
    assert_eq!(page.browser.say(sorted), json!(1));
}

#[test]
fn failed_rows_are_sorted_last_in_both_directions() {
    let mut run = runs::saxpy();
    run.series[0].configurations.push(gpuprof_analysis::fixture::failed(2048));
    let page = opened(&run);
    for _ in 0..2 {
        page.browser.click("table.rows th button", "duration");
        assert_eq!(column(&page, "block").last().map(String::as_str), Some("2048"));
    }
}

#[test]
fn a_condition_keeps_the_rows_that_meet_it() {
    let page = opened(&runs::saxpy());
    assert_eq!(filter(&page, "block >= 256 && n == 1M"), ("3 of 15 rows".into(), false));
    assert_eq!(numbers(&page, "block"), [256.0, 512.0, 1024.0]);
    assert_eq!(filter(&page, "block * 4 == 256 || n / 1M > 4"), ("7 of 15 rows".into(), false));
    assert_eq!(filter(&page, "not-a-column =="), (filter(&page, "not-a-column ==").0, true));
    // A condition that is wrong hides nothing more, and an empty one shows all.
    assert_eq!(filter(&page, ""), (String::new(), false));
    assert_eq!(column(&page, "block").len(), 15);
}

#[test]
fn a_deselected_column_is_hidden_and_not_copied() {
    let page = opened(&runs::saxpy());
    page.browser.say("document.addEventListener('copy', () => { window.copied = document.activeElement.value; });");
    let hide = "const label = [...document.querySelectorAll('.chooser label')].find((l) => l.textContent.trim() === 'vs best'); \
                label.querySelector('input').click(); \
                return [...document.querySelectorAll('table.rows th')].filter((c) => !c.checkVisibility()).map((c) => c.textContent)";
    assert_eq!(page.browser.say(hide), json!(["vs best"]));
    filter(&page, "block == 256");
    page.browser.click("button", "Copy as CSV");
    let copied = page.browser.say("return window.copied");
    let copied = copied.as_str().expect("something was copied");
    let mut lines = copied.lines();
    let head = lines.next().unwrap_or_default();
    assert!(head.starts_with("block,n,throughput") && !head.contains("vs best"), "{copied}");
    assert_eq!(lines.filter(|line| line.starts_with("256,")).count(), 3, "{copied}");
    assert_eq!(copied.lines().count(), 4, "{copied}");
    let said = page.browser.say("return document.querySelector('.tools output').textContent");
    assert_eq!(said, json!("copied"));
}
