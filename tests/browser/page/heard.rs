//! The page for users of screen readers.

use serde_json::json;

use super::opened;
use gpuprof_browser_tests::runs;

#[test]
fn every_chart_table_and_control_has_a_name() {
    for (name, run) in
        [("saxpy", runs::saxpy()), ("emulated", runs::emulated()), ("many", runs::many())]
    {
        let page = opened(&run);
        page.browser
            .say("document.querySelectorAll('details').forEach((d) => { d.open = true; });");
        let heard = page.browser.heard();
        let named = [
            "image",
            "img",
            "graphics-document",
            "region",
            "button",
            "searchbox",
            "checkbox",
            "link",
        ];
        let silent: Vec<_> = heard
            .iter()
            .filter(|(role, text)| named.contains(&role.as_str()) && text.trim().is_empty())
            .collect();
        assert_eq!(silent, Vec::<&(String, String)>::new(), "{name}");
        let charts = page.browser.say("return document.querySelectorAll('svg[role=img]').length");
        let images = heard.iter().filter(|(role, _)| role == "image" || role == "img").count();
        assert_eq!(json!(images), charts, "{name}: {heard:?}");
        assert!(images > 0, "{name}");
        // One level of headings leads to the next.
        let levels = page.browser.say("return [...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))");
        let levels: Vec<i64> =
            levels.as_array().into_iter().flatten().filter_map(serde_json::Value::as_i64).collect();
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{name}: {levels:?}");
    }
}

/// The least contrast of any text with what is behind it: WCAG 2.2 asks for 4.5.
const LEAST_CONTRAST: &str = r#"
const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); const of = text.startsWith('color(') ? 255 : 1;
  return { rgb: n.slice(0, 3).map((v) => of * v), a: n[3] ?? 1 }; };
const behind = (e) => { for (let at = e; at; at = at.parentElement) {
  const c = parse(getComputedStyle(at).backgroundColor); if (c.a === 1) return c.rgb; }
  return parse(getComputedStyle(document.body).backgroundColor).rgb; };
let least = [99, ''];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim() !== '');
  if (!own || !e.checkVisibility() || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(e.tagName) || e.closest('.cell')) continue;
  const style = getComputedStyle(e);
  const colour = e.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(parse(colour).rgb), light(behind(e))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < least[0]) least = [contrast, e.outerHTML.slice(0, 120)];
}
return least;"#;

#[test]
fn texts_stand_out_in_either_theme() {
    for run in [runs::regression(), runs::counted_by_line()] {
        let page = opened(&run);
        page.browser
            .say("document.querySelectorAll('details').forEach((d) => { d.open = true; });");
        let mut papers = Vec::new();
        for dark in [false, true] {
            page.browser.look(dark, false);
            let least = page.browser.say(LEAST_CONTRAST);
            assert!(least[0].as_f64().is_some_and(|least| least >= 4.5), "dark {dark}: {least}");
            papers.push(page.browser.say("return getComputedStyle(document.body).backgroundColor"));
        }
        assert_ne!(papers[0], papers[1], "the theme changes nothing");
    }
}
