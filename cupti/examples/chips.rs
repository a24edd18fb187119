//! Records the counters of every chip in CUPTI, for machines without CUPTI.
//!
//! Input: the folder of a CUPTI (13.0.85 knows the most chips) and a file to write. Output: the
//! file, zstd over text, which `catalogue/src/chips/text.rs` reads and describes. It contains
//! only names, units, submetrics and the constituents of throughputs; NVIDIA's descriptions stay
//! with NVIDIA.
//!
//!     cargo run -p gpuprof-cupti --example chips -- FOLDER catalogue/data/chips.zst

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use gpuprof_cupti::host::{Breakdown, MetricKind};
use gpuprof_cupti::{Code, Host, HostApi, locate};

/// A metric of a chip; its submetrics are an index into the list of all such lists.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: String,
    kind: &'static str,
    hw_unit: String,
    dim_unit: String,
    submetrics: usize,
}

/// All that was recorded.
#[derive(Default)]
struct Record {
    chips: Vec<String>,
    submetrics: Seen<Vec<String>>,
    /// The chips of each row, by position.
    rows: BTreeMap<Row, Vec<usize>>,
    /// The chips of each breakdown: the throughput, its counters, its throughputs.
    breakdowns: BTreeMap<[String; 3], Vec<usize>>,
}

/// Values in the order in which they were first seen.
#[derive(Default)]
struct Seen<T>(Vec<T>);

impl<T: PartialEq> Seen<T> {
    fn place(&mut self, value: T) -> usize {
        self.0.iter().position(|known| *known == value).unwrap_or_else(|| {
            self.0.push(value);
            self.0.len() - 1
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, file] = arguments.as_slice() else {
        return Err("usage: chips CUPTI-FOLDER FILE".into());
    };
    let location = locate(Some(Path::new(folder)))?;
    let api = HostApi::load(&location)?;
    let mut record = Record::default();
    for chip in api.chips()? {
        let host = match Host::new(api, &chip, None) {
            Ok(host) => host,
            // It is in CUPTI's list, and this API does not serve it.
            Err(failure) if failure.code == Code::NotSupported => {
                println!("{chip} is left out: {failure}");
                continue;
            }
            Err(failure) => return Err(failure.into()),
        };
        let at = record.chips.len();
        for row in rows_of(&host, &mut record.submetrics)? {
            let on = record.rows.entry(row).or_default();
            if on.last() != Some(&at) {
                on.push(at);
            }
        }
        for Breakdown { throughput, counters, throughputs } in api.breakdowns(&chip)? {
            // The counters of NVIDIA's internal parts have no names.
            if counters.is_empty() && throughputs.is_empty() {
                continue;
            }
            let key = [throughput, counters.join(" "), throughputs.join(" ")];
            record.breakdowns.entry(key).or_default().push(at);
        }
        record.chips.push(chip);
    }
    let text = written(&location.version().to_string(), &record)?;
    let packed = zstd::encode_all(text.as_bytes(), 22)?;
    println!(
        "{} chips, {} rows, {} breakdowns, {} B of text, {} B",
        record.chips.len(),
        record.rows.len(),
        record.breakdowns.len(),
        text.len(),
        packed.len()
    );
    Ok(std::fs::write(file, packed)?)
}

fn rows_of(host: &Host, lists: &mut Seen<Vec<String>>) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for kind in MetricKind::ALL {
        for name in host.base_metrics(kind)? {
            let properties = host.properties(&name)?;
            let submetrics = lists.place(host.sub_metrics(&name)?);
            // A counter that an older chip lists under two kinds has one kind.
            let kind = match properties.kind {
                MetricKind::Counter => "c",
                MetricKind::Ratio => "r",
                MetricKind::Throughput => "t",
            };
            let (hw_unit, dim_unit) = (properties.hw_unit, properties.dim_unit);
            rows.push(Row { name, kind, hw_unit, dim_unit, submetrics });
        }
    }
    Ok(rows)
}

/// The text; data that chips share are written once.
fn written(version: &str, record: &Record) -> Result<String, std::fmt::Error> {
    let (mut on, mut natures) = (Seen(Vec::new()), Seen(Vec::new()));
    let mut names = String::new();
    let mut last = "";
    for (row, chips) in &record.rows {
        let nature = format!(
            "{} {} {}\t{}\t{}",
            row.kind,
            row.submetrics,
            on.place(chips.clone()),
            row.hw_unit,
            row.dim_unit
        );
        let same = row.name.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
        writeln!(names, "{}\t{same}\t{}", natures.place(nature), &row.name[same..])?;
        last = &row.name;
    }
    let mut breakdowns = String::new();
    for ([throughput, counters, throughputs], chips) in &record.breakdowns {
        let on = on.place(chips.clone());
        writeln!(breakdowns, "breakdown {on}\t{throughput}\t{counters}\t{throughputs}")?;
    }
    let mut text = format!("cupti {version}\nchips {}\n", record.chips.join(" "));
    for list in &record.submetrics.0 {
        writeln!(text, "submetrics {}", list.join(" "))?;
    }
    for chips in &on.0 {
        let chips: Vec<String> = chips.iter().map(ToString::to_string).collect();
        writeln!(text, "on {}", chips.join(" "))?;
    }
    for nature in &natures.0 {
        writeln!(text, "nature {nature}")?;
    }
    text.push_str(&breakdowns);
    text.push_str("names\n");
    text.push_str(&names);
    Ok(text)
}
