//! A run on several emulated chips, in each format for people.

use gpuprof_analysis::fixture::{self, estimated};
use gpuprof_analysis::view::View;
use gpuprof_model::machine::Chip;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::run::{Run, SeriesResult};
use insta::assert_snapshot;

use crate::{Html, Markdown, Report, Table};

/// A device of a chip, as the emulated driver reports it.
fn device(name: &str, compute_capability: (u32, u32)) -> DeviceRecord {
    let name = format!("Emulated {name}");
    DeviceRecord { name, compute_capability, emulated: true, ..fixture::h200() }
}

fn on(chip: Chip, name: &str, times: [f64; 3]) -> SeriesResult {
    let rows = [64, 128, 256].into_iter().zip(times);
    let mut series =
        fixture::series(rows.map(|(block, ns)| estimated(block, 1 << 20, ns)).collect());
    series.id.chip = Some(chip);
    for estimate in series.configurations.iter_mut().filter_map(|row| row.estimate.as_mut()) {
        (estimate.chip, estimate.characterised) = (name.to_owned(), chip == Chip::H100);
    }
    series
}

fn run() -> Run {
    let mut l4 = on(Chip::L4, "L4", [42_000.0, 41_000.0, 44_000.0]);
    l4.configurations[2].status = fixture::invalid(256).status;
    let mut run = fixture::run(
        "20261128T01-1",
        vec![on(Chip::H100, "H100", [9_000.0, 7_000.0, 6_000.0]), l4],
    );
    run.provenance.chips =
        [(Chip::H100, device("H100", (9, 0))), (Chip::L4, device("L4", (8, 9)))].into();
    run
}

fn shown(report: &dyn Report) -> String {
    let mut out = Vec::new();
    report.write_as(&View::default(), &run(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_chip_has_a_table_and_all_have_one_with_a_column_each() {
    assert_snapshot!(shown(&Table::default()), @"
    saxpy::saxpy@h100  examples/saxpy/src/lib.rs:12  on the emulated H100 (sm_90), times estimated
     block        n  duration [µs]  vs best    throughput [TB/s]  flop_rate [GFLOP/s]  ptx_instructions
        64  1048576      ≈9 (4–18)    1.50x    ≈1.40 (0.70–2.80)       ≈233 (117–466)           704,512
       128  1048576      ≈7 (4–14)    1.17x    ≈1.80 (0.90–3.60)       ≈300 (150–599)           696,320
       256  1048576    * ≈6 (3–12)    1.00x  * ≈2.10 (1.05–4.19)     * ≈350 (175–699)         * 692,224
     estimated  duration, throughput, flop_rate: by model 1 of the H100, not measured; 90% intervals in parentheses
     limited    every row: by dram (88% of the time), then by latency (25% of the time)

    saxpy::saxpy@l4  examples/saxpy/src/lib.rs:12  on the emulated L4 (sm_89), times estimated
     block        n  duration [µs]  vs best  throughput [GB/s]   flop_rate [GFLOP/s]  ptx_instructions
        64  1048576    ≈42 (21–84)    1.02x     ≈300 (150–599)     ≈49.9 (25.0–99.9)           704,512
       128  1048576  * ≈41 (20–82)    1.00x   * ≈307 (153–614)  * ≈51.2 (25.6–102.3)         * 696,320
       256  1048576        invalid
     invalid    block=256,n=1048576: a block of 256 threads is above the 1024 that this device takes
     estimated  duration, throughput, flop_rate: by model 1 of the L4, not measured; 90% intervals in parentheses; not checked on hardware
     limited    every row: by dram (88% of the time), then by latency (25% of the time)

    saxpy::saxpy by chip: ≈ duration [µs]
     block        n  h100       l4
    ───────────────────────────────
        64  1048576    ≈9      ≈42
       128  1048576    ≈7    * ≈41
       256  1048576  * ≈6  invalid
     best by duration: block=256,n=1048576 on h100; block=128,n=1048576 on l4
     not checked on hardware: l4

     cargo gpuprof report --all shows what is left out here

    6 configurations of 2 series: 5 finished, 1 invalid; no thresholds
    ");
}

#[test]
fn markdown_has_the_table_of_chips_too() {
    let page = shown(&Markdown::default());
    let (_, chips) = page.split_once("by chip").unwrap();
    assert_snapshot!(chips, @r"
    : ≈ duration \[µs\]

    | block | n | h100 | l4 |
    | ---: | ---: | ---: | ---: |
    | 64 | 1048576 | ≈9 | ≈42 |
    | 128 | 1048576 | ≈7 | **≈41** |
    | 256 | 1048576 | **≈6** | invalid |

    * best by duration: block=256,n=1048576 on h100; block=128,n=1048576 on l4
    * not checked on hardware: l4

    **6 configurations of 2 series: 5 finished, 1 invalid; no thresholds**
    ");
}

#[test]
fn the_page_has_the_table_of_chips_and_the_device_of_each_series() {
    let page = shown(&Html::default());
    for text in [
        "<h2>saxpy::saxpy by chip: ≈ duration [µs]</h2>",
        "best by duration: block=256,n=1048576 on h100; block=128,n=1048576 on l4",
        "not checked on hardware: l4",
        "on the emulated L4 (sm_89), times estimated",
        "on the emulated H100 (sm_90), times estimated",
        "<dd>Emulated H100, Emulated L4</dd>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}
