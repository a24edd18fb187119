//! The charts of a run as SVG files of their own, such as a README shows.
//!
//! Input: a run and a view. Output: a file for each chart of the page. Each has the page's style
//! in it, by which it is legible on a light page and on a dark one: an image does not inherit the
//! style of the page around it.

use std::collections::BTreeSet;

use gpuprof_analysis::view::View;
use gpuprof_analysis::view::by_device::{DeviceRows, parts};
use gpuprof_model::run::Run;
use maud::Markup;

use super::charted::Charted;
use super::section::Section;
use super::{CHART_STYLE, escape_characters, sections, why};
use crate::chart;

/// The height of the title, in units of the chart.
const TITLE: f64 = 20.0;

/// The most bytes of a file's name that come from a series.
const MOST_NAME: usize = 80;

/// A chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// The name of its file.
    pub name: String,
    /// The SVG.
    pub text: String,
}

/// Every chart of `run` as `view` has it.
pub fn chart_files(run: &Run, view: &View) -> Vec<ChartFile> {
    let parts: Vec<DeviceRows<'_>> = run.series.iter().flat_map(parts).collect();
    let mut taken = BTreeSet::new();
    let mut files = Vec::new();
    for section in sections(&parts, view) {
        let stem = stem(&section.viewed.series.id.to_string());
        let stem = if taken.insert(stem.clone()) { stem } else { format!("{stem}-{}", section.at) };
        let charts = charts(&section);
        files.extend(charts.into_iter().map(|(what, drawn)| ChartFile {
            name: format!("{stem}-{what}.svg"),
            text: escape_characters(&standalone(&drawn.into_string())),
        }));
    }
    files
}

fn charts(section: &Section<'_>) -> Vec<(String, Markup)> {
    let metric = section.view.headline(&section.viewed.series);
    let charted = Charted::draw(section, metric);
    let mut charts = Vec::new();
    if let Some(charted) = &charted {
        let lines = charted.lines();
        charts.extend(lines.map(|(drawn, _)| ("along".to_owned(), chart::lines(&drawn))));
        let parallel = charted.parallel();
        charts.extend(parallel.map(|drawn| ("across".to_owned(), chart::parallel(&drawn))));
        let heats = charted.heats().0;
        let several = heats.len() > 1;
        charts.extend(heats.iter().enumerate().map(|(at, drawn)| {
            let number = if several { format!("-{}", at + 1) } else { String::new() };
            (format!("heat{number}"), chart::heat(drawn))
        }));
    }
    let pictures = why::pictures(section, metric);
    charts.extend(pictures.into_iter().map(|(what, drawn)| (what.to_owned(), drawn)));
    charts
}

/// A name that is a file's on every system, whatever a stored run calls its series.
fn stem(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let text: String = id.replace("::", "-").chars().map(plain).take(MOST_NAME).collect();
    if text.is_empty() { "series".to_owned() } else { text }
}

/// `drawn` as a document: with its namespace, its size, its style and its title above it, and
/// without links into a page that is not there.
fn standalone(drawn: &str) -> String {
    let (open, rest) = drawn.split_once('>').unwrap_or((drawn, ""));
    let extent = open.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"'));
    let (width, height) =
        extent.and_then(|(text, _)| text.split_once(' ')).unwrap_or(("640", "400"));
    let size = |name: &str, value: &str| match open.contains(&format!(" {name}=")) {
        true => String::new(),
        false => format!(" {name}=\"{value}\""),
    };
    let named = open.split_once("aria-label=\"").and_then(|(_, rest)| rest.split_once('"'));
    let title = named.map_or("", |(title, _)| title);
    let view = format!("viewBox=\"0 0 {width} {height}\"");
    let full = height.parse::<f64>().unwrap_or_default() + TITLE;
    let open = open.replacen(&view, &format!("viewBox=\"0 -{TITLE} {width} {full}\""), 1);
    let height = full.to_string();
    let open = open.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1);
    let (width, height) = (size("width", width), size("height", &height));
    let title = format!("<text x=\"0\" y=\"-6\">{title}</text>");
    format!("{open}{width}{height}><style>{CHART_STYLE}</style>{title}{}\n", without_links(rest))
}

/// Text cannot hold `<`, so every `<a ` begins a link.
fn without_links(drawn: &str) -> String {
    let mut pieces = drawn.split("<a ");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str("<g>");
        text.push_str(piece.split_once('>').map_or("", |(_, rest)| rest));
    }
    text.replace("</a>", "</g>")
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture::{finished, gpu_pass, measured, point, run, series};

    use super::*;

    #[test]
    fn each_chart_is_a_document_with_a_style_for_both_themes() {
        let row = |block, ns| finished(point(block, 1 << 20), &[gpu_pass(block, 1 << 20, &[ns])]);
        let mut series = series(vec![row(64, 9_000.0), row(128, 7_000.0), row(256, 8_000.0)]);
        series.id.kernel = "../saxpy<f32>".into();
        let files = chart_files(&run("20261123T010203-1", vec![series]), &View::default());
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["saxpy----saxpy-f32--along.svg"]);
        let text = &files[0].text;
        let begin = r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart""#;
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("prefers-color-scheme: dark") && text.contains(r#" height="320">"#));
        assert!(!text.contains("<a ") && !text.contains("</a>") && text.ends_with("</svg>\n"));
        assert_eq!(text.matches("<g").count(), text.matches("</g>").count());
    }

    #[test]
    fn charts_of_limits_are_written_as_files() {
        let dram = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
        let wait = "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio";
        let row =
            |block| measured(block, &[(dram, 80.0), (wait, 2.0), ("dram__bytes_read.sum", 9.0)]);
        let files = chart_files(&run("1", vec![series(vec![row(64), row(128)])]), &View::default());
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let expected = ["limits", "warps", "memory"].map(|what| format!("saxpy-saxpy-{what}.svg"));
        assert_eq!(names, expected);
    }
}
