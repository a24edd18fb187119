//! Writes two runs of as many configurations as asked for, as the tool writes them.
//!
//! `cargo run --release -p cargo-gpuprof --example large_run -- ROWS FOLDER [gpu]` makes
//! `FOLDER/before.json` and `FOLDER/after.json`: saxpy on the emulated driver, all metrics of the
//! catalogue, and in `after.json` one configuration with one sector more. With `gpu` it is saxpy on
//! an H200, seven processes of five samples each, and in `after.json` one configuration takes 5 %
//! longer. `docs/scripts/large-runs.sh` measures the tool on them.

use std::error::Error;

use camino::Utf8Path;
use gpuprof_analysis::fixture;
use gpuprof_analysis::metrics::collect::{CollectContext, finished};
use gpuprof_model::configuration::Configuration;
use gpuprof_model::measurement::PassResult;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, SharedRows};
use gpuprof_system::whole::write_whole_by;

const BLOCKS: [u64; 5] = [64, 128, 256, 512, 1024];
const SECTORS: &str = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rows, folder, make): (_, _, Make) = match arguments.as_slice() {
        [rows, folder] => (rows, folder, emulated),
        [rows, folder, device] if device == "gpu" => (rows, folder, timed),
        _ => return Err("usage: large_run ROWS FOLDER [gpu]".into()),
    };
    let rows: u64 = rows.parse()?;
    for (name, more) in [("before", false), ("after", true)] {
        let run = run(name, rows, |at| make(at, more && at == 0));
        let path = Utf8Path::new(folder).join(format!("{name}.json"));
        write_whole_by(&path, |file| Ok(serde_json::to_writer(file, &run)?))?;
        let bytes = std::fs::metadata(&path)?.len();
        println!("{path}: {rows} rows, {bytes} bytes, {} a row", bytes / rows.max(1));
    }
    Ok(())
}

/// The configuration at a number, which is worse than in the other run or not.
type Make = fn(u64, bool) -> (Configuration, Vec<PassResult>);

/// A run of `rows` configurations as `make` makes them.
fn run(id: &str, rows: u64, make: impl Fn(u64) -> (Configuration, Vec<PassResult>)) -> Run {
    let catalogue = Catalogue::built_in();
    let terms = CollectContext::new(&catalogue);
    let mut shared = SharedRows::default();
    let row = |at: u64| {
        let (configuration, passes) = make(at);
        let mut row = finished(configuration, &passes, &terms);
        shared.keep_once(&mut row.metrics, &mut row.code);
        row
    };
    fixture::run(id, vec![fixture::series((0..rows).map(row).collect())])
}

fn extents(at: u64) -> (u64, u64) {
    (BLOCKS[(at % 5) as usize], 1024 * (1 + at / 5))
}

fn emulated(at: u64, worse: bool) -> (Configuration, Vec<PassResult>) {
    let (block, n) = extents(at);
    let mut pass = fixture::emulated_pass(block, n);
    if let Some(sectors) = pass.counters.get_mut(SECTORS).filter(|_| worse) {
        *sectors += 1;
    }
    (fixture::point(block, n), vec![pass])
}

fn timed(at: u64, worse: bool) -> (Configuration, Vec<PassResult>) {
    let (block, n) = extents(at);
    let ns = if worse { 21_000.0 } else { 20_000.0 };
    // Steps of a GPU's clock, other ones for each process and sample.
    let sample =
        |process: u64, sample: u64| ns + 32.0 * ((at + 3 * process + 5 * sample) % 7) as f64;
    let pass =
        |process| fixture::gpu_pass(block, n, &[0, 1, 2, 3, 4].map(|at| sample(process, at)));
    (fixture::point(block, n), (0..7).map(pass).collect())
}
