//! The look of the page: at any width, in either theme, on paper.

use std::path::PathBuf;

use serde_json::json;

use super::opened;
use gpuprof_browser_tests::runs;

fn kept(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("screenshots/{name}.png"))
}

#[test]
fn wide_content_scrolls_inside_the_page() {
    for (name, run) in runs::all() {
        let page = opened(&run);
        page.browser
            .say("document.querySelectorAll('details').forEach((d) => { d.open = true; });");
        for width in [400, 1200, 2000] {
            page.browser.width(width);
            let wide = page.browser.say("return document.documentElement.scrollWidth");
            assert_eq!(wide, json!(width), "{name}");
        }
    }
}

/// A4 has 180 mm between margins of 15 mm: 680 pixels.
#[test]
fn a_printed_page_is_unfolded_and_complete() {
    for (name, run) in runs::all() {
        let page = opened(&run);
        page.browser.width(680);
        page.browser.look(false, true);
        let cut = page.browser.say(
            "dispatchEvent(new Event('beforeprint')); \
             return [...document.querySelectorAll('.wide')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute('aria-label'))",
        );
        // Forty columns fit on no paper.
        let limit = usize::from(name == "large");
        assert!(cut.as_array().is_some_and(|cut| cut.len() <= limit), "{name}: {cut}");
        let found = page.browser.say(
            "return [document.querySelectorAll('details:not([open])').length, [...document.querySelectorAll('.tools, nav')].filter((e) => e.checkVisibility()).length]",
        );
        assert_eq!(found, json!([0, 0]), "{name}");
        let paper = page.browser.chromium("Page.printToPDF", &json!({ "preferCSSPageSize": true }));
        assert!(paper["data"].as_str().is_some_and(|data| data.len() > 10_000), "{name}");
    }
}

#[test]
fn pages_match_their_screenshots() {
    let page = opened(&runs::regression());
    for (width, height) in [(400, 1600), (2000, 1200)] {
        page.browser.width(width);
        for dark in [false, true] {
            page.browser.look(dark, false);
            let theme = if dark { "dark" } else { "light" };
            page.browser
                .picture(width, height)
                .hold_against(&kept(&format!("regression-{width}-{theme}")));
        }
    }
    page.browser.width(680);
    page.browser.look(false, true);
    page.browser.picture(680, 1600).hold_against(&kept("regression-paper"));
}

#[test]
fn source_next_to_code_matches_its_screenshot() {
    let page = opened(&runs::counted_by_line());
    page.browser.say(
        "const source = [...document.querySelectorAll('details.source')]; \
         source.forEach((details) => { details.open = true; }); document.body.replaceChildren(...source);",
    );
    page.browser.width(1280);
    for dark in [false, true] {
        page.browser.look(dark, false);
        let theme = if dark { "dark" } else { "light" };
        page.browser.picture(1280, 1600).hold_against(&kept(&format!("source-1280-{theme}")));
    }
}
