//! Values from counter data: at once after the collection, or again from a recorded folder.

use gpuprof_cupti::{Host, HostApi, locate};
use serde_json::{Map, Value, json};

use crate::files::{Folder, counters};
use crate::options::Options;
use crate::outcome::Outcome;

/// Ranges of one counter data image with the values of all metrics, by range and metric name.
pub(crate) fn values(
    options: &Options,
    folder: &Folder,
    mode: &str,
) -> Outcome<Map<String, Value>> {
    let location = locate(options.cupti.as_deref())?;
    let api = HostApi::load(&location)?;
    let chip = folder.read_json("device.json")?;
    let chip = chip["chip"].as_str().ok_or("device.json names no chip")?;
    let availability = folder.read_if_there("availability.bin");
    let mut host = Host::new(api, chip, availability.as_deref())?;
    let image = folder.read(&counters(mode))?;
    let count = match api.range_count(&image) {
        Ok(count) => count,
        Err(failure) => {
            eprintln!("record: {mode}: the ranges cannot be counted: {failure}");
            options.blocks.len()
        }
    };
    let mut ranges = Map::new();
    for index in 0..count {
        let name = match api.range_name(&image, index) {
            Ok(name) => name,
            Err(failure) => {
                eprintln!("record: {mode}: range {index} has no name: {failure}");
                index.to_string()
            }
        };
        // Kernel replay numbers its ranges; they ran in the order of the block sizes.
        let block = name.parse().ok().and_then(|at: usize| options.blocks.get(at));
        let name = block.map_or(name, |block| Options::range(*block));
        let values = host.evaluate(&image, index, &options.metrics)?;
        let values = options.metrics.iter().cloned().zip(values.into_iter().map(number)).collect();
        if ranges.insert(name.clone(), Value::Object(values)).is_some() {
            return Err(format!("{mode}: two ranges are called {name}").into());
        }
    }
    Ok(ranges)
}

/// JSON has no NaN; a missing value is a word that says so.
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

/// Evaluates a recorded folder again and compares with what was recorded. Whether all values agree.
pub(crate) fn again(options: &Options) -> Outcome<bool> {
    let folder = Folder::open(&options.out)?;
    let record = folder.read_json("record.json")?;
    folder.write_json("device.json", &record["device"])?;
    let texts = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it.as_str().map(Into::into))
            .collect()
    };
    let mut options = options.clone();
    options.metrics = texts(&record["metrics"]);
    options.blocks = texts(&record["ranges"])
        .iter()
        .filter_map(|range| range.strip_prefix("block=")?.parse().ok())
        .collect();
    let mut agree = true;
    for (mode, recorded) in record["values"].as_object().ok_or("record.json has no values")? {
        let now = Value::Object(values(&options, &folder, mode)?);
        let same = now == *recorded;
        println!("{mode}: {}", if same { "the same values" } else { "OTHER VALUES" });
        if !same {
            println!("recorded {recorded:#}\nnow {now:#}");
        }
        report_range_ways(&options, &folder, mode)?;
        agree &= same;
    }
    folder.remove("device.json");
    Ok(agree)
}

/// Which of CUPTI's ways to the ranges work on this machine.
fn report_range_ways(options: &Options, folder: &Folder, mode: &str) -> Outcome<()> {
    let api = HostApi::load(&locate(options.cupti.as_deref())?)?;
    let image = folder.read(&counters(mode))?;
    println!("  range_count: {:?}", api.range_count(&image));
    println!("  range_name(0): {:?}", api.range_name(&image, 0));
    println!("  host_range_name(0): {:?}", api.host_range_name(&image, 0));
    println!("  host_range_name(past the end): {:?}", api.host_range_name(&image, 99));
    Ok(())
}
