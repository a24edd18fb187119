//! `cargo gpuprof characterize`: the constants of a GPU, measured, next to those of the model of
//! estimated times.
//!
//! Input: a device. Output: a table, and JSON in a file. A child process measures, while this one
//! holds the device.

use std::io::Write;

use gpuprof_characterize::{Characterization, Constant, Measured};
use gpuprof_emulator::device::chip::{BY_NAME, Chip};
use gpuprof_emulator::timing::Rates;
use gpuprof_model::ExitCode;
use gpuprof_model::machine::ClockControl;
use gpuprof_model::measurement::DeviceRecord;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::options::{CharacterizeOptions, DeviceSelection};
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::device::{Hold, HoldRequest};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::printable_output::show_plain;
use gpuprof_system::{console, json_text, whole};

/// The most by which repetitions differ without a warning.
const VARIED_PERCENT: f64 = 20.0;

/// Measures a device, and shows its constants.
///
/// # Errors
/// No GPU, or the driver refuses to run the kernels (exit code 107); a device that is not there
/// (2); output that cannot be written (110).
pub fn show(
    options: &CharacterizeOptions,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let impossible = |reason: String| {
        let message = format!("characterize measures a GPU: {reason}");
        Failure::new(ExitCode::NotPossible, message)
    };
    let shown = match cupti::ask(None, Question::Driver)? {
        Answer::Driver(shown) => shown,
        Answer::NoDriver(reason) => return Err(impossible(reason)),
        answer => return Err(impossible(answer.refusal().reason)),
    };
    let named = DeviceSelection::These(vec![options.device.clone()]).find(&shown)?;
    let device = &shown[named[0]];
    let terms = HoldRequest { clocks: ClockControl::None, nvml: None, wait: true };
    let held = Hold::take(&device.uuid, &terms, interrupt)?;
    let answer = cupti::ask_on(Some(&device.uuid), None, Question::Characterize { sizes: None })?;
    drop(held);
    let found = match answer {
        Answer::Characterized(found) => found,
        answer => return Err(impossible(answer.refusal().reason)),
    };
    let model = chip_of(&found);
    if let Some(path) = &options.output {
        let document = document(&found, device, model, Timestamp::now());
        whole::write_whole_by(path, |file| json_text::indented(file, &document))
            .map_err(|error| Failure::output(path.as_std_path(), &error))?;
    }
    let text = table(&found, device, model);
    show_plain(out, |out| out.write_all(text.as_bytes())).map_err(Failure::standard_output)?;
    found.measured.iter().filter_map(|it| warning(it, &device.uuid)).for_each(console::warn);
    Ok(ExitCode::Success)
}

/// A warning if the repetitions for a constant differ.
fn warning(of: &Measured, uuid: &str) -> Option<String> {
    let Measured { constant, varied_percent, .. } = of;
    (*varied_percent > VARIED_PERCENT).then(|| {
        format!(
            "the repetitions for {} differ by {varied_percent:.0} %; end other programs that use \
             {uuid}, and repeat",
            constant.name()
        )
    })
}

/// The emulated chip that a device is: the words of its product are in the device's name, and it
/// has as many multiprocessors and nearly as much memory. Others are not in the model.
fn chip_of(found: &Characterization) -> Option<(&'static str, &'static Chip)> {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
    };
    let name = words(&found.name);
    BY_NAME.into_iter().find(|(_, chip)| {
        let product = words(chip.rates.name);
        name.windows(product.len()).any(|some| some == product)
            && chip.sm_count == found.multiprocessors
            && chip.memory_bytes.abs_diff(found.memory_bytes) < chip.memory_bytes / 8
    })
}

/// The constant in the model; none if the model has one value for all chips.
fn in_model(constant: Constant, rates: &Rates) -> Option<f64> {
    let (units, tensor) = (&rates.units, &rates.units.tensor);
    Some(match constant {
        Constant::ClockGhz => rates.clock_ghz,
        Constant::LaunchNs => rates.launch_ns,
        Constant::BlocksPerNs => rates.blocks_per_ns,
        Constant::WarpsPerNs => rates.warps_per_ns,
        Constant::DramBytesPerNs => rates.dram_bytes_per_ns,
        Constant::L2BytesPerNs => rates.l2_bytes_per_ns,
        Constant::L2StoredBytesPerNs => rates.l2_stored_bytes_per_ns,
        Constant::L2LinesPerNs => rates.l2_lines_per_ns,
        Constant::ReturningUpdatesPerNs => rates.returning_updates_per_ns,
        // For all chips.
        Constant::Turnaround | Constant::SharedFloatSum | Constant::Barrier => return None,
        Constant::SliceUpdatesPerNs => rates.slice_updates_per_ns,
        Constant::SliceFloatSumsPerNs => rates.slice_float_sums_per_ns,
        Constant::UpdatesPerNs => rates.updates_per_ns,
        Constant::HandOverNs => rates.hand_over_ns,
        Constant::WrittenBack => rates.written_back,
        Constant::SharedLatency => rates.shared_latency.into(),
        Constant::L1Latency => rates.l1_latency.into(),
        Constant::L2Latency => rates.l2_latency.into(),
        Constant::DramLatency => rates.dram_latency.into(),
        Constant::FloatBusy => units.float_busy.into(),
        Constant::HalfBusy => units.half_busy.into(),
        Constant::DoubleBusy => units.double_busy.into(),
        Constant::TensorHalf => tensor.half.into(),
        Constant::TensorTf32 => tensor.tf32.into(),
        Constant::TensorDouble => tensor.double.into(),
        Constant::TensorByte => tensor.byte.into(),
        Constant::TensorBit => tensor.bit.into(),
    })
}

type Model = Option<(&'static str, &'static Chip)>;

/// Four digits, or all before the point.
fn number(value: f64) -> String {
    let digits = 3_usize.saturating_sub(value.abs().max(1.0).log10() as usize);
    format!("{value:.digits$}")
}

fn table(found: &Characterization, device: &DeviceRecord, model: Model) -> String {
    let (major, minor) = device.compute_capability;
    let version = device.driver_version;
    let mut text = format!(
        "{} (sm_{major}{minor}), {}, CUDA {}.{}\n\n",
        found.name,
        device.uuid,
        version / 1000,
        version % 1000 / 10
    );
    let mut row = |cells: [&str; 5]| {
        let [constant, unit, measured, model, difference] = cells;
        let line = format!("{constant:<24}  {unit:<14} {measured:>8} {model:>8} {difference:>10}");
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let heading = model.map_or("model", |(name, _)| name);
    row(["constant", "unit", "measured", heading, "difference"]);
    for &Measured { constant, value, .. } in &found.measured {
        let known = model.and_then(|(_, chip)| in_model(constant, chip.rates));
        let difference = known
            .map(|known| format!("{:+.1} %", 100.0 * (value / known - 1.0)))
            .unwrap_or_default();
        let known = known.map(number).unwrap_or_default();
        row([constant.name(), constant.unit(), &number(value), &known, &difference]);
    }
    text.push('\n');
    for (constant, reason) in &found.missing {
        text.push_str(&format!("{} is not measured: {reason}\n", constant.name()));
    }
    if model.is_none() {
        text.push_str("the model of estimated times does not know this GPU\n");
    }
    text
}

fn document(
    found: &Characterization,
    device: &DeviceRecord,
    model: Model,
    date: Timestamp,
) -> Value {
    let constants = found.measured.iter().map(|it| {
        json!({
            "name": it.constant.name(),
            "unit": it.constant.unit(),
            "measured": it.value,
            "model": model.and_then(|(_, chip)| in_model(it.constant, chip.rates)),
            "varied_percent": it.varied_percent,
        })
    });
    let missing = found
        .missing
        .iter()
        .map(|(constant, reason)| json!({ "name": constant.name(), "reason": reason }));
    json!({
        "tool_version": env!("CARGO_PKG_VERSION"),
        "date": date.to_string(),
        "device": {
            "name": found.name,
            "uuid": device.uuid,
            "compute_capability": device.compute_capability,
            "sm_count": found.multiprocessors,
            "memory_bytes": found.memory_bytes,
        },
        "driver_version": device.driver_version,
        "chip": model.map(|(name, _)| name),
        "constants": constants.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Characterization {
        let measured = |constant, value| Measured { constant, value, varied_percent: 1.5 };
        Characterization {
            name: name.to_owned(),
            multiprocessors: 132,
            memory_bytes: 150_110_011_392,
            measured: vec![
                measured(Constant::ClockGhz, 1.9805),
                measured(Constant::Barrier, 12_345.6),
                measured(Constant::DoubleBusy, 2.2),
            ],
            missing: vec![(Constant::TensorBit, "no such units".to_owned())],
        }
    }

    fn device() -> DeviceRecord {
        DeviceRecord {
            uuid: "GPU-1".into(),
            compute_capability: (9, 0),
            driver_version: 13_010,
            ..DeviceRecord::default()
        }
    }

    #[test]
    fn a_table_has_the_model_of_the_chip_and_the_difference() {
        let found = found("NVIDIA H200");
        insta::assert_snapshot!(table(&found, &device(), chip_of(&found)), @r"
        NVIDIA H200 (sm_90), GPU-1, CUDA 13.1

        constant                  unit           measured     h200 difference
        clock_ghz                 GHz               1.980    1.980     +0.0 %
        barrier                   clocks            12346
        double_busy               clocks/warp       2.200    2.000    +10.0 %

        tensor.bit is not measured: no such units
        ");
    }

    #[test]
    fn a_gpu_without_a_model_has_no_differences() {
        let found = found("NVIDIA GH200 144G HBM3e");
        let table = table(&found, &device(), chip_of(&found));
        assert!(table.contains("double_busy               clocks/warp       2.200\n"), "{table}");
        let said = "\nthe model of estimated times does not know this GPU\n";
        assert!(table.ends_with(said), "{table}");
    }

    #[test]
    fn a_chip_is_recognised_by_whole_words_and_size() {
        let chip = |name: &str, multiprocessors, gigabytes: u64| {
            let memory_bytes = gigabytes * 1_000_000_000;
            let found = Characterization { multiprocessors, memory_bytes, ..found(name) };
            chip_of(&found).map(|(name, _)| name)
        };
        assert_eq!(chip("NVIDIA H200", 132, 150), Some("h200"));
        assert_eq!(chip("NVIDIA H100 80GB HBM3", 132, 85), Some("h100"));
        assert_eq!(chip("NVIDIA A100-SXM4-80GB", 108, 85), Some("a100"));
        assert_eq!(chip("NVIDIA GeForce RTX 4090", 128, 25), Some("rtx4090"));
        assert_eq!(chip("NVIDIA A100-SXM4-40GB", 108, 42), None, "another memory");
        assert_eq!(chip("NVIDIA H100 PCIe", 114, 85), None, "fewer multiprocessors");
        assert_eq!(chip("NVIDIA L40S", 142, 48), None, "another product");
        assert_eq!(chip("NVIDIA H200 MIG 1g.18gb", 16, 18), None, "a slice");
    }

    #[test]
    fn repetitions_that_differ_are_a_warning() {
        let of = |varied_percent| Measured { varied_percent, ..found("").measured[0] };
        assert_eq!(warning(&of(19.0), "GPU-1"), None);
        assert_eq!(
            warning(&of(134.2), "GPU-1").unwrap(),
            "the repetitions for clock_ghz differ by 134 %; end other programs that use GPU-1, and \
             repeat"
        );
    }

    #[test]
    fn the_document_has_device_driver_date_and_every_constant() {
        let found = found("NVIDIA H200");
        let date = Timestamp::from_second(1_700_000_000).unwrap();
        let document = document(&found, &device(), chip_of(&found), date);
        assert_eq!(document["date"], "2023-11-14T22:13:20Z");
        assert_eq!(document["device"]["uuid"], "GPU-1");
        assert_eq!(
            (&document["driver_version"], &document["chip"]),
            (&json!(13_010), &json!("h200"))
        );
        assert_eq!(
            document["constants"][0],
            json!({
                "name": "clock_ghz",
                "unit": "GHz",
                "measured": 1.9805,
                "model": 1.98,
                "varied_percent": 1.5,
            })
        );
        assert_eq!(document["constants"][1]["model"], Value::Null);
        assert_eq!(
            document["missing"][0],
            json!({ "name": "tensor.bit", "reason": "no such units" })
        );
    }
}
